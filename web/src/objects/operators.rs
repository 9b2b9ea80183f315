//! Cluster operators.

use std::cmp::Ordering;

use super::events::{EventRow, about};
use super::nodes::{none_found, pages};
use super::{Board, ObservedRows, conditions_panel, no_such, page_of, was};
use crate::components::Condition;
use crate::panel::{Block, Pair, Panel, Value};
use crate::parts::{Badge, Link, Tone};
use crate::table::{Cell, Column, Table, TableQuery, natural};
use crate::text::encode;

/// A cluster operator.
#[derive(Clone, Debug, Default)]
pub struct OperatorRow {
    /// Its name.
    pub name: String,
    /// `Available`.
    pub available: Flag,
    /// `Progressing`.
    pub progressing: Flag,
    /// `Degraded`.
    pub degraded: Flag,
    /// `Upgradeable`.
    pub upgradeable: Flag,
    /// The version that it is at.
    pub version: String,
    /// Operands and their versions.
    pub versions: Vec<(String, String)>,
    /// Every condition.
    pub conditions: Vec<Condition>,
    /// What it looks after.
    pub related: Vec<RelatedObject>,
    /// Its run-book, or empty.
    pub runbook: String,
}

/// One condition of an operator.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Flag {
    /// Its status; none: `Unknown`, or there is no such condition.
    pub status: Option<bool>,
    /// Since when.
    pub since: Option<i64>,
    /// Reason.
    pub reason: String,
    /// Message.
    pub message: String,
}

/// An object that an operator looks after.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RelatedObject {
    /// API group, or empty.
    pub group: String,
    /// Plural of its kind.
    pub resource: String,
    /// Its namespace, or empty.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl Flag {
    /// Reason and message.
    #[must_use]
    pub fn why(&self) -> String {
        match (self.reason.as_str(), self.message.as_str()) {
            (reason, "") => reason.to_owned(),
            ("" | "AsExpected", message) => message.to_owned(),
            (reason, message) if message.starts_with(reason) => message.to_owned(),
            (reason, message) => format!("{reason}: {message}"),
        }
    }

    fn badge(&self, well: bool, yes: &str, no: &str) -> Badge {
        match self.status {
            Some(status) => {
                let word = if status { yes } else { no };
                if status == well {
                    Badge::quiet(Tone::Ok, "ok", word)
                } else {
                    Badge::filled(Tone::Bad, "failed", word)
                }
            }
            None => Badge::filled(Tone::Warn, "unknown", "Unknown"),
        }
    }
}

impl OperatorRow {
    /// How it is, the worst first.
    #[must_use]
    pub fn badges(&self) -> Vec<Badge> {
        let mut badges = Vec::new();
        match self.available.status {
            Some(false) => badges.push(Badge::filled(Tone::Bad, "failed", "Unavailable")),
            None => badges.push(Badge::filled(Tone::Warn, "unknown", "Availability unknown")),
            Some(true) => {}
        }
        match self.degraded.status {
            Some(true) => badges.push(Badge::filled(Tone::Warn, "degraded", "Degraded")),
            None => badges.push(Badge::filled(Tone::Warn, "unknown", "Degradation unknown")),
            Some(false) => {}
        }
        if self.progressing.status == Some(true) {
            badges.push(Badge::filled(Tone::Busy, "busy", "Progressing"));
        }
        if badges.is_empty() {
            badges.push(Badge::quiet(Tone::Ok, "ok", "Available"));
        }
        badges
    }

    /// The condition that tells most about how it is.
    #[must_use]
    pub fn leading(&self) -> &Flag {
        match (self.available.status, self.degraded.status, self.progressing.status) {
            (Some(false), ..) => &self.available,
            (_, Some(true), _) => &self.degraded,
            (_, _, Some(true)) => &self.progressing,
            (None, ..) => &self.available,
            (_, None, _) => &self.degraded,
            _ => &self.available,
        }
    }

    fn rank(&self) -> u8 {
        match (self.available.status, self.degraded.status, self.progressing.status) {
            (Some(false), ..) => 0,
            (_, Some(true), _) => 1,
            (None, ..) | (_, None, _) => 2,
            (_, _, Some(true)) => 3,
            _ => 4,
        }
    }

    /// Whether it is degraded, unavailable or unknown.
    #[must_use]
    pub fn wrong(&self) -> bool {
        self.rank() < 3
    }

    fn compare(key: &str, a: &Self, b: &Self) -> Ordering {
        match key {
            "name" => natural(&a.name, &b.name),
            "version" => natural(&a.version, &b.version),
            "since" => b.leading().since.cmp(&a.leading().since),
            _ => a.rank().cmp(&b.rank()),
        }
    }

    /// Where to go on from it.
    pub(super) fn acts(&self, base: &str) -> Vec<Link> {
        let mut acts = Vec::new();
        if self.runbook.starts_with("https://") {
            acts.push(Link::new("Run-book", &*self.runbook));
        }
        acts.push(Link::new("Conditions", page_of(base, "operators", &self.name).href));
        if let Some(namespace) = self.namespace() {
            acts.push(Link::new("Pods", format!("{base}/pods?namespace={}", encode(namespace))));
        }
        acts
    }

    /// The namespace of its operands: the last one that it names, for the operator's own comes first.
    fn namespace(&self) -> Option<&str> {
        let mut all = self.related.iter().filter(|object| object.resource == "namespaces");
        all.next_back().map(|object| object.name.as_str())
    }
}

const COLUMNS: [Column; 5] = [
    Column::new("name", "Operator"),
    Column::new("status", "Status"),
    Column::new("since", "Since").number(),
    Column::new("version", "Version").short().rank(2),
    Column::new("", "Message"),
];

const MISSING: &str = "The cluster has no cluster operators: it is not OpenShift.";

/// The table of operators.
#[must_use]
pub fn operators_panel(base: &str, operators: &ObservedRows<OperatorRow>, query: &TableQuery) -> Panel {
    let heads = Column::awaited(&COLUMNS);
    let panel =
        Panel::new("operators", "Cluster operators").slot(operators.slot("Operators", &heads, MISSING));
    if !operators.known() {
        return panel;
    }
    let well = operators.rows.iter().filter(|operator| !operator.wrong()).count();
    let panel = operators.cut(panel.fact(format!("{well} of {} well", operators.rows.len())));
    let keep = |row: &OperatorRow| {
        let leading = row.leading();
        (!query.problems || row.wrong())
            && query.has(&[&row.name, &row.version, &leading.reason, &leading.message])
    };
    let chosen = query.apply(&operators.rows, keep, OperatorRow::compare);
    if chosen.rows.is_empty() {
        return none_found(panel, "operators", query, operators.rows.is_empty());
    }
    let rows = chosen.rows.iter().map(|row| {
        let leading = row.leading();
        // What a healthy operator says is no news.
        let message =
            if row.wrong() || row.progressing.status == Some(true) { leading.why() } else { String::new() };
        vec![
            Cell::Link(page_of(base, "operators", &row.name)),
            Cell::Badges(row.badges().into_iter().map(|badge| was(badge, operators.stale())).collect()),
            Cell::Lasting(leading.since),
            Cell::Text(row.version.clone()),
            Cell::Quote(message),
        ]
    });
    let table = Table {
        caption: "Cluster operators".to_owned(),
        columns: COLUMNS.to_vec(),
        rows: rows.collect(),
        query: Some(query.clone()),
    };
    pages(panel.with(Block::Table(table)), query, &chosen.words(), chosen.total)
}

/// The page of one operator.
#[must_use]
pub fn operator_board(
    base: &str,
    name: &str,
    operators: &ObservedRows<OperatorRow>,
    events: &ObservedRows<EventRow>,
) -> Board {
    let list = Link::new("All operators", format!("{base}/operators"));
    let found = operators.rows.iter().find(|operator| operator.name == name).filter(|_| operators.known());
    let Some(row) = found else { return no_such("Operator", name, &list, operators) };
    let past = |badge| Value::Badge(was(badge, operators.stale()));
    let flags = [
        ("Available", row.available.badge(true, "Yes", "No"), &row.available),
        ("Degraded", row.degraded.badge(false, "Yes", "No"), &row.degraded),
    ];
    let mut pairs = Vec::new();
    for (label, badge, flag) in flags {
        pairs.push(Pair::new(label, past(badge)));
        pairs.push(Pair::new(format!("{label} since"), Value::Time(flag.since)));
    }
    let progressing = match row.progressing.status {
        Some(true) => Badge::filled(Tone::Busy, "busy", "Yes"),
        Some(false) => Badge::quiet(Tone::Ok, "ok", "No"),
        None => Badge::filled(Tone::Warn, "unknown", "Unknown"),
    };
    pairs.push(Pair::new("Progressing", past(progressing)));
    pairs.push(Pair::text("Upgradeable", upgradeable(&row.upgradeable)));
    pairs.push(Pair::text("Version", &*row.version));
    pairs.extend(row.versions.iter().filter(|(name, _)| name != "operator").map(|(n, v)| Pair::text(n, v)));
    if row.wrong() {
        pairs.push(Pair::new("It says", Value::Long(row.leading().why())));
    }
    let heads: [&str; 0] = [];
    let mut about_it = Panel::new("object", "Cluster operator")
        .slot(operators.slot("Operator", &heads, MISSING))
        .with(Block::Pairs(pairs));
    if row.runbook.starts_with("https://") {
        about_it = about_it.link("Run-book", &*row.runbook);
    }
    Board {
        top: vec![about_it, conditions_panel(&row.conditions)],
        main: vec![about(base, "ClusterOperator", "", &row.name, events)],
        side: vec![related(base, row)],
    }
}

fn upgradeable(flag: &Flag) -> String {
    match flag.status {
        Some(true) => "Yes".to_owned(),
        Some(false) => ["No", &flag.why()].join(", ").trim_end_matches(", ").to_owned(),
        None => String::new(),
    }
}

fn related(base: &str, row: &OperatorRow) -> Panel {
    let panel = Panel::new("related", "What it looks after");
    if row.related.is_empty() {
        return panel.nothing("list", "Nothing", "It names no objects.");
    }
    let rows = row.related.iter().map(|object| {
        let name = if object.name.is_empty() { "all" } else { &object.name };
        let link = match object.resource.as_str() {
            "namespaces" => format!("{base}/pods?namespace={}", encode(&object.name)),
            "nodes" => page_of(base, "nodes", &object.name).href,
            "clusteroperators" => page_of(base, "operators", &object.name).href,
            _ => String::new(),
        };
        let kind = [object.resource.as_str(), &object.group].join(".");
        vec![
            Cell::LinkTwo(Link::new(name, link), object.namespace.clone()),
            Cell::Text(kind.trim_end_matches('.').to_owned()),
        ]
    });
    panel.fact(row.related.len().to_string()).with(Block::Table(Table {
        caption: "Objects that it looks after".to_owned(),
        columns: vec![Column::new("", "Name"), Column::new("", "Kind")],
        rows: rows.collect(),
        query: None,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flag(status: Option<bool>) -> Flag {
        Flag { status, ..Flag::default() }
    }

    #[test]
    fn the_worst_condition_leads() {
        let operator = |available, degraded, progressing| OperatorRow {
            available: Flag { reason: "A".into(), ..flag(available) },
            degraded: Flag { reason: "D".into(), ..flag(degraded) },
            progressing: Flag { reason: "P".into(), ..flag(progressing) },
            ..OperatorRow::default()
        };
        let leads = |a, d, p| operator(a, d, p).leading().reason.clone();
        assert_eq!(leads(Some(false), Some(true), Some(true)), "A");
        assert_eq!(leads(Some(true), Some(true), Some(true)), "D");
        assert_eq!(leads(Some(true), Some(false), Some(true)), "P");
        assert!(operator(Some(true), Some(true), None).wrong());
        assert!(operator(None, Some(false), Some(false)).wrong(), "unknown is not well");
        assert!(!operator(Some(true), Some(false), Some(true)).wrong(), "progress is not a fault");
        assert!(OperatorRow::default().wrong());
    }

    #[test]
    fn reasons_are_not_said_twice() {
        let why = |reason: &str, message: &str| {
            Flag { reason: reason.into(), message: message.into(), ..Flag::default() }.why()
        };
        assert_eq!(why("EtcdDown", "EtcdDown: 2 of 3"), "EtcdDown: 2 of 3");
        assert_eq!(why("EtcdDown", "2 of 3"), "EtcdDown: 2 of 3");
        assert_eq!(why("AsExpected", "fine"), "fine");
    }
}
