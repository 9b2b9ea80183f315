//! The list as a table (RFC 4180), for spreadsheets and scripts.

use std::sync::Arc;

use rp_base::Timestamp;

use super::{health_word, source};
use crate::index::{Entry, Health, state_word};

/// A column: its head, and its cell of a cluster.
type CsvColumn = (&'static str, fn(&Entry) -> String);

const COLUMNS: [CsvColumn; 21] = [
    ("name", |entry| entry.id.name().to_owned()),
    ("resource_id", |entry| entry.id.to_string()),
    ("subscription", |entry| entry.id.subscription().to_owned()),
    ("resource_group", |entry| entry.id.resource_group().to_owned()),
    ("region", |entry| entry.location.clone()),
    ("source", |entry| source(entry).to_owned()),
    ("state", |entry| state_word(&entry.shown_state()).to_owned()),
    ("since", |entry| at(entry.since)),
    ("version", |entry| entry.version.clone()),
    ("updating_to", |entry| of_health(entry, |health| health.updating_to.clone())),
    ("health", |entry| health_word(entry).to_owned()),
    ("wrong", |entry| entry.wrong()),
    ("operators_degraded", |entry| of_health(entry, |health| health.operators.join(" "))),
    ("alerts", |entry| of_health(entry, |health| health.alert_names.join(" "))),
    ("nodes", |entry| of_health(entry, |health| health.nodes.to_string())),
    ("nodes_not_ready", |entry| of_health(entry, |health| health.nodes_not_ready.to_string())),
    ("certificate_expiry", |entry| at(entry.health.as_deref().and_then(|health| health.certificate))),
    ("last_look", |entry| at(entry.looked_at())),
    ("collectors_failed", |entry| of_health(entry, failed)),
    ("created_at", |entry| at(entry.created)),
    ("last_modified", |entry| at(entry.modified)),
];

/// The table with its head.
pub(super) fn table(found: &[Arc<Entry>]) -> String {
    let mut out = String::with_capacity(found.len() * 400 + 400);
    row(&mut out, &COLUMNS.map(|(head, _)| head.to_owned()));
    for entry in found {
        row(&mut out, &COLUMNS.map(|(_, cell)| cell(entry)));
    }
    out
}

fn at(at: Option<Timestamp>) -> String {
    at.map(|at| at.to_string()).unwrap_or_default()
}

/// Of the last look; empty when there was none.
fn of_health(entry: &Entry, cell: fn(&Health) -> String) -> String {
    entry.health.as_deref().map(cell).unwrap_or_default()
}

/// The parts of the look that failed.
fn failed(health: &Health) -> String {
    health.failed.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(" ")
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
