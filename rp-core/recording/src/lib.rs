//! Recordings of sessions: asciicast v3 in sealed chunks that form a chain, on disk or blob storage, with retention
//! and search over their text.
//!
//! A session begins one with [`Recordings::begin`] and passes its events to the [`Recorder`]. A separate task writes:
//! a chunk at the latest [`EVERY`] after its first event, so that an end in the middle loses no more than that.
//! To watch one, open it with [`Recordings::open`]; every chunk is checked as it is read.

mod cast;
mod conclude;
mod error;
mod event_buffer;
mod frame;
#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzzing;
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
#[cfg(test)]
mod tests;
mod writer;

pub use cast::StreamKind;
pub use error::{ReadError, RecordError};
pub use frame::{Chunk, Fault};
pub use list::{RecordingList, RecordingQuery, RecordingState};
pub use metrics::register as register_metrics;
pub use options::{Options, RecordingParts};
pub use reader::Reader;
pub use recorder::Recorder;
pub use recordings::{Recordings, SessionStart};
pub use search::{Hit, SearchQuery, SearchResults};
pub use storage::{Appender, DiskStorage, SharedStorage, Source, Storage, StorageError};
pub use writer::EVERY;
