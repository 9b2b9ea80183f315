//! The audit entry of a query, written when its response ends or is dropped.

use std::sync::Arc;

use rp_audit::Audit;
use rp_base::{SharedClock, Timestamp};
use rp_documents::{Entry, Outcome, Side};
use rp_prometheus::{Call, ErrorView, TransferStats};

/// An entry that is being filled.
#[derive(Debug)]
pub struct QueryAudit {
    entry: Option<Box<Entry>>,
    audit: Audit,
    clock: SharedClock,
    began: Timestamp,
    passed: Option<Arc<TransferStats>>,
}

impl QueryAudit {
    pub(super) fn new(entry: Entry, audit: &Audit, clock: &SharedClock) -> Self {
        Self {
            began: entry.at,
            entry: Some(Box::new(entry)),
            audit: audit.clone(),
            clock: Arc::clone(clock),
            passed: None,
        }
    }

    fn fill(&mut self, fill: impl FnOnce(&mut Entry)) {
        if let Some(entry) = &mut self.entry {
            fill(entry);
        }
    }

    /// The query and its range; the audit log truncates long values and marks it.
    pub(super) fn set_call(&mut self, call: &Call) {
        self.fill(|entry| {
            call.name().clone_into(&mut entry.resource);
            entry.query.clone_from(&call.query);
            if let Some((start, end, step)) = call.range {
                entry.command = vec![format!("start={start}"), format!("end={end}"), format!("step={step}")];
            }
        });
    }

    pub(super) fn set_query(&mut self, text: String) {
        self.fill(|entry| entry.query = text);
    }

    /// Further words, each `name=value`.
    pub fn details(&mut self, details: Vec<String>) {
        self.fill(|entry| entry.command.extend(details));
    }

    pub(super) fn answered(&mut self, source: &str, passed: Arc<TransferStats>) {
        self.passed = Some(passed);
        self.fill(|entry| {
            source.clone_into(&mut entry.subresource);
            // Until the body has come to its end.
            entry.result = Outcome { status: 200, word: "cut".to_owned(), side: Some(Side::You) };
        });
    }

    /// The response is complete.
    pub(super) fn completed(&mut self, source: &str, bytes: u64, series: usize, cut: bool) {
        self.fill(|entry| {
            source.clone_into(&mut entry.subresource);
            entry.bytes_out = bytes;
            entry.result = Outcome { status: 200, word: "ok".to_owned(), side: None };
            size(entry, series as u64, cut);
        });
    }

    /// How a fleet query ended: bytes and series that were given.
    pub fn ended(&mut self, bytes: u64, series: usize, whole: bool) {
        self.fill(|entry| {
            entry.bytes_out = bytes;
            let (word, side) = if whole { ("ok", None) } else { ("cut", Some(Side::You)) };
            entry.result = Outcome { status: 200, word: word.to_owned(), side };
            size(entry, series as u64, false);
        });
    }

    /// No answer.
    pub(super) fn failed(&mut self, shown: &ErrorView) {
        self.passed = None;
        self.fill(|entry| {
            let word = if shown.side == Side::You { "refused" } else { "failed" };
            entry.result = Outcome { status: shown.status, word: word.to_owned(), side: Some(shown.side) };
            entry.command.push(format!("error={}", shown.code));
        });
    }

    /// The answer broke off, or was cut.
    pub(super) fn aborted(&mut self, side: Side) {
        self.fill(|entry| {
            entry.result.word = if side == Side::You { "cut" } else { "failed" }.to_owned();
            entry.result.side = Some(side);
        });
    }
}

fn size(entry: &mut Entry, series: u64, cut: bool) {
    entry.command.push(format!("series={series}"));
    if cut {
        entry.command.push("truncated".to_owned());
    }
}

impl Drop for QueryAudit {
    fn drop(&mut self) {
        let Some(mut entry) = self.entry.take() else { return };
        if let Some(passed) = self.passed.take() {
            entry.bytes_out = passed.bytes();
            size(&mut entry, passed.series(), passed.cut());
            if passed.whole() {
                entry.result = Outcome { status: 200, word: "ok".to_owned(), side: None };
            }
        }
        if entry.result.status == 0 {
            // Dropped before a response: the caller disconnected.
            entry.result = Outcome { status: 0, word: "cut".to_owned(), side: Some(Side::You) };
        }
        let now = self.clock.now();
        entry.took_ms = u64::try_from(now.since(self.began).as_millis()).unwrap_or(u64::MAX);
        entry.at = now;
        tracing::info!(
            target: "prom.access",
            request_id = %entry.request_id,
            person = %entry.actor.name,
            peer = %entry.actor.from,
            resource_id = entry.target.as_ref().map(rp_documents::ResourceId::key).unwrap_or_default(),
            verb = %entry.verb,
            resource = %entry.resource,
            status = entry.result.status,
            result = %entry.result.word,
            bytes_out = entry.bytes_out,
            duration_ms = entry.took_ms,
            "question"
        );
        self.audit.settle(*entry);
    }
}
