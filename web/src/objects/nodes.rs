//! Nodes: readiness from the condition of type `Ready`, schedulability from `spec.unschedulable`.

use std::cmp::Ordering;

use super::events::{EventRow, about};
use super::machines::{MachineRow, Vm};
use super::{Board, ObservedRows, conditions_panel, no_such, page_of, tags_panel, was, words_of};
use crate::components::Condition;
use crate::panel::{Block, Pair, Panel, Value};
use crate::parts::{Badge, Link, Tone};
use crate::table::{Cell, Column, Table, TableQuery, natural};
use crate::text::{encode, size};

/// What a node has or can give.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amounts {
    /// Thousandths of a core.
    pub cpu_millis: Option<i64>,
    /// Bytes.
    pub memory: Option<i64>,
    /// Ephemeral storage, bytes.
    pub storage: Option<i64>,
    /// Pods.
    pub pods: Option<i64>,
}

/// A taint.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Taint {
    /// Its key.
    pub key: String,
    /// Its value.
    pub value: String,
    /// `NoSchedule`, `PreferNoSchedule`, `NoExecute`.
    pub effect: String,
    /// Since when.
    pub added: Option<i64>,
}

/// A node.
#[derive(Clone, Debug, Default)]
pub struct NodeRow {
    /// Its name.
    pub name: String,
    /// Status of the condition `Ready`; none: `Unknown`, or there is no such condition.
    pub ready: Option<bool>,
    /// Since when.
    pub ready_since: Option<i64>,
    /// Reason and message of that condition.
    pub ready_why: String,
    /// Not cordoned.
    pub schedulable: bool,
    /// Conditions that say what is wrong: type, since when, message.
    pub pressures: Vec<(String, Option<i64>, String)>,
    /// Roles.
    pub roles: Vec<String>,
    /// Size of its machine.
    pub instance_type: String,
    /// Zone.
    pub zone: String,
    /// The kubelet's version.
    pub version: String,
    /// Operating system.
    pub os: String,
    /// Kernel.
    pub kernel: String,
    /// Container runtime.
    pub runtime: String,
    /// Name of its machine.
    pub machine: String,
    /// Provider's id.
    pub provider_id: String,
    /// Taints.
    pub taints: Vec<Taint>,
    /// Every condition.
    pub conditions: Vec<Condition>,
    /// What it has.
    pub capacity: Amounts,
    /// What it can give.
    pub allocatable: Amounts,
    /// Type and address.
    pub addresses: Vec<(String, String)>,
    /// State of its machine configuration: `Done`, `Working`, `Degraded` or empty.
    pub config_state: String,
    /// The reason.
    pub config_reason: String,
    /// Volumes that are attached.
    pub volumes: u64,
    /// Its birth.
    pub created: Option<i64>,
    /// Labels.
    pub labels: Vec<(String, String)>,
    /// Annotations.
    pub annotations: Vec<(String, String)>,
}

impl NodeRow {
    /// How it is, the worst first.
    #[must_use]
    pub fn badges(&self) -> Vec<Badge> {
        let mut badges = Vec::new();
        match self.ready {
            Some(true) => {}
            Some(false) => badges.push(Badge::filled(Tone::Bad, "failed", "Not ready")),
            None => badges.push(Badge::filled(Tone::Bad, "away", "Not heard from")),
        }
        for (kind, ..) in &self.pressures {
            badges.push(Badge::filled(Tone::Warn, "degraded", words_of(kind)));
        }
        if self.config_state == "Degraded" {
            badges.push(Badge::filled(Tone::Warn, "wrench", "Configuration degraded"));
        }
        if !self.schedulable {
            let tone = if self.config_state == "Working" { Tone::Busy } else { Tone::Warn };
            badges.push(Badge::filled(tone, "pause", "Cordoned"));
        }
        if badges.is_empty() {
            badges.push(Badge::quiet(Tone::Ok, "ok", "Ready"));
        }
        badges
    }

    /// How bad it is: 0 is worst.
    fn rank(&self) -> u8 {
        match self.ready {
            Some(false) | None => 0,
            Some(true) if !self.pressures.is_empty() => 1,
            Some(true) if self.config_state == "Degraded" => 2,
            Some(true) if !self.schedulable => 3,
            Some(true) => 4,
        }
    }

    /// It needs a look.
    #[must_use]
    pub fn wrong(&self) -> bool {
        self.rank() < 4
    }

    /// Its roles.
    #[must_use]
    pub fn role(&self) -> String {
        self.roles.join(", ")
    }

    fn compare(key: &str, a: &Self, b: &Self) -> Ordering {
        let cpu = |node: &Self| node.allocatable.cpu_millis;
        let memory = |node: &Self| node.allocatable.memory;
        match key {
            "name" => natural(&a.name, &b.name),
            "role" => a.role().cmp(&b.role()),
            "version" => natural(&a.version, &b.version),
            "size" => natural(&a.instance_type, &b.instance_type),
            "zone" => natural(&a.zone, &b.zone),
            "machine" => natural(&a.machine, &b.machine),
            "cpu" => cpu(a).cmp(&cpu(b)),
            "memory" => memory(a).cmp(&memory(b)),
            "age" => b.created.cmp(&a.created),
            _ => a.rank().cmp(&b.rank()),
        }
    }
}

const COLUMNS: [Column; 9] = [
    Column::new("name", "Node"),
    Column::new("status", "Status"),
    Column::new("role", "Role").short(),
    Column::new("version", "Version").short(),
    Column::new("size", "Size").short().rank(3),
    Column::new("zone", "Zone").short().rank(3),
    Column::new("cpu", "CPU").number().rank(3),
    Column::new("memory", "Memory").number().rank(3),
    Column::new("age", "Age").number().rank(2),
];

const MISSING: &str = "The cluster has no nodes that can be listed.";

/// The table of nodes as the query asks for it; without a query the worst twelve.
#[must_use]
pub fn nodes_panel(base: &str, nodes: &ObservedRows<NodeRow>, query: Option<&TableQuery>) -> Panel {
    let panel = Panel::new("nodes", "Nodes").slot(nodes.slot("Nodes", &Column::awaited(&COLUMNS), MISSING));
    if !nodes.known() {
        return panel;
    }
    let ready = nodes.rows.iter().filter(|node| node.ready == Some(true)).count();
    let fact = format!("{ready} of {} ready", nodes.rows.len());
    let asked = query.cloned().unwrap_or_default();
    let keep = |node: &NodeRow| {
        (!asked.problems || node.wrong())
            && asked.has(&[
                &node.name,
                &node.role(),
                &node.version,
                &node.instance_type,
                &node.zone,
                &node.machine,
            ])
    };
    let chosen = asked.apply(&nodes.rows, keep, NodeRow::compare);
    let mut panel = nodes.cut(panel.fact(fact));
    if chosen.rows.is_empty() {
        return none_found(panel, "nodes", &asked, nodes.rows.is_empty());
    }
    let most = if query.is_some() { usize::MAX } else { 12 };
    let rows = chosen.rows.iter().take(most).map(|node| row(base, node, nodes.stale())).collect();
    panel = panel.with(Block::Table(Table {
        caption: "Nodes".to_owned(),
        columns: COLUMNS.to_vec(),
        rows,
        query: query.cloned(),
    }));
    match query {
        Some(_) => pages(panel, &asked, &chosen.words(), chosen.total),
        None => panel.link("All nodes", format!("{base}/nodes")),
    }
}

fn row(base: &str, node: &NodeRow, stale: bool) -> Vec<Cell> {
    let badges = node.badges().into_iter().map(|badge| was(badge, stale)).collect();
    vec![
        Cell::Link(page_of(base, "nodes", &node.name)),
        Cell::Badges(badges),
        Cell::Text(node.role()),
        Cell::Text(node.version.clone()),
        Cell::Text(node.instance_type.clone()),
        Cell::Text(node.zone.clone()),
        Cell::Text(node.allocatable.cpu_millis.map(cores).unwrap_or_default()),
        Cell::Text(node.allocatable.memory.map(bytes).unwrap_or_default()),
        Cell::Lasting(node.created),
    ]
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
        return panel.nothing("list", format!("No {what}"), "The cluster was asked and has none.");
    }
    if query.q.is_empty() && query.problems {
        return panel.well(format!("No {what} need a look"), "All are as they should be.");
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
    nodes: &ObservedRows<NodeRow>,
    machines: &ObservedRows<MachineRow>,
    events: &ObservedRows<EventRow>,
) -> Board {
    let list = Link::new("All nodes", format!("{base}/nodes"));
    let Some(node) = nodes.rows.iter().find(|node| node.name == name).filter(|_| nodes.known()) else {
        return no_such("Node", name, &list, nodes);
    };
    let machine = machines.rows.iter().find(|machine| machine.name == node.machine);
    Board {
        top: vec![about_node(base, node, machine, nodes)],
        main: vec![conditions_panel(&node.conditions), about(base, "Node", "", &node.name, events)],
        side: vec![
            resources(node),
            taints(node),
            tags_panel("labels", "Labels", &node.labels),
            tags_panel("annotations", "Annotations", &node.annotations),
        ],
    }
}

fn about_node(
    base: &str,
    node: &NodeRow,
    machine: Option<&MachineRow>,
    nodes: &ObservedRows<NodeRow>,
) -> Panel {
    let pods = Link::new("Pods on it", format!("{base}/pods?node={}", encode(&node.name)));
    let mut pairs: Vec<Pair> =
        node.badges().into_iter().map(|b| Pair::new("Status", Value::Badge(was(b, nodes.stale())))).collect();
    pairs.extend([
        Pair::new("Since", Value::Time(node.ready_since)),
        Pair::text("Schedulable", if node.schedulable { "Yes" } else { "No, cordoned" }),
        Pair::text("Role", node.role()),
        Pair::new("Machine", Value::Link(page_of(base, "machines", &node.machine))),
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
        Pair::new("Created", Value::Time(node.created)),
    ]);
    pairs.extend(node.addresses.iter().map(|(kind, address)| Pair::code(words_of(kind), address)));
    pairs.push(Pair::new("Provider ID", Value::Long(node.provider_id.clone())));
    if !node.ready_why.is_empty() && node.ready != Some(true) {
        pairs.push(Pair::new("Not ready because", Value::Long(node.ready_why.clone())));
    }
    if !node.config_reason.is_empty() {
        pairs.push(Pair::new("Configuration says", Value::Long(node.config_reason.clone())));
    }
    let heads: [&str; 0] = [];
    Panel::new("object", "Node").slot(nodes.slot("Node", &heads, MISSING)).with(Block::Pairs(pairs))
}

fn resources(node: &NodeRow) -> Panel {
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
            Cell::Text(node.volumes.to_string()),
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

fn taints(node: &NodeRow) -> Panel {
    let panel = Panel::new("taints", "Taints");
    if node.taints.is_empty() {
        return panel.nothing("list", "No taints", "");
    }
    let rows = node.taints.iter().map(|taint| {
        let key =
            if taint.value.is_empty() { taint.key.clone() } else { format!("{}={}", taint.key, taint.value) };
        vec![Cell::Code(key), Cell::Text(taint.effect.clone()), Cell::Time(taint.added)]
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

/// The state of a node's virtual machine, where its machine is known.
#[must_use]
pub(super) fn vm_of<'a>(node: &NodeRow, machines: &'a [MachineRow]) -> Option<&'a Vm> {
    machines.iter().find(|machine| machine.name == node.machine).map(|machine| &machine.vm)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: &str) -> NodeRow {
        NodeRow { name: name.into(), ready: Some(true), schedulable: true, ..NodeRow::default() }
    }

    #[test]
    fn the_worst_stand_first_and_every_state_has_a_word() {
        let rows = vec![
            node("b"),
            NodeRow { schedulable: false, ..node("cordoned") },
            NodeRow { pressures: vec![("DiskPressure".into(), None, String::new())], ..node("full") },
            NodeRow { ready: None, ..node("silent") },
            NodeRow { ready: Some(false), ..node("dead") },
            node("a"),
        ];
        let query = TableQuery::default();
        let chosen = query.apply(&rows, |_| true, NodeRow::compare);
        let names: Vec<&str> = chosen.rows.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(names, ["dead", "silent", "full", "cordoned", "a", "b"]);
        let words = |name: &str| {
            let row = rows.iter().find(|row| row.name == name);
            row.map(|row| row.badges().into_iter().map(|b| b.word).collect::<Vec<_>>().join(","))
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
