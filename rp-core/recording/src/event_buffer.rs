//! Recorded lines that are in no chunk yet. A session writes its lines directly into this buffer, so there is no queue
//! of events and no task is woken for each event; the recording's task takes them a chunk at a time.

use std::mem::{replace, take};
use std::pin::pin;

use parking_lot::Mutex;
use rp_base::Timestamp;
use tokio::sync::Notify;

use crate::StreamKind;
use crate::cast::Encoder;

/// A chunk is made when its lines have grown to this, bytes. With one event more it is what a recording holds in
/// memory, and once more while a chunk is stored.
pub(crate) const FULL: usize = 64 * 1024;

/// An event to record.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Event<'a> {
    Wrote(StreamKind, &'a [u8]),
    /// Another code of the format, and its data.
    Other(&'static str, &'a str),
}

/// Why an event was not recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WriteRefusal {
    /// There is no room now: try again.
    Full,
    /// The recording has ended.
    Closed,
}

/// What the recording's task has to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PendingWork {
    Nothing,
    /// There are lines.
    Soon,
    /// As many as a chunk takes.
    Now,
    /// The session is over.
    End,
}

/// Bytes that were recorded since the last take.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ByteCounts {
    pub(crate) all: u64,
    /// To the person.
    pub(crate) output: u64,
}

/// Shared by a session and its recording's task.
#[derive(Debug)]
pub(crate) struct EventBuffer {
    held: Mutex<BufferState>,
    /// For the task: the result of [`EventBuffer::due`] may have changed.
    news: Notify,
    /// For the session: lines were taken away, or no more are.
    room: Notify,
}

#[derive(Debug)]
struct BufferState {
    encoder: Encoder,
    lines: Vec<u8>,
    passed: ByteCounts,
    outcome: Option<String>,
    closed: bool,
}

impl EventBuffer {
    /// With the lines that a recording begins with.
    pub(crate) fn new(encoder: Encoder, lines: Vec<u8>) -> Self {
        let held =
            BufferState { encoder, lines, passed: ByteCounts::default(), outcome: None, closed: false };
        Self { held: Mutex::new(held), news: Notify::new(), room: Notify::new() }
    }

    /// Takes an event down if there is room.
    pub(crate) fn try_write(&self, at: Timestamp, event: Event<'_>) -> Result<(), WriteRefusal> {
        let mut held = self.held.lock();
        let before = held.lines.len();
        if held.closed || held.outcome.is_some() {
            return Err(WriteRefusal::Closed);
        }
        if before >= FULL {
            return Err(WriteRefusal::Full);
        }
        held.take_down(at, event);
        let after = held.lines.len();
        drop(held);
        if before == 0 && after > 0 || after >= FULL {
            self.news.notify_one();
        }
        Ok(())
    }

    /// Takes an event down as soon as there is room; `Err`: no more are taken.
    pub(crate) async fn write(&self, at: Timestamp, event: Event<'_>) -> Result<(), WriteRefusal> {
        loop {
            let mut room = pin!(self.room.notified());
            // From here on nothing is missed.
            room.as_mut().enable();
            match self.try_write(at, event) {
                Err(WriteRefusal::Full) => room.await,
                settled => return settled,
            }
        }
    }

    /// The session is over, with this outcome; the first call counts.
    pub(crate) fn finish(&self, outcome: &str) {
        self.held.lock().outcome.get_or_insert_with(|| outcome.to_owned());
        self.news.notify_one();
    }

    /// Ends when there may be something new to do.
    pub(crate) async fn news(&self) {
        self.news.notified().await;
    }

    pub(crate) fn due(&self) -> PendingWork {
        let held = self.held.lock();
        match held.lines.len() {
            _ if held.outcome.is_some() => PendingWork::End,
            0 => PendingWork::Nothing,
            length if length < FULL => PendingWork::Soon,
            _ => PendingWork::Now,
        }
    }

    /// Takes the lines and puts `empty` in their place.
    pub(crate) fn take(&self, empty: Vec<u8>) -> (Vec<u8>, ByteCounts) {
        let mut held = self.held.lock();
        let taken = (replace(&mut held.lines, empty), take(&mut held.passed));
        drop(held);
        self.room.notify_waiters();
        taken
    }

    /// No more events; writes how the session ended, and gives it.
    pub(crate) fn end(&self, at: Timestamp) -> String {
        let mut held = self.held.lock();
        let outcome = held.outcome.clone().unwrap_or_default();
        held.closed = true;
        held.finish(at, &outcome);
        drop(held);
        self.room.notify_waiters();
        outcome
    }

    /// No more events, and those that wait are lost; gives how many bytes they were.
    pub(crate) fn give_up(&self) -> u64 {
        let mut held = self.held.lock();
        held.closed = true;
        held.lines = Vec::new();
        let lost = take(&mut held.passed).all;
        drop(held);
        self.room.notify_waiters();
        lost
    }
}

impl BufferState {
    fn take_down(&mut self, at: Timestamp, event: Event<'_>) {
        match event {
            Event::Wrote(what, bytes) => {
                self.encoder.wrote(at, what, bytes, &mut self.lines);
                self.passed.all += bytes.len() as u64;
                if what != StreamKind::Input {
                    self.passed.output += bytes.len() as u64;
                }
            }
            Event::Other(code, data) => self.encoder.event(at, code, data, &mut self.lines),
        }
    }

    fn finish(&mut self, at: Timestamp, outcome: &str) {
        self.encoder.finish(at, &mut self.lines);
        self.encoder.event(at, "m", outcome, &mut self.lines);
        // The format knows an exit status only.
        if let Some(status) = outcome.strip_prefix("exit ") {
            self.encoder.event(at, "x", status, &mut self.lines);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::cast::Header;

    const AT: Timestamp = Timestamp::from_millis(0);

    fn tape() -> EventBuffer {
        let (mut lines, header) =
            (Vec::new(), Header { started: AT, size: (80, 24), term: None, title: "t", command: &[] });
        let encoder = Encoder::new(&header, &mut lines);
        EventBuffer::new(encoder, lines)
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_session_waits_for_room_and_each_event_is_taken_once() {
        const EVENTS: usize = 20_000;
        let tape = Arc::new(tape());
        let session = tokio::spawn({
            let tape = Arc::clone(&tape);
            async move {
                for n in 0..EVENTS {
                    let text = format!("{n} {}", "x".repeat(n % 700));
                    let event = Event::Wrote(StreamKind::Output, text.as_bytes());
                    tape.write(AT, event).await.unwrap();
                }
                tape.finish("exit 0");
            }
        });
        let (mut all, mut passed) = (Vec::new(), 0);
        loop {
            tape.news().await;
            let due = tape.due();
            if due == PendingWork::End {
                assert_eq!(tape.end(AT), "exit 0");
            } else if due != PendingWork::Now {
                continue;
            }
            let (lines, more) = tape.take(Vec::new());
            assert!(lines.len() < FULL + 2048, "{}", lines.len());
            all.extend(lines);
            passed += more.output;
            if due == PendingWork::End {
                break;
            }
        }
        session.await.unwrap();
        let numbers: Vec<usize> = String::from_utf8(all)
            .unwrap()
            .lines()
            .filter_map(|line| serde_json::from_str::<(f64, String, String)>(line).ok())
            .filter(|(_, code, _)| code == "o")
            .map(|(_, _, text)| {
                passed -= text.len() as u64;
                text.split(' ').next().unwrap().parse().unwrap()
            })
            .collect();
        assert!(numbers.iter().copied().eq(0..EVENTS));
        assert_eq!(passed, 0);
    }

    #[tokio::test]
    async fn nothing_is_taken_down_after_the_end_and_whoever_waits_is_told() {
        let tape = tape();
        let long = vec![b'x'; FULL];
        tape.write(AT, Event::Wrote(StreamKind::Output, &long)).await.unwrap();
        assert_eq!(tape.due(), PendingWork::Now);
        assert_eq!(tape.try_write(AT, Event::Other("m", "more")), Err(WriteRefusal::Full));
        let (waited, lost) =
            tokio::join!(tape.write(AT, Event::Other("m", "more")), async { tape.give_up() });
        assert_eq!((waited, lost), (Err(WriteRefusal::Closed), FULL as u64));
        tape.finish("exit 0");
        tape.finish("cut");
        assert_eq!((tape.due(), tape.end(AT).as_str()), (PendingWork::End, "exit 0"));
    }
}
