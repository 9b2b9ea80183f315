//! The cluster's version, the version it is updated to, and the progress of the update.

use rp_rows::{Status, Version};

use super::{ObservedRows, seconds};
use crate::panel::{Block, Pair, Panel, Value};
use crate::parts::{Step, StepState};
use crate::table::{Cell, Column, Table};

const MISSING: &str = "The cluster has no ClusterVersion: it is not OpenShift.";

/// Version and update, with the history when it is `full`.
#[must_use]
pub fn version_panel(seen: &ObservedRows<Version>, full: bool) -> Panel {
    let panel = Panel::new("version", "Version").slot(seen.slot("Version", &[], MISSING));
    let Some(row) = seen.rows.first().filter(|_| seen.known()) else {
        return if seen.known() { panel.nothing("list", "No version", MISSING) } else { panel };
    };
    let mut panel = panel;
    if let Some(to) = row.moving_to() {
        panel.title = format!("Update to {to}");
        let percent = row.percent().map(|percent| format!("{percent} %")).unwrap_or_default();
        panel = panel.fact(percent).with(Block::Steps(vec![step(row, to)]));
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
        Pair::text("Wanted", &*row.desired),
        Pair::text("Channel", &*row.channel),
        Pair::text("May update", may),
        Pair::text("Updates", updates),
    ];
    if full {
        pairs.push(Pair::code("Cluster ID", &*row.cluster_id));
    }
    let failing = if row.moving_to().is_some() { "Does not go on" } else { "Complains" };
    let why = row.failing();
    if !why.is_empty() {
        pairs.push(Pair::new(failing, Value::Long(why)));
    }
    let one_column = panel.with(Block::Pairs(pairs));
    if full { one_column.with(history(row)) } else { one_column }
}

fn step(row: &Version, to: &str) -> Step {
    let failing = row.failing();
    let held = !failing.is_empty();
    Step {
        state: if held { StepState::Held } else { StepState::Now },
        text: format!("From {} to {to}", if row.current.is_empty() { "nothing" } else { &row.current }),
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
