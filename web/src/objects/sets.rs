//! Machine sets, the set of the control plane, and pools of machine configuration.

use std::cmp::Ordering;
use std::sync::Arc;

use rp_rows::{ControlPlaneMachineSet, Event, MachineSet, Pool};

use super::conditions::{condition_rows, usual};
use super::events::about;
use super::list::{List, ListColumn, ListContext, Row};
use super::machines::{MachineRow, machines_panel};
use super::nodes::{none_found, pages};
use super::{Board, ObservedRows, conditions_panel, no_such, page_of, seconds, was};
use crate::panel::{Block, Pair, Panel, Value};
use crate::parts::{Badge, Link, Tone};
use crate::table::{Cell, TableQuery};

/// How a machine set is.
pub(super) fn set_badge(set: &MachineSet) -> Badge {
    count_badge(set.desired, set.replicas, set.ready, !set.error_reason.is_empty())
}

impl Row for MachineSet {
    fn name(&self) -> &str {
        &self.meta.name
    }

    /// It is off its count.
    fn wrong(&self) -> bool {
        set_badge(self).tone != Tone::Ok
    }

    fn rank(&self) -> u8 {
        match set_badge(self).tone {
            Tone::Bad => 0,
            Tone::Warn => 1,
            Tone::Busy => 2,
            _ => 3,
        }
    }
}

fn count_badge(desired: i64, replicas: i64, ready: i64, failed: bool) -> Badge {
    match (desired.saturating_sub(ready), replicas.cmp(&desired)) {
        _ if failed => Badge::filled(Tone::Bad, "failed", "Failed"),
        (_, Ordering::Greater) => {
            Badge::filled(Tone::Busy, "busy", format!("Removing {}", replicas.saturating_sub(desired)))
        }
        (short, _) if short <= 0 => Badge::quiet(Tone::Ok, "ok", "Up to date"),
        (_, Ordering::Less) => {
            Badge::filled(Tone::Warn, "degraded", format!("{} short", desired.saturating_sub(replicas)))
        }
        (short, _) => Badge::filled(Tone::Warn, "degraded", format!("{short} not ready")),
    }
}

type SetColumn = ListColumn<MachineSet>;

static MACHINE_SETS: List<MachineSet> = List {
    columns: &[
        SetColumn::new("name", "Set", |set, list| {
            Cell::Link(page_of(list.base, "machinesets", &set.meta.name))
        })
        .words(|set| set.meta.name.as_str().into()),
        SetColumn::new("status", "Status", |set, list| Cell::Badges(vec![was(set_badge(set), list.stale)])),
        SetColumn::new("wanted", "Ready / wanted", |set, _| {
            Cell::Text(format!("{} / {}", set.ready, set.desired))
        })
        .order(|a, b| a.desired.cmp(&b.desired))
        .number(),
        SetColumn::text("role", "Role", |set| set.role.as_str().into())
            .order(|a, b| a.role.cmp(&b.role))
            .short()
            .rank(2),
        SetColumn::text("size", "Size", |set| set.vm_size.as_str().into()).short().rank(2),
        SetColumn::text("zone", "Zone", |set| set.zone.as_str().into()).short().rank(2),
        SetColumn::new("age", "Age", |set, _| Cell::Lasting(seconds(set.meta.created)))
            .order(|a, b| b.meta.created.cmp(&a.meta.created))
            .number()
            .rank(3),
        SetColumn::hidden("", |set| set.subnet.as_str().into()),
    ],
};

const MISSING: &str = "The cluster has no machine API (machine.openshift.io), so it has no machine sets.";
const NO_CONTROL: &str = "The cluster has no control plane machine set, which OpenShift knows from 4.12 on: no set replaces these machines.";
const NO_POOLS: &str = "The cluster has no machine config operator.";

/// The table of machine sets.
#[must_use]
pub fn machine_sets_panel(base: &str, sets: &ObservedRows<MachineSet>, query: Option<&TableQuery>) -> Panel {
    let heads = MACHINE_SETS.awaited();
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
    let chosen = MACHINE_SETS.choose(&sets.rows, &asked);
    if chosen.rows.is_empty() {
        return none_found(panel, "machine sets", &asked, sets.rows.is_empty());
    }
    let most = if query.is_some() { usize::MAX } else { 12 };
    let context = ListContext { base, stale: sets.stale() };
    let table = MACHINE_SETS.table("Machine sets", chosen.rows.iter().take(most).copied(), &context, query);
    let words = chosen.words().filter(|_| query.is_some());
    pages(panel.with(Block::Table(table)), &asked, &words, chosen.total)
}

/// The page of one machine set.
#[must_use]
pub fn machine_set_board(
    base: &str,
    name: &str,
    sets: &ObservedRows<MachineSet>,
    machines: &ObservedRows<MachineRow>,
    events: &ObservedRows<Event>,
) -> Board {
    let list = Link::new("All machine sets", format!("{base}/machinesets"));
    let found = sets.rows.iter().find(|set| set.name() == name).filter(|_| sets.known());
    let Some(set) = found else { return no_such("Machine set", name, &list, sets) };
    let its = |row: &&Arc<MachineRow>| row.machine.set == set.meta.name;
    let its: Vec<Arc<MachineRow>> = machines.rows.iter().filter(its).cloned().collect();
    let its = ObservedRows { rows: its, state: machines.state.clone(), left_out: 0 };
    Board::full_width(vec![
        about_set(set, sets),
        machines_panel(base, &its, Some(&TableQuery::default()))
            .link("All machines", format!("{base}/machines")),
        about(base, "MachineSet", &set.meta.namespace, set.name(), events),
    ])
}

fn about_set(set: &MachineSet, sets: &ObservedRows<MachineSet>) -> Panel {
    let none = |text: &str| if text.is_empty() { "None".to_owned() } else { text.to_owned() };
    let scaled = match set.autoscaled {
        Some((least, most)) => format!("{least} to {most}"),
        None => "No".to_owned(),
    };
    let disk = set.disk_gb.map(|gb| format!("{gb} GB")).unwrap_or_default();
    let pairs = vec![
        Pair::new("Status", Value::Badge(was(set_badge(set), sets.stale()))),
        Pair::text("Desired", set.desired.to_string()),
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
        Pair::text("Public load balancer", &*set.public_load_balancer),
        Pair::new("Created", Value::Time(seconds(set.meta.created))),
        Pair::text("Error reason", none(&set.error_reason)),
        Pair::new("Error message", Value::Long(set.error_message.clone())),
    ];
    let heads: [&str; 0] = [];
    Panel::new("object", "Machine set")
        .slot(sets.slot("Machine set", &heads, MISSING))
        .with(Block::Pairs(pairs))
}

/// How the set of the control plane's machines is.
pub(super) fn control_plane_badge(set: &ControlPlaneMachineSet) -> Badge {
    match count_badge(set.desired, set.replicas, set.ready, false) {
        badge if badge.tone == Tone::Warn => Badge { tone: Tone::Bad, ..badge },
        badge if badge.tone == Tone::Ok && set.updated < set.desired => {
            let left = set.desired.saturating_sub(set.updated);
            Badge::filled(Tone::Busy, "busy", format!("{left} to be replaced"))
        }
        badge => badge,
    }
}

impl Row for ControlPlaneMachineSet {
    fn name(&self) -> &str {
        &self.meta.name
    }

    /// A member of the control plane is missing.
    fn wrong(&self) -> bool {
        self.state == "Active" && control_plane_badge(self).tone != Tone::Ok
    }
}

/// The page of the control plane: its set, its machines, its pool.
#[must_use]
pub fn control_plane_panels(
    base: &str,
    control: &ObservedRows<ControlPlaneMachineSet>,
    machines: &ObservedRows<MachineRow>,
    pools: &ObservedRows<Pool>,
) -> Board {
    let master = |row: &&Arc<MachineRow>| row.machine.role == "master";
    let masters: Vec<Arc<MachineRow>> = machines.rows.iter().filter(master).cloned().collect();
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
                Pair::new("Status", Value::Badge(was(control_plane_badge(row), control.stale()))),
                Pair::text("State", &*row.state),
                Pair::text("Strategy", &*row.strategy),
                Pair::text("Desired", row.desired.to_string()),
                Pair::text("There", row.replicas.to_string()),
                Pair::text("Ready", row.ready.to_string()),
                Pair::text("Updated", row.updated.to_string()),
                Pair::text("Unavailable", row.unavailable.to_string()),
                Pair::text("Size", &*row.vm_size),
                Pair::text("Zones", row.zones.join(", ")),
                Pair::new("Created", Value::Time(seconds(row.meta.created))),
            ]));
            conditions = Some(conditions_panel(&condition_rows(&row.conditions, usual)));
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

/// How a pool is, the worst first.
pub(super) fn pool_badges(pool: &Pool) -> Vec<Badge> {
    let mut badges = Vec::new();
    if pool.degraded > 0 {
        badges.push(Badge::filled(Tone::Bad, "failed", format!("{} degraded", pool.degraded)));
    }
    if pool.updated < pool.machines {
        let left = pool.machines.saturating_sub(pool.updated);
        badges.push(Badge::filled(Tone::Busy, "busy", format!("{left} to update")));
    }
    if pool.paused {
        badges.push(Badge::filled(Tone::Warn, "pause", "Paused"));
    }
    if badges.is_empty() {
        badges.push(Badge::quiet(Tone::Ok, "ok", "Updated"));
    }
    badges
}

impl Row for Pool {
    fn name(&self) -> &str {
        &self.meta.name
    }

    fn wrong(&self) -> bool {
        self.degraded > 0
    }
}

type PoolColumn = ListColumn<Pool>;

static POOLS: List<Pool> = List {
    columns: &[
        PoolColumn::new("", "Pool", |pool, _| Cell::Text(pool.meta.name.clone())),
        PoolColumn::new("", "Status", |pool, list| {
            Cell::Badges(pool_badges(pool).into_iter().map(|badge| was(badge, list.stale)).collect())
        }),
        PoolColumn::new("", "Machines", |pool, _| Cell::Number(Some(pool.machines))).number(),
        PoolColumn::new("", "Ready", |pool, _| Cell::Number(Some(pool.ready))).number(),
        PoolColumn::new("", "Updated", |pool, _| Cell::Number(Some(pool.updated))).number(),
        PoolColumn::new("", "Configuration", |pool, _| Cell::Code(pool.configuration.clone())).rank(3),
    ],
};

/// The table of pools.
#[must_use]
pub fn pools_panel(pools: &ObservedRows<Pool>) -> Panel {
    let heads = POOLS.awaited();
    let panel = Panel::new("pools", "Machine config pools").slot(pools.slot("Pools", &heads, NO_POOLS));
    if !pools.known() {
        return panel;
    }
    if pools.rows.is_empty() {
        return panel.nothing("list", "No pools", NO_POOLS);
    }
    let context = ListContext { base: "", stale: pools.stale() };
    panel.with(Block::Table(POOLS.table("Machine config pools", pools.rows.iter(), &context, None)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_say_what_they_are_off_by() {
        let word = |desired, replicas, ready, failed| count_badge(desired, replicas, ready, failed).word;
        assert_eq!(word(2, 2, 2, false), "Up to date");
        assert_eq!(word(0, 0, 0, false), "Up to date");
        assert_eq!(word(3, 1, 1, false), "2 short");
        assert_eq!(word(3, 3, 2, false), "1 not ready");
        assert_eq!(word(1, 3, 3, false), "Removing 2");
        assert_eq!(word(3, 3, 3, true), "Failed");
        assert_eq!(word(i64::MAX, i64::MIN, i64::MIN, false), format!("{} short", i64::MAX));
    }
}
