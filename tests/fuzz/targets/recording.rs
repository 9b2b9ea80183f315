//! Recordings: any bytes in the place of chunks and lines, and what is written is what is read.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use rp_base::{Digest, Id};
use rp_recording::fuzzing::{cast, head, open, seal, shown, unpack};
use rp_seal::DataKey;
use tests_fuzz::{SameRandom, pieces};

static KEY: LazyLock<(DataKey, Id)> =
    LazyLock::new(|| (DataKey::generate(&SameRandom), Id::random(&SameRandom)));

fuzz_target!(|data: &[u8]| {
    let (key, id) = &*KEY;
    let _ = (head(data), unpack(data));
    assert!(open(key, id, data).is_none(), "nobody else makes a chunk");
    let mut lines = String::from_utf8_lossy(data).into_owned();
    lines.push('\n');
    let Some(mut chunk) = seal(key, id, 3, Digest::default(), lines.as_bytes()) else { return };
    assert_eq!(head(&chunk).map(|(number, _)| number), Some(3));
    assert_eq!(open(key, id, &chunk).as_ref(), Some(&lines));
    let place = data.first().map_or(0, |byte| usize::from(*byte) % chunk.len());
    chunk[place] ^= 1;
    assert!(open(key, id, &chunk).is_none(), "a changed byte is seen: {place}");

    let cut: Vec<&[u8]> = pieces(data).collect();
    let whole: Vec<u8> = cut.concat();
    let text = String::from_utf8(cast(&cut)).expect("a cast is text");
    let (read, found) = shown(&text);
    assert_eq!(read, String::from_utf8_lossy(&whole), "what was shown is what is read");
    assert!(found.iter().all(|line| !line.chars().any(char::is_control)), "{found:?}");
    let _ = shown(&lines);
});
