//! What is counted of calls: `client.azure.*` of `contract/metrics.md` §2, at the HTTP layer, tokens too.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use rp_metrics::{Counter, Family, Histogram, LabelValue, Registry, buckets, labels, metrics};

/// A status, or -1 when there was no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Code(i32);

impl LabelValue for Code {
    fn label(&self) -> Cow<'static, str> {
        Cow::Owned(self.0.to_string())
    }
}

labels! {
    struct CallLabels { client: &'static str, operation: &'static str, code: Code }
}
metrics! {
    struct Instruments("aro_client_azure") {
        /// Calls to Azure until the whole answer is there; code -1: no answer.
        duration: Family<CallLabels, Histogram> = "request_duration_seconds", buckets::REQUESTS;
        /// Calls to Azure that failed.
        errors: Family<CallLabels, Counter> = "errors_total";
        /// Calls to Azure that were made again.
        retries: Family<CallLabels, Counter> = "retries_total";
    }
}

/// Registers what calls to Azure count, for lists of metrics.
pub fn register_metrics(registry: &Registry) {
    Instruments::register(registry);
}

/// One call, for other sinks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ObservedCall {
    /// Such as `subnets`.
    pub client: &'static str,
    /// Such as `get`.
    pub operation: &'static str,
    /// Status, or -1.
    pub code: i32,
    pub took: Duration,
    pub failed: bool,
}

/// Is told of every call.
pub type Observer = Arc<dyn Fn(ObservedCall) + Send + Sync>;

/// Where calls are counted.
#[derive(Clone)]
pub(crate) struct CallMetrics {
    instruments: Instruments,
    observer: Option<Observer>,
}

impl fmt::Debug for CallMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallMetrics").finish_non_exhaustive()
    }
}

impl CallMetrics {
    pub(crate) fn new(registry: &Registry, observer: Option<Observer>) -> Self {
        Self { instruments: Instruments::register(registry), observer }
    }

    pub(crate) fn call(&self, call: ObservedCall) {
        let labels = labels_of(&call);
        self.instruments.duration.with(&labels).observe_duration(call.took);
        if call.failed {
            self.instruments.errors.with(&labels).inc();
        }
        if let Some(observer) = &self.observer {
            observer(call);
        }
    }

    pub(crate) fn retry(&self, call: &ObservedCall) {
        self.instruments.retries.with(&labels_of(call)).inc();
    }
}

const fn labels_of(call: &ObservedCall) -> CallLabels {
    CallLabels { client: call.client, operation: call.operation, code: Code(call.code) }
}
