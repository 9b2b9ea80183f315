//! Where a search goes on: a position that only we can write, good for one query and one hour.

use std::time::Duration;

use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use rp_base::{Random, Timestamp, sha256};
use rp_database::{Draft, SharedStore, StoreError};
use rp_documents::Collection;

use crate::index::CURSOR_KEY;
use crate::{AuditError, Query};

/// How long a continuation is good for.
const LIFE: Duration = Duration::from_secs(3600);
/// Bytes of the code behind the text.
const CODE: usize = 16;
/// A continuation is far shorter.
const MOST: usize = 512;

/// Everything at this position and after it was looked at: position of a batch in the feed, number within the batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SearchPosition {
    pub(crate) seq: i64,
    pub(crate) at: u32,
    /// The stored part of the index to go on before; `None`: the search has not come to them.
    pub(crate) below: Option<u32>,
}

impl SearchPosition {
    /// Before everything.
    pub(crate) const START: Self = Self { seq: i64::MAX, at: u32::MAX, below: None };
}

/// Signs continuations; the same for all processes on one store.
#[derive(Debug)]
pub(crate) struct CursorKey(hmac::Key);

impl CursorKey {
    /// Reads the store's key, which the first process makes.
    pub(crate) async fn open(store: &SharedStore, random: &dyn Random) -> Result<Self, StoreError> {
        if let Some(key) = Self::read(store).await? {
            return Ok(key);
        }
        let mut bytes = [0u8; 32];
        random.fill(&mut bytes);
        let draft = Draft {
            id: CURSOR_KEY.to_owned(),
            partition: "key".to_owned(),
            unique_key: None,
            body: format!("\"{}\"", STANDARD_NO_PAD.encode(bytes)),
            expires_at: None,
        };
        match store.create(Collection::AuditIndex, draft).await {
            Ok(_) => Ok(Self::new(&bytes)),
            Err(exists @ StoreError::Exists { .. }) => Self::read(store).await?.ok_or(exists),
            Err(error) => Err(error),
        }
    }

    async fn read(store: &SharedStore) -> Result<Option<Self>, StoreError> {
        let stored = store.get(Collection::AuditIndex, CURSOR_KEY).await?;
        let text = stored.map(|stored| stored.body.trim_matches('"').to_owned());
        Ok(text.and_then(|text| STANDARD_NO_PAD.decode(text).ok()).map(|bytes| Self::new(&bytes)))
    }

    pub(crate) fn new(bytes: &[u8]) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, bytes))
    }

    /// A continuation of `query` at `place`.
    pub(crate) fn seal(&self, place: SearchPosition, query: &Query, now: Timestamp) -> String {
        let below = place.below.map_or_else(String::new, |below| below.to_string());
        let text = format!("{}.{}.{below}.{}.{}", place.seq, place.at, now.millis(), fingerprint(query));
        let code = hmac::sign(&self.0, text.as_bytes());
        let code = code.as_ref().get(..CODE).unwrap_or_default();
        URL_SAFE_NO_PAD.encode([code, text.as_bytes()].concat())
    }

    /// Reads what [`CursorKey::seal`] wrote for the same query.
    pub(crate) fn open_text(
        &self,
        text: &str,
        query: &Query,
        now: Timestamp,
    ) -> Result<SearchPosition, AuditError> {
        let forged = || AuditError::Continuation;
        let bytes = if text.len() > MOST { None } else { URL_SAFE_NO_PAD.decode(text).ok() };
        let bytes = bytes.ok_or_else(forged)?;
        let (code, text) = bytes.split_at_checked(CODE).ok_or_else(forged)?;
        let right = hmac::sign(&self.0, text);
        let right = right.as_ref().get(..CODE).unwrap_or_default();
        if aws_lc_rs::constant_time::verify_slices_are_equal(code, right).is_err() {
            return Err(forged());
        }
        let text = std::str::from_utf8(text).map_err(|_| forged())?;
        let parts: Vec<&str> = text.split('.').collect();
        let [seq, at, below, made, of] = parts.as_slice() else { return Err(forged()) };
        if *of != fingerprint(query) {
            return Err(forged());
        }
        let made = Timestamp::from_millis(made.parse().map_err(|_| forged())?);
        if now.since(made) > LIFE {
            return Err(AuditError::ContinuationExpired);
        }
        Ok(SearchPosition {
            seq: seq.parse().map_err(|_| forged())?,
            at: at.parse().map_err(|_| forged())?,
            below: if below.is_empty() { None } else { Some(below.parse().map_err(|_| forged())?) },
        })
    }
}

/// Of what was asked for; how much at once does not matter.
fn fingerprint(query: &Query) -> String {
    let Query { person, target, verb, text, grant, filter, from, to, limit: _, continuation: _ } = query;
    let filter = filter.map_or("", |filter| filter.name);
    let all = format!("{person:?}{target:?}{verb:?}{text:?}{grant:?}{filter}{from:?}{to:?}");
    sha256(all.as_bytes()).to_string().chars().take(16).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ours_for_the_same_query_within_the_hour() {
        let (key, other) = (CursorKey::new(&[7; 32]), CursorKey::new(&[8; 32]));
        let query = Query { verb: Some("get".to_owned()), limit: 5, ..Query::default() };
        let now = Timestamp::from_seconds(1_800_000_000);
        for place in
            [SearchPosition { seq: 17, at: 3, below: None }, SearchPosition { seq: 1, at: 0, below: Some(4) }]
        {
            let text = key.seal(place, &query, now);
            let more = Query { limit: 50, continuation: Some(text.clone()), ..query.clone() };
            assert_eq!(key.open_text(&text, &more, now + LIFE).unwrap(), place);
            let late = key.open_text(&text, &query, now + LIFE + Duration::from_secs(1));
            assert!(matches!(late, Err(AuditError::ContinuationExpired)));
            let forged = |result| matches!(result, Err(AuditError::Continuation));
            assert!(forged(key.open_text(&text, &Query::default(), now)));
            assert!(forged(other.open_text(&text, &query, now)));
            assert!(forged(key.open_text(&text[..text.len() - 2], &query, now)));
            assert!(forged(key.open_text(&format!("A{}", &text[1..]), &query, now)));
        }
        for wrong in ["", "nonsense", "AAAA", &"A".repeat(10_000)] {
            assert!(matches!(key.open_text(wrong, &query, now), Err(AuditError::Continuation)), "{wrong}");
        }
    }
}
