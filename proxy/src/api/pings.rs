//! Answers the pings of a WebSocket client in the cluster's place while output of the cluster is on its way.
//!
//! An API server closes the connection of a session that ended while output still waits in the kernel's queue. What reaches
//! it after that resets the connection, and the kernel drops the queue: a client's ping would cost the end of the output.
//! While output passes, it proves by itself that the cluster lives. A ping of a quiet session goes to the cluster.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;
use tokio::sync::Notify;

use super::web_socket::{FrameHead, Frames, only_pings, pong};

/// What both directions of a session know of its pings.
#[derive(Debug, Default)]
pub(super) struct Pings {
    /// The frame that the client is to get; a newer one takes its place (RFC 6455 §5.5.3).
    due: Mutex<Option<Vec<u8>>>,
    wake: Notify,
    /// Bytes that the client has got.
    passed: AtomicU64,
    /// The client has not taken yet what was read for it.
    writing: AtomicBool,
}

impl Pings {
    pub(super) fn passed(&self, bytes: usize) {
        self.passed.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(super) fn set_writing(&self, writing: bool) {
        self.writing.store(writing, Ordering::Relaxed);
    }

    pub(super) fn is_due(&self) -> bool {
        self.due.lock().is_some()
    }

    pub(super) fn take(&self) -> Option<Vec<u8>> {
        self.due.lock().take()
    }

    /// Until an answer is due.
    pub(super) async fn due(&self) {
        while !self.is_due() {
            self.wake.notified().await;
        }
    }
}

/// Reads what the client sends.
#[derive(Debug)]
pub(super) struct PingReader {
    pings: Arc<Pings>,
    frames: Frames,
    /// What the client had got at its last ping; the first of a session is answered like one after output, for output may
    /// have come that nobody has read yet.
    before: Option<u64>,
}

impl PingReader {
    pub(super) fn new(pings: Arc<Pings>) -> Self {
        Self { pings, frames: Frames::default(), before: None }
    }

    /// Whether these bytes are pings alone and were answered; then they go no further.
    pub(super) fn answers(&mut self, bytes: &[u8]) -> bool {
        let asked = if self.frames.are_whole() { only_pings(bytes) } else { None };
        if let Some(payload) = asked
            && self.has_output()
        {
            *self.pings.due.lock() = Some(pong(&payload));
            self.pings.wake.notify_one();
            return true;
        }
        self.frames.pass(bytes, |head| FrameHead::read(head).map(|head| head.length));
        false
    }

    /// Output has passed since the last ping, or waits for the client.
    fn has_output(&mut self) -> bool {
        let passed = self.pings.passed.load(Ordering::Relaxed);
        let before = self.before.replace(passed);
        before != Some(passed) || self.pings.writing.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PING: [u8; 6] = [0x89, 0x80, 1, 2, 3, 4];

    #[test]
    fn pings_are_answered_while_output_passes_and_else_go_to_the_cluster() {
        let pings = Arc::new(Pings::default());
        let mut reader = PingReader::new(Arc::clone(&pings));
        assert!(reader.answers(&PING) && pings.take().is_some(), "the first");
        assert!(!reader.answers(&PING) && !pings.is_due(), "a quiet session");
        pings.passed(7);
        assert!(reader.answers(&PING));
        assert_eq!(pings.take(), Some(vec![0x8a, 0]));
        assert!(!reader.answers(&PING), "nothing has passed since");
        pings.set_writing(true);
        assert!(reader.answers(&PING), "the client does not take what there is");
    }

    #[test]
    fn what_looks_like_a_ping_inside_of_a_message_is_input() {
        let pings = Arc::new(Pings::default());
        let mut reader = PingReader::new(Arc::clone(&pings));
        pings.set_writing(true);
        // A message of seven bytes whose payload is a ping's frame.
        assert!(!reader.answers(&[0x82, 0x87, 0, 0, 0, 0, 0]));
        assert!(!reader.answers(&PING) && !pings.is_due());
        assert!(reader.answers(&PING), "behind its end");
    }
}
