//! The cluster's version, the version it is updated to, and the progress of the update.

use super::ObservedRows;
use crate::components::Condition;
use crate::panel::{Block, Pair, Panel, Value};
use crate::parts::{Step, StepState};
use crate::table::{Cell, Column, Table};

/// The cluster's version.
#[derive(Clone, Debug, Default)]
pub struct VersionRow {
    /// The version that it has.
    pub current: String,
    /// The version that it is to have.
    pub desired: String,
    /// Channel.
    pub channel: String,
    /// What the version operator says while it moves.
    pub updating: Option<String>,
    /// Why it does not go on, where it says so.
    pub failing: String,
    /// Whether an update may begin: status and why not.
    pub upgradeable: (Option<bool>, String),
    /// What it had, the newest first.
    pub history: Vec<HistoryRow>,
    /// Conditions.
    pub conditions: Vec<Condition>,
    /// Versions that it may move to, and what speaks against each.
    pub available: Vec<(String, String)>,
    /// Its own id.
    pub cluster_id: String,
}

/// One version that it had.
#[derive(Clone, Debug, Default)]
pub struct HistoryRow {
    /// The version.
    pub version: String,
    /// It was reached.
    pub completed: bool,
    /// Begin.
    pub started: Option<i64>,
    /// End.
    pub ended: Option<i64>,
    /// Its signature was checked.
    pub verified: bool,
}

impl VersionRow {
    /// The version that it moves to now.
    #[must_use]
    pub fn moving_to(&self) -> Option<&str> {
        let under_way = self.updating.is_some() && !self.desired.is_empty();
        (under_way && self.desired != self.current).then_some(self.desired.as_str())
    }

    /// Since when it moves.
    #[must_use]
    pub fn moving_since(&self) -> Option<i64> {
        self.moving_to()?;
        self.history.first().filter(|first| !first.completed).and_then(|first| first.started)
    }

    /// "62 % complete" of the version operator's words.
    #[must_use]
    pub fn percent(&self) -> Option<u8> {
        let words = self.updating.as_deref()?;
        let (before, _) = words.split_once('%')?;
        let digits: String = before.chars().rev().take_while(char::is_ascii_digit).collect();
        digits.chars().rev().collect::<String>().parse().ok().filter(|percent| *percent <= 100)
    }
}

const MISSING: &str = "The cluster has no ClusterVersion: it is not OpenShift.";

/// Version and update, with the history when it is `full`.
#[must_use]
pub fn version_panel(seen: &ObservedRows<VersionRow>, full: bool) -> Panel {
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
    let may = match &row.upgradeable {
        (Some(false), why) => format!("No. {why}"),
        (Some(true), _) => "Yes".to_owned(),
        (None, _) => String::new(),
    };
    let updates: Vec<&str> = row.available.iter().take(5).map(|(version, _)| version.as_str()).collect();
    let more = row.available.len().saturating_sub(updates.len());
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
    if !row.failing.is_empty() {
        pairs.push(Pair::new(failing, Value::Long(row.failing.clone())));
    }
    let one_column = panel.with(Block::Pairs(pairs));
    if full { one_column.with(history(row)) } else { one_column }
}

fn step(row: &VersionRow, to: &str) -> Step {
    let held = !row.failing.is_empty();
    Step {
        state: if held { StepState::Held } else { StepState::Now },
        text: format!("From {} to {to}", if row.current.is_empty() { "nothing" } else { &row.current }),
        note: row.percent().map(|percent| format!("{percent} %")).unwrap_or_default(),
        hint: if held { row.failing.clone() } else { row.updating.clone().unwrap_or_default() },
        since: None,
    }
}

fn history(row: &VersionRow) -> Block {
    let rows = row.history.iter().take(50).map(|each| {
        vec![
            Cell::Text(each.version.clone()),
            Cell::Text(if each.completed { "Completed" } else { "Partial" }.to_owned()),
            Cell::Time(each.started),
            Cell::Time(each.ended),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_read_from_the_words() {
        let row = |words: &str| VersionRow {
            current: "4.18.1".into(),
            desired: "4.19.9".into(),
            updating: Some(words.into()),
            ..VersionRow::default()
        };
        let told = row("Working towards 4.19.9: 543 of 880 done (61% complete), waiting on etcd");
        assert_eq!((told.percent(), told.moving_to()), (Some(61), Some("4.19.9")));
        for odd in ["", "%", "999999999999% done", "101%", "٣%"] {
            assert_eq!(row(odd).percent(), None, "{odd}");
        }
        assert_eq!(VersionRow::default().moving_to(), None);
    }
}
