//! The idle limit of shells with a terminal: typing counts, output does not, and the person is told before.

use std::future::pending;
use std::time::Duration;

use bytes::Bytes;
use parking_lot::Mutex;
use russh::{ChannelWriteHalf, server};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use super::banner;
use crate::idle::{IdleEvent, IdleTimer, words};

/// Timeout for writing a message to a client that does not read.
const WORDS_WITHIN: Duration = Duration::from_secs(2);

/// The idle limit of one channel. It applies only after a terminal was requested.
#[derive(Debug)]
pub(super) struct IdleWatch {
    limit: Duration,
    idle: Mutex<Option<IdleTimer>>,
    begun: Notify,
}

impl IdleWatch {
    /// A limit of zero is none.
    pub(super) fn new(limit: Duration) -> Self {
        Self { limit, idle: Mutex::default(), begun: Notify::new() }
    }

    /// The channel has a terminal from now on.
    pub(super) fn begin(&self) {
        *self.idle.lock() = Some(IdleTimer::new(self.limit, Instant::now()));
        self.begun.notify_one();
    }

    pub(super) fn typed(&self) {
        if let Some(idle) = self.idle.lock().as_mut() {
            idle.typed(Instant::now());
        }
    }

    /// Tells the person when the end is near; resolves when it is there.
    pub(super) async fn over(&self, person: &ChannelWriteHalf<server::Msg>) {
        loop {
            // Typing only moves the deadline back: after an early wake-up the loop checks again.
            let next = self.idle.lock().as_ref().map(IdleTimer::next);
            match next {
                None => self.begun.notified().await,
                Some(None) => pending().await,
                Some(Some(at)) => sleep_until(at).await,
            }
            let due = self.idle.lock().as_mut().and_then(|idle| idle.due(Instant::now()));
            match due {
                Some(IdleEvent::Tell { left }) => {
                    let passed = words(self.limit.saturating_sub(left));
                    let text = format!(
                        "nothing was typed for {passed}; this session ends in {} unless you type",
                        words(left)
                    );
                    say(person, &text).await;
                }
                Some(IdleEvent::End) => {
                    let text =
                        format!("nothing was typed for {}, so this session has ended", words(self.limit));
                    return say(person, &text).await;
                }
                None => {}
            }
        }
    }
}

async fn say(person: &ChannelWriteHalf<server::Msg>, text: &str) {
    let line = Bytes::from(format!("\r\n{}", banner::line(text)));
    let _ = tokio::time::timeout(WORDS_WITHIN, person.extended_data_bytes(1, line)).await;
}
