//! Machines, with their virtual machine's power and allocation state.

use std::sync::Arc;

use rp_rows::{Event, Machine};

use super::conditions::{condition_rows, usual};
use super::events::about;
use super::list::{List, ListColumn, ListContext, Row};
use super::nodes::{none_found, pages};
use super::{Board, ObservedRows, conditions_panel, no_such, page_of, seconds, was};
use crate::panel::{Block, Pair, Panel, Value};
use crate::parts::{Badge, Link, Tone};
use crate::table::{Cell, TableQuery};

/// A machine with its virtual machine.
#[derive(Clone, Debug, Default)]
pub struct MachineRow {
    /// As the cluster has it.
    pub machine: Arc<Machine>,
    /// As Azure has it.
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

    /// Why nothing is known of it; none where Azure said how it is.
    fn unknown(&self) -> Option<&str> {
        match self {
            Self::NotAsked(why) | Self::Failed(why) => Some(why),
            Self::Known { .. } => None,
        }
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
    /// How the machine is, its virtual machine apart.
    pub(super) fn badge(&self) -> Badge {
        match self.machine.phase.as_str() {
            _ if self.machine.meta.deleting.is_some() => Badge::filled(Tone::Busy, "trash", "Deleting"),
            "Running" => Badge::quiet(Tone::Ok, "ok", "Running"),
            "Failed" => Badge::filled(Tone::Bad, "failed", "Failed"),
            phase @ ("Provisioning" | "Provisioned" | "Deleting") => Badge::filled(Tone::Busy, "busy", phase),
            "" => Badge::filled(Tone::Warn, "unknown", "Unknown"),
            other => Badge::filled(Tone::Warn, "degraded", other),
        }
    }

    /// The page of what made it.
    pub(super) fn set_link(&self, base: &str) -> Link {
        let machine = &self.machine;
        if machine.role == "master" && !machine.set.is_empty() {
            return Link::new(&*machine.set, format!("{base}/controlplane"));
        }
        page_of(base, "machinesets", &machine.set)
    }
}

impl Row for MachineRow {
    fn name(&self) -> &str {
        &self.machine.meta.name
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
    fn wrong(&self) -> bool {
        self.rank() < 4
    }
}

type MachineColumn = ListColumn<MachineRow>;

static MACHINES: List<MachineRow> = List {
    columns: &[
        MachineColumn::new("name", "Machine", |row, list| {
            Cell::Link(page_of(list.base, "machines", row.name()))
        })
        .words(|row| row.name().into()),
        MachineColumn::new("status", "Status", |row, list| Cell::Badges(status(row, list.stale))),
        MachineColumn::new("", "Virtual machine", |row, _| match &row.vm {
            Vm::Failed(_) => Cell::Unknown("no answer"),
            Vm::NotAsked(_) => Cell::Unknown("not asked"),
            Vm::Known { .. } => Cell::Badges(row.vm.badge().into_iter().collect()),
        }),
        MachineColumn::new("node", "Node", |row, list| {
            Cell::Link(page_of(list.base, "nodes", &row.machine.node))
        })
        .words(|row| row.machine.node.as_str().into())
        .rank(2),
        MachineColumn::new("set", "Set", |row, list| Cell::Link(row.set_link(list.base)))
            .words(|row| row.machine.set.as_str().into())
            .rank(2),
        MachineColumn::text("size", "Size", |row| row.machine.vm_size.as_str().into()).short().rank(3),
        MachineColumn::text("zone", "Zone", |row| row.machine.zone.as_str().into()).short().rank(3),
        MachineColumn::new("age", "Age", |row, _| Cell::Lasting(seconds(row.machine.meta.created)))
            .order(|a, b| b.machine.meta.created.cmp(&a.machine.meta.created))
            .number()
            .rank(3),
        MachineColumn::new("", "Actions", |row, list| Cell::Tools(tools(list.base, row.name()))).number(),
        MachineColumn::hidden("role", |row| row.machine.role.as_str().into())
            .order(|a, b| a.machine.role.cmp(&b.machine.role)),
        MachineColumn::hidden("", |row| row.machine.phase.as_str().into()),
    ],
};

const MISSING: &str = "The cluster has no machine API (machine.openshift.io), so its nodes have no machines.";

/// The table of machines as the query asks for it; without a query only those that need attention.
#[must_use]
pub fn machines_panel(base: &str, machines: &ObservedRows<MachineRow>, query: Option<&TableQuery>) -> Panel {
    let heads = MACHINES.awaited();
    let panel = Panel::new("machines", "Machines").slot(machines.slot("Machines", &heads, MISSING));
    if !machines.known() {
        return panel;
    }
    let running = machines.rows.iter().filter(|row| row.machine.is_running() && !row.vm.wrong()).count();
    let mut panel = machines.cut(panel.fact(format!("{running} of {} running", machines.rows.len())));
    let asked = query.cloned().unwrap_or(TableQuery { problems: true, ..TableQuery::default() });
    let chosen = MACHINES.choose(&machines.rows, &asked);
    panel = match (query, machines.rows.first().map(|row| &row.vm)) {
        (None, _) => panel.link("All machines", format!("{base}/machines")),
        (Some(_), Some(Vm::NotAsked(why))) if !why.is_empty() => panel.with(Block::Foot(why.clone(), None)),
        (Some(_), _) => panel,
    };
    let unknown = machines.rows.iter().find_map(|row| row.vm.unknown());
    if let Some(why) = unknown.filter(|_| chosen.rows.is_empty() && asked.problems && asked.q.is_empty()) {
        let text = format!(
            "The cluster reports none. What Azure says of their virtual machines is not known: {why}"
        );
        return panel.nothing("machine", "No machine is reported as failed", &text);
    }
    if chosen.rows.is_empty() {
        return none_found(panel, "machines", &asked, machines.rows.is_empty());
    }
    let most = if query.is_some() { usize::MAX } else { 8 };
    let context = ListContext { base, stale: machines.stale() };
    let rows = chosen.rows.iter().take(most).copied();
    let panel = panel.with(Block::Table(MACHINES.table("Machines", rows, &context, query)));
    pages(panel, &asked, &chosen.words().filter(|_| query.is_some()), chosen.total)
}

fn status(row: &MachineRow, stale: bool) -> Vec<Badge> {
    let mut status = vec![was(row.badge(), stale)];
    if row.machine.spot {
        status.push(Badge::quiet(Tone::Mute, "info", "Spot"));
    }
    status
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
    events: &ObservedRows<Event>,
) -> Board {
    let list = Link::new("All machines", format!("{base}/machines"));
    let found = machines.rows.iter().find(|row| row.name() == name).filter(|_| machines.known());
    let Some(row) = found else { return no_such("Machine", name, &list, machines) };
    Board {
        top: vec![about_machine(base, row, machines)],
        main: vec![
            conditions_panel(&condition_rows(&row.machine.conditions, usual)),
            about(base, "Machine", &row.machine.meta.namespace, row.name(), events),
        ],
        side: vec![vm_panel(base, row)],
    }
}

fn about_machine(base: &str, row: &MachineRow, machines: &ObservedRows<MachineRow>) -> Panel {
    let none = |text: &str| if text.is_empty() { "None".to_owned() } else { text.to_owned() };
    let machine = &row.machine;
    let mut pairs = vec![
        Pair::new("Status", Value::Badge(was(row.badge(), machines.stale()))),
        Pair::new("Node", Value::Link(page_of(base, "nodes", &machine.node))),
        Pair::new("Machine set", Value::Link(row.set_link(base))),
        Pair::text("Role", &*machine.role),
        Pair::text("Size", &*machine.vm_size),
        Pair::text("Zone", &*machine.zone),
        Pair::text("Spot", if machine.spot { "Yes" } else { "No" }),
        Pair::new("Created", Value::Time(seconds(machine.meta.created))),
        Pair::new("Last updated", Value::Time(seconds(machine.updated))),
        Pair::text("Last operation", &*machine.last_operation),
        Pair::new("Last operation date", Value::Time(seconds(machine.last_operation_at))),
        Pair::text("Error reason", none(&machine.error_reason)),
        Pair::code("Namespace", &*machine.meta.namespace),
    ];
    if let Some(at) = machine.meta.deleting {
        pairs.push(Pair::new("Being deleted since", Value::Time(Some(at.seconds()))));
    }
    pairs.push(Pair::new("Error message", Value::Long(machine.error_message.clone())));
    let heads: [&str; 0] = [];
    Panel::new("object", "Machine").slot(machines.slot("Machine", &heads, MISSING)).with(Block::Pairs(pairs))
}

/// Tasks for a machine, as links to the form that orders them: its words, and the name of the task.
const START: (&str, &str) = ("Start…", "start machine");
const TAKE_AWAY: [(&str, &str); 3] =
    [("Restart…", "restart machine"), ("Redeploy…", "redeploy machine"), ("Stop…", "stop machine")];
/// Of a control plane: the pod that moves the old data aside runs on the machine.
const RECOVER: (&str, &str) = ("Recover etcd…", "etcd recovery");

/// Those that fit how the virtual machine is; all where Azure did not say, none where Azure is not asked.
fn power_links(base: &str, row: &MachineRow) -> Vec<Link> {
    let power = match &row.vm {
        Vm::Known { power, .. } => power.as_str(),
        Vm::Failed(_) => "",
        Vm::NotAsked(_) => return Vec::new(),
    };
    let mut tasks = Vec::new();
    if power != "running" {
        tasks.push(START);
    }
    if !matches!(power, "stopped" | "deallocated") {
        tasks.extend(TAKE_AWAY);
        if row.machine.role == "master" {
            tasks.push(RECOVER);
        }
    }
    let encode = crate::text::encode;
    let link = |(words, task): (&str, &str)| {
        let machine = encode(row.name());
        Link::new(words, format!("{base}/operations?task={}&machine={machine}#order", encode(task)))
    };
    tasks.into_iter().map(link).collect()
}

fn vm_panel(base: &str, row: &MachineRow) -> Panel {
    let mut pairs = vec![Pair::new("State", row.vm.value())];
    let orders = power_links(base, row);
    if !orders.is_empty() {
        pairs.push(Pair::new("Order", Value::Links(orders)));
    }
    let console = format!("{base}/machines/{}/serial", crate::text::encode(row.name()));
    let shell = format!("{base}/terminal?machine={}", crate::text::encode(row.name()));
    let panel = Panel::new("vm", "Virtual machine").link("Terminal", shell);
    let mut panel = panel.link("Serial console", console);
    if let Vm::Known { power, provisioning, message, href } = &row.vm {
        pairs.extend([
            Pair::text("Power", &**power),
            Pair::text("Provisioning", &**provisioning),
            Pair::new("Azure message", Value::Long(message.clone())),
        ]);
        if href.starts_with("https://") {
            panel = panel.link("Azure portal", &**href);
        }
    }
    pairs.push(Pair::new("Provider ID", Value::Long(row.machine.provider_id.clone())));
    panel.with(Block::Pairs(pairs))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_fit_the_power_of_the_machine() {
        let words = |role: &str, power: &str| {
            let vm = Vm::Known {
                power: power.into(),
                provisioning: String::new(),
                message: String::new(),
                href: String::new(),
            };
            let machine = Machine { role: role.into(), ..Machine::default() };
            let row = MachineRow { machine: Arc::new(machine), vm };
            power_links("/c", &row).into_iter().map(|link| link.text).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(words("worker", "running"), "Restart… Redeploy… Stop…");
        assert_eq!(words("master", "running"), "Restart… Redeploy… Stop… Recover etcd…");
        for role in ["worker", "master"] {
            assert_eq!(words(role, "deallocated"), "Start…");
        }
        assert_eq!(words("worker", ""), "Start… Restart… Redeploy… Stop…");
        let unasked = MachineRow { machine: Arc::default(), vm: Vm::NotAsked("no Azure".into()) };
        assert_eq!(power_links("/c", &unasked), []);
    }

    #[test]
    fn the_panel_counts_and_judges_with_the_virtual_machines() {
        let vm = |power: &str| Vm::Known {
            power: power.into(),
            provisioning: "Succeeded".into(),
            message: String::new(),
            href: String::new(),
        };
        let panel = |vms: Vec<Vm>| {
            let machine = |vm| MachineRow {
                machine: Arc::new(Machine { phase: "Running".into(), ..Machine::default() }),
                vm,
            };
            machines_panel("/x", &ObservedRows::live(vms.into_iter().map(machine).collect()), None)
        };
        let html = |panel: &Panel| panel.html(&crate::frame::Frame::default()).unwrap();
        let one_stands = panel(vec![vm("running"), vm("deallocated")]);
        assert_eq!(one_stands.fact, "1 of 2 running");
        let asked = html(&panel(vec![Vm::NotAsked("Azure has not answered yet.".into())]));
        assert!(
            asked.contains("Azure has not answered yet.") && !asked.contains("All are healthy."),
            "{asked}"
        );
        assert!(html(&panel(vec![vm("running")])).contains("All are healthy."));
    }

    #[test]
    fn a_machine_whose_vm_stands_still_needs_a_look() {
        let vm = |power: &str, provisioning: &str| Vm::Known {
            power: power.into(),
            provisioning: provisioning.into(),
            message: String::new(),
            href: String::new(),
        };
        let running = Arc::new(Machine { phase: "Running".into(), ..Machine::default() });
        let machine = |vm| MachineRow { machine: Arc::clone(&running), vm };
        assert!(!machine(Vm::default()).wrong() && !machine(vm("running", "Succeeded")).wrong());
        assert!(machine(vm("deallocated", "Succeeded")).wrong() && machine(vm("running", "Failed")).wrong());
        assert!(MachineRow::default().wrong(), "a machine without a phase is not running");
    }
}
