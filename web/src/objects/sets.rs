//! Machine sets, the set of the control plane, and pools of machine configuration.

use std::cmp::Ordering;

use super::events::{EventRow, about};
use super::machines::{MachineRow, machines_panel};
use super::nodes::{none_found, pages};
use super::{Board, ObservedRows, conditions_panel, no_such, page_of, was};
use crate::components::Condition;
use crate::panel::{Block, Pair, Panel, Value};
use crate::parts::{Badge, Link, Tone};
use crate::table::{Cell, Column, Table, TableQuery, natural};

/// A machine set.
#[derive(Clone, Debug, Default)]
pub struct SetRow {
    /// Its name.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
    /// `worker`, `infra` …
    pub role: String,
    /// Wanted machines.
    pub desired: i64,
    /// Machines that there are.
    pub replicas: i64,
    /// Those whose node is ready.
    pub ready: i64,
    /// Those that have been ready for long enough.
    pub available: i64,
    /// Size of its machines.
    pub vm_size: String,
    /// Their zone.
    pub zone: String,
    /// Their virtual network.
    pub vnet: String,
    /// Their subnet.
    pub subnet: String,
    /// Type of their disk's storage account.
    pub disk_type: String,
    /// Size of their disk.
    pub disk_gb: Option<i64>,
    /// Their public load balancer.
    pub load_balancer: String,
    /// Reason of its failure.
    pub error_reason: String,
    /// What went wrong.
    pub error_message: String,
    /// Its machines may be taken away at any time.
    pub spot: bool,
    /// Least and most that the autoscaler may make of it.
    pub autoscaled: Option<(i64, i64)>,
    /// Its birth.
    pub created: Option<i64>,
}

impl SetRow {
    /// How it is.
    #[must_use]
    pub fn badge(&self) -> Badge {
        count_badge(self.desired, self.replicas, self.ready, !self.error_reason.is_empty())
    }

    /// It is off its count.
    #[must_use]
    pub fn wrong(&self) -> bool {
        self.badge().tone != Tone::Ok
    }

    fn compare(key: &str, a: &Self, b: &Self) -> Ordering {
        let rank = |set: &Self| match set.badge().tone {
            Tone::Bad => 0,
            Tone::Warn => 1,
            Tone::Busy => 2,
            _ => 3,
        };
        match key {
            "name" => natural(&a.name, &b.name),
            "role" => a.role.cmp(&b.role),
            "wanted" => a.desired.cmp(&b.desired),
            "size" => natural(&a.vm_size, &b.vm_size),
            "zone" => natural(&a.zone, &b.zone),
            "age" => b.created.cmp(&a.created),
            _ => rank(a).cmp(&rank(b)),
        }
    }
}

fn count_badge(desired: i64, replicas: i64, ready: i64, failed: bool) -> Badge {
    match (desired.saturating_sub(ready), replicas.cmp(&desired)) {
        _ if failed => Badge::filled(Tone::Bad, "failed", "Failed"),
        (_, Ordering::Greater) => {
            Badge::filled(Tone::Busy, "busy", format!("Removing {}", replicas.saturating_sub(desired)))
        }
        (short, _) if short <= 0 => Badge::quiet(Tone::Ok, "ok", "At count"),
        (_, Ordering::Less) => {
            Badge::filled(Tone::Warn, "degraded", format!("{} short", desired.saturating_sub(replicas)))
        }
        (short, _) => Badge::filled(Tone::Warn, "degraded", format!("{short} not ready")),
    }
}

const COLUMNS: [Column; 7] = [
    Column::new("name", "Set"),
    Column::new("status", "Status"),
    Column::new("wanted", "Ready / wanted").number(),
    Column::new("role", "Role").short().rank(2),
    Column::new("size", "Size").short().rank(2),
    Column::new("zone", "Zone").short().rank(2),
    Column::new("age", "Age").number().rank(3),
];

const MISSING: &str = "The cluster has no machine API (machine.openshift.io), so it has no machine sets.";
const NO_CONTROL: &str =
    "The cluster has no control plane machine set: it is older than 4.12, or its machines stand alone.";
const NO_POOLS: &str = "The cluster has no machine config operator.";

/// The table of machine sets.
#[must_use]
pub fn machine_sets_panel(base: &str, sets: &ObservedRows<SetRow>, query: Option<&TableQuery>) -> Panel {
    let heads = Column::awaited(&COLUMNS);
    let panel = Panel::new("machinesets", "Machine sets").slot(sets.slot("Machine sets", &heads, MISSING));
    if !sets.known() {
        return panel;
    }
    let at = sets.rows.iter().filter(|set| !set.wrong()).count();
    let mut panel = sets.cut(panel.fact(format!("{at} of {} at their count", sets.rows.len())));
    if query.is_none() {
        panel = panel.link("All machine sets", format!("{base}/machinesets"));
    }
    let asked = query.cloned().unwrap_or_default();
    let keep = |set: &SetRow| {
        (!asked.problems || set.wrong())
            && asked.has(&[&set.name, &set.role, &set.vm_size, &set.zone, &set.subnet])
    };
    let chosen = asked.apply(&sets.rows, keep, SetRow::compare);
    if chosen.rows.is_empty() {
        return none_found(panel, "machine sets", &asked, sets.rows.is_empty());
    }
    let most = if query.is_some() { usize::MAX } else { 12 };
    let rows = chosen.rows.iter().take(most).map(|set| {
        vec![
            Cell::Link(page_of(base, "machinesets", &set.name)),
            Cell::Badges(vec![was(set.badge(), sets.stale())]),
            Cell::Text(format!("{} / {}", set.ready, set.desired)),
            Cell::Text(set.role.clone()),
            Cell::Text(set.vm_size.clone()),
            Cell::Text(set.zone.clone()),
            Cell::Lasting(set.created),
        ]
    });
    let table = Table {
        caption: "Machine sets".to_owned(),
        columns: COLUMNS.to_vec(),
        rows: rows.collect(),
        query: query.cloned(),
    };
    let words = chosen.words().filter(|_| query.is_some());
    pages(panel.with(Block::Table(table)), &asked, &words, chosen.total)
}

/// The page of one machine set.
#[must_use]
pub fn machine_set_board(
    base: &str,
    name: &str,
    sets: &ObservedRows<SetRow>,
    machines: &ObservedRows<MachineRow>,
    events: &ObservedRows<EventRow>,
) -> Board {
    let list = Link::new("All machine sets", format!("{base}/machinesets"));
    let found = sets.rows.iter().find(|set| set.name == name).filter(|_| sets.known());
    let Some(set) = found else { return no_such("Machine set", name, &list, sets) };
    let its: Vec<MachineRow> = machines.rows.iter().filter(|m| m.set == set.name).cloned().collect();
    let its = ObservedRows { rows: its, state: machines.state.clone(), left_out: 0 };
    Board::full_width(vec![
        about_set(set, sets),
        machines_panel(base, &its, Some(&TableQuery::default()))
            .link("All machines", format!("{base}/machines")),
        about(base, "MachineSet", &set.namespace, &set.name, events),
    ])
}

fn about_set(set: &SetRow, sets: &ObservedRows<SetRow>) -> Panel {
    let none = |text: &str| if text.is_empty() { "None".to_owned() } else { text.to_owned() };
    let scaled = match set.autoscaled {
        Some((least, most)) => format!("{least} to {most}"),
        None => "No".to_owned(),
    };
    let disk = set.disk_gb.map(|gb| format!("{gb} GB")).unwrap_or_default();
    let pairs = vec![
        Pair::new("Status", Value::Badge(was(set.badge(), sets.stale()))),
        Pair::text("Wanted", set.desired.to_string()),
        Pair::text("There", set.replicas.to_string()),
        Pair::text("Ready", set.ready.to_string()),
        Pair::text("Available", set.available.to_string()),
        Pair::text("Type", &*set.role),
        Pair::text("Size", &*set.vm_size),
        Pair::text("Zone", &*set.zone),
        Pair::text("Disk", [disk.as_str(), &set.disk_type].join(" ").trim().to_owned()),
        Pair::text("Autoscaled", scaled),
        Pair::text("Spot", if set.spot { "Yes" } else { "No" }),
        Pair::code("Virtual network", &*set.vnet),
        Pair::code("Subnet", &*set.subnet),
        Pair::text("Public load balancer", &*set.load_balancer),
        Pair::new("Created", Value::Time(set.created)),
        Pair::text("Error reason", none(&set.error_reason)),
        Pair::new("Error message", Value::Long(set.error_message.clone())),
    ];
    let heads: [&str; 0] = [];
    Panel::new("object", "Machine set")
        .slot(sets.slot("Machine set", &heads, MISSING))
        .with(Block::Pairs(pairs))
}

/// The set of the control plane's machines.
#[derive(Clone, Debug, Default)]
pub struct ControlPlaneRow {
    /// Its name.
    pub name: String,
    /// `Active` or `Inactive`.
    pub state: String,
    /// Strategy of its updates.
    pub strategy: String,
    /// Wanted machines.
    pub desired: i64,
    /// Machines that there are.
    pub replicas: i64,
    /// Those that are ready.
    pub ready: i64,
    /// Those of the newest configuration.
    pub updated: i64,
    /// Those that are not available.
    pub unavailable: i64,
    /// Size.
    pub vm_size: String,
    /// Zones.
    pub zones: Vec<String>,
    /// Conditions.
    pub conditions: Vec<Condition>,
    /// Its birth.
    pub created: Option<i64>,
}

impl ControlPlaneRow {
    /// How it is.
    #[must_use]
    pub fn badge(&self) -> Badge {
        match count_badge(self.desired, self.replicas, self.ready, false) {
            badge if badge.tone == Tone::Warn => Badge { tone: Tone::Bad, ..badge },
            badge if badge.tone == Tone::Ok && self.updated < self.desired => {
                let left = self.desired.saturating_sub(self.updated);
                Badge::filled(Tone::Busy, "busy", format!("{left} to be replaced"))
            }
            badge => badge,
        }
    }

    /// A member of the control plane is missing.
    #[must_use]
    pub fn wrong(&self) -> bool {
        self.state == "Active" && self.badge().tone != Tone::Ok
    }
}

/// The page of the control plane: its set, its machines, its pool.
#[must_use]
pub fn control_plane_panels(
    base: &str,
    control: &ObservedRows<ControlPlaneRow>,
    machines: &ObservedRows<MachineRow>,
    pools: &ObservedRows<PoolRow>,
) -> Board {
    let masters: Vec<MachineRow> = machines.rows.iter().filter(|m| m.role == "master").cloned().collect();
    let masters = ObservedRows { rows: masters, state: machines.state.clone(), left_out: 0 };
    let heads: [&str; 0] = [];
    let mut set = Panel::new("controlplane", "Control plane machine set").slot(control.slot(
        "Control plane machine set",
        &heads,
        NO_CONTROL,
    ));
    let mut conditions = None;
    match control.rows.first().filter(|_| control.known()) {
        Some(row) => {
            set = set.fact(format!("{} of {} ready", row.ready, row.desired)).with(Block::Pairs(vec![
                Pair::new("Status", Value::Badge(was(row.badge(), control.stale()))),
                Pair::text("State", &*row.state),
                Pair::text("Strategy", &*row.strategy),
                Pair::text("Wanted", row.desired.to_string()),
                Pair::text("There", row.replicas.to_string()),
                Pair::text("Ready", row.ready.to_string()),
                Pair::text("Updated", row.updated.to_string()),
                Pair::text("Unavailable", row.unavailable.to_string()),
                Pair::text("Size", &*row.vm_size),
                Pair::text("Zones", row.zones.join(", ")),
                Pair::new("Created", Value::Time(row.created)),
            ]));
            conditions = Some(conditions_panel(&row.conditions));
        }
        None if control.known() => set = set.nothing("machineset", "There is none", NO_CONTROL),
        None => {}
    }
    let all = machines_panel(base, &masters, Some(&TableQuery::default()));
    let all =
        Panel { title: "Its machines".to_owned(), ..all }.link("All machines", format!("{base}/machines"));
    Board::full_width(
        [Some(set), Some(all), Some(pools_panel(pools)), conditions].into_iter().flatten().collect(),
    )
}

/// A pool of machine configuration.
#[derive(Clone, Debug, Default)]
pub struct PoolRow {
    /// Its name.
    pub name: String,
    /// No machine's configuration is being changed.
    pub paused: bool,
    /// Its machines.
    pub machines: i64,
    /// Those that are ready.
    pub ready: i64,
    /// Those of the newest configuration.
    pub updated: i64,
    /// Those that failed to take it.
    pub degraded: i64,
    /// Those that are not available.
    pub unavailable: i64,
    /// The configuration that they have.
    pub configuration: String,
}

impl PoolRow {
    /// How it is.
    #[must_use]
    pub fn badges(&self) -> Vec<Badge> {
        let mut badges = Vec::new();
        if self.degraded > 0 {
            badges.push(Badge::filled(Tone::Bad, "failed", format!("{} degraded", self.degraded)));
        }
        if self.updated < self.machines {
            let left = self.machines.saturating_sub(self.updated);
            badges.push(Badge::filled(Tone::Busy, "busy", format!("{left} to update")));
        }
        if self.paused {
            badges.push(Badge::filled(Tone::Warn, "pause", "Paused"));
        }
        if badges.is_empty() {
            badges.push(Badge::quiet(Tone::Ok, "ok", "Updated"));
        }
        badges
    }

    /// It needs a look.
    #[must_use]
    pub fn wrong(&self) -> bool {
        self.degraded > 0
    }
}

/// The table of pools.
#[must_use]
pub fn pools_panel(pools: &ObservedRows<PoolRow>) -> Panel {
    const HEADS: [Column; 6] = [
        Column::new("", "Pool"),
        Column::new("", "Status"),
        Column::new("", "Machines").number(),
        Column::new("", "Ready").number(),
        Column::new("", "Updated").number(),
        Column::new("", "Configuration").rank(3),
    ];
    let words = Column::awaited(&HEADS);
    let panel = Panel::new("pools", "Machine config pools").slot(pools.slot("Pools", &words, NO_POOLS));
    if !pools.known() {
        return panel;
    }
    if pools.rows.is_empty() {
        return panel.nothing("list", "No pools", NO_POOLS);
    }
    let rows = pools.rows.iter().map(|pool| {
        vec![
            Cell::Text(pool.name.clone()),
            Cell::Badges(pool.badges().into_iter().map(|badge| was(badge, pools.stale())).collect()),
            Cell::Number(Some(pool.machines)),
            Cell::Number(Some(pool.ready)),
            Cell::Number(Some(pool.updated)),
            Cell::Code(pool.configuration.clone()),
        ]
    });
    panel.with(Block::Table(Table {
        caption: "Machine config pools".to_owned(),
        columns: HEADS.to_vec(),
        rows: rows.collect(),
        query: None,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_say_what_they_are_off_by() {
        let word = |desired, replicas, ready, failed| count_badge(desired, replicas, ready, failed).word;
        assert_eq!(word(2, 2, 2, false), "At count");
        assert_eq!(word(0, 0, 0, false), "At count");
        assert_eq!(word(3, 1, 1, false), "2 short");
        assert_eq!(word(3, 3, 2, false), "1 not ready");
        assert_eq!(word(1, 3, 3, false), "Removing 2");
        assert_eq!(word(3, 3, 3, true), "Failed");
        assert_eq!(word(i64::MAX, i64::MIN, i64::MIN, false), format!("{} short", i64::MAX));
    }
}
