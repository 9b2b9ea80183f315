//! Machines, with their virtual machine's power and allocation state.

use std::cmp::Ordering;

use super::events::{EventRow, about};
use super::nodes::{none_found, pages};
use super::{Board, ObservedRows, conditions_panel, no_such, page_of, was};
use crate::components::Condition;
use crate::panel::{Block, Pair, Panel, Value};
use crate::parts::{Badge, Link, Tone};
use crate::table::{Cell, Column, Table, TableQuery, natural};

/// A machine.
#[derive(Clone, Debug, Default)]
pub struct MachineRow {
    /// Its name.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
    /// `Running`, `Provisioning` … or empty.
    pub phase: String,
    /// Name of its node, or empty.
    pub node: String,
    /// What made it, or empty.
    pub set: String,
    /// Its role.
    pub role: String,
    /// Zone.
    pub zone: String,
    /// Size.
    pub vm_size: String,
    /// Provider's id.
    pub provider_id: String,
    /// Reason of its failure.
    pub error_reason: String,
    /// What went wrong.
    pub error_message: String,
    /// Its birth.
    pub created: Option<i64>,
    /// Last change of its status.
    pub updated: Option<i64>,
    /// It is being deleted since.
    pub deleting: Option<i64>,
    /// What was last done with it.
    pub last_operation: String,
    /// When.
    pub last_operation_at: Option<i64>,
    /// It may be taken away at any time.
    pub spot: bool,
    /// Its conditions.
    pub conditions: Vec<Condition>,
    /// Its virtual machine.
    pub vm: Vm,
}

/// What Azure says of a virtual machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Vm {
    /// It was not asked, and why.
    NotAsked(String),
    /// Azure said so.
    Known {
        /// Power state, e.g. `running`, `deallocated`.
        power: String,
        /// Provisioning state, e.g. `succeeded`, `failed`.
        provisioning: String,
        /// What Azure says about it; empty: nothing.
        message: String,
        /// Its page in the Azure portal, or empty.
        href: String,
    },
    /// Azure did not say.
    Failed(String),
}

impl Default for Vm {
    fn default() -> Self {
        Self::NotAsked(String::new())
    }
}

impl Vm {
    /// Its badge; none where nothing is known.
    #[must_use]
    pub fn badge(&self) -> Option<Badge> {
        let Self::Known { power, provisioning, .. } = self else { return None };
        if provisioning.eq_ignore_ascii_case("failed") {
            return Some(Badge::filled(Tone::Bad, "failed", format!("VM failed, {power}")));
        }
        Some(match power.to_ascii_lowercase().as_str() {
            "running" => Badge::quiet(Tone::Ok, "ok", "VM running"),
            "starting" | "stopping" | "deallocating" | "creating" => {
                Badge::filled(Tone::Busy, "busy", format!("VM {power}"))
            }
            "" => Badge::filled(Tone::Warn, "unknown", "VM state unknown"),
            _ => Badge::filled(Tone::Bad, "stop", format!("VM {power}")),
        })
    }

    /// It does not run.
    #[must_use]
    pub fn wrong(&self) -> bool {
        self.badge().is_some_and(|badge| badge.tone == Tone::Bad)
    }

    /// For key-values.
    pub(super) fn value(&self) -> Value {
        match (self, self.badge()) {
            (_, Some(badge)) => Value::Badge(badge),
            (Self::NotAsked(why) | Self::Failed(why), None) => Value::Unknown(why.clone()),
            (Self::Known { .. }, None) => Value::Text(String::new()),
        }
    }
}

impl MachineRow {
    /// How it is.
    #[must_use]
    pub fn badge(&self) -> Badge {
        match self.phase.as_str() {
            _ if self.deleting.is_some() => Badge::filled(Tone::Busy, "trash", "Deleting"),
            "Running" => Badge::quiet(Tone::Ok, "ok", "Running"),
            "Failed" => Badge::filled(Tone::Bad, "failed", "Failed"),
            "Provisioning" | "Provisioned" | "Deleting" => Badge::filled(Tone::Busy, "busy", &*self.phase),
            "" => Badge::filled(Tone::Warn, "unknown", "Unknown"),
            other => Badge::filled(Tone::Warn, "degraded", other),
        }
    }

    fn rank(&self) -> u8 {
        match self.badge().tone {
            Tone::Bad => 0,
            _ if self.vm.wrong() => 1,
            Tone::Warn => 2,
            Tone::Busy => 3,
            _ => 4,
        }
    }

    /// It does not run, or its virtual machine does not.
    #[must_use]
    pub fn wrong(&self) -> bool {
        self.rank() < 4
    }

    /// The page of what made it.
    pub(super) fn set_link(&self, base: &str) -> Link {
        if self.role == "master" && !self.set.is_empty() {
            return Link::new(&*self.set, format!("{base}/controlplane"));
        }
        page_of(base, "machinesets", &self.set)
    }

    fn compare(key: &str, a: &Self, b: &Self) -> Ordering {
        match key {
            "name" => natural(&a.name, &b.name),
            "set" => natural(&a.set, &b.set),
            "node" => natural(&a.node, &b.node),
            "zone" => natural(&a.zone, &b.zone),
            "size" => natural(&a.vm_size, &b.vm_size),
            "role" => a.role.cmp(&b.role),
            "age" => b.created.cmp(&a.created),
            _ => a.rank().cmp(&b.rank()),
        }
    }
}

const COLUMNS: [Column; 9] = [
    Column::new("name", "Machine"),
    Column::new("status", "Status"),
    Column::new("", "Virtual machine"),
    Column::new("node", "Node").rank(2),
    Column::new("set", "Set").rank(2),
    Column::new("size", "Size").short().rank(3),
    Column::new("zone", "Zone").short().rank(3),
    Column::new("age", "Age").number().rank(3),
    Column::new("", "Actions").number(),
];

const MISSING: &str = "The cluster has no machine API (machine.openshift.io), so its nodes have no machines.";

/// The table of machines as the query asks for it; without a query only those that need a look.
#[must_use]
pub fn machines_panel(base: &str, machines: &ObservedRows<MachineRow>, query: Option<&TableQuery>) -> Panel {
    let heads = Column::awaited(&COLUMNS);
    let panel = Panel::new("machines", "Machines").slot(machines.slot("Machines", &heads, MISSING));
    if !machines.known() {
        return panel;
    }
    let running = machines.rows.iter().filter(|machine| machine.phase == "Running").count();
    let mut panel = machines.cut(panel.fact(format!("{running} of {} running", machines.rows.len())));
    let asked = query.cloned().unwrap_or(TableQuery { problems: true, ..TableQuery::default() });
    let keep = |row: &MachineRow| {
        (!asked.problems || row.wrong())
            && asked.has(&[&row.name, &row.node, &row.set, &row.zone, &row.vm_size, &row.phase, &row.role])
    };
    let chosen = asked.apply(&machines.rows, keep, MachineRow::compare);
    panel = match (query, machines.rows.first().map(|machine| &machine.vm)) {
        (None, _) => panel.link("All machines", format!("{base}/machines")),
        (Some(_), Some(Vm::NotAsked(why))) if !why.is_empty() => panel.with(Block::Foot(why.clone(), None)),
        (Some(_), _) => panel,
    };
    if chosen.rows.is_empty() {
        return none_found(panel, "machines", &asked, machines.rows.is_empty());
    }
    let most = if query.is_some() { usize::MAX } else { 8 };
    let rows = chosen.rows.iter().take(most).map(|machine| row(base, machine, machines.stale())).collect();
    let panel = panel.with(Block::Table(Table {
        caption: "Machines".to_owned(),
        columns: COLUMNS.to_vec(),
        rows,
        query: query.cloned(),
    }));
    pages(panel, &asked, &chosen.words().filter(|_| query.is_some()), chosen.total)
}

fn row(base: &str, machine: &MachineRow, stale: bool) -> Vec<Cell> {
    let mut status = vec![was(machine.badge(), stale)];
    if machine.spot {
        status.push(Badge::quiet(Tone::Mute, "info", "Spot"));
    }
    let vm = match &machine.vm {
        Vm::Failed(_) => Cell::Unknown("no answer"),
        Vm::NotAsked(_) => Cell::Unknown("not asked"),
        Vm::Known { .. } => Cell::Badges(machine.vm.badge().into_iter().collect()),
    };
    vec![
        Cell::Link(page_of(base, "machines", &machine.name)),
        Cell::Badges(status),
        vm,
        Cell::Link(page_of(base, "nodes", &machine.node)),
        Cell::Link(machine.set_link(base)),
        Cell::Text(machine.vm_size.clone()),
        Cell::Text(machine.zone.clone()),
        Cell::Lasting(machine.created),
        Cell::Tools(tools(base, &machine.name)),
    ]
}

fn tools(base: &str, name: &str) -> Vec<(&'static str, String, String)> {
    let encoded = crate::text::encode(name);
    vec![
        ("list", format!("Serial console of {name}"), format!("{base}/machines/{encoded}/serial")),
        ("terminal", format!("Terminal on {name}"), format!("{base}/terminal?machine={encoded}")),
    ]
}

/// The page of one machine.
#[must_use]
pub fn machine_board(
    base: &str,
    name: &str,
    machines: &ObservedRows<MachineRow>,
    events: &ObservedRows<EventRow>,
) -> Board {
    let list = Link::new("All machines", format!("{base}/machines"));
    let found = machines.rows.iter().find(|machine| machine.name == name).filter(|_| machines.known());
    let Some(machine) = found else { return no_such("Machine", name, &list, machines) };
    Board {
        top: vec![about_machine(base, machine, machines)],
        main: vec![
            conditions_panel(&machine.conditions),
            about(base, "Machine", &machine.namespace, &machine.name, events),
        ],
        side: vec![vm_panel(base, machine)],
    }
}

fn about_machine(base: &str, machine: &MachineRow, machines: &ObservedRows<MachineRow>) -> Panel {
    let none = |text: &str| if text.is_empty() { "None".to_owned() } else { text.to_owned() };
    let mut pairs = vec![
        Pair::new("Status", Value::Badge(was(machine.badge(), machines.stale()))),
        Pair::new("Node", Value::Link(page_of(base, "nodes", &machine.node))),
        Pair::new("Machine set", Value::Link(machine.set_link(base))),
        Pair::text("Role", &*machine.role),
        Pair::text("Size", &*machine.vm_size),
        Pair::text("Zone", &*machine.zone),
        Pair::text("Spot", if machine.spot { "Yes" } else { "No" }),
        Pair::new("Created", Value::Time(machine.created)),
        Pair::new("Last updated", Value::Time(machine.updated)),
        Pair::text("Last operation", &*machine.last_operation),
        Pair::new("Last operation date", Value::Time(machine.last_operation_at)),
        Pair::text("Error reason", none(&machine.error_reason)),
        Pair::code("Namespace", &*machine.namespace),
    ];
    if let Some(at) = machine.deleting {
        pairs.push(Pair::new("Being deleted since", Value::Time(Some(at))));
    }
    pairs.push(Pair::new("Error message", Value::Long(machine.error_message.clone())));
    let heads: [&str; 0] = [];
    Panel::new("object", "Machine").slot(machines.slot("Machine", &heads, MISSING)).with(Block::Pairs(pairs))
}

fn vm_panel(base: &str, machine: &MachineRow) -> Panel {
    let mut pairs = vec![Pair::new("State", machine.vm.value())];
    let console = format!("{base}/machines/{}/serial", crate::text::encode(&machine.name));
    let shell = format!("{base}/terminal?machine={}", crate::text::encode(&machine.name));
    let panel = Panel::new("vm", "Virtual machine").link("Terminal", shell);
    let mut panel = panel.link("Serial console", console);
    if let Vm::Known { power, provisioning, message, href } = &machine.vm {
        pairs.extend([
            Pair::text("Power", &**power),
            Pair::text("Provisioning", &**provisioning),
            Pair::new("Azure says", Value::Long(message.clone())),
        ]);
        if href.starts_with("https://") {
            panel = panel.link("Azure portal", &**href);
        }
    }
    pairs.push(Pair::new("Provider ID", Value::Long(machine.provider_id.clone())));
    panel.with(Block::Pairs(pairs))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_whose_vm_stands_still_needs_a_look() {
        let vm = |power: &str, provisioning: &str| Vm::Known {
            power: power.into(),
            provisioning: provisioning.into(),
            message: String::new(),
            href: String::new(),
        };
        let machine = |vm| MachineRow { phase: "Running".into(), vm, ..MachineRow::default() };
        assert!(!machine(Vm::default()).wrong() && !machine(vm("running", "Succeeded")).wrong());
        assert!(machine(vm("deallocated", "Succeeded")).wrong() && machine(vm("running", "Failed")).wrong());
        assert!(MachineRow::default().wrong(), "a machine without a phase is not running");
    }
}
