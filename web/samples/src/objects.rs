//! What a cluster is made of, in every state that the pages can be in.

mod aro;
mod clusters;
mod nodes;
mod operators;

use rp_base::Timestamp;
use rp_rows::{Condition, Meta, Status};
use web::objects::{
    ActionRow, Board, ClusterObjects, FiringAlert, MonitorFindings, ObservationState, ObservedRows,
    Operations, Overview, Run, alerts_panel, control_plane_panels, looks, machine_board, machine_set_board,
    machine_sets_panel, machines_panel, node_board, nodes_panel, operations_board, operator_board,
    operators_panel, overview_board, problems, run_board, version_panel,
};
use web::{
    Badge, Cluster, ClusterPage, ItemHead, LastLook, Link, LiveBar, LiveState, Slot, Tab, TableFilter,
    TableQuery, Tone,
};

use crate::{DAY, HOSTILE, MINUTE, NOW};
use crate::{maintenance, runs};
use clusters::{all_in, failed, forbidden, hostile, many, plain, stale};
pub(crate) use clusters::{degraded, well};

const GIB: i64 = 1 << 30;
const INFRA: &str = "harbor-prod-weu-01-x7k2p";

const fn at(seconds: i64) -> Option<Timestamp> {
    Some(Timestamp::from_seconds(seconds))
}

fn meta(namespace: &str, name: impl Into<String>) -> Meta {
    Meta { namespace: namespace.into(), name: name.into(), created: at(NOW - 411 * DAY), ..Meta::default() }
}

fn condition(kind: &str, status: Status, since: i64, reason: &str, message: &str) -> Condition {
    Condition { kind: kind.into(), status, since: at(since), reason: reason.into(), message: message.into() }
}

pub(super) fn last_look() -> MonitorFindings {
    MonitorFindings {
        look: Some(LastLook { at: NOW - 40, took_ms: 1840, failed: Vec::new(), overdue: false }),
        healthz: Some(200),
        certificate: Some(NOW + 6 * DAY),
        operators: vec!["etcd".into()],
        nodes: 7,
        not_ready: 1,
        alerts: vec!["etcdMembersDown".into()],
    }
}

/// The panels of an overview over this estate.
pub(super) fn overview(page: ClusterPage, estate: ClusterObjects, look: MonitorFindings) -> ClusterPage {
    let base = page.cluster.path.clone();
    let found = problems(&base, &estate, &look, NOW);
    let waiting = matches!(estate.nodes.state, ObservationState::Loading);
    let overview = Overview {
        base: base.clone(),
        now: NOW,
        document: page.cluster.verdict.clone(),
        install: page.cluster.install.clone(),
        estate,
        look,
        operation: Vec::new(),
        imported: page.cluster.imported.is_some(),
        unreachable: None,
        run: None,
    };
    let mut board = overview_board(&overview, &found);
    board.side.push(alerts_panel(&base, Slot::Ready, &alerts(), None));
    let cluster = Cluster { looks: looks(&found), ..page.cluster };
    let state = if waiting { LiveState::Loading } else { LiveState::Live };
    ClusterPage { cluster, board, waiting, live: live(state), ..page }
}

fn live(state: LiveState) -> LiveBar {
    LiveBar { state, as_of: Some(NOW - 3), ..LiveBar::default() }
}

fn alerts() -> Vec<FiringAlert> {
    let alert = |name: &str, severity: &str, minutes: i64, summary: &str| FiringAlert {
        name: name.into(),
        severity: severity.into(),
        count: 2,
        since: Some(NOW - minutes * MINUTE),
        summary: summary.into(),
        runbook: "https://runbooks.example/alerts".into(),
    };
    vec![
        alert("etcdMembersDown", "critical", 44, "etcd cluster members are down."),
        alert("KubeNodeUnreachable", "warning", 41, "Node is unreachable."),
    ]
}

fn listed(page: &ClusterPage, tab: Tab, estate: &ClusterObjects, query: &[(&str, &str)]) -> ClusterPage {
    let base = page.cluster.path.clone();
    let query = TableQuery::read(format!("{base}/{}", tab.segment()), query.iter().copied());
    let (panel, what) = match tab {
        Tab::Machines => (machines_panel(&base, &estate.machines, Some(&query)), "machines"),
        Tab::MachineSets => (machine_sets_panel(&base, &estate.sets, Some(&query)), "machine sets"),
        Tab::Operators => (operators_panel(&base, &estate.operators, &query), "operators"),
        _ => (nodes_panel(&base, &estate.nodes, Some(&query)), "nodes"),
    };
    let filter = TableFilter { query, what, problems: Some(2), all: Some(9) };
    ClusterPage { tab, board: Board::full_width(vec![panel]), filter: Some(filter), ..one_of(page, estate) }
}

fn one_of(page: &ClusterPage, estate: &ClusterObjects) -> ClusterPage {
    let mut page = page.clone();
    page.cluster.looks = looks(&problems(&page.cluster.path, estate, &last_look(), NOW));
    page.live = live(LiveState::Live);
    page
}

fn detail(page: &ClusterPage, tab: Tab, estate: &ClusterObjects, name: &str) -> ClusterPage {
    let base = page.cluster.path.clone();
    let board = match tab {
        Tab::Machines => machine_board(&base, name, &estate.machines, &estate.events),
        Tab::MachineSets => machine_set_board(&base, name, &estate.sets, &estate.machines, &estate.events),
        Tab::Operators => operator_board(&base, name, &estate.operators, &estate.events),
        _ => node_board(&base, name, &estate.nodes, &estate.machines, &estate.events),
    };
    let list = Link::new(tab.words(), format!("{base}/{}", tab.segment()));
    let item = Some(ItemHead { list, name: name.into(), badges: Vec::new() });
    ClusterPage { tab, board, item, ..one_of(page, estate) }
}

fn operations(page: &ClusterPage, operations: &Operations) -> ClusterPage {
    let base = page.cluster.path.clone();
    let operations = Operations { base, now: NOW, ..operations.clone() };
    let mut board = operations_board(&operations);
    board.side.push(version_panel(&degraded().version, true, false));
    ClusterPage { tab: Tab::Operations, board, ..one_of(page, &degraded()) }
}

/// The page of one operation that is over.
fn one_run(page: &ClusterPage, run: &Run) -> ClusterPage {
    let list = Link::new("Operations", format!("{}/operations", page.cluster.path));
    let item = Some(ItemHead { list, name: run.id.clone(), badges: Vec::new() });
    ClusterPage { tab: Tab::Operations, board: run_board(run, NOW), item, ..one_of(page, &degraded()) }
}

/// The overview of a cluster that is being made: nothing of it can be asked yet.
fn creating(page: &ClusterPage) -> ClusterPage {
    let state = web::State::Creating;
    let badge = state.badge();
    let verdict = web::Verdict {
        tone: badge.tone,
        icon: badge.icon,
        head: badge.word,
        since: Some(runs::running().started),
        text: "No health check yet. The state is from the resource record.".into(),
    };
    let overview = Overview {
        base: page.cluster.path.clone(),
        now: NOW,
        document: verdict.clone(),
        unreachable: Some("It has no private endpoint yet, so nothing of it can be asked.".into()),
        run: Some(runs::running()),
        ..Overview::default()
    };
    let cluster = Cluster { state, verdict, looks: Vec::new(), ..page.cluster.clone() };
    ClusterPage {
        cluster,
        board: overview_board(&overview, &[]),
        live: live(LiveState::Live),
        ..page.clone()
    }
}

fn done() -> Operations {
    Operations {
        state: Badge::filled(Tone::Busy, "wrench", "Admin update"),
        since: Some(NOW - 134 * MINUTE),
        provisioning: "AdminUpdating".into(),
        last: "Succeeded".into(),
        operation: "0f6c1f6e-4b1f-4a29-9a1f-3d1f9d1c2b3a".into(),
        admin_error: "ensureMTUSize: timed out waiting for machine config pool master (10 m)".into(),
        by: "ops-automation@example.com".into(),
        provisioned_by: "a1c9e07".into(),
        maintenance: "Planned".into(),
        more: vec![("Task".into(), "Everything".into())],
        manifests: runs::manifests(),
        order: maintenance::order_form(),
        done: vec![ActionRow {
            verb: "grant.issue".into(),
            person: "Juno Aaltonen".into(),
            what: "Replace a lost etcd member".into(),
            at: NOW - 31 * MINUTE,
            failed: false,
        }],
        ..Operations::default()
    }
}

/// Pages of what a cluster is made of; `page` is the cluster that they are of.
pub(super) fn samples(page: &ClusterPage, strange: &ClusterPage) -> Vec<(&'static str, ClusterPage)> {
    let (bad, full, odd) = (degraded(), many(), hostile());
    let list = |tab, estate: &ClusterObjects, query: &[(&str, &str)]| listed(page, tab, estate, query);
    let dead = format!("{INFRA}-master-2");
    let in_state = |state: &ObservationState| all_in(state, ClusterObjects::default());
    let control = |estate: &ClusterObjects| {
        let board =
            control_plane_panels(&page.cluster.path, &estate.control_plane, &estate.machines, &estate.pools);
        ClusterPage { tab: Tab::ControlPlane, board, ..one_of(page, estate) }
    };
    let some_forbidden = ClusterObjects {
        machines: ObservedRows { state: forbidden(), ..ObservedRows::default() },
        sets: ObservedRows { state: forbidden(), ..ObservedRows::default() },
        ..degraded()
    };
    let over = |estate| overview(page.clone(), estate, last_look());
    let states = [
        ("aro-operator", degraded()),
        ("aro-operator-healthy", well()),
        ("aro-operator-missing", in_state(&ObservationState::Missing)),
        ("aro-operator-away", in_state(&failed())),
    ];
    let mut all = vec![
        ("loading", overview(page.clone(), ClusterObjects::default(), MonitorFindings::default())),
        ("stale", over(all_in(&stale(), degraded()))),
        ("silent", over(in_state(&failed()))),
        ("partly-forbidden", over(some_forbidden)),
        ("plain", over(plain())),
        ("nodes", list(Tab::Nodes, &bad, &[])),
        ("nodes-many", list(Tab::Nodes, &full, &[("sort", "-name"), ("page", "2")])),
        ("nodes-none-match", list(Tab::Nodes, &bad, &[("q", "lighthouse"), ("show", "problems")])),
        ("nodes-loading", list(Tab::Nodes, &ClusterObjects::default(), &[])),
        ("nodes-stale", list(Tab::Nodes, &all_in(&stale(), degraded()), &[])),
        ("nodes-failed", list(Tab::Nodes, &in_state(&failed()), &[])),
        (
            "nodes-empty",
            list(Tab::Nodes, &ClusterObjects { nodes: ObservedRows::live(Vec::new()), ..well() }, &[]),
        ),
        ("nodes-hostile", listed(strange, Tab::Nodes, &odd, &[("q", HOSTILE)])),
        ("node", detail(page, Tab::Nodes, &bad, &dead)),
        ("node-gone", detail(page, Tab::Nodes, &bad, "worker-that-was")),
        ("node-loading", detail(page, Tab::Nodes, &ClusterObjects::default(), &dead)),
        ("node-hostile", detail(strange, Tab::Nodes, &odd, HOSTILE)),
        ("machines", list(Tab::Machines, &bad, &[])),
        ("machines-forbidden", list(Tab::Machines, &in_state(&forbidden()), &[])),
        ("machine", detail(page, Tab::Machines, &bad, &dead)),
        ("machine-hostile", detail(strange, Tab::Machines, &odd, HOSTILE)),
        ("machine-sets", list(Tab::MachineSets, &bad, &[])),
        ("machine-set", detail(page, Tab::MachineSets, &bad, &format!("{INFRA}-worker-weu3"))),
        ("machine-set-hostile", detail(strange, Tab::MachineSets, &odd, HOSTILE)),
        ("control-plane", control(&bad)),
        ("control-plane-missing", control(&in_state(&ObservationState::Missing))),
        ("operators", list(Tab::Operators, &bad, &[])),
        ("operators-well", list(Tab::Operators, &well(), &[("show", "problems")])),
        ("operators-missing", list(Tab::Operators, &in_state(&ObservationState::Missing), &[])),
        ("operator", detail(page, Tab::Operators, &bad, "etcd")),
        ("operator-hostile", detail(strange, Tab::Operators, &odd, HOSTILE)),
        ("operations", operations(page, &done())),
        (
            "operations-none",
            operations(
                page,
                &Operations {
                    state: done().state,
                    done_hidden: "Auditors see it.".into(),
                    ..Operations::default()
                },
            ),
        ),
        ("operations-barred", operations(page, &Operations { order: maintenance::order_barred(), ..done() })),
        (
            "operations-machine",
            operations(page, &Operations { order: maintenance::order_of_machine(), ..done() }),
        ),
        (
            "operations-mistakes",
            operations(page, &Operations { order: maintenance::order_mistakes(), ..done() }),
        ),
        ("operations-away", operations(page, &Operations { unknown: "The store is away.".into(), ..done() })),
        ("operations-running", operations(page, &Operations { run: Some(runs::running()), ..done() })),
        ("operations-waiting", operations(page, &Operations { run: Some(runs::waiting()), ..done() })),
        ("operations-failed", operations(page, &Operations { run: Some(runs::failed()), ..done() })),
        (
            "operations-many",
            operations(page, &Operations { run: Some(runs::succeeded()), earlier: runs::ten(), ..done() }),
        ),
        (
            "operations-hostile",
            operations(
                strange,
                &Operations {
                    run: Some(runs::strange()),
                    earlier: vec![runs::strange()],
                    order: maintenance::order_strange(),
                    ..done()
                },
            ),
        ),
        ("operation", one_run(page, &runs::failed())),
        ("creating", creating(page)),
        ("overview-hostile", overview(strange.clone(), hostile(), last_look())),
    ];
    all.extend(aro::samples(page, strange, states));
    all
}
