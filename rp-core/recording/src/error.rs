//! Why something is not recorded, or cannot be read.

use std::sync::Arc;

use rp_database::StoreError;
use rp_seal::SealError;

use crate::StorageError;

/// The session must be recorded (policy `required`) and cannot be. Cheap to clone.
#[derive(Debug, Clone, thiserror::Error)]
pub enum RecordError {
    /// The chunks cannot be stored.
    #[error("this session must be recorded, and its recording cannot be stored")]
    Storage(#[source] Arc<StorageError>),
    /// The document cannot be stored.
    #[error("this session must be recorded, and the store does not take its recording")]
    Store(#[source] Arc<StoreError>),
    /// A chunk cannot be sealed.
    #[error("this session must be recorded, and its recording cannot be sealed")]
    Seal(#[source] Arc<SealError>),
    /// The storage took longer than a session can wait.
    #[error("this session must be recorded, and its recording is not stored in time")]
    Late,
    /// The grant names no cluster.
    #[error("this session must be recorded, and its grant names no cluster")]
    NoTarget,
    /// What passes cannot be read for the recording.
    #[error("this session must be recorded, and what passes cannot be read: {0}")]
    Unreadable(&'static str),
    /// The recording has ended.
    #[error("this session must be recorded, and its recording has ended")]
    Ended,
}

/// A recording cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("no such recording")]
    Unknown,
    /// Nothing is configured that holds recordings.
    #[error("recordings are not kept here")]
    NotKept,
    #[error("the store does not answer")]
    Store(#[from] StoreError),
    #[error("the recording's key cannot be opened")]
    Seal(#[from] SealError),
    #[error("the recording's chunks cannot be read")]
    Storage(#[from] StorageError),
    /// A place to go on from that we did not give.
    #[error("there is nothing to go on from there")]
    Continuation,
}
