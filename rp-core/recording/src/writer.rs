//! The recording's own task: events into lines, lines into chunks, chunks into the storage, the end into the store and
//! the audit trail.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use rp_base::{Id, SharedClock, Timestamp, chain};
use rp_database::{StoreError, Typed, update};
use rp_documents::{Actor, Entry, Outcome, Phase, Recording, Side};
use rp_seal::DataKey;
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

use crate::event_buffer::{EventBuffer, FULL, PendingWork};
use crate::metrics::RecordingMetrics;
use crate::options::PATIENCE;
use crate::{Appender, RecordError, frame};

/// Longest that an event waits for its chunk.
pub const EVERY: Duration = Duration::from_millis(750);
/// Room for the lines of a session in which little happens, bytes.
const QUIET: usize = 4 * 1024;
/// How often the document says that the session runs.
pub(crate) const HEARD_EVERY: Duration = Duration::from_secs(60);

/// Writes one recording.
#[derive(Debug)]
pub(crate) struct Writer {
    pub(crate) documents: Typed<Recording>,
    pub(crate) audit: rp_audit::Audit,
    pub(crate) clock: SharedClock,
    pub(crate) metrics: RecordingMetrics,
    pub(crate) key: DataKey,
    pub(crate) appender: Box<dyn Appender>,
    pub(crate) recording: Recording,
    pub(crate) tape: Arc<EventBuffer>,
    /// Empty; what the session writes to while a chunk is made of the lines before.
    pub(crate) spare: Vec<u8>,
    pub(crate) broken: watch::Sender<Option<RecordError>>,
    pub(crate) ended: watch::Sender<bool>,
}

impl Writer {
    /// Makes a chunk of the lines that there are, and stores it.
    pub(crate) async fn flush(&mut self) -> Result<(), RecordError> {
        let (lines, passed) = self.tape.take(std::mem::take(&mut self.spare));
        self.metrics.recorded.add(passed.all);
        self.recording.bytes += passed.output;
        let stored = self.store(&lines).await;
        // A session that has become quiet keeps no room for a busy one.
        let room = if lines.len() < FULL { QUIET } else { 4 * FULL };
        self.spare = lines;
        self.spare.clear();
        self.spare.shrink_to(room);
        stored
    }

    async fn store(&mut self, lines: &[u8]) -> Result<(), RecordError> {
        if lines.is_empty() {
            return Ok(());
        }
        let Recording { id, chunks, head, .. } = &self.recording;
        let (frame, digest) = frame::seal(&self.key, id, *chunks, *head, lines)
            .map_err(|error| RecordError::Seal(Arc::new(error)))?;
        let (started, length) = (Instant::now(), frame.len() as u64);
        match timeout(PATIENCE, self.appender.append(Bytes::from(frame))).await {
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
    pub(crate) async fn run(mut self) {
        let _open = self.metrics.open.track();
        let tape = Arc::clone(&self.tape);
        let mut due = None;
        let mut heard = tokio::time::interval_at(Instant::now() + HEARD_EVERY, HEARD_EVERY);
        heard.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            let waited = async move {
                match due {
                    Some(due) => tokio::time::sleep_until(due).await,
                    None => std::future::pending().await,
                }
            };
            let now = tokio::select! {
                biased;
                () = waited => PendingWork::Now,
                () = tape.news() => tape.due(),
                _ = heard.tick() => {
                    self.note().await;
                    continue;
                }
            };
            match now {
                PendingWork::Nothing => {}
                PendingWork::Soon => {
                    due.get_or_insert_with(|| Instant::now() + EVERY);
                }
                PendingWork::Now => {
                    due = None;
                    if let Err(error) = self.flush().await {
                        return self.give_up(&error).await;
                    }
                }
                PendingWork::End => return self.end().await,
            }
        }
    }

    /// The last chunk, then the document, then the audit trail.
    async fn end(mut self) {
        let now = self.clock.now();
        let outcome = self.tape.end(now);
        if let Err(error) = self.flush().await {
            self.fail(&error);
        }
        self.conclude(now, &outcome).await;
    }

    async fn conclude(&mut self, now: Timestamp, outcome: &str) {
        self.recording.ended = Some(now);
        self.recording.outcome = Some(outcome.to_owned());
        self.note().await;
        let word = if self.broken.borrow().is_some() { "failed" } else { "ok" };
        if let Err(error) = self.audit.queue(end_entry(&self.recording, now, word)).await {
            tracing::error!(recording = %self.recording.id, error = %chain(&error), "the end of a recording could not be audited");
        }
        self.ended.send_replace(true);
    }

    /// Updates the document to what is stored for certain.
    async fn note(&mut self) {
        self.recording.heard = self.clock.now();
        let kept = match timeout(PATIENCE, keep(&self.documents, &self.recording)).await {
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
    async fn give_up(mut self, error: &RecordError) {
        self.fail(error);
        self.metrics.lost.add(self.tape.give_up());
        self.conclude(self.clock.now(), "the recording broke off").await;
    }
}

/// Writes what the writer knows over what stands there; the sealed key is the store's, for it may have been sealed
/// anew.
async fn keep(documents: &Typed<Recording>, ours: &Recording) -> Result<(), StoreError> {
    update(documents, ours.id.as_str(), |stored: &mut Recording| {
        let sealed = stored.sealed.clone();
        *stored = Recording { sealed, ..ours.clone() };
    })
    .await
    .map(drop)
}

/// The audit entry of an ended recording: how many chunks, and the digest of the last.
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
