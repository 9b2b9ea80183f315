//! Containers of any bytes: never a panic, never more than is there, and every cut is readable up to it.

use async_trait::async_trait;
use bytes::Bytes;
use proptest::collection::vec;
use proptest::prelude::*;
use rp_base::{Digest, Id, SystemRandom};
use rp_seal::DataKey;

use crate::plain::{PlainTextParser, events};
use crate::reader::{ExpectedEnd, Reader};
use crate::{Fault, Source, StorageError, frame};

/// Bytes in memory, in pieces.
#[derive(Debug)]
struct ChunkedSource(Vec<Bytes>);

#[async_trait]
impl Source for ChunkedSource {
    async fn piece(&mut self) -> Result<Option<Bytes>, StorageError> {
        Ok((!self.0.is_empty()).then(|| self.0.remove(0)))
    }
}

fn key(fill: u8) -> DataKey {
    #[derive(Debug)]
    struct Same(u8);
    impl rp_base::Random for Same {
        fn fill(&self, out: &mut [u8]) {
            out.fill(self.0);
        }
    }
    DataKey::generate(&Same(fill))
}

fn read(bytes: &[u8], piece: usize, told: ExpectedEnd) -> (Vec<String>, Vec<Fault>) {
    let pieces = bytes.chunks(piece.max(1)).map(Bytes::copy_from_slice).collect();
    let mut reader = Reader::new(Box::new(ChunkedSource(pieces)), key(1), id(), told);
    let (mut texts, mut faults) = (Vec::new(), Vec::new());
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    while let Some(chunk) = runtime.block_on(reader.next()).unwrap() {
        texts.extend(chunk.text);
        faults.extend(chunk.faults);
    }
    (texts, faults)
}

fn id() -> Id {
    Id::parse("a-recording").unwrap()
}

const NOTHING: ExpectedEnd = ExpectedEnd { chunks: 0, head: Digest([0; 32]), ended: false, cut: false };

fn container(texts: &[String]) -> (Vec<u8>, Vec<usize>) {
    let (mut all, mut ends, mut before) = (Vec::new(), Vec::new(), Digest::default());
    for (number, text) in (0..).zip(texts) {
        let (bytes, digest) = frame::seal(&key(1), &id(), number, before, text.as_bytes()).unwrap();
        all.extend(bytes);
        ends.push(all.len());
        before = digest;
    }
    (all, ends)
}

fn lines() -> impl Strategy<Value = Vec<String>> {
    vec("[ -~é€]{0,80}\n", 1..8)
}

proptest! {
    #[test]
    fn a_container_of_any_bytes_never_panics(bytes in vec(any::<u8>(), 0..2000), piece in 1usize..600, chunks in any::<u32>()) {
        let (texts, _) = read(&bytes, piece, ExpectedEnd { chunks, ..NOTHING });
        prop_assert!(texts.is_empty());
    }

    #[test]
    fn a_container_that_was_changed_never_panics_or_shows_what_was_not_written(
        texts in lines(),
        changes in vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        piece in 1usize..600,
    ) {
        let (mut bytes, _) = container(&texts);
        for (place, value) in changes {
            let length = bytes.len();
            bytes[place.index(length)] = value;
        }
        let (read, _) = read(&bytes, piece, NOTHING);
        prop_assert!(read.iter().all(|text| texts.contains(text)));
    }

    #[test]
    fn a_container_is_readable_up_to_any_cut(texts in lines(), cut in any::<prop::sample::Index>(), piece in 1usize..600) {
        let (bytes, ends) = container(&texts);
        let cut = cut.index(bytes.len() + 1);
        let whole = ends.iter().filter(|end| **end <= cut).count();
        let (read, faults) = read(&bytes[..cut], piece, NOTHING);
        prop_assert_eq!(&read[..], &texts[..whole]);
        let torn = cut != 0 && !ends.contains(&cut);
        let expected: Vec<Fault> = torn.then(|| Fault::Torn(u32::try_from(whole).unwrap())).into_iter().collect();
        prop_assert_eq!(faults, expected);
    }

    #[test]
    fn chunks_in_any_order_never_panic_and_are_shown_at_most_once(texts in lines(), order in vec(any::<prop::sample::Index>(), 0..20)) {
        let (bytes, ends) = container(&texts);
        let starts: Vec<usize> = std::iter::once(0).chain(ends.iter().copied()).collect();
        let mixed: Vec<u8> = order
            .iter()
            .map(|index| index.index(texts.len()))
            .flat_map(|at| bytes[starts[at]..ends[at]].to_vec())
            .collect();
        let (read, _) = read(&mixed, 300, NOTHING);
        prop_assert!(read.len() <= texts.len());
    }

    #[test]
    fn lines_that_are_no_events_never_panic(text in "(\\[?[0-9.e+-]{0,12},?\"?[a-z]?\"?,?\"?[ -~]{0,30}\"?\\]?\n){0,20}") {
        let mut plain = PlainTextParser::default();
        for (at, _, data) in events(&text) {
            plain.take(at, &data, |line| assert!(line.text.chars().count() <= 2000));
        }
    }

    #[test]
    fn plain_text_never_holds_an_escape(text in "[\\x00-\\x7f\u{80}-\u{9f}é]{0,300}", cut in any::<prop::sample::Index>()) {
        let mut plain = PlainTextParser::default();
        let places: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        let at = if places.is_empty() { 0 } else { places[cut.index(places.len())] };
        let mut shown = String::new();
        for piece in [&text[..at], &text[at..]] {
            plain.take(0, piece, |line| shown.push_str(&line.text));
        }
        shown.extend(plain.rest().map(|line| line.text));
        prop_assert!(!shown.chars().any(char::is_control));
    }
}

#[test]
fn what_unpacks_to_too_much_is_refused() {
    let bomb = vec![b'\n'; 5 * 1024 * 1024];
    let (bytes, _) = frame::seal(&key(1), &id(), 0, Digest::default(), &bomb).unwrap();
    assert!(bytes.len() < 100_000);
    assert_eq!(read(&bytes, 4096, NOTHING), (vec![], vec![Fault::Content(0)]));
    let (bytes, _) =
        frame::seal(&DataKey::generate(&SystemRandom), &id(), 0, Digest::default(), b"x\n").unwrap();
    assert_eq!(read(&bytes, 4096, NOTHING).1, [Fault::Foreign(0)]);
}
