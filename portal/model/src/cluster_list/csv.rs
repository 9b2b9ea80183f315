//! The list as a table (RFC 4180), for spreadsheets and scripts.

use std::sync::Arc;

use rp_base::Timestamp;

use super::{health_word, source};
use crate::index::{Entry, state_word};

const HEAD: [&str; 21] = [
    "name",
    "resource_id",
    "subscription",
    "resource_group",
    "region",
    "source",
    "state",
    "since",
    "version",
    "updating_to",
    "health",
    "wrong",
    "operators_degraded",
    "alerts",
    "nodes",
    "nodes_not_ready",
    "certificate_expiry",
    "last_look",
    "collectors_failed",
    "created_at",
    "last_modified",
];

/// The table with its head.
pub(super) fn table(found: &[Arc<Entry>]) -> String {
    let mut out = String::with_capacity(found.len() * 400 + 400);
    row(&mut out, &HEAD.map(str::to_owned));
    for entry in found {
        row(&mut out, &cells(entry));
    }
    out
}

fn cells(entry: &Entry) -> [String; 21] {
    let at = |at: Option<Timestamp>| at.map(|at| at.to_string()).unwrap_or_default();
    let health = entry.health.as_deref();
    let failed = health
        .map(|health| health.failed.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(" "));
    [
        entry.id.name().to_owned(),
        entry.id.to_string(),
        entry.id.subscription().to_owned(),
        entry.id.resource_group().to_owned(),
        entry.location.clone(),
        source(entry).to_owned(),
        state_word(&entry.shown_state()).to_owned(),
        at(entry.since),
        entry.version.clone(),
        health.map(|health| health.updating_to.clone()).unwrap_or_default(),
        health_word(entry).to_owned(),
        entry.wrong(),
        health.map(|health| health.operators.join(" ")).unwrap_or_default(),
        health.map(|health| health.alert_names.join(" ")).unwrap_or_default(),
        health.map(|health| health.nodes.to_string()).unwrap_or_default(),
        health.map(|health| health.nodes_not_ready.to_string()).unwrap_or_default(),
        at(health.and_then(|health| health.certificate)),
        at(entry.looked_at()),
        failed.unwrap_or_default(),
        at(entry.created),
        at(entry.modified),
    ]
}

fn row(out: &mut String, cells: &[String]) {
    rp_base::csv::row(out, cells);
    out.push_str("\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_cannot_break_out_or_run() {
        let mut out = String::new();
        row(&mut out, &["a".to_owned(), "b,\"c\"\nd".to_owned(), "=cmd()".to_owned()]);
        assert_eq!(out, "a,\"b,\"\"c\"\"\nd\",\"'=cmd()\"\r\n");
    }
}
