//! Nodes: readiness from the condition of type `Ready`, schedulability from `spec.unschedulable`.

use rp_rows::{Event, Node, Status};

use super::conditions::condition_rows;
use super::events::about;
use super::list::{List, ListColumn, ListContext, Row};
use super::machines::{MachineRow, Vm};
use super::{Board, ObservedRows, conditions_panel, no_such, page_of, seconds, tags_panel, was, words_of};
use crate::panel::{Block, Pair, Panel, Value};
use crate::parts::{Badge, Link, Tone};
use crate::table::{Cell, Column, Table, TableQuery};
use crate::text::{encode, size};

/// How a node is, the worst first.
pub(super) fn node_badges(node: &Node) -> Vec<Badge> {
    let mut badges = Vec::new();
    match node.ready {
        Status::True => {}
        Status::False => badges.push(Badge::filled(Tone::Bad, "failed", "Not ready")),
        Status::Unknown => {
            badges.push(Badge::filled(Tone::Bad, "away", "Not ready: kubelet stopped reporting"));
        }
    }
    for pressure in &node.pressures {
        badges.push(Badge::filled(Tone::Warn, "degraded", words_of(&pressure.kind)));
    }
    if node.config_state == "Degraded" {
        badges.push(Badge::filled(Tone::Warn, "wrench", "Configuration degraded"));
    }
    if !node.schedulable {
        let tone = if node.config_state == "Working" { Tone::Busy } else { Tone::Warn };
        badges.push(Badge::filled(tone, "pause", "Cordoned"));
    }
    if badges.is_empty() {
        badges.push(Badge::quiet(Tone::Ok, "ok", "Ready"));
    }
    badges
}

impl Row for Node {
    fn name(&self) -> &str {
        &self.meta.name
    }

    fn rank(&self) -> u8 {
        match self.ready {
            Status::False | Status::Unknown => 0,
            Status::True if !self.pressures.is_empty() => 1,
            Status::True if self.config_state == "Degraded" => 2,
            Status::True if !self.schedulable => 3,
            Status::True => 4,
        }
    }

    fn wrong(&self) -> bool {
        self.rank() < 4
    }
}

type NodeColumn = ListColumn<Node>;

static NODES: List<Node> = List {
    columns: &[
        NodeColumn::new("name", "Node", |node, list| {
            Cell::Link(page_of(list.base, "nodes", &node.meta.name))
        })
        .words(|node| node.meta.name.as_str().into()),
        NodeColumn::new("status", "Status", |node, list| {
            Cell::Badges(node_badges(node).into_iter().map(|badge| was(badge, list.stale)).collect())
        }),
        NodeColumn::text("role", "Role", |node| node.role().into())
            .order(|a, b| a.role().cmp(&b.role()))
            .short(),
        NodeColumn::text("version", "Version", |node| node.version.as_str().into()).short(),
        NodeColumn::text("size", "Size", |node| node.instance_type.as_str().into()).short().rank(3),
        NodeColumn::text("zone", "Zone", |node| node.zone.as_str().into()).short().rank(3),
        NodeColumn::new("cpu", "CPU", |node, _| {
            Cell::Text(node.allocatable.cpu_millis.map(cores).unwrap_or_default())
        })
        .order(|a, b| a.allocatable.cpu_millis.cmp(&b.allocatable.cpu_millis))
        .number()
        .rank(3),
        NodeColumn::new("memory", "Memory", |node, _| {
            Cell::Text(node.allocatable.memory.map(bytes).unwrap_or_default())
        })
        .order(|a, b| a.allocatable.memory.cmp(&b.allocatable.memory))
        .number()
        .rank(3),
        NodeColumn::new("age", "Age", |node, _| Cell::Lasting(seconds(node.meta.created)))
            .order(|a, b| b.meta.created.cmp(&a.meta.created))
            .number()
            .rank(2),
        NodeColumn::new("", "Actions", |node, list| Cell::Tools(tools(list.base, node))).number(),
        NodeColumn::hidden("machine", |node| node.machine_name().into()),
    ],
};

const MISSING: &str = "The cluster has no nodes that can be listed.";

/// What can be done with a node from its row.
fn tools(base: &str, node: &Node) -> Vec<(&'static str, String, String)> {
    let name = &node.meta.name;
    let act = |icon, words: &str, action: &str| {
        (icon, format!("{words} {name}…"), format!("{base}/act?do={action}&name={}", encode(name)))
    };
    let cordon =
        if node.schedulable { act("pause", "Cordon", "cordon") } else { act("play", "Uncordon", "uncordon") };
    vec![cordon, act("stop", "Drain", "drain")]
}

/// The table of nodes as the query asks for it; without a query the worst twelve.
#[must_use]
pub fn nodes_panel(base: &str, nodes: &ObservedRows<Node>, query: Option<&TableQuery>) -> Panel {
    let panel = Panel::new("nodes", "Nodes").slot(nodes.slot("Nodes", &NODES.awaited(), MISSING));
    if !nodes.known() {
        return panel;
    }
    let ready = nodes.rows.iter().filter(|node| node.ready.is_true()).count();
    let fact = format!("{ready} of {} ready", nodes.rows.len());
    let asked = query.cloned().unwrap_or_default();
    let chosen = NODES.choose(&nodes.rows, &asked);
    let mut panel = nodes.cut(panel.fact(fact));
    if chosen.rows.is_empty() {
        return none_found(panel, "nodes", &asked, nodes.rows.is_empty());
    }
    let most = if query.is_some() { usize::MAX } else { 12 };
    let context = ListContext { base, stale: nodes.stale() };
    let rows = chosen.rows.iter().take(most).copied();
    panel = panel.with(Block::Table(NODES.table("Nodes", rows, &context, query)));
    match query {
        Some(_) => pages(panel, &asked, &chosen.words(), chosen.total),
        None => panel.link("All nodes", format!("{base}/nodes")),
    }
}

/// Links to the pages before and after.
pub(super) fn pages(panel: Panel, query: &TableQuery, words: &Option<String>, total: usize) -> Panel {
    let Some(words) = words else { return panel };
    let last = total.saturating_sub(1) / crate::table::PAGE;
    let next = (query.page < last).then(|| Link::new("Next page", query.at_page(query.page + 1).href()));
    let back = (query.page > 0).then(|| Link::new("First page", query.at_page(0).href()));
    panel.with(Block::Foot(words.clone(), next.or(back)))
}

/// Nothing matches, or there is nothing at all.
pub(super) fn none_found(panel: Panel, what: &str, query: &TableQuery, empty: bool) -> Panel {
    if empty {
        return panel.nothing("list", format!("No {what}"), "The cluster has none.");
    }
    if query.q.is_empty() && query.problems {
        return panel.well(format!("No {what} need attention"), "All are healthy.");
    }
    let wider = TableQuery { q: String::new(), problems: false, page: 0, ..query.clone() };
    let text = if query.q.is_empty() { String::new() } else { format!("Asked for: {}", query.q) };
    panel.with(Block::Blank(
        crate::components::EmptyState::nothing("search", format!("No {what} match"))
            .text(text)
            .action(Link::new("Show all", wider.href())),
    ))
}

/// `3.5`, of thousandths of a core.
pub(super) fn cores(millis: i64) -> String {
    if millis % 1000 == 0 {
        format!("{}", millis / 1000)
    } else {
        format!("{}.{}", millis / 1000, (millis % 1000).abs() / 100)
    }
}

pub(super) fn bytes(n: i64) -> String {
    size(usize::try_from(n).unwrap_or(0))
}

/// The page of one node.
#[must_use]
pub fn node_board(
    base: &str,
    name: &str,
    nodes: &ObservedRows<Node>,
    machines: &ObservedRows<MachineRow>,
    events: &ObservedRows<Event>,
) -> Board {
    let list = Link::new("All nodes", format!("{base}/nodes"));
    let Some(node) = nodes.rows.iter().find(|node| node.name() == name).filter(|_| nodes.known()) else {
        return no_such("Node", name, &list, nodes);
    };
    let machine = machine_of(node, machines);
    Board {
        top: vec![about_node(base, node, machine, nodes)],
        main: vec![
            // Every node condition except Ready reports a problem when true.
            conditions_panel(&condition_rows(&node.conditions, |kind| Some(kind == "Ready"))),
            about(base, "Node", "", node.name(), events),
        ],
        side: vec![
            resources(node),
            taints(node),
            tags_panel("labels", "Labels", &node.labels),
            tags_panel("annotations", "Annotations", &node.annotations),
        ],
    }
}

fn about_node(base: &str, node: &Node, machine: Option<&MachineRow>, nodes: &ObservedRows<Node>) -> Panel {
    let pods = Link::new("Pods on it", format!("{base}/pods?node={}", encode(node.name())));
    let badges = node_badges(node).into_iter().map(|badge| Value::Badge(was(badge, nodes.stale())));
    let mut pairs: Vec<Pair> = badges.map(|badge| Pair::new("Status", badge)).collect();
    pairs.extend([
        Pair::new("Since", Value::Time(seconds(node.ready_since))),
        Pair::text("Schedulable", if node.schedulable { "Yes" } else { "No, cordoned" }),
        Pair::text("Role", node.role()),
        Pair::new("Machine", Value::Link(page_of(base, "machines", node.machine_name()))),
        Pair::new("Machine set", Value::Link(machine.map(|m| m.set_link(base)).unwrap_or_default())),
        machine.map_or_else(
            || Pair::text("Virtual machine", ""),
            |m| Pair::new("Virtual machine", m.vm.value()),
        ),
        Pair::new("Pods", Value::Link(pods)),
        Pair::text("Size", &*node.instance_type),
        Pair::text("Zone", &*node.zone),
        Pair::text("Kubelet", &*node.version),
        Pair::text("System", &*node.os),
        Pair::text("Kernel", &*node.kernel),
        Pair::text("Runtime", &*node.runtime),
        Pair::text("Configuration", &*node.config_state),
        Pair::new("Created", Value::Time(seconds(node.meta.created))),
    ]);
    pairs.extend(node.addresses.iter().map(|(kind, address)| Pair::code(words_of(kind), address)));
    pairs.push(Pair::new("Provider ID", Value::Long(node.provider_id.clone())));
    let why = node.ready_why();
    if !why.is_empty() && !node.ready.is_true() {
        pairs.push(Pair::new("Not ready because", Value::Long(why)));
    }
    if !node.config_reason.is_empty() {
        pairs.push(Pair::new("Configuration says", Value::Long(node.config_reason.clone())));
    }
    let heads: [&str; 0] = [];
    Panel::new("object", "Node").slot(nodes.slot("Node", &heads, MISSING)).with(Block::Pairs(pairs))
}

fn resources(node: &Node) -> Panel {
    let line = |name: &str, has: Option<i64>, gives: Option<i64>, words: fn(i64) -> String| {
        let told = |n: Option<i64>| n.map(words).unwrap_or_default();
        vec![Cell::Text(name.to_owned()), Cell::Text(told(has)), Cell::Text(told(gives))]
    };
    let (has, gives) = (node.capacity, node.allocatable);
    let rows = vec![
        line("CPU, cores", has.cpu_millis, gives.cpu_millis, cores),
        line("Memory", has.memory, gives.memory, bytes),
        line("Storage", has.storage, gives.storage, bytes),
        line("Pods", has.pods, gives.pods, |n| n.to_string()),
        vec![
            Cell::Text("Volumes attached".to_owned()),
            Cell::Text(node.volumes_attached.to_string()),
            Cell::Text(String::new()),
        ],
    ];
    let columns = vec![
        Column::new("", "Resource"),
        Column::new("", "Capacity").number(),
        Column::new("", "Allocatable").number(),
    ];
    Panel::new("resources", "Capacity").with(Block::Table(Table {
        caption: "Capacity and what of it can be given".to_owned(),
        columns,
        rows,
        query: None,
    }))
}

fn taints(node: &Node) -> Panel {
    let panel = Panel::new("taints", "Taints");
    if node.taints.is_empty() {
        return panel.nothing("list", "No taints", "");
    }
    let rows = node.taints.iter().map(|taint| {
        let key =
            if taint.value.is_empty() { taint.key.clone() } else { format!("{}={}", taint.key, taint.value) };
        vec![Cell::Code(key), Cell::Text(taint.effect.clone()), Cell::Time(seconds(taint.added))]
    });
    panel.with(Block::Table(Table {
        caption: "Taints".to_owned(),
        columns: vec![
            Column::new("", "Key"),
            Column::new("", "Effect").short(),
            Column::new("", "Added").number(),
        ],
        rows: rows.collect(),
        query: None,
    }))
}

/// The machine of a node, where it is known.
fn machine_of<'a>(node: &Node, machines: &'a ObservedRows<MachineRow>) -> Option<&'a MachineRow> {
    machines.iter().find(|row| row.machine.meta.name == node.machine_name())
}

/// The state of a node's virtual machine, where its machine is known.
pub(super) fn vm_of<'a>(node: &Node, machines: &'a ObservedRows<MachineRow>) -> Option<&'a Vm> {
    machine_of(node, machines).map(|row| &row.vm)
}

#[cfg(test)]
mod tests {
    use rp_rows::{Condition, Meta};

    use super::*;

    fn node(name: &str) -> Node {
        let meta = Meta { name: name.into(), ..Meta::default() };
        Node { meta, ready: Status::True, schedulable: true, ..Node::default() }
    }

    #[test]
    fn the_worst_stand_first_and_every_state_has_a_word() {
        let pressure = Condition { kind: "DiskPressure".into(), ..Condition::default() };
        let rows = vec![
            node("b"),
            Node { schedulable: false, ..node("cordoned") },
            Node { pressures: vec![pressure], ..node("full") },
            Node { ready: Status::Unknown, ..node("silent") },
            Node { ready: Status::False, ..node("dead") },
            node("a"),
        ];
        let chosen = NODES.choose(&rows, &TableQuery::default());
        let names: Vec<&str> = chosen.rows.iter().map(|row| row.name()).collect();
        assert_eq!(names, ["dead", "silent", "full", "cordoned", "a", "b"]);
        let words = |name: &str| {
            let row = rows.iter().find(|row| row.name() == name);
            row.map(|row| node_badges(row).into_iter().map(|b| b.word).collect::<Vec<_>>().join(","))
        };
        assert_eq!(words("full").as_deref(), Some("Disk pressure"));
        assert_eq!(words("cordoned").as_deref(), Some("Cordoned"));
        assert_eq!(words("a").as_deref(), Some("Ready"));
    }

    #[test]
    fn amounts_are_told_in_one_unit() {
        assert_eq!((cores(4000), cores(3500)), ("4".into(), "3.5".into()));
        assert_eq!(bytes(-1), "0 B");
    }
}
