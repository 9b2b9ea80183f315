//! How one collector ended.

use std::time::Duration;

use rp_documents::health::CollectorResult;

/// One collector of one look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CollectorOutcome {
    pub name: &'static str,
    /// Cleaned and bounded; no secret is in it.
    pub error: Option<String>,
    /// Duration including the reads it waits for; `None`: the deadline had passed before it began.
    pub took: Option<Duration>,
}

impl CollectorOutcome {
    /// As it is stored.
    pub fn result(&self) -> CollectorResult {
        CollectorResult {
            name: self.name.to_owned(),
            error: self.error.clone(),
            took_ms: self.took.map(|took| u64::try_from(took.as_millis()).unwrap_or(u64::MAX)),
        }
    }
}
