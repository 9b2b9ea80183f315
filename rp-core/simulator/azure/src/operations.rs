//! Long-running operations: what runs, until when, and its outcome.

use std::collections::BTreeMap;
use std::time::Duration;

use rp_base::Timestamp;
use serde_json::{Value, json};

/// Operations that are remembered.
const MOST: usize = 50_000;

/// The outcome of an operation.
#[derive(Debug, Clone)]
pub(super) enum OperationOutcome {
    /// With that result, `null` when there is none.
    Done(Value),
    /// The resource with that key is deleted.
    Gone(String),
    /// Failed with that error of ARM.
    Failed(Value),
}

#[derive(Debug, Clone)]
struct Operation {
    until: Timestamp,
    end: OperationOutcome,
    /// Whether the operation has ended.
    ended: bool,
}

#[derive(Debug, Default)]
pub(super) struct Operations {
    next: u64,
    all: BTreeMap<u64, Operation>,
    /// Resources that are being made: until when, and the state that they show meanwhile.
    busy: BTreeMap<String, (Timestamp, &'static str)>,
    /// How long new ones last.
    pub(super) time: Duration,
    /// `Retry-After` of responses, seconds.
    pub(super) retry_after: Option<u32>,
}

impl Operations {
    /// Starts an operation; returns its number.
    pub(super) fn begin(
        &mut self,
        now: Timestamp,
        end: OperationOutcome,
        busy: Option<(&str, &'static str)>,
    ) -> u64 {
        let until = now + self.time;
        if let Some((key, state)) = busy.filter(|_| !self.time.is_zero()) {
            self.busy.insert(key.to_owned(), (until, state));
        }
        self.next += 1;
        self.all.insert(self.next, Operation { until, end, ended: false });
        while self.all.len() > MOST {
            self.all.pop_first();
        }
        self.next
    }

    /// Ends operations that are due; returns the keys to delete.
    pub(super) fn settle(&mut self, now: Timestamp) -> Vec<String> {
        self.busy.retain(|_, (until, _)| *until > now);
        let due = self.all.values_mut().filter(|one| !one.ended && one.until <= now);
        due.filter_map(|one| {
            one.ended = true;
            match &one.end {
                OperationOutcome::Gone(key) => Some(key.clone()),
                _ => None,
            }
        })
        .collect()
    }

    /// The state that a resource shows while something lasts.
    pub(super) fn state(&self, key: &str) -> Option<&'static str> {
        self.busy.get(key).map(|(_, state)| *state)
    }

    /// The status document of an operation; `None`: there is none of that number.
    pub(super) fn status(&self, number: u64) -> Option<Value> {
        let one = self.all.get(&number)?;
        Some(match (&one.end, one.ended) {
            (_, false) => json!({"status": "InProgress"}),
            (OperationOutcome::Failed(error), true) => json!({"status": "Failed", "error": error}),
            (OperationOutcome::Done(result), true) if !result.is_null() => {
                json!({"status": "Succeeded", "properties": result})
            }
            (_, true) => json!({"status": "Succeeded"}),
        })
    }

    /// How an operation ended; `None`: unknown number; `Some(None)`: it is still running.
    pub(super) fn end(&self, number: u64) -> Option<Option<OperationOutcome>> {
        let one = self.all.get(&number)?;
        Some(one.ended.then(|| one.end.clone()))
    }
}
