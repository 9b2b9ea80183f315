//! The overview: what is wrong first, then what the cluster is made of, at a glance.

use rp_rows::Status;

use super::list::Row;
use super::operators::{leading, why};
use super::sets::{control_plane_badge, pool_badges};
use super::verdict::{Problem, verdict};
use super::{
    Board, ClusterObjects, ObservationState, Run, events_panel, machine_sets_panel, machines_panel,
    nodes_panel, run_notice, seconds, version_panel,
};
use crate::cluster::Verdict;
use crate::components::{LastLook, Skeleton, Slot};
use crate::panel::{Block, DisplayTime, Item, LANES, Lane, Pair, Panel, Value};
use crate::parts::{Badge, Link, Notice, Step, Tone};
use crate::text::plural;

/// What the overview shows beside the cluster's objects.
#[derive(Clone, Debug, Default)]
pub struct Overview {
    /// Path of the cluster's pages.
    pub base: String,
    /// The server's clock.
    pub now: i64,
    /// How the document has it.
    pub document: Verdict,
    /// The installation, while it runs or where it stopped.
    pub install: Vec<Step>,
    /// What is seen of the cluster.
    pub estate: ClusterObjects,
    /// What the last look knew.
    pub look: MonitorFindings,
    /// The document's own last operation: from, to, colour.
    pub operation: Vec<(i64, i64, Tone)>,
    /// It is no cluster of ours: panels of what plain Kubernetes has not are left out.
    pub imported: bool,
    /// Nothing can be asked: why.
    pub unreachable: Option<String>,
    /// The operation that runs, or the last that failed.
    pub run: Option<Run>,
}

/// What the monitor's last look found.
#[derive(Clone, Debug, Default)]
pub struct MonitorFindings {
    /// The look itself; none: there was none yet.
    pub look: Option<LastLook>,
    /// Status of the API server's `/healthz`; 0: no answer; none: not asked.
    pub healthz: Option<u16>,
    /// End of the certificate that ends first.
    pub certificate: Option<i64>,
    /// Operators that were degraded.
    pub operators: Vec<String>,
    /// Nodes.
    pub nodes: u64,
    /// Nodes that were not ready.
    pub not_ready: u64,
    /// Alerts that fired.
    pub alerts: Vec<String>,
}

/// An alert that fires.
#[derive(Clone, Debug, Default)]
pub struct FiringAlert {
    /// Its name.
    pub name: String,
    /// `critical`, `warning`, `info`.
    pub severity: String,
    /// How many of the name fire.
    pub count: u64,
    /// Since when the first does.
    pub since: Option<i64>,
    /// What it says.
    pub summary: String,
    /// Its run-book, or empty.
    pub runbook: String,
}

/// The whole overview but the document and the access, which do not change by the second.
#[must_use]
pub fn overview_board(overview: &Overview, problems: &[Problem]) -> Board {
    let (base, estate) = (overview.base.as_str(), &overview.estate);
    let shown = |state: &ObservationState| !(overview.imported && matches!(state, ObservationState::Missing));
    let mut main = vec![nodes_panel(base, &estate.nodes, None)];
    if shown(&estate.machines.state) {
        main.push(machines_panel(base, &estate.machines, None));
    }
    if shown(&estate.sets.state) {
        main.push(machine_sets_panel(base, &estate.sets, None));
    }
    main.push(events_panel(base, &estate.events));
    let mut side = Vec::new();
    if shown(&estate.version.state) {
        let stopped = overview.document.is_failed();
        side.push(
            version_panel(&estate.version, false, stopped).link("Operations", format!("{base}/operations")),
        );
    }
    side.push(control_panel(overview));
    if overview.unreachable.is_some() {
        // Nothing of it can be asked: one sentence instead of a wall of failures.
        return Board::full_width(vec![verdict_panel(overview, problems)]);
    }
    if silent(estate) {
        // It answers nothing: what the last check found, and the other panels wait in the page for its first answer.
        let hidden = |panel: Panel| Panel::hidden(panel.id);
        let control = side.pop();
        return Board {
            top: std::iter::once(verdict_panel(overview, problems)).chain(control).collect(),
            main: main.into_iter().map(hidden).collect(),
            side: side.into_iter().map(hidden).collect(),
        };
    }
    Board { top: vec![verdict_panel(overview, problems)], main, side }
}

/// The cluster did not answer, and nothing is known from earlier answers.
fn silent(estate: &ClusterObjects) -> bool {
    let known = estate.nodes.known()
        || estate.operators.known()
        || estate.machines.known()
        || estate.sets.known()
        || estate.events.known()
        || estate.version.known();
    matches!(estate.nodes.state, ObservationState::Failed(_)) && !known
}

fn verdict_panel(overview: &Overview, problems: &[Problem]) -> Panel {
    let told = verdict(&overview.document, &overview.estate, problems);
    let mut panel = Panel::new("verdict", "");
    let lanes = if overview.estate.nodes.known() { lanes(overview) } else { Vec::new() };
    panel = panel.with(Block::Verdict(told, lanes));
    for notice in notices(overview) {
        panel = panel.with(Block::Notice(notice));
    }
    if !overview.install.is_empty() {
        panel = panel.with(Block::Steps(overview.install.clone()));
    }
    if problems.is_empty() {
        return panel;
    }
    let mut folded = fold(&overview.base, problems);
    folded.truncate(20);
    let more = problems.len().saturating_sub(folded.iter().map(|(count, _)| count).sum());
    let items: Vec<Item> = folded.into_iter().map(|(_, item)| item).collect();
    panel = panel.with(Block::Items(items));
    if more > 0 {
        panel = panel.with(Block::Foot(format!("and {more} more, on the pages of their kind"), None));
    }
    panel
}

/// So many operators with one cause are one row.
const ALIKE: usize = 4;

/// The rows of the problems, each with how many problems it stands for: operators that say the same in the same state are
/// one row, as in an installation that has stopped.
fn fold(base: &str, problems: &[Problem]) -> Vec<(usize, Item)> {
    let same = |a: &Problem, b: &Problem| {
        let words = |problem: &Problem| -> Vec<String> {
            problem.item.badges.iter().map(|badge| badge.word.clone()).collect()
        };
        let operators = a.kind == "operator" && b.kind == "operator";
        operators && !a.item.quote.is_empty() && a.item.quote == b.item.quote && words(a) == words(b)
    };
    let mut rows: Vec<(usize, Item)> = Vec::new();
    for (at, problem) in problems.iter().enumerate() {
        let alike: Vec<&Problem> = problems.iter().filter(|other| same(problem, other)).collect();
        if alike.len() < ALIKE {
            rows.push((1, problem.item.clone()));
        } else if !problems.iter().take(at).any(|earlier| same(problem, earlier)) {
            rows.push((alike.len(), together(base, problem, &alike)));
        }
    }
    rows
}

/// One row for operators that are alike: how many, the first names, their common message.
fn together(base: &str, first: &Problem, alike: &[&Problem]) -> Item {
    let names: Vec<&str> = alike.iter().take(3).map(|problem| problem.item.name.text.as_str()).collect();
    let rest = alike.len().saturating_sub(names.len());
    Item {
        name: Link::new(format!("{} operators", alike.len()), format!("{base}/operators")),
        kind: format!("{} and {rest} more", names.join(", ")),
        at: first.item.at.filter(|_| alike.iter().all(|problem| problem.since == first.since)),
        acts: Vec::new(),
        ..first.item.clone()
    }
}

/// What keeps the page from saying more.
fn notices(overview: &Overview) -> Vec<Notice> {
    let mut notices: Vec<Notice> = overview.run.iter().map(|run| run_notice(&overview.base, run)).collect();
    if let Some(why) = &overview.unreachable {
        notices.push(Notice { tone: Tone::Mute, lead: String::new(), text: why.clone(), action: None });
    }
    match (&overview.estate.nodes.state, &overview.estate.operators.state) {
        (ObservationState::Failed(failure), _) => notices.push(Notice {
            tone: failure.tone(),
            lead: format!("{}.", failure.what.trim_end_matches('.')),
            text: format!(
                "{}{} {}, {}",
                failure.why,
                match (silent(&overview.estate), overview.look.look.is_some()) {
                    (false, _) => " What is below is what was last known.",
                    (true, true) => " What is below is what the last check found.",
                    (true, false) => "",
                },
                failure.status_words(),
                failure.side.words()
            ),
            action: Some(Link::new("Try again", format!("{}/overview", overview.base))),
        }),
        (ObservationState::Stale { why, .. }, _) | (_, ObservationState::Stale { why, .. }) => {
            notices.push(Notice {
                tone: Tone::Warn,
                lead: "This is how it was.".to_owned(),
                text: why.clone(),
                action: Some(Link::new("Try again", format!("{}/overview", overview.base))),
            });
        }
        _ => {}
    }
    if overview.unreachable.is_none() && matches!(overview.estate.nodes.state, ObservationState::Loading) {
        let text = "Loading live data from the cluster…".to_owned();
        notices.push(Notice { tone: Tone::Busy, lead: String::new(), text, action: None });
    }
    notices
}

/// The timeline rows: a cause is drawn left of its effect.
fn lanes(overview: &Overview) -> Vec<Lane> {
    let now = overview.now;
    let estate = &overview.estate;
    let open = |since: Option<i64>, tone: Tone| since.map(|since| (since, now, tone));
    let mut update: Vec<(i64, i64, Tone)> = overview.operation.clone();
    update.extend(estate.version.rows.iter().flat_map(|row| &row.history).filter_map(|each| {
        let end = if each.is_completed() { each.completed?.seconds() } else { now };
        Some((each.started?.seconds(), end, Tone::Busy))
    }));
    let nodes = estate.nodes.rows.iter().filter(|node| node.wrong()).filter_map(|node| match node.ready {
        Status::True => open(seconds(node.pressures.first().and_then(|first| first.since)), Tone::Warn),
        Status::False | Status::Unknown => open(seconds(node.ready_since), Tone::Bad),
    });
    let operators = estate.operators.rows.iter().filter(|row| row.wrong()).filter_map(|row| {
        let tone = if row.operator.available.status == Status::False { Tone::Bad } else { Tone::Warn };
        open(seconds(leading(&row.operator).since), tone)
    });
    let warnings = estate.events.rows.iter().filter(|event| event.is_warning());
    let warnings = warnings.filter_map(|event| seconds(event.last).map(|at| (at, at, Tone::Warn)));
    let mut all = vec![
        Lane { name: "Update", marks: update },
        Lane { name: "Nodes", marks: nodes.collect() },
        Lane { name: "Operators", marks: operators.collect() },
        Lane { name: "Warnings", marks: warnings.take(200).collect() },
    ];
    let begin = now.saturating_sub(LANES);
    for lane in &mut all {
        lane.marks.retain(|(from, to, _)| *to >= begin && *from <= now);
    }
    if all.iter().all(|lane| lane.marks.is_empty()) { Vec::new() } else { all }
}

/// etcd, API server and certificates, as far as they are known without asking Prometheus.
#[must_use]
pub fn control_panel(overview: &Overview) -> Panel {
    let (look, estate) = (&overview.look, &overview.estate);
    let healthz = match look.healthz {
        Some(200) => Value::Badge(Badge::quiet(Tone::Ok, "ok", "Healthy")),
        Some(0) => Value::Badge(Badge::filled(Tone::Bad, "away", "No answer")),
        Some(code) => Value::Badge(Badge::filled(Tone::Bad, "failed", format!("/healthz says {code}"))),
        None => Value::Unknown("not checked yet".to_owned()),
    };
    let mut pairs = vec![Pair::new("API server", healthz)];
    pairs.extend(etcd(overview));
    let certificate = match look.certificate {
        Some(end) => Value::End(Some(end)),
        None if look.look.is_some() => Value::Unknown("not known".to_owned()),
        None => Value::Unknown("not checked yet".to_owned()),
    };
    pairs.push(Pair::new("Certificate", certificate));
    if let Some(row) = estate.control_plane.rows.first().filter(|_| estate.control_plane.known()) {
        pairs.push(Pair::new("Machines", Value::Badge(control_plane_badge(row))));
    }
    for pool in estate.pools.rows.iter().filter(|_| estate.pools.known()).take(8) {
        let badge = pool_badges(pool).into_iter().next().unwrap_or_default();
        pairs.push(Pair::new(format!("Pool {}", pool.name()), Value::Badge(badge)));
    }
    Panel::new("control", "Control plane")
        .link("Statistics", format!("{}/statistics", overview.base))
        .with(Block::Pairs(pairs))
}

fn etcd(overview: &Overview) -> Vec<Pair> {
    let etcd = &overview.estate.etcd;
    let conditions = etcd.rows.first().map(|row| row.conditions.as_slice()).unwrap_or_default();
    let find = |kind: &str| conditions.iter().find(|condition| condition.kind == kind);
    if etcd.known()
        && let Some(members) = find("EtcdMembersAvailable")
    {
        let degraded = find("EtcdMembersDegraded").filter(|condition| condition.status.is_true());
        let badge = match (members.status, degraded) {
            (_, Some(_)) => Badge::filled(Tone::Warn, "degraded", "Degraded"),
            (Status::True, None) => Badge::quiet(Tone::Ok, "ok", "Well"),
            _ => Badge::filled(Tone::Bad, "failed", "Not available"),
        };
        let words = degraded.unwrap_or(members).message.clone();
        return vec![Pair::new("etcd", Value::Badge(badge)), Pair::text("etcd members", words)];
    }
    // The operator says it too, in fewer words.
    let operators = &overview.estate.operators;
    match operators.rows.iter().find(|row| row.name() == "etcd").filter(|_| operators.known()) {
        Some(row) => {
            let badge = row.badges().into_iter().next().unwrap_or_default();
            vec![
                Pair::new("etcd", Value::Badge(badge)),
                Pair::text("etcd message", why(leading(&row.operator))),
            ]
        }
        None if matches!(etcd.state, ObservationState::Forbidden(_)) => {
            vec![Pair::new("etcd", Value::Unknown("not allowed".to_owned()))]
        }
        None => vec![Pair::new("etcd", Value::Unknown("not known".to_owned()))],
    }
}

/// What fires. `later`: where the list is fetched from; until then what the last look knew.
#[must_use]
pub fn alerts_panel(base: &str, slot: Slot, alerts: &[FiringAlert], later: Option<String>) -> Panel {
    let panel = Panel::new("alerts", "Alerts").link("All alerts", format!("{base}/alerts"));
    if let Some(later) = later {
        let bones = Skeleton::lines("Alerts", 3);
        return Panel { later, ..panel.slot(Slot::Loading(bones)) };
    }
    let ready = slot.shows();
    let panel = panel.slot(slot);
    if !ready {
        return panel;
    }
    if alerts.is_empty() {
        return panel.well("No alerts firing", "Source: the cluster's Prometheus.");
    }
    let firing: u64 = alerts.iter().map(|alert| alert.count).sum();
    let items = alerts.iter().take(8).map(|alert| {
        let (tone, icon) = match alert.severity.as_str() {
            "critical" => (Tone::Bad, "failed"),
            "warning" => (Tone::Warn, "degraded"),
            _ => (Tone::Mute, "info"),
        };
        let mut acts = Vec::new();
        if alert.runbook.starts_with("https://") {
            acts.push(Link::new("Run-book", &*alert.runbook));
        }
        Item {
            tone,
            icon,
            name: Link::new(&*alert.name, format!("{base}/alerts")),
            kind: alert.severity.clone(),
            badges: Vec::new(),
            quote: alert.summary.clone(),
            advice: String::new(),
            at: alert.since.map(DisplayTime::For),
            aside: if alert.count > 1 { format!("×{}", alert.count) } else { String::new() },
            acts,
        }
    });
    let panel = panel.fact(plural(firing, "fires", "fire")).with(Block::Items(items.collect()));
    let more = alerts.len().saturating_sub(8);
    if more == 0 { panel } else { panel.with(Block::Foot(format!("and {more} more"), None)) }
}
