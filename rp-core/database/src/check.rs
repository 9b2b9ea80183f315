//! What every backend refuses before any I/O.

use crate::{Draft, StoreError};

/// Bytes of an id, a key, a partition: the longest resource id is far below.
const LONGEST_ID: usize = 1024;
/// Bytes of a body.
const LONGEST_BODY: usize = 16 * 1024 * 1024;
/// Documents in one `create_all`.
const MOST_DRAFTS: usize = 1000;

pub(crate) fn id(id: &str) -> Result<(), StoreError> {
    if is_name(id) { Ok(()) } else { Err(StoreError::BadCall("an id is 1 to 1024 bytes, lower case")) }
}

pub(crate) fn key(key: &str) -> Result<(), StoreError> {
    if is_name(key) {
        Ok(())
    } else {
        Err(StoreError::BadCall("a unique key is 1 to 1024 bytes, lower case"))
    }
}

pub(crate) fn draft(draft: &Draft) -> Result<(), StoreError> {
    id(&draft.id)?;
    draft.unique_key.as_deref().map_or(Ok(()), key)?;
    if draft.partition.len() > LONGEST_ID {
        return Err(StoreError::BadCall("a partition is at most 1024 bytes"));
    }
    // PostgreSQL keeps no NUL in a text, and JSON has none.
    if draft.partition.contains('\0') || draft.body.contains('\0') {
        return Err(StoreError::BadCall("a partition or a body holds a NUL"));
    }
    if draft.body.len() > LONGEST_BODY {
        return Err(StoreError::BadCall("a body is at most 16 MiB"));
    }
    Ok(())
}

pub(crate) fn drafts(drafts: &[Draft]) -> Result<(), StoreError> {
    if drafts.len() > MOST_DRAFTS {
        return Err(StoreError::BadCall("at most 1000 documents are created at once"));
    }
    drafts.iter().try_for_each(draft)
}

pub(crate) fn limit(limit: u32) -> Result<(), StoreError> {
    if (1..=1000).contains(&limit) { Ok(()) } else { Err(StoreError::BadCall("a limit is 1 to 1000")) }
}

pub(crate) fn cursor(cursor: i64) -> Result<(), StoreError> {
    if cursor >= 0 { Ok(()) } else { Err(StoreError::BadCall("a cursor is not negative")) }
}

/// After every text that starts so, as bytes and as code points compare.
pub(crate) fn end_of(prefix: &str) -> String {
    format!("{prefix}{}", char::MAX)
}

fn is_name(text: &str) -> bool {
    (1..=LONGEST_ID).contains(&text.len()) && !text.chars().any(|each| each.is_uppercase() || each == '\0')
}
