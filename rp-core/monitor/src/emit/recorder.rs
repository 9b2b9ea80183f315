//! Records what is emitted.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use rp_metrics::Registry;
use serde::Serialize;

use crate::names::Account;
use crate::sample::{Sample, Value};

/// Maximum number of recorded samples: a look at the largest clusters has about ten thousand.
const MOST: usize = 200_000;

/// One line before serialisation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RecordedSample {
    #[serde(skip)]
    pub account: Account,
    pub metric: &'static str,
    #[serde(serialize_with = "number")]
    pub value: Value,
    /// Including the dimensions of the scope, without those that the emitter adds.
    pub dims: BTreeMap<String, String>,
}

fn number<S: serde::Serializer>(value: &Value, serializer: S) -> Result<S::Ok, S::Error> {
    match value {
        Value::Int(value) => serializer.serialize_i64(*value),
        Value::Float(value) => serializer.serialize_f64(*value),
    }
}

/// What was emitted so far. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Recorder(Arc<RecorderState>);

#[derive(Debug, Default)]
struct RecorderState {
    lines: Mutex<Vec<RecordedSample>>,
    registry: Mutex<Registry>,
}

impl Recorder {
    pub(super) fn watches(&self, registry: Registry) {
        *self.0.registry.lock() = registry;
    }

    pub(super) fn keep(&self, account: Account, sample: &Sample, dims: &[(&str, &str)]) {
        let mut lines = self.0.lines.lock();
        if lines.len() < MOST {
            let dims = dims.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
            lines.push(RecordedSample { account, metric: sample.metric.name, value: sample.value, dims });
        }
    }

    /// Everything that was emitted, in order.
    pub fn lines(&self) -> Vec<RecordedSample> {
        self.0.lines.lock().clone()
    }

    /// Returns the same and clears it.
    pub fn take(&self) -> Vec<RecordedSample> {
        std::mem::take(&mut *self.0.lines.lock())
    }

    /// The lines of one metric.
    pub fn samples_of(&self, metric: &str) -> Vec<RecordedSample> {
        self.0.lines.lock().iter().filter(|line| line.metric == metric).cloned().collect()
    }

    /// The current Prometheus exposition.
    pub fn exposition(&self) -> String {
        let registry = self.0.registry.lock().clone();
        registry.render()
    }
}
