//! Continuations of searches, for `tests/fuzz`. Compiled with `--cfg fuzzing` alone.

use rp_base::Timestamp;

use crate::Query;
use crate::cursor::{CursorKey, SearchPosition};

/// A continuation, by a key that is always the same.
pub fn seal(seq: i64, at: u32, below: Option<u32>, query: &Query, now: Timestamp) -> String {
    CursorKey::new(&[7; 32]).seal(SearchPosition { seq, at, below }, query, now)
}

/// The position that a continuation names.
pub fn open(text: &str, query: &Query, now: Timestamp) -> Option<(i64, u32, Option<u32>)> {
    let found = CursorKey::new(&[7; 32]).open_text(text, query, now).ok()?;
    Some((found.seq, found.at, found.below))
}
