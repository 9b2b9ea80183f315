//! What a check found of a cluster, as lists and pages need it.

use rp_base::Timestamp;
use rp_base::text::clean;
use rp_documents::{ClusterHealth, Standing};

/// The last check.
#[derive(Debug, Clone)]
pub struct Health {
    pub looked_at: Timestamp,
    /// Since when checks find the same, as stored by the monitor.
    pub since: Option<Timestamp>,
    pub standing: Standing,
    pub operators: Vec<String>,
    pub nodes_not_ready: u32,
    pub nodes: u32,
    pub alerts: usize,
    pub alert_names: Vec<String>,
    pub certificate: Option<Timestamp>,
    pub version: String,
    /// The version it is being brought to, or empty.
    pub updating_to: String,
    pub took_ms: u64,
    /// Status of the API server's `/healthz`; 0: no answer; none: not asked.
    pub healthz: Option<u16>,
    /// Parts of the check that failed, and why.
    pub failed: Vec<(String, String)>,
}

/// Names that are kept of one check.
const MOST_NAMES: usize = 100;

impl Health {
    pub(super) fn from_record(health: &ClusterHealth) -> Self {
        let names = |names: &[String]| names.iter().take(MOST_NAMES).map(|name| clean(name, 200)).collect();
        let failures = health.collectors.iter().filter_map(|part| Some((part, part.error.as_deref()?)));
        Self {
            looked_at: health.looked_at,
            healthz: health.healthz,
            since: health.since,
            standing: health.standing(),
            operators: names(&health.operators_degraded),
            nodes_not_ready: health.nodes_not_ready,
            nodes: health.nodes,
            alerts: health.alerts.len(),
            alert_names: names(&health.alerts),
            certificate: health.certificate_expiry,
            version: clean(&health.version, 100),
            updating_to: clean(&health.updating_to, 100),
            took_ms: health.took_ms,
            failed: failures
                .take(MOST_NAMES)
                .map(|(part, error)| (clean(&part.name, 100), clean(error, 300)))
                .collect(),
        }
    }

    /// What the check says about a failure: its own first error, else what it found.
    pub fn failure(&self) -> String {
        self.failed.first().map_or_else(|| self.words(), |(_, why)| why.clone())
    }

    /// What the check found.
    pub fn words(&self) -> String {
        let mut parts = Vec::new();
        if !self.operators.is_empty() {
            let shown: Vec<&str> = self.operators.iter().take(3).map(String::as_str).collect();
            let more = self.operators.len().saturating_sub(shown.len());
            let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
            parts.push(format!("Degraded: {}{rest}", shown.join(", ")));
        }
        if self.nodes_not_ready > 0 {
            parts.push(format!("{} of {} nodes not ready", self.nodes_not_ready, self.nodes));
        }
        parts.join("; ")
    }
}
