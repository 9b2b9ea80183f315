//! The flags of the ARO operator.

use crate::panel::{Block, Panel};
use crate::parts::{Badge, Notice, Tone};
use crate::table::{Cell, Column, Table};
use crate::tabs::Tab;
use crate::text::encode;

/// A flag.
#[derive(Clone, Debug, Default)]
pub struct OperatorFlag {
    pub name: String,
    /// What it does; empty: it is not known.
    pub about: String,
    /// The value in the document.
    pub document: Option<String>,
    /// The value in the `Cluster` object.
    pub cluster: Option<String>,
    /// What holds where it is not set; none: the controller works it out.
    pub default: Option<String>,
    /// What the operator goes by.
    pub effective: Option<String>,
    /// It is set to another value than the default.
    pub changed: bool,
    /// The document has another value than the cluster.
    pub pending: bool,
    /// What is wrong with it, or empty.
    pub problem: String,
}

impl OperatorFlag {
    fn rank(&self) -> u8 {
        match (self.problem.is_empty(), self.pending, self.changed) {
            (false, ..) => 0,
            (_, true, _) => 1,
            (.., true) => 2,
            _ => 3,
        }
    }

    fn badges(&self) -> Vec<Badge> {
        let mut badges = Vec::new();
        if self.about.is_empty() {
            badges.push(Badge::filled(Tone::Warn, "unknown", "Not known"));
        } else if !self.problem.is_empty() {
            badges.push(Badge::filled(Tone::Bad, "failed", "Not valid"));
        }
        if self.pending {
            badges.push(Badge::filled(Tone::Busy, "wait", "Not written yet"));
        }
        if badges.is_empty() && self.changed {
            badges.push(Badge::quiet(Tone::Accent, "pen", "Changed"));
        }
        badges
    }

    /// Where it is set, and to what where that is not what holds.
    fn places(&self) -> String {
        let place = |what: &str, value: &Option<String>| {
            value.as_deref().map(|value| match Some(value) == self.effective.as_deref() {
                true => what.to_owned(),
                false => format!("{what}: {}", quoted(value)),
            })
        };
        let places = [place("document", &self.document), place("cluster", &self.cluster)];
        places.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }

    /// What it does, or what is wrong with it.
    fn words(&self) -> String {
        if self.problem.is_empty() { self.about.clone() } else { format!("{}. {}", self.problem, self.about) }
    }

    fn row(&self, change: Option<&str>) -> Vec<Cell> {
        let worked_out = if self.about.is_empty() { "none" } else { "by the controller" };
        let value = |value: &Option<String>| match value {
            Some(value) => Cell::Code(quoted(value).to_owned()),
            None => Cell::Unknown(worked_out),
        };
        let mut cells = vec![
            Cell::Two(self.name.clone(), self.words().trim().to_owned()),
            value(&self.effective),
            Cell::Badges(self.badges()),
            value(&self.default),
            Cell::Text(self.places()),
        ];
        if let Some(base) = change {
            let href = format!("{base}/{}/flag?flag={}", Tab::AroOperator.segment(), encode(&self.name));
            cells.push(Cell::Tools(vec![("pen", format!("Set {}", self.name), href)]));
        }
        cells
    }
}

/// An empty value is shown as one.
fn quoted(value: &str) -> &str {
    if value.is_empty() { "\"\"" } else { value }
}

/// The flags: those that are wrong, not written yet or changed first. `change`: the path of the cluster's pages, for a
/// person who may set them. `note`: what keeps it from saying more.
#[must_use]
pub fn flags_panel(flags: &[OperatorFlag], change: Option<&str>, note: &str) -> Panel {
    let mut panel = Panel::new("flags", "Flags");
    if !note.is_empty() {
        let text = note.to_owned();
        panel =
            panel.with(Block::Notice(Notice { tone: Tone::Mute, lead: String::new(), text, action: None }));
    }
    if flags.is_empty() {
        return panel;
    }
    let mut sorted: Vec<&OperatorFlag> = flags.iter().collect();
    sorted.sort_by_key(|flag| flag.rank());
    let changed = flags.iter().filter(|flag| flag.changed).count();
    let mut columns = vec![
        Column::new("", "Flag"),
        Column::new("", "Value"),
        Column::new("", "State").short(),
        Column::new("", "Default").rank(2),
        Column::new("", "Set in").rank(3),
    ];
    if change.is_some() {
        columns.push(Column::new("", "Set").short());
    }
    panel.fact(format!("{changed} of {} changed", flags.len())).with(Block::Table(Table {
        caption: "Flags of the ARO operator".to_owned(),
        columns,
        rows: sorted.iter().map(|flag| flag.row(change)).collect(),
        query: None,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_that_are_wrong_or_changed_come_first() {
        let flag = |name: &str| OperatorFlag {
            name: name.into(),
            about: "It.".into(),
            effective: Some("true".into()),
            default: Some("true".into()),
            ..OperatorFlag::default()
        };
        let wrong = OperatorFlag { problem: "bad".into(), ..flag("w") };
        let pending = OperatorFlag {
            pending: true,
            document: Some("".into()),
            cluster: Some("true".into()),
            ..flag("p")
        };
        let all = [flag("a"), OperatorFlag { changed: true, ..flag("c") }, pending.clone(), wrong];
        let panel = flags_panel(&all, Some("/c"), "");
        let Block::Table(table) = &panel.blocks[0] else { panic!("{panel:?}") };
        let names = table.rows.iter().map(|row| match &row[0] {
            Cell::Two(name, _) => name.as_str(),
            other => panic!("{other:?}"),
        });
        assert_eq!(names.collect::<Vec<&str>>(), ["w", "p", "c", "a"]);
        assert_eq!(pending.places(), "document: \"\", cluster");
        assert_eq!(table.columns.len(), table.rows[0].len());
        let Block::Table(read_only) = &flags_panel(&all, None, "").blocks[0] else { panic!("no table") };
        assert_eq!(read_only.columns.len(), 5);
    }
}
