//! Bounded queue of lines to send: when it is full the oldest lines are dropped; callers never wait.

use std::collections::VecDeque;

use parking_lot::Mutex;
use rp_base::Timestamp;
use tokio::sync::{Notify, watch};

/// One line with its line feed.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) at: Timestamp,
    pub(super) text: Box<str>,
    /// Sequence number over all lines ever pushed, from 1.
    number: u64,
}

#[derive(Debug)]
pub(super) struct Queue {
    state: Mutex<State>,
    most: usize,
    wake: Notify,
    /// The sequence number of the last line that was sent or given up.
    done: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct State {
    lines: VecDeque<Line>,
    last: u64,
    closed: bool,
}

impl Queue {
    pub(super) fn new(most: usize) -> Self {
        let done = watch::Sender::new(0);
        Self { state: Mutex::default(), most: most.max(1), wake: Notify::new(), done }
    }

    /// Pushes lines. Returns how many old lines were dropped for them.
    pub(super) fn push(&self, at: Timestamp, lines: impl Iterator<Item = Box<str>>) -> usize {
        let mut state = self.state.lock();
        for text in lines {
            state.last += 1;
            let number = state.last;
            state.lines.push_back(Line { at, text, number });
        }
        let lost = state.lines.len().saturating_sub(self.most);
        state.lines.drain(..lost);
        drop(state);
        self.wake.notify_one();
        lost
    }

    /// Waits for lines and takes at most `most`; `None` when the queue is closed and empty.
    pub(super) async fn take(&self, most: usize) -> Option<VecDeque<Line>> {
        loop {
            {
                let mut state = self.state.lock();
                if !state.lines.is_empty() {
                    let count = most.min(state.lines.len());
                    return Some(state.lines.drain(..count).collect());
                }
                if state.closed {
                    return None;
                }
            }
            self.wake.notified().await;
        }
    }

    /// Puts unsent lines back at the front. Returns how many old lines were dropped.
    pub(super) fn put_back(&self, mut lines: VecDeque<Line>) -> usize {
        let mut state = self.state.lock();
        lines.append(&mut state.lines);
        let lost = lines.len().saturating_sub(self.most);
        lines.drain(..lost);
        state.lines = lines;
        lost
    }

    /// Marks this line and every earlier one as sent or given up, and wakes the waiters.
    pub(super) fn finished(&self, line: &Line) {
        self.done.send_replace(line.number);
    }

    /// Waits until every line pushed before is sent or given up, or the sender has ended.
    pub(super) async fn flushed(&self) {
        let last = self.state.lock().last;
        let mut done = self.done.subscribe();
        let _ = done.wait_for(|done| *done >= last).await;
    }

    pub(super) fn len(&self) -> usize {
        self.state.lock().lines.len()
    }

    /// No further lines will be pushed.
    pub(super) fn close(&self) {
        self.state.lock().closed = true;
        self.wake.notify_one();
    }

    /// Removes all lines. Returns how many there were.
    pub(super) fn clear(&self) -> usize {
        let lines = std::mem::take(&mut self.state.lock().lines);
        if let Some(last) = lines.back() {
            self.finished(last);
        }
        lines.len()
    }

    pub(super) fn is_closed(&self) -> bool {
        self.state.lock().closed
    }
}
