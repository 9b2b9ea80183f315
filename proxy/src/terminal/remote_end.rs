//! The remote end of a terminal: bytes in, bytes and an exit status out, independent of the transport.

use std::future::Future;

use bytes::Bytes;
use rp_documents::Side;
use tokio::sync::mpsc;

use super::frames::Size;

/// Chunks that may wait in each direction.
const WAITING: usize = 4;

/// Input for the remote end.
#[derive(Debug)]
pub(super) enum Input {
    Bytes(Bytes),
    Size(Size),
}

/// Output of the remote end.
#[derive(Debug)]
pub(super) enum Output {
    Bytes(Bytes),
    /// The last one.
    Ended(ProgramExit),
}

/// How a program ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ProgramExit {
    pub(super) code: Option<i32>,
    pub(super) signal: Option<String>,
    /// A sentence for the person; never empty.
    pub(super) words: String,
    /// The side at fault, if it is a failure.
    pub(super) side: Option<Side>,
}

impl ProgramExit {
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

    /// The remote end closed without an exit status.
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

/// Both directions to the remote end. When they are dropped, the copying task ends by itself, so that it can still
/// report how.
#[derive(Debug)]
pub(super) struct RemoteEnd {
    pub(super) input: mpsc::Sender<Input>,
    pub(super) output: mpsc::Receiver<Output>,
}

/// The channel ends of the copying task.
pub(super) struct RemoteChannels {
    pub(super) input: mpsc::Receiver<Input>,
    pub(super) output: mpsc::Sender<Output>,
}

impl RemoteEnd {
    /// Spawns the copying task; it ends when its channels are closed.
    pub(super) fn spawn<F>(carry: impl FnOnce(RemoteChannels) -> F) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (input, from_person) = mpsc::channel(WAITING);
        let (to_person, output) = mpsc::channel(WAITING);
        tokio::spawn(carry(RemoteChannels { input: from_person, output: to_person }));
        Self { input, output }
    }
}
