//! The end of a session.

use std::time::Duration;

use tokio_tungstenite::tungstenite::Message;

use super::{Session, SessionParts};
use crate::terminal::frames::ToPage;

/// A last frame waits so long for a browser that does not read.
const FAREWELL: Duration = Duration::from_secs(2);

/// Why a session is over.
#[derive(Debug)]
pub(super) enum SessionEnd {
    /// The program has ended, and the browser knows.
    Ended,
    /// The person left.
    Left,
    /// No connection came in time.
    Forgotten,
    Cut {
        code: &'static str,
        words: String,
    },
}

/// How a session ended, for later resume attempts.
#[derive(Debug)]
pub(in crate::terminal) struct CloseReason {
    /// One word, for metrics.
    pub(in crate::terminal) word: &'static str,
    /// A sentence for a browser that comes too late.
    pub(in crate::terminal) words: String,
}

impl Session {
    /// Tells the browser, ends the remote end, and closes the recording.
    pub(super) async fn close(mut self, over: SessionEnd) -> CloseReason {
        let ended = self.end.as_ref().map(|end| (end.outcome(), end.words.clone()));
        let (outcome, closed) = match (&over, ended) {
            (SessionEnd::Ended | SessionEnd::Forgotten, Some((outcome, words))) => {
                (outcome, CloseReason { word: "ended", words })
            }
            (SessionEnd::Ended | SessionEnd::Left, _) => {
                ("left".to_owned(), CloseReason { word: "left", words: "You left this session.".to_owned() })
            }
            (SessionEnd::Forgotten, None) => {
                let words =
                    format!("It waited {} s for this page, then it was ended.", self.parts.grace.as_secs());
                ("the browser was away".to_owned(), CloseReason { word: "forgotten", words })
            }
            (SessionEnd::Cut { code, words, .. }, _) => {
                ((*code).to_owned(), CloseReason { word: "cut", words: words.clone() })
            }
        };
        if let (SessionEnd::Cut { code, words }, Some(connection)) = (&over, &self.connection) {
            let said = Message::text(ToPage::Cut { code, words }.text());
            let _ = tokio::time::timeout(FAREWELL, connection.to.send(said)).await;
        }
        if let Some(stage) = &self.parts.stage {
            stage.over();
        }
        // The far side learns of the end, and the browser's connection is closed, before the recording is.
        self.connection = None;
        let SessionParts { recorder, far, open, .. } = self.parts;
        drop((far, open));
        if let Some(recorder) = recorder {
            recorder.finish(&outcome).await;
        }
        closed
    }
}
