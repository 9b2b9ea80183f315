//! What a store can answer besides the answer.

use rp_documents::Collection;

/// A store call that gave nothing.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// `create`: a living document has the id or the unique key.
    #[error("{} already has a document with this {which}", collection.name())]
    Exists { collection: Collection, which: &'static str },
    /// `replace`, `delete`: no such document.
    #[error("{} has no such document", collection.name())]
    Gone { collection: Collection },
    /// `replace`, `delete`: somebody wrote after the version that was read.
    #[error("the document in {} was changed by somebody else", collection.name())]
    Stale { collection: Collection },
    /// The stored JSON does not have the document's shape.
    #[error("the document {id} in {} cannot be read", collection.name())]
    Malformed {
        collection: Collection,
        id: String,
        #[source]
        cause: serde_json::Error,
    },
    /// Another process holds the store.
    #[error("the store is held by {}", .pid.map_or_else(|| "another process".to_owned(), |pid| format!("process {pid}")))]
    Held {
        /// Its id, as it noted it in the lock file.
        pid: Option<u32>,
    },
    /// The store cannot answer now; trying again may help. Nothing was written, unless the cause says that the
    /// outcome of a commit is not known (a server that went away while it committed).
    #[error("the store did not answer")]
    Unavailable(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// No space: nothing was written.
    #[error("the store's disk is full")]
    Full,
    /// The store was closed.
    #[error("the store is closed")]
    Closed,
    /// A mistake of ours: an id that is not lower case, a continuation that we did not make, a limit out of range.
    #[error("bad call: {0}")]
    BadCall(&'static str),
}
