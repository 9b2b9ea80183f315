//! Cluster operators.

use std::sync::Arc;

use rp_rows::{ConditionState, Event, Operator, Status};

use super::conditions::{condition_rows, usual};
use super::events::about;
use super::list::{List, ListColumn, ListContext, Row};
use super::nodes::{none_found, pages};
use super::{Board, ObservedRows, conditions_panel, no_such, page_of, seconds, was};
use crate::panel::{Block, Pair, Panel, Value};
use crate::parts::{Badge, Link, Tone};
use crate::table::{Cell, Column, Table, TableQuery};
use crate::text::encode;

/// A cluster operator with its run-book.
#[derive(Clone, Debug, Default)]
pub struct OperatorRow {
    /// As the cluster has it.
    pub operator: Arc<Operator>,
    /// Its run-book, or empty.
    pub runbook: String,
}

/// Reason and message of a condition.
pub(super) fn why(condition: &ConditionState) -> String {
    match (condition.reason.as_str(), condition.message.as_str()) {
        (reason, "") => reason.to_owned(),
        ("" | "AsExpected", message) => message.to_owned(),
        (reason, message) if message.starts_with(reason) => message.to_owned(),
        (reason, message) => format!("{reason}: {message}"),
    }
}

/// Yes or no; `well` is the status that is well.
fn answer(condition: &ConditionState, well: Status) -> Badge {
    let word = match condition.status {
        Status::True => "Yes",
        Status::False => "No",
        Status::Unknown => return Badge::filled(Tone::Warn, "unknown", "Unknown"),
    };
    if condition.status == well {
        Badge::quiet(Tone::Ok, "ok", word)
    } else {
        Badge::filled(Tone::Bad, "failed", word)
    }
}

/// The condition that tells most about how it is.
pub(super) fn leading(operator: &Operator) -> &ConditionState {
    let Operator { available, degraded, progressing, .. } = operator;
    match (available.status, degraded.status, progressing.status) {
        (Status::False, ..) => available,
        (_, Status::True, _) => degraded,
        (_, _, Status::True) => progressing,
        (Status::Unknown, ..) => available,
        (_, Status::Unknown, _) => degraded,
        _ => available,
    }
}

impl Row for OperatorRow {
    fn name(&self) -> &str {
        &self.operator.meta.name
    }

    fn rank(&self) -> u8 {
        let Operator { available, degraded, progressing, .. } = &*self.operator;
        match (available.status, degraded.status, progressing.status) {
            (Status::False, ..) => 0,
            (_, Status::True, _) => 1,
            (Status::Unknown, ..) | (_, Status::Unknown, _) => 2,
            (_, _, Status::True) => 3,
            _ => 4,
        }
    }

    /// Whether it is degraded, unavailable or unknown.
    fn wrong(&self) -> bool {
        self.rank() < 3
    }
}

impl OperatorRow {
    /// How it is, the worst first.
    pub(super) fn badges(&self) -> Vec<Badge> {
        let mut badges = Vec::new();
        match self.operator.available.status {
            Status::False => badges.push(Badge::filled(Tone::Bad, "failed", "Unavailable")),
            Status::Unknown => badges.push(Badge::filled(Tone::Warn, "unknown", "Availability unknown")),
            Status::True => {}
        }
        match self.operator.degraded.status {
            Status::True => badges.push(Badge::filled(Tone::Warn, "degraded", "Degraded")),
            Status::Unknown => badges.push(Badge::filled(Tone::Warn, "unknown", "Degradation unknown")),
            Status::False => {}
        }
        if self.operator.progressing.status.is_true() {
            badges.push(Badge::filled(Tone::Busy, "busy", "Progressing"));
        }
        if badges.is_empty() {
            badges.push(Badge::quiet(Tone::Ok, "ok", "Available"));
        }
        badges
    }

    /// Where to go on from it.
    pub(super) fn acts(&self, base: &str) -> Vec<Link> {
        let mut acts = Vec::new();
        if self.runbook.starts_with("https://") {
            acts.push(Link::new("Run-book", &*self.runbook));
        }
        acts.push(Link::new("Conditions", page_of(base, "operators", self.name()).href));
        if let Some(namespace) = self.namespace() {
            acts.push(Link::new("Pods", format!("{base}/pods?namespace={}", encode(namespace))));
        }
        acts
    }

    /// The namespace of its operands: the last one that it names, for the operator's own comes first.
    fn namespace(&self) -> Option<&str> {
        let related = &self.operator.related_objects;
        let mut all = related.iter().filter(|object| object.resource == "namespaces");
        all.next_back().map(|object| object.name.as_str())
    }
}

type OperatorColumn = ListColumn<OperatorRow>;

static OPERATORS: List<OperatorRow> = List {
    columns: &[
        OperatorColumn::new("name", "Operator", |row, list| {
            Cell::Link(page_of(list.base, "operators", row.name()))
        })
        .words(|row| row.name().into()),
        OperatorColumn::new("status", "Status", |row, list| {
            Cell::Badges(row.badges().into_iter().map(|badge| was(badge, list.stale)).collect())
        }),
        OperatorColumn::new("since", "Since", |row, _| Cell::Lasting(seconds(leading(&row.operator).since)))
            .order(|a, b| leading(&b.operator).since.cmp(&leading(&a.operator).since))
            .number(),
        OperatorColumn::text("version", "Version", |row| row.operator.version.as_str().into())
            .short()
            .rank(2),
        OperatorColumn::new("", "Message", |row, _| Cell::Quote(news(row))).words(|row| {
            let leading = leading(&row.operator);
            format!("{}\n{}", leading.reason, leading.message).into()
        }),
    ],
};

/// What it says; of a healthy operator nothing, for that is no news.
fn news(row: &OperatorRow) -> String {
    if row.wrong() || row.operator.progressing.status.is_true() {
        why(leading(&row.operator))
    } else {
        String::new()
    }
}

const MISSING: &str = "The cluster has no cluster operators: it is not OpenShift.";

/// The table of operators.
#[must_use]
pub fn operators_panel(base: &str, operators: &ObservedRows<OperatorRow>, query: &TableQuery) -> Panel {
    let heads = OPERATORS.awaited();
    let panel =
        Panel::new("operators", "Cluster operators").slot(operators.slot("Operators", &heads, MISSING));
    if !operators.known() {
        return panel;
    }
    let well = operators.rows.iter().filter(|operator| !operator.wrong()).count();
    let panel = operators.cut(panel.fact(format!("{well} of {} well", operators.rows.len())));
    let chosen = OPERATORS.choose(&operators.rows, query);
    if chosen.rows.is_empty() {
        return none_found(panel, "operators", query, operators.rows.is_empty());
    }
    let context = ListContext { base, stale: operators.stale() };
    let rows = chosen.rows.iter().copied();
    let table = OPERATORS.table("Cluster operators", rows, &context, Some(query));
    pages(panel.with(Block::Table(table)), query, &chosen.words(), chosen.total)
}

/// The page of one operator.
#[must_use]
pub fn operator_board(
    base: &str,
    name: &str,
    operators: &ObservedRows<OperatorRow>,
    events: &ObservedRows<Event>,
) -> Board {
    let list = Link::new("All operators", format!("{base}/operators"));
    let found = operators.rows.iter().find(|row| row.name() == name).filter(|_| operators.known());
    let Some(row) = found else { return no_such("Operator", name, &list, operators) };
    let Operator { available, degraded, progressing, upgradeable, version, versions, .. } = &*row.operator;
    let past = |badge| Value::Badge(was(badge, operators.stale()));
    let mut pairs = Vec::new();
    for (label, condition, well) in
        [("Available", available, Status::True), ("Degraded", degraded, Status::False)]
    {
        pairs.push(Pair::new(label, past(answer(condition, well))));
        pairs.push(Pair::new(format!("{label} since"), Value::Time(seconds(condition.since))));
    }
    let moves = match progressing.status {
        Status::True => Badge::filled(Tone::Busy, "busy", "Yes"),
        Status::False => Badge::quiet(Tone::Ok, "ok", "No"),
        Status::Unknown => Badge::filled(Tone::Warn, "unknown", "Unknown"),
    };
    pairs.push(Pair::new("Progressing", past(moves)));
    pairs.push(Pair::text("Upgradeable", may_upgrade(upgradeable)));
    pairs.push(Pair::text("Version", &**version));
    pairs.extend(versions.iter().filter(|(name, _)| name != "operator").map(|(n, v)| Pair::text(n, v)));
    if row.wrong() {
        pairs.push(Pair::new("Message", Value::Long(why(leading(&row.operator)))));
    }
    let heads: [&str; 0] = [];
    let mut about_it = Panel::new("object", "Cluster operator")
        .slot(operators.slot("Operator", &heads, MISSING))
        .with(Block::Pairs(pairs));
    if row.runbook.starts_with("https://") {
        about_it = about_it.link("Run-book", &*row.runbook);
    }
    Board {
        top: vec![about_it, conditions_panel(&condition_rows(&row.operator.conditions, usual))],
        main: vec![about(base, "ClusterOperator", "", row.name(), events)],
        side: vec![related(base, &row.operator)],
    }
}

fn may_upgrade(condition: &ConditionState) -> String {
    match condition.status {
        Status::True => "Yes".to_owned(),
        Status::False => ["No", &why(condition)].join(", ").trim_end_matches(", ").to_owned(),
        Status::Unknown => String::new(),
    }
}

fn related(base: &str, operator: &Operator) -> Panel {
    let panel = Panel::new("related", "What it looks after");
    if operator.related_objects.is_empty() {
        return panel.nothing("list", "Nothing", "It names no objects.");
    }
    let rows = operator.related_objects.iter().map(|object| {
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
    panel.fact(operator.related_objects.len().to_string()).with(Block::Table(Table {
        caption: "Objects that it looks after".to_owned(),
        columns: vec![Column::new("", "Name"), Column::new("", "Kind")],
        rows: rows.collect(),
        query: None,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn condition(status: Status, reason: &str) -> ConditionState {
        ConditionState { status, reason: reason.into(), ..ConditionState::default() }
    }

    #[test]
    fn the_worst_condition_leads() {
        use Status::{False, True, Unknown};

        let row = |available, degraded, progressing| OperatorRow {
            operator: Arc::new(Operator {
                available: condition(available, "A"),
                degraded: condition(degraded, "D"),
                progressing: condition(progressing, "P"),
                ..Operator::default()
            }),
            runbook: String::new(),
        };
        let leads = |a, d, p| leading(&row(a, d, p).operator).reason.clone();
        assert_eq!(leads(False, True, True), "A");
        assert_eq!(leads(True, True, True), "D");
        assert_eq!(leads(True, False, True), "P");
        assert!(row(True, True, Unknown).wrong());
        assert!(row(Unknown, False, False).wrong(), "unknown is not well");
        assert!(!row(True, False, True).wrong(), "progress is not a fault");
        assert!(OperatorRow::default().wrong());
    }

    #[test]
    fn reasons_are_not_said_twice() {
        let why = |reason: &str, message: &str| {
            why(&ConditionState { message: message.into(), ..condition(Status::Unknown, reason) })
        };
        assert_eq!(why("EtcdDown", "EtcdDown: 2 of 3"), "EtcdDown: 2 of 3");
        assert_eq!(why("EtcdDown", "2 of 3"), "EtcdDown: 2 of 3");
        assert_eq!(why("AsExpected", "fine"), "fine");
    }
}
