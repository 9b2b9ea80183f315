//! The cluster's version, the version it is updated to, and the progress of the update.

use rp_rows::{Status, Version};

use super::{ObservedRows, seconds};
use crate::panel::{Block, Pair, Panel, Value};
use crate::parts::{Step, StepState};
use crate::table::{Cell, Column, Table};

const MISSING: &str = "The cluster has no ClusterVersion: it is not OpenShift.";

/// Version and update, with the history when it is `full`. `stopped`: the operation on the cluster has failed, so that a
/// first installation does not go on although the cluster says so.
#[must_use]
pub fn version_panel(seen: &ObservedRows<Version>, full: bool, stopped: bool) -> Panel {
    let panel = Panel::new("version", "Version").slot(seen.slot("Version", &[], MISSING));
    let Some(row) = seen.rows.first().filter(|_| seen.known()) else {
        return if seen.known() { panel.nothing("list", "No version", MISSING) } else { panel };
    };
    let mut panel = panel;
    if let Some(to) = row.moving_to() {
        let first = row.current.is_empty();
        panel.title = if first { format!("First install: {to}") } else { format!("Update to {to}") };
        let percent = row.percent().map(|percent| format!("{percent} %")).unwrap_or_default();
        panel = panel.fact(percent).with(Block::Steps(vec![step(row, to, stopped && first)]));
    }
    let may = match row.upgradeable() {
        (Status::False, why) => format!("No. {why}"),
        (Status::True, _) => "Yes".to_owned(),
        (Status::Unknown, _) => String::new(),
    };
    let updates: Vec<&str> = row.available_updates.iter().take(5).map(|each| each.version.as_str()).collect();
    let more = row.available_updates.len().saturating_sub(updates.len());
    let updates =
        if more > 0 { format!("{} and {more} more", updates.join(", ")) } else { updates.join(", ") };
    let mut pairs = vec![
        Pair::text("Current", &*row.current),
        Pair::text("Target", &*row.desired),
        Pair::text("Channel", &*row.channel),
        Pair::text("Can update", may),
        Pair::text("Updates", updates),
    ];
    if full {
        pairs.push(Pair::code("Cluster ID", &*row.cluster_id));
    }
    let failing = if row.moving_to().is_some() { "Update stopped" } else { "Problem" };
    let why = row.failing();
    if !why.is_empty() {
        pairs.push(Pair::new(failing, Value::Long(why)));
    }
    let one_column = panel.with(Block::Pairs(pairs));
    if full { one_column.with(history(row)) } else { one_column }
}

fn step(row: &Version, to: &str, stopped: bool) -> Step {
    let failing = row.failing();
    let held = !failing.is_empty();
    let first = row.current.is_empty();
    Step {
        state: match (stopped, held) {
            (true, _) => StepState::Failed,
            (false, true) => StepState::Held,
            (false, false) => StepState::Now,
        },
        text: if first { format!("First install: {to}") } else { format!("From {} to {to}", row.current) },
        note: row.percent().map(|percent| format!("{percent} %")).unwrap_or_default(),
        hint: if held { failing } else { row.updating.clone().unwrap_or_default() },
        since: None,
    }
}

fn history(row: &Version) -> Block {
    let rows = row.history.iter().take(50).map(|each| {
        vec![
            Cell::Text(each.version.clone()),
            Cell::Text(if each.is_completed() { "Completed" } else { "Partial" }.to_owned()),
            Cell::Time(seconds(each.started)),
            Cell::Time(seconds(each.completed)),
            Cell::Text(if each.verified { "Yes" } else { "No" }.to_owned()),
        ]
    });
    Block::Table(Table {
        caption: "Versions that it had".to_owned(),
        columns: vec![
            Column::new("", "Version"),
            Column::new("", "State"),
            Column::new("", "Began"),
            Column::new("", "Ended"),
            Column::new("", "Verified").rank(2),
        ],
        rows: rows.collect(),
        query: None,
    })
}
