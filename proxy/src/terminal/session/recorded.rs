//! What a session gives to its recording.

use bytes::Bytes;
use rp_recording::{Recorder, StreamKind};

use super::{Session, SessionEnd};
use crate::terminal::frames::Size;

/// An event of a session as its recording has it.
pub(super) enum RecordedEvent {
    Output(Bytes),
    Input(Bytes),
    Size(Size),
    Mark(String),
}

impl Session {
    /// Records an event; a session that must be recorded and cannot be is over. A slow recorder slows this session alone.
    pub(super) async fn record(&mut self, what: RecordedEvent) -> Option<SessionEnd> {
        let recorder = self.parts.recorder.clone()?;
        let writing = async {
            match what {
                RecordedEvent::Output(bytes) => recorder.wrote(StreamKind::Output, &bytes).await,
                RecordedEvent::Input(bytes) => recorder.wrote(StreamKind::Input, &bytes).await,
                RecordedEvent::Size(size) => recorder.resized(size.cols, size.rows).await,
                RecordedEvent::Mark(words) => recorder.marked(&words).await,
            }
        };
        let written = tokio::select! {
            written = writing => written,
            () = self.parts.ended.cancelled() => return None,
        };
        let error = written.err()?;
        tracing::error!(error = %rp_base::chain(&error), "a terminal ends because it cannot be recorded");
        let words = "Cut: this session must be recorded, and the recording cannot be written.".to_owned();
        Some(SessionEnd::Cut { code: "recording", words })
    }
}

/// Resolves when a session that must be recorded is not any more.
pub(super) async fn unrecorded(recorder: Option<Recorder>) -> String {
    match recorder {
        Some(recorder) => format!("Cut: {}.", recorder.failed().await),
        None => std::future::pending().await,
    }
}
