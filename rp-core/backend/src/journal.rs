//! The log of an operation, for people: kept in memory, written with every saved step and every second.
//!
//! It never fails an operation. Whoever takes the operation over goes on with the stored log, one attempt more. A write is
//! made over the version that was read, and after a conflict the greater lease token has the last word: a former holder
//! whose end was not confirmed may still be at it.

mod record;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use rp_base::{SharedClock, chain};
use rp_cluster::StepEvent;
use rp_database::{SharedStore, StoreError, Typed, Version, Versioned};
use rp_documents::OperationLog;
use serde_json::Value;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, sleep_until};

use crate::time::StoreTime;
use record::{joined, line, note};

/// Between two writes while something is told.
const PERIOD: Duration = Duration::from_secs(1);
/// How often the end of an operation waits for its log.
const MOST_REFUSED: u32 = 10;
/// Conflicts of one write.
const TRIES: u32 = 3;

/// What a log is about.
#[derive(Debug, Clone)]
pub(crate) struct About {
    pub(crate) id: String,
    pub(crate) key: String,
    pub(crate) kind: String,
    pub(crate) phase: String,
    pub(crate) asked_by: String,
    pub(crate) correlation: Option<Value>,
    /// Of the lease; grows with each holder.
    pub(crate) token: u64,
    /// Nobody worked on the operation before.
    pub(crate) fresh: bool,
}

/// The log of the operation that is held.
#[derive(Debug)]
pub(crate) struct Journal {
    logs: Typed<OperationLog>,
    clock: SharedClock,
    time: StoreTime,
    state: Mutex<State>,
    stored: tokio::sync::Mutex<Stored>,
    soon: Notify,
    /// How often the last words were not taken.
    refused: AtomicU32,
}

#[derive(Debug)]
struct State {
    log: OperationLog,
    dirty: bool,
}

/// How the log stands in the store.
#[derive(Debug)]
enum Stored {
    /// There may be one of an earlier attempt.
    Unknown,
    /// There is none, as far as is known.
    Fresh,
    Written(Version),
    /// A later holder writes it now.
    Theirs,
}

impl Journal {
    pub(crate) fn new(store: &SharedStore, clock: SharedClock, time: StoreTime, about: About) -> Self {
        let log = OperationLog {
            id: about.id,
            key: about.key,
            kind: about.kind,
            phase: about.phase,
            started: clock.now(),
            ended: None,
            result: String::new(),
            asked_by: about.asked_by,
            correlation: about.correlation,
            error: String::new(),
            attempt: 1,
            token: about.token,
            steps: Vec::new(),
            planned: 0,
            lines: Vec::new(),
            diagnostics: Vec::new(),
            unknown: serde_json::Map::new(),
        };
        let stored = if about.fresh { Stored::Fresh } else { Stored::Unknown };
        Self {
            logs: Typed::new(SharedStore::clone(store)),
            clock,
            time,
            state: Mutex::new(State { log, dirty: true }),
            stored: tokio::sync::Mutex::new(stored),
            soon: Notify::new(),
            refused: AtomicU32::new(0),
        }
    }

    /// Queues what happened.
    pub(crate) fn tell(&self, event: &StepEvent<'_>) {
        let mut state = self.state.lock();
        note(&mut state.log, event, self.clock.now());
        state.dirty = true;
    }

    /// Queues a sentence.
    pub(crate) fn say(&self, level: &'static str, text: &str) {
        let mut state = self.state.lock();
        line(&mut state.log, level, text, self.clock.now());
        state.dirty = true;
    }

    /// The operation is in that phase now.
    pub(crate) fn phase(&self, phase: &str) {
        let mut state = self.state.lock();
        if state.log.phase != phase {
            phase.clone_into(&mut state.log.phase);
            state.dirty = true;
        }
    }

    /// The operation came to its end.
    pub(crate) fn end(&self, result: &str, error: &str) {
        let mut state = self.state.lock();
        state.log.ended = Some(self.clock.now());
        result.clone_into(&mut state.log.result);
        state.log.error = rp_base::text::clean(error, record::LONGEST_ERROR);
        state.dirty = true;
    }

    /// Written soon, without waiting for it.
    pub(crate) fn flush_soon(&self) {
        self.soon.notify_one();
    }

    /// Writes what is told, until dropped.
    pub(crate) async fn keep(self: Arc<Self>) {
        // A quick operation writes its log once, at its end.
        sleep(PERIOD / 4).await;
        loop {
            let next = Instant::now() + PERIOD;
            let _ = self.flush().await;
            tokio::select! {
                () = sleep_until(next) => {}
                () = self.soon.notified() => {}
            }
        }
    }

    /// Writes what is not written yet.
    ///
    /// # Errors
    /// The store did not take it; it is asked with the next flush.
    pub(crate) async fn flush(&self) -> Result<(), StoreError> {
        let mut stored = self.stored.lock().await;
        for _ in 0..TRIES {
            if !self.take_up() {
                return Ok(());
            }
            match self.write(&mut stored).await {
                Ok(true) => return Ok(()),
                Ok(false) => self.state.lock().dirty = true,
                Err(error) => {
                    self.state.lock().dirty = true;
                    tracing::warn!(error = %chain(&error), "an operation's log is written later");
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// Writes the last words, before the end of the operation is written: nobody comes back to them.
    ///
    /// # Errors
    /// The store did not take them: ask again. Only so many times, for a log never fails an operation.
    pub(crate) async fn last_words(&self) -> Result<(), StoreError> {
        match self.flush().await {
            Err(error @ StoreError::Unavailable(_)) => {
                let refused = self.refused.fetch_add(1, Ordering::Relaxed);
                if refused < MOST_REFUSED { Err(error) } else { Ok(()) }
            }
            _ => Ok(()),
        }
    }

    /// Whether there is something to write; it counts as written.
    fn take_up(&self) -> bool {
        std::mem::take(&mut self.state.lock().dirty)
    }

    /// One try; `false`: somebody else wrote, and the store was read anew.
    async fn write(&self, stored: &mut Stored) -> Result<bool, StoreError> {
        let until = Some(self.time.now() + OperationLog::LIFE);
        if matches!(stored, Stored::Unknown) {
            self.go_on(stored).await?;
        }
        let log = self.state.lock().log.clone();
        let written = match stored {
            Stored::Theirs => return Ok(true),
            Stored::Unknown | Stored::Fresh => self.logs.create_until(log, until).await,
            Stored::Written(version) => {
                let next = Versioned { value: log, version: *version, expires_at: until };
                self.logs.replace(next).await
            }
        };
        match written {
            Ok(written) => {
                *stored = Stored::Written(written.version);
                Ok(true)
            }
            Err(StoreError::Exists { .. }) => {
                *stored = Stored::Unknown;
                Ok(false)
            }
            Err(StoreError::Gone { .. }) => {
                *stored = Stored::Fresh;
                Ok(false)
            }
            Err(StoreError::Stale { .. }) => {
                self.conflict(stored).await?;
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    /// The log's id and our lease token.
    fn who(&self) -> (String, u64) {
        let state = self.state.lock();
        (state.log.id.clone(), state.log.token)
    }

    /// Goes on with the log of an earlier attempt.
    async fn go_on(&self, stored: &mut Stored) -> Result<(), StoreError> {
        let (id, token) = self.who();
        *stored = match self.logs.get(&id).await? {
            None => Stored::Fresh,
            Some(found) if found.value.token > token => Stored::Theirs,
            // Our own write that was not confirmed: its words are in ours.
            Some(found) if found.value.token == token => Stored::Written(found.version),
            Some(found) => {
                let mut state = self.state.lock();
                state.log = joined(found.value, &state.log);
                Stored::Written(found.version)
            }
        };
        Ok(())
    }

    /// Our own write that was not confirmed, a former holder's, or a later holder's.
    async fn conflict(&self, stored: &mut Stored) -> Result<(), StoreError> {
        let (id, token) = self.who();
        *stored = match self.logs.get(&id).await? {
            None => Stored::Fresh,
            Some(found) if found.value.token > token => Stored::Theirs,
            Some(found) => Stored::Written(found.version),
        };
        Ok(())
    }
}

#[cfg(test)]
mod tests;
