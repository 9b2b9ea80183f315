//! The far side of a terminal: bytes in, bytes and an end out, whatever carries them.

use std::future::Future;

use bytes::Bytes;
use rp_documents::Side;
use tokio::sync::mpsc;

use super::frames::Size;

/// Pieces that may wait on either way.
const WAITING: usize = 4;

/// For the far side.
#[derive(Debug)]
pub(super) enum Input {
    Bytes(Bytes),
    Size(Size),
}

/// From the far side.
#[derive(Debug)]
pub(super) enum Output {
    Bytes(Bytes),
    /// The last one.
    Ended(End),
}

/// How a program ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct End {
    pub(super) code: Option<i32>,
    pub(super) signal: Option<String>,
    /// A sentence for the person; never empty.
    pub(super) words: String,
    /// Whose fault it is when it is one.
    pub(super) side: Option<Side>,
}

impl End {
    pub(super) fn code(code: i32) -> Self {
        let words = match code {
            0 => "The shell has ended.".to_owned(),
            code => format!("The shell has ended with exit code {code}."),
        };
        Self { code: Some(code), signal: None, words, side: None }
    }

    pub(super) fn signal(name: &str) -> Self {
        let name = rp_base::text::clean(name, 20);
        Self {
            code: None,
            words: format!("The shell was ended by signal {name}."),
            signal: Some(name),
            side: None,
        }
    }

    /// The far side went without a word.
    pub(super) fn broken(words: impl Into<String>) -> Self {
        Self { code: None, signal: None, words: words.into(), side: Some(Side::Cluster) }
    }

    /// For a recording.
    pub(super) fn outcome(&self) -> String {
        match (&self.code, &self.signal) {
            (Some(code), _) => format!("exit {code}"),
            (None, Some(signal)) => format!("signal {signal}"),
            (None, None) => "broke off".to_owned(),
        }
    }
}

/// Both ways to the far side. When they are dropped, whoever carries the bytes ends by itself, so that it can still
/// say how.
#[derive(Debug)]
pub(super) struct Far {
    pub(super) input: mpsc::Sender<Input>,
    pub(super) output: mpsc::Receiver<Output>,
}

/// The other ends, for whoever carries the bytes.
pub(super) struct Carried {
    pub(super) input: mpsc::Receiver<Input>,
    pub(super) output: mpsc::Sender<Output>,
}

impl Far {
    /// Runs what carries the bytes, which ends when its ends of the channels are closed.
    pub(super) fn spawn<F>(carry: impl FnOnce(Carried) -> F) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (input, from_person) = mpsc::channel(WAITING);
        let (to_person, output) = mpsc::channel(WAITING);
        tokio::spawn(carry(Carried { input: from_person, output: to_person }));
        Self { input, output }
    }
}
