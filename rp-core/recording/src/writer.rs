//! The recording's own task: events into lines, lines into chunks, chunks into the storage, the end into the store and
//! the audit trail.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use rp_base::{Id, SharedClock, Timestamp, chain};
use rp_database::{StoreError, Typed, update};
use rp_documents::{Actor, Entry, Outcome, Phase, Recording, Side};
use rp_seal::DataKey;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, timeout};

use crate::cast::Encoder;
use crate::metrics::RecordingMetrics;
use crate::recorder::Message;
use crate::{Appender, RecordError, What, frame};

/// Longest that an event waits for its chunk.
pub const EVERY: Duration = Duration::from_millis(750);
/// How often the document says that the session runs.
pub(crate) const HEARD_EVERY: Duration = Duration::from_secs(60);
/// A chunk is made when its lines have grown to this, bytes.
const FULL: usize = 128 * 1024;

/// Writes one recording.
#[derive(Debug)]
pub(crate) struct Writer {
    pub(crate) documents: Typed<Recording>,
    pub(crate) audit: rp_audit::Audit,
    pub(crate) clock: SharedClock,
    pub(crate) metrics: RecordingMetrics,
    pub(crate) patience: Duration,
    pub(crate) key: DataKey,
    pub(crate) appender: Box<dyn Appender>,
    pub(crate) recording: Recording,
    pub(crate) encoder: Encoder,
    /// Lines that wait for their chunk.
    pub(crate) lines: Vec<u8>,
    pub(crate) broken: watch::Sender<Option<RecordError>>,
}

impl Writer {
    /// Makes a chunk of the lines and stores it.
    pub(crate) async fn flush(&mut self) -> Result<(), RecordError> {
        if self.lines.is_empty() {
            return Ok(());
        }
        let Recording { id, chunks, head, .. } = &self.recording;
        let (frame, digest) = frame::seal(&self.key, id, *chunks, *head, &self.lines)
            .map_err(|error| RecordError::Seal(Arc::new(error)))?;
        self.lines.clear();
        self.lines.shrink_to(2 * FULL);
        let (started, length) = (Instant::now(), frame.len() as u64);
        match timeout(self.patience, self.appender.append(Bytes::from(frame))).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => return Err(RecordError::Storage(Arc::new(error))),
            Err(_) => return Err(RecordError::Late),
        }
        self.metrics.append.observe_duration(started.elapsed());
        self.metrics.stored.add(length);
        self.recording.chunks += 1;
        self.recording.head = digest;
        Ok(())
    }

    /// Until the session ends, in whatever way.
    pub(crate) async fn run(mut self, mut queue: mpsc::Receiver<Message>) {
        let _open = self.metrics.open.track();
        let mut due = None;
        let mut heard = tokio::time::interval_at(Instant::now() + HEARD_EVERY, HEARD_EVERY);
        heard.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let (outcome, done) = loop {
            let flush = async move {
                match due {
                    Some(due) => tokio::time::sleep_until(due).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = flush => {
                    due = None;
                    if let Err(error) = self.flush().await {
                        return self.give_up(error, queue).await;
                    }
                }
                message = queue.recv() => match message {
                    None => break ("cut".to_owned(), None),
                    Some(Message::Finish(outcome, done)) => break (outcome, Some(done)),
                    Some(message) => {
                        self.take(&message);
                        if self.lines.len() >= FULL {
                            due = None;
                            if let Err(error) = self.flush().await {
                                return self.give_up(error, queue).await;
                            }
                        } else if !self.lines.is_empty() {
                            due.get_or_insert_with(|| Instant::now() + EVERY);
                        }
                    }
                },
                _ = heard.tick() => self.note().await,
            }
        };
        self.end(&outcome).await;
        queue.close();
        if let Some(done) = done {
            let _ = done.send(());
        }
        while let Some(message) = queue.recv().await {
            if let Message::Finish(_, done) = message {
                let _ = done.send(());
            }
        }
    }

    fn take(&mut self, message: &Message) {
        match message {
            Message::Wrote(at, what, bytes) => {
                self.encoder.wrote(*at, *what, bytes, &mut self.lines);
                self.metrics.recorded.add(bytes.len() as u64);
                if *what != What::Input {
                    self.recording.bytes += bytes.len() as u64;
                }
            }
            Message::Resized(at, cols, rows) => {
                self.encoder.event(*at, "r", &format!("{cols}x{rows}"), &mut self.lines);
            }
            Message::Marked(at, words) => self.encoder.event(*at, "m", words, &mut self.lines),
            Message::Finish(..) => {}
        }
    }

    /// The last chunk, then the document, then the audit trail.
    async fn end(&mut self, outcome: &str) {
        let now = self.clock.now();
        self.encoder.finish(now, &mut self.lines);
        self.encoder.event(now, "m", outcome, &mut self.lines);
        // The format knows an exit status only.
        if let Some(status) = outcome.strip_prefix("exit ") {
            self.encoder.event(now, "x", status, &mut self.lines);
        }
        if let Err(error) = self.flush().await {
            self.fail(&error);
        }
        self.conclude(now, outcome).await;
    }

    async fn conclude(&mut self, now: Timestamp, outcome: &str) {
        self.recording.ended = Some(now);
        self.recording.outcome = Some(outcome.to_owned());
        self.note().await;
        let word = if self.broken.borrow().is_some() { "failed" } else { "ok" };
        if let Err(error) = self.audit.queue(end_entry(&self.recording, now, word)).await {
            tracing::error!(recording = %self.recording.id, error = %chain(&error), "the end of a recording could not be audited");
        }
    }

    /// Brings the document up to what is certain.
    async fn note(&mut self) {
        self.recording.heard = self.clock.now();
        let kept = match timeout(self.patience, keep(&self.documents, &self.recording)).await {
            Ok(kept) => kept,
            Err(late) => Err(StoreError::Unavailable(Box::new(late))),
        };
        if let Err(error) = kept {
            tracing::warn!(recording = %self.recording.id, error = %chain(&error), "a recording's state was not stored");
        }
    }

    fn fail(&self, error: &RecordError) {
        self.metrics.failures.inc();
        tracing::error!(recording = %self.recording.id, error = %chain(error), "a recording broke off");
        self.broken.send_replace(Some(error.clone()));
    }

    /// The session learns it by its next event, or by [`crate::Recorder::failed`].
    async fn give_up(mut self, error: RecordError, mut queue: mpsc::Receiver<Message>) {
        self.fail(&error);
        queue.close();
        self.conclude(self.clock.now(), "the recording broke off").await;
        while let Some(message) = queue.recv().await {
            match message {
                Message::Wrote(_, _, bytes) => self.metrics.lost.add(bytes.len() as u64),
                Message::Finish(_, done) => {
                    let _ = done.send(());
                }
                Message::Resized(..) | Message::Marked(..) => {}
            }
        }
    }
}

/// Writes what the writer knows over what stands there; the sealed key is the store's, for it may have been sealed anew.
async fn keep(documents: &Typed<Recording>, ours: &Recording) -> Result<(), StoreError> {
    update(documents, ours.id.as_str(), |stored: &mut Recording| {
        let sealed = stored.sealed.clone();
        *stored = Recording { sealed, ..ours.clone() };
    })
    .await
    .map(drop)
}

/// The word about an ended recording: how many chunks, and the digest of the last.
pub(crate) fn end_entry(recording: &Recording, now: Timestamp, word: &str) -> Entry {
    let owner = &recording.owner;
    let actor = Actor { sub: owner.sub.clone(), name: owner.name.clone(), from: String::new() };
    let mut entry = Entry::new(now, Phase::End, recording.id.clone(), actor, "recording.end");
    entry.grant = Some(recording.grant.clone());
    entry.target = Some(recording.target.clone());
    entry.resource = "recordings".to_owned();
    entry.name = recording.id.to_string();
    entry.query = format!("chunks={}&head={}", recording.chunks, recording.head);
    entry.bytes_out = recording.bytes;
    let took = recording.ended.unwrap_or(now).since(recording.started);
    entry.took_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
    let side = (word != "ok").then_some(Side::Us);
    entry.result = Outcome { status: 0, word: word.to_owned(), side };
    entry
}

/// A place for the recording's key.
pub(crate) fn key_place(id: &Id) -> String {
    format!("Recordings/{id}/sealed")
}
