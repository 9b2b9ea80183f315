//! Where lists and searches go on, and what is sealed: nothing is read but what was made for that place.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use rp_audit::Query;
use rp_base::Timestamp;
use rp_documents::{Collection, Sealed};
use rp_seal::Keyring;
use tests_fuzz::SameRandom;

static KEYRING: LazyLock<Keyring> = LazyLock::new(|| Keyring::generate(&SameRandom));

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let now = Timestamp::from_seconds(1_790_000_000);
    let query = Query { verb: Some(text.to_owned()), ..Query::default() };
    assert!(rp_audit::fuzzing::open(text, &query, now).is_none(), "a forgery is read");
    let (seq, below) = (
        i64::from_le_bytes(std::array::from_fn(|at| *data.get(at).unwrap_or(&0))),
        data.get(9).map(|byte| u32::from(*byte)),
    );
    let sealed = rp_audit::fuzzing::seal(seq, 7, below, &query, now);
    assert_eq!(rp_audit::fuzzing::open(&sealed, &query, now), Some((seq, 7, below)));
    assert!(rp_audit::fuzzing::open(&sealed, &Query::default(), now).is_none(), "of another search");

    let grants = Collection::Grants;
    if let Some((partition, id)) = rp_database::fuzzing::open(text, grants, None) {
        let again = rp_database::fuzzing::seal(&partition, &id, grants, None);
        assert_eq!(rp_database::fuzzing::open(&again, grants, None), Some((partition, id)));
    }
    let (partition, id) = text.split_at(text.floor_char_boundary(text.len() / 2));
    let made = rp_database::fuzzing::seal(partition, id, grants, Some(text));
    if made.len() <= 32 * 1024 {
        let read = rp_database::fuzzing::open(&made, grants, Some(text));
        assert_eq!(read, Some((partition.to_owned(), id.to_owned())));
        assert!(rp_database::fuzzing::open(&made, grants, None).is_none(), "of another list");
    }

    assert!(KEYRING.open(&Sealed(text.to_owned()), "place").is_err(), "a forgery is opened");
    let _ = Keyring::key_of(text);
    let sealed = KEYRING.seal(data, "place").expect("sealed");
    assert_eq!(KEYRING.open(&sealed, "place").expect("opened").expose(), data);
    assert!(KEYRING.open(&sealed, "another").is_err());
});
