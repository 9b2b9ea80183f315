//! What the log answers when it cannot do what was asked.

use rp_database::StoreError;

/// A call that failed.
#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    /// The log cannot be written now. Trying again may help.
    #[error("the audit log cannot be written now")]
    Unavailable,
    /// The log was closed: the process stops.
    #[error("the audit log is closed")]
    Closed,
    /// The store failed while the log was opened or read.
    #[error("the audit store failed")]
    Store(#[from] StoreError),
    /// The key that signs checkpoints cannot be had.
    #[error("the checkpoint key {what}")]
    Key {
        what: &'static str,
        #[source]
        cause: Option<std::io::Error>,
    },
    /// The continuation is not one that a search gave for this query.
    #[error("not a continuation of this search")]
    Continuation,
    /// The continuation is too old.
    #[error("the continuation has expired: search again")]
    ContinuationExpired,
    /// A copy of the log takes nothing, and its policy is to refuse.
    #[error("the audit sink {0} takes no entries, and so nothing is done that needs one")]
    Sink(String),
    /// An entry cannot be written as JSON.
    #[error("an entry cannot be written as JSON")]
    Json(#[from] serde_json::Error),
}
