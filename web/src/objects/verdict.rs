//! What is wrong with a cluster, worst first, in one sentence and as a list.

use rp_rows::{ControlPlaneMachineSet, Etcd, Event, MachineSet, Node, Pool, Version};

use super::aro::{self, AroOperator};
use super::list::Row;
use super::machines::{MachineRow, Vm};
use super::nodes::{node_badges, vm_of};
use super::operators::{OperatorRow, leading, why};
use super::overview::MonitorFindings;
use super::sets::{control_plane_badge, pool_badges, set_badge};
use super::{ObservedRows, page_of, seconds, words_of};
use crate::cluster::Verdict;
use crate::panel::{DisplayTime, Item};
use crate::parts::{Badge, Link, Tone};
use crate::tabs::{Tab, TabCount};
use crate::text::{encode, plural};
use crate::when;

/// All objects of a cluster that its pages show.
#[derive(Clone, Debug, Default)]
pub struct ClusterObjects {
    /// Its version: one row.
    pub version: ObservedRows<Version>,
    /// Cluster operators.
    pub operators: ObservedRows<OperatorRow>,
    /// The ARO operator: at most one row.
    pub aro: ObservedRows<AroOperator>,
    /// Nodes.
    pub nodes: ObservedRows<Node>,
    /// Machines.
    pub machines: ObservedRows<MachineRow>,
    /// Machine sets.
    pub sets: ObservedRows<MachineSet>,
    /// The set of the control plane: at most one row.
    pub control_plane: ObservedRows<ControlPlaneMachineSet>,
    /// Machine config pools.
    pub pools: ObservedRows<Pool>,
    /// Events.
    pub events: ObservedRows<Event>,
    /// etcd: at most one row.
    pub etcd: ObservedRows<Etcd>,
}

/// One thing that needs attention.
#[derive(Clone, Debug, Default)]
pub struct Problem {
    /// What it is: "operator", "node" …
    pub kind: &'static str,
    /// The page that shows more of its kind.
    pub tab: Tab,
    /// Since when.
    pub since: Option<i64>,
    /// How it is shown.
    pub item: Item,
}

/// Certificates that end within this time are reported.
const CERTIFICATE: i64 = 30 * 86_400;

/// What needs attention, worst first, then what has lasted longest.
#[must_use]
pub fn problems(base: &str, estate: &ClusterObjects, look: &MonitorFindings, now: i64) -> Vec<Problem> {
    let mut all = Vec::new();
    let known = |stale: bool| move |item: Item| if stale { Item { tone: Tone::Mute, ..item } } else { item };
    if estate.operators.known() {
        let tone = known(estate.operators.stale());
        let wrong = estate.operators.rows.iter().filter(|operator| operator.wrong());
        all.extend(wrong.map(|row| Problem {
            kind: "operator",
            tab: Tab::Operators,
            since: seconds(leading(&row.operator).since),
            item: tone(operator(base, row)),
        }));
    } else {
        all.extend(look.operators.iter().map(|name| Problem {
            kind: "operator",
            tab: Tab::Operators,
            since: None,
            item: Item {
                quote: "As of the last check".to_owned(),
                ..named(base, "operators", name, "operator")
            },
        }));
    }
    if estate.nodes.known() {
        let tone = known(estate.nodes.stale());
        let wrong = estate.nodes.rows.iter().filter(|node| node.wrong());
        all.extend(wrong.map(|row| node(base, row, &estate.machines, tone)));
    }
    all.extend(aro::problems(base, &estate.aro));
    machines(base, estate, &mut all);
    sets(base, estate, &mut all);
    pools(base, estate, &mut all);
    certificate(base, look, now, &mut all);
    let order = |tone: Tone| match tone {
        Tone::Bad => 0,
        Tone::Warn => 1,
        Tone::Busy => 2,
        _ => 3,
    };
    all.sort_by(|a, b| {
        let by_tone = order(a.item.tone).cmp(&order(b.item.tone));
        by_tone
            .then_with(|| rank(a.kind).cmp(&rank(b.kind)))
            .then_with(|| a.since.unwrap_or(i64::MAX).cmp(&b.since.unwrap_or(i64::MAX)))
    });
    all
}

fn rank(kind: &str) -> u8 {
    match kind {
        "operator" => 0,
        "node" => 1,
        "operator check" => 2,
        "machine" => 3,
        _ => 4,
    }
}

fn named(base: &str, tab: &str, name: &str, kind: &str) -> Item {
    Item {
        tone: Tone::Warn,
        icon: "operator",
        name: page_of(base, tab, name),
        kind: kind.to_owned(),
        ..Item::default()
    }
}

fn worst(badges: &[Badge]) -> Tone {
    badges.first().map_or(Tone::Mute, |badge| badge.tone)
}

fn operator(base: &str, row: &OperatorRow) -> Item {
    let badges = row.badges();
    let leading = leading(&row.operator);
    Item {
        tone: worst(&badges),
        badges,
        quote: why(leading),
        at: seconds(leading.since).map(DisplayTime::Ago),
        acts: row.acts(base),
        ..named(base, "operators", row.name(), "operator")
    }
}

fn node(base: &str, row: &Node, machines: &ObservedRows<MachineRow>, tone: impl Fn(Item) -> Item) -> Problem {
    let badges = node_badges(row);
    let (quote, since) = match (row.ready.is_true(), row.pressures.first()) {
        (true, Some(first)) => (format!("{}: {}", words_of(&first.kind), first.why()), first.since),
        (true, None) => (String::new(), None),
        (false, _) => (row.ready_why(), row.ready_since),
    };
    let since = seconds(since);
    let mut acts = Vec::new();
    if !row.machine_name().is_empty() {
        acts.push(Link::new("Machine", page_of(base, "machines", row.machine_name()).href));
    }
    acts.push(Link::new("Pods", format!("{base}/pods?node={}", encode(row.name()))));
    acts.push(Link::new("Events", format!("{base}/events?q={}", encode(row.name()))));
    let vm = vm_of(row, machines).and_then(Vm::badge).filter(|badge| badge.tone == Tone::Bad);
    let item = Item {
        tone: worst(&badges),
        icon: "node",
        badges: badges.into_iter().chain(vm).collect(),
        quote,
        at: since.map(DisplayTime::Ago),
        acts,
        ..named(base, "nodes", row.name(), "node")
    };
    Problem { kind: "node", tab: Tab::Nodes, since, item: tone(item) }
}

fn machines(base: &str, estate: &ClusterObjects, all: &mut Vec<Problem>) {
    if !estate.machines.known() {
        return;
    }
    let wrong = estate.machines.rows.iter().filter(|machine| machine.wrong());
    all.extend(wrong.map(|row| {
        let badge = row.badge();
        let vm = row.vm.badge().filter(|_| row.vm.wrong());
        let tone = if row.vm.wrong() { Tone::Bad } else { badge.tone };
        let message = if let Vm::Known { message, .. } = &row.vm { message.as_str() } else { "" };
        let machine = &row.machine;
        let quote = [machine.error_reason.as_str(), &machine.error_message, message]
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join(": ");
        let mut acts = Vec::new();
        if !machine.node.is_empty() {
            acts.push(Link::new("Node", page_of(base, "nodes", &machine.node).href));
        }
        if let Vm::Known { href, .. } = &row.vm
            && href.starts_with("https://")
        {
            acts.push(Link::new("Azure portal", &**href));
        }
        let since = seconds(machine.meta.deleting.or(machine.updated));
        let item = Item {
            tone: if estate.machines.stale() { Tone::Mute } else { tone },
            icon: "machine",
            badges: [Some(badge), vm].into_iter().flatten().collect(),
            quote,
            at: since.map(DisplayTime::Ago),
            acts,
            ..named(base, "machines", row.name(), "machine")
        };
        Problem { kind: "machine", tab: Tab::Machines, since, item }
    }));
}

fn sets(base: &str, estate: &ClusterObjects, all: &mut Vec<Problem>) {
    let set = |name: Link, kind: &str, badge: Badge, quote: String, tab| {
        let tone = badge.tone;
        let item = Item {
            tone,
            icon: "machineset",
            name,
            kind: kind.to_owned(),
            badges: vec![badge],
            quote,
            ..Item::default()
        };
        Problem { kind: "machine set", tab, since: None, item }
    };
    if estate.control_plane.known() {
        let wrong = estate.control_plane.rows.iter().filter(|row| row.wrong());
        all.extend(wrong.map(|row| {
            let name = Link::new("control plane", format!("{base}/controlplane"));
            let count = format!("{} of {} machines are ready", row.ready, row.desired);
            set(name, "machine set", control_plane_badge(row), count, Tab::ControlPlane)
        }));
    }
    if estate.sets.known() {
        let wrong = estate.sets.rows.iter().filter(|row| row.wrong());
        all.extend(wrong.map(|row| {
            let count = format!("{} of {} machines are ready. {}", row.ready, row.desired, row.error_message);
            let name = page_of(base, "machinesets", row.name());
            set(name, "machine set", set_badge(row), count.trim_end().to_owned(), Tab::MachineSets)
        }));
    }
}

fn pools(base: &str, estate: &ClusterObjects, all: &mut Vec<Problem>) {
    if !estate.pools.known() {
        return;
    }
    let wrong = estate.pools.rows.iter().filter(|pool| pool.wrong());
    all.extend(wrong.map(|pool| {
        let badges = pool_badges(pool);
        Problem {
            kind: "pool",
            tab: Tab::ControlPlane,
            since: None,
            item: Item {
                tone: worst(&badges),
                icon: "wrench",
                name: Link::new(pool.name(), format!("{base}/controlplane")),
                kind: "machine config pool".to_owned(),
                quote: format!(
                    "{} of {} machines could not take their configuration",
                    pool.degraded, pool.machines
                ),
                badges,
                ..Item::default()
            },
        }
    }));
}

fn certificate(base: &str, look: &MonitorFindings, now: i64, all: &mut Vec<Problem>) {
    let Some(end) = look.certificate.filter(|end| end.saturating_sub(now) < CERTIFICATE) else { return };
    let tone = if end.saturating_sub(now) < 7 * 86_400 { Tone::Bad } else { Tone::Warn };
    let word = if end <= now {
        "Expired".to_owned()
    } else {
        format!("Ends in {}", when::span(end.saturating_sub(now)))
    };
    all.push(Problem {
        kind: "certificate",
        tab: Tab::Overview,
        since: None,
        item: Item {
            tone,
            icon: "cert",
            name: Link::new("Serving certificate", format!("{base}/overview#panel-control")),
            kind: "certificate".to_owned(),
            badges: vec![Badge::filled(tone, "cert", word)],
            at: Some(DisplayTime::Exact(end)),
            ..Item::default()
        },
    });
}

/// Numbers beside the tabs.
#[must_use]
pub fn looks(problems: &[Problem]) -> Vec<TabCount> {
    let mut counts: Vec<TabCount> = Vec::new();
    for problem in problems.iter().filter(|problem| problem.tab != Tab::Overview) {
        let tone = problem.item.tone;
        match counts.iter_mut().find(|each| each.tab == problem.tab) {
            Some(each) => {
                each.count += 1;
                if tone == Tone::Bad {
                    each.tone = tone;
                }
            }
            None => counts.push(TabCount { tab: problem.tab, count: 1, tone }),
        }
    }
    counts
}

/// "2 operators, 2 nodes and 1 machine need attention."
fn counted(problems: &[Problem]) -> String {
    let mut kinds: Vec<(&'static str, u64)> = Vec::new();
    for problem in problems {
        match kinds.iter_mut().find(|(kind, _)| *kind == problem.kind) {
            Some((_, count)) => *count += 1,
            None => kinds.push((problem.kind, 1)),
        }
    }
    let words: Vec<String> = kinds.iter().map(|(kind, n)| plural(*n, kind, &format!("{kind}s"))).collect();
    let one = problems.len() == 1;
    let all = match words.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
        None => return String::new(),
    };
    format!("{all} {} attention.", if one { "needs" } else { "need" })
}

/// One sentence: what is wrong and where it began. `document` says how the document has it.
#[must_use]
pub(super) fn verdict(document: &Verdict, estate: &ClusterObjects, problems: &[Problem]) -> Verdict {
    let seen = estate.operators.known() || estate.nodes.known();
    if !seen {
        return document.clone();
    }
    let mut text = counted(problems);
    if let Some(row) = estate.version.rows.first().filter(|_| estate.version.known())
        && let Some(to) = row.moving_to()
    {
        let percent = row.percent().map(|percent| format!(", {percent} % done")).unwrap_or_default();
        let stopped = document.is_failed() || !row.failing().is_empty();
        text.push_str(&match (row.current.is_empty(), stopped) {
            (true, true) => format!(" The first install of {to} stopped{percent}."),
            (true, false) => format!(" The first install of {to} is in progress{percent}."),
            (false, _) if row.failing().is_empty() => format!(" The update to {to} is in progress{percent}."),
            (false, _) => format!(" The update to {to} does not go on{percent}."),
        });
    }
    let gravest = problems.iter().any(|p| p.item.tone == Tone::Bad && p.since.is_some());
    let counts = |p: &&Problem| p.item.tone != Tone::Mute && (!gravest || p.item.tone == Tone::Bad);
    let first = problems
        .iter()
        .filter(counts)
        .filter_map(|problem| Some((problem.since?, problem)))
        .min_by_key(|(since, _)| *since);
    // Several that began at once have no first one.
    let alone = |since: i64| problems.iter().filter(counts).filter(|p| p.since == Some(since)).count() == 1;
    if let Some((_, problem)) = first.filter(|(since, _)| problems.len() > 1 && alone(*since)) {
        text.push_str(&format!(" It began with {} {}.", problem.kind, problem.item.name.text));
    }
    // A document that is not well speaks first.
    if matches!(document.tone, Tone::Bad | Tone::Busy)
        && estate.operators.known()
        && !document.head.starts_with("No answer")
    {
        let all = [document.text.as_str(), text.trim()].join(" ");
        return Verdict { text: all.trim().to_owned(), ..document.clone() };
    }
    let tone = problems.iter().map(|p| p.item.tone).find(|tone| *tone == Tone::Bad);
    if problems.is_empty() {
        let fine = format!("No operator, node, machine or machine set needs attention.{text}");
        return Verdict { tone: Tone::Ok, icon: "ok", head: "Healthy".to_owned(), since: None, text: fine };
    }
    let busy = problems.iter().all(|p| p.item.tone == Tone::Busy);
    Verdict {
        tone: tone.unwrap_or(if busy { Tone::Busy } else { Tone::Warn }),
        icon: if busy { "busy" } else { "degraded" },
        head: if busy { "Changing" } else { "Degraded" }.to_owned(),
        // The list of clusters says the same, since the same instant.
        since: document.since.filter(|_| document.tone == Tone::Warn).or(first.map(|(since, _)| since)),
        text: text.trim().to_owned(),
    }
}
