//! Recordings of sessions: asciicast v3 in sealed chunks that form a chain, on disk or blob storage, with retention
//! and search over their text.
//!
//! A session begins one with [`Recordings::begin`] and tells the [`Recorder`] what passes. A task of its own writes:
//! a chunk at the latest [`EVERY`] after its first event, so that an end in the middle loses no more than that.
//! Whoever watches opens one with [`Recordings::open`]; every chunk is checked as it is read.

mod cast;
mod conclude;
mod error;
mod frame;
mod list;
mod metrics;
mod options;
mod plain;
mod reader;
mod recorder;
mod recordings;
mod search;
mod storage;
mod sweep;
mod tape;
#[cfg(test)]
mod tests;
mod writer;

pub use cast::What;
pub use error::{ReadError, RecordError};
pub use frame::{Chunk, Fault};
pub use list::{Listed, Listing, State};
pub use metrics::register as register_metrics;
pub use options::{Options, Parts, Policy};
pub use reader::Reader;
pub use recorder::Recorder;
pub use recordings::{Recordings, Start};
pub use search::{Hit, Search, Searched};
pub use storage::{Appender, BlobHome, Disk, SharedStorage, Source, Storage, StorageError};
pub use writer::EVERY;
