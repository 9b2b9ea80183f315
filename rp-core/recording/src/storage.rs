//! Where containers stand. Those in blobs of Azure: `rp-recording-blobs`.

mod disk;

use std::fmt::Debug;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use rp_base::Id;

pub use disk::DiskStorage;

/// A storage that many parts share.
pub type SharedStorage = Arc<dyn Storage>;

/// The storage did not do it.
#[derive(Debug, thiserror::Error)]
pub enum StorageError {
    #[error("the disk for recordings is full")]
    Full,
    #[error("cannot {what}")]
    Disk {
        what: &'static str,
        #[source]
        cause: std::io::Error,
    },
    #[error("the blob storage refuses")]
    Blob(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// Another process wrote to our recording.
    #[error("the recording is not as it was left")]
    Changed,
}

/// Holds containers, which grow at their end and are never changed.
#[async_trait]
pub trait Storage: Send + Sync + Debug + 'static {
    /// Makes an empty container.
    ///
    /// # Errors
    /// [`StorageError`].
    async fn create(&self, id: &Id) -> Result<Box<dyn Appender>, StorageError>;

    /// Reads a container from its begin; `None`: there is none.
    ///
    /// # Errors
    /// [`StorageError`].
    async fn open(&self, id: &Id) -> Result<Option<Box<dyn Source>>, StorageError>;

    /// Removes a container; one that is not there is removed.
    ///
    /// # Errors
    /// [`StorageError`].
    async fn remove(&self, id: &Id) -> Result<(), StorageError>;

    /// Whether no other process writes here while this one lives: so a recording that has no end and is older has no
    /// writer.
    fn is_ours_alone(&self) -> bool {
        false
    }
}

/// The end of one container.
#[async_trait]
pub trait Appender: Send + Debug {
    /// Adds a chunk; it is there for certain when this returns. After an error nothing of it is there, or the
    /// container's end is torn.
    ///
    /// # Errors
    /// [`StorageError`].
    async fn append(&mut self, chunk: Bytes) -> Result<(), StorageError>;
}

/// A container being read.
#[async_trait]
pub trait Source: Send + Debug {
    /// The next bytes, cut anywhere; `None` at the end.
    ///
    /// # Errors
    /// [`StorageError`].
    async fn piece(&mut self) -> Result<Option<Bytes>, StorageError>;
}
