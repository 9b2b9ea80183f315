//! The log of an operation, for people: kept in memory, written with every saved step and every second.
//!
//! It never fails an operation. The next lease holder continues the stored log as a further attempt. A write is
//! conditional on the version that was read. After a conflict the greater lease token wins, because a former holder
//! whose end was not confirmed may still write.

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

/// Time between two writes while there are new entries.
const PERIOD: Duration = Duration::from_secs(1);
/// How many refused writes of the log delay the end of an operation.
const MOST_REFUSED: u32 = 10;
/// Conflicts that one write may meet.
const TRIES: u32 = 3;

/// What a log says of its operation.
#[derive(Debug, Clone)]
pub(crate) struct LogHeader {
    pub(crate) id: String,
    pub(crate) key: String,
    pub(crate) kind: String,
    pub(crate) phase: String,
    pub(crate) asked_by: String,
    pub(crate) correlation: Option<Value>,
    /// The lease token; it grows with each holder.
    pub(crate) token: u64,
    /// This is the first attempt of the operation.
    pub(crate) fresh: bool,
}

/// The log of the operation that is held.
#[derive(Debug)]
pub(crate) struct Journal {
    logs: Typed<OperationLog>,
    clock: SharedClock,
    time: StoreTime,
    state: Mutex<State>,
    stored: tokio::sync::Mutex<StoredLog>,
    soon: Notify,
    /// How often the final write was refused.
    refused: AtomicU32,
}

#[derive(Debug)]
struct State {
    log: OperationLog,
    dirty: bool,
}

/// How the log stands in the store.
#[derive(Debug)]
enum StoredLog {
    /// There may be one of an earlier attempt.
    Unknown,
    /// There is none, as far as is known.
    Fresh,
    Written(Version),
    /// A later lease holder writes it now.
    Theirs,
}

impl Journal {
    pub(crate) fn new(store: &SharedStore, clock: SharedClock, time: StoreTime, header: LogHeader) -> Self {
        let log = OperationLog {
            id: header.id,
            key: header.key,
            kind: header.kind,
            phase: header.phase,
            started: clock.now(),
            ended: None,
            result: String::new(),
            asked_by: header.asked_by,
            correlation: header.correlation,
            error: String::new(),
            attempt: 1,
            token: header.token,
            steps: Vec::new(),
            planned: 0,
            lines: Vec::new(),
            diagnostics: Vec::new(),
            unknown: serde_json::Map::new(),
        };
        let stored = if header.fresh { StoredLog::Fresh } else { StoredLog::Unknown };
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

    /// Queues an event of a step.
    pub(crate) fn record_event(&self, event: &StepEvent<'_>) {
        let mut state = self.state.lock();
        note(&mut state.log, event, self.clock.now());
        state.dirty = true;
    }

    /// Queues a line of text.
    pub(crate) fn record_line(&self, level: &'static str, text: &str) {
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

    /// Writes new entries periodically, until dropped.
    pub(crate) async fn flush_until_dropped(self: Arc<Self>) {
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
            if !self.take_dirty() {
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

    /// Writes the remaining entries before the end of the operation is written: nothing writes the log afterwards.
    ///
    /// # Errors
    /// The store is unavailable and the caller should retry. Reported a limited number of times: a log never fails an
    /// operation.
    pub(crate) async fn flush_final(&self) -> Result<(), StoreError> {
        match self.flush().await {
            Err(error @ StoreError::Unavailable(_)) => {
                let refused = self.refused.fetch_add(1, Ordering::Relaxed);
                if refused < MOST_REFUSED { Err(error) } else { Ok(()) }
            }
            _ => Ok(()),
        }
    }

    /// Whether there is something to write. Clears the flag.
    fn take_dirty(&self) -> bool {
        std::mem::take(&mut self.state.lock().dirty)
    }

    /// One try; `false`: somebody else wrote, and the store was read anew.
    async fn write(&self, stored: &mut StoredLog) -> Result<bool, StoreError> {
        let until = Some(self.time.now() + OperationLog::LIFE);
        if matches!(stored, StoredLog::Unknown) {
            self.continue_log(stored).await?;
        }
        let log = self.state.lock().log.clone();
        let written = match stored {
            StoredLog::Theirs => return Ok(true),
            StoredLog::Unknown | StoredLog::Fresh => self.logs.create_until(log, until).await,
            StoredLog::Written(version) => {
                let next = Versioned { value: log, version: *version, expires_at: until };
                self.logs.replace(next).await
            }
        };
        match written {
            Ok(written) => {
                *stored = StoredLog::Written(written.version);
                Ok(true)
            }
            Err(StoreError::Exists { .. }) => {
                *stored = StoredLog::Unknown;
                Ok(false)
            }
            Err(StoreError::Gone { .. }) => {
                *stored = StoredLog::Fresh;
                Ok(false)
            }
            Err(StoreError::Stale { .. }) => {
                self.resolve_conflict(stored).await?;
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    /// The log's id and our lease token.
    fn id_and_token(&self) -> (String, u64) {
        let state = self.state.lock();
        (state.log.id.clone(), state.log.token)
    }

    /// Continues the log of an earlier attempt.
    async fn continue_log(&self, stored: &mut StoredLog) -> Result<(), StoreError> {
        let (id, token) = self.id_and_token();
        *stored = match self.logs.get(&id).await? {
            None => StoredLog::Fresh,
            Some(found) if found.value.token > token => StoredLog::Theirs,
            // Our own unconfirmed write: its entries are in our log already.
            Some(found) if found.value.token == token => StoredLog::Written(found.version),
            Some(found) => {
                let mut state = self.state.lock();
                state.log = joined(found.value, &state.log);
                StoredLog::Written(found.version)
            }
        };
        Ok(())
    }

    /// Our own write that was not confirmed, a former holder's, or a later holder's.
    async fn resolve_conflict(&self, stored: &mut StoredLog) -> Result<(), StoreError> {
        let (id, token) = self.id_and_token();
        *stored = match self.logs.get(&id).await? {
            None => StoredLog::Fresh,
            Some(found) if found.value.token > token => StoredLog::Theirs,
            Some(found) => StoredLog::Written(found.version),
        };
        Ok(())
    }
}

#[cfg(test)]
mod tests;
