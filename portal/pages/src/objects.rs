//! The pages of what a cluster is made of: overview, operators, nodes, machines, machine sets, control plane. A page
//! and the stream that keeps it current are rendered from the same functions.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{RawQuery, State};
use axum::response::Response;
use http::{StatusCode, Uri};
use portal_model::index::Entry;
use portal_model::state::PortalState;
use portal_session::context::{Context, Ctx};
use portal_session::fault::Fault;
use portal_session::user::CurrentUser;
use rp_observe::ClusterSnapshot;
use web::objects::{
    Board, ClusterObjects, MonitorFindings, ObservedRows, Overview, Problem, Row, aro_panel,
    control_plane_panels, looks, machine_board, machine_set_board, machine_sets_panel, machines_panel,
    node_board, nodes_panel, operator_board, operators_panel, overview_board, problems, version_panel,
};
use web::{ClusterPage, ItemHead, Link, NavItem, Tab, TabCount, TableFilter, TableQuery};

use crate::act_words::node_acts;
use crate::answer::answer;
use crate::cluster_head;
use crate::cluster_head::PageOptions;
use crate::cluster_path::ClusterPath;
use crate::cluster_rows::{RowContext, estate};
use crate::frame::frame;
use crate::live;
use crate::live::{Fragment, TabInput};

/// How long the first byte waits for a cluster that was not watched; the rest arrives by the live stream.
const MOMENT: Duration = Duration::from_millis(250);
/// Maximum wait of a request with `wait`.
const WAIT: Duration = Duration::from_secs(12);

/// What a page shows.
#[derive(Debug)]
pub struct ObjectsView {
    pub board: Board,
    pub item: Option<ItemHead>,
    pub filter: Option<TableFilter>,
    pub looks: Vec<TabCount>,
    /// The object does not exist, although its kind has been listed.
    pub gone: bool,
    /// No data has arrived yet.
    pub waiting: bool,
}

/// A page of objects: the list, or one of them.
pub async fn page(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    user: CurrentUser,
    ClusterPath(id): ClusterPath,
    RawQuery(query): RawQuery,
    uri: Uri,
) -> Result<Response, Fault> {
    let entry = state.model.index.snapshot().get(&id).cloned().ok_or_else(Fault::no_cluster)?;
    let (tab, item) = parse_path(uri.path(), id.key().len()).ok_or_else(Fault::not_found)?;
    let query = query.unwrap_or_default();
    let TabPage { mut page, gone, .. } = tab_page(&state, &context, &user, &entry, tab, &item, &query).await;
    page.grants = web::Section::Rows(Vec::new(), cluster_head::active(&state, &user, &entry).await);
    let status = if gone { StatusCode::NOT_FOUND } else { StatusCode::OK };
    answer(&context, status, &page)
}

/// Tab and item of a path; the item is decoded.
fn parse_path(path: &str, cluster: usize) -> Option<(Tab, String)> {
    let rest = path.get(cluster..)?.trim_matches('/');
    let (segment, item) = rest.split_once('/').unwrap_or((rest, ""));
    let item = percent_encoding::percent_decode_str(item).decode_utf8().ok()?;
    let tab = if segment.is_empty() { Tab::Overview } else { Tab::from_segment(segment)? };
    Some((tab, item.into_owned()))
}

/// A tab of a cluster, and what it was made from.
#[derive(Debug)]
pub struct TabPage {
    /// Without its list of access.
    pub page: ClusterPage,
    /// The object that it is about does not exist, although its kind has been listed.
    pub gone: bool,
    /// The cluster as it was seen.
    pub snapshot: Arc<ClusterSnapshot>,
}

/// The page of a tab.
pub async fn tab_page(
    state: &PortalState,
    context: &Context,
    user: &CurrentUser,
    entry: &Entry,
    tab: Tab,
    item: &str,
    query: &str,
) -> TabPage {
    let mut frame = frame(state, context);
    frame.place = NavItem::Clusters;
    let viewing = entry.reachable.then(|| live::watch(state, entry, tab)).flatten();
    let looking = live::watch_operations(state, entry, tab).await;
    let snapshot = match &viewing {
        Some(viewing) => viewing.settled(if PageOptions::read(query).wait { WAIT } else { MOMENT }).await,
        None => Arc::new(ClusterSnapshot::empty(state.session.clock.now())),
    };
    let input = TabInput { state, entry, user, frame: &frame, snapshot, item, query };
    let shown = objects_view(tab, &input);
    let mut about = cluster_head::cluster(entry, user);
    about.looks = shown.looks;
    let mut page = ClusterPage {
        tab,
        cluster: about,
        board: shown.board,
        item: shown.item,
        filter: shown.filter,
        waiting: shown.waiting && viewing.is_some(),
        ..ClusterPage::default()
    };
    if viewing.is_some() || looking.is_some() {
        page.frame = frame.clone();
        page.live = live::bar(&input, tab, &parts(&page));
    }
    let snapshot = input.snapshot;
    page.frame = frame;
    TabPage { page, gone: shown.gone, snapshot }
}

/// The content of a tab from the current data.
pub fn objects_view(tab: Tab, input: &TabInput<'_>) -> ObjectsView {
    let base = input.entry.path();
    let now = input.frame.now;
    input.state.model.vms.look(input.entry);
    let vm = |name: &str| input.state.model.vms.state_of(input.entry, name);
    let beside = RowContext { base: &base, books: &input.state.session.site.run_books, vm: &vm };
    let estate = estate(&input.snapshot, &beside);
    let look = monitor_findings(input.entry, input.state);
    let found = problems(&base, &estate, &look, now);
    let counts = looks(&found);
    let waiting =
        !estate.nodes.known() && matches!(estate.nodes.state, web::objects::ObservationState::Loading);
    let mut shown = ObjectsView {
        board: Board::default(),
        item: None,
        filter: None,
        looks: counts,
        gone: false,
        waiting,
    };
    if input.item.is_empty() {
        list(tab, input, &base, estate, look, &found, &mut shown);
    } else {
        item_board(tab, input.item, &base, &estate, &mut shown);
        if tab == Tab::Nodes {
            offer_node_acts(input, &estate, &mut shown.board);
        }
    }
    shown
}

fn list(
    tab: Tab,
    input: &TabInput<'_>,
    base: &str,
    estate: ClusterObjects,
    look: MonitorFindings,
    found: &[Problem],
    shown: &mut ObjectsView,
) {
    let pairs = url::form_urlencoded::parse(input.query.as_bytes());
    let query = TableQuery::read(format!("{base}/{}", tab.segment()), pairs);
    let panel = match tab {
        Tab::Nodes => {
            shown.filter = Some(filter("nodes", &estate.nodes, &query));
            nodes_panel(base, &estate.nodes, Some(&query))
        }
        Tab::Machines => {
            shown.filter = Some(filter("machines", &estate.machines, &query));
            machines_panel(base, &estate.machines, Some(&query))
        }
        Tab::MachineSets => {
            shown.filter = Some(filter("machine sets", &estate.sets, &query));
            machine_sets_panel(base, &estate.sets, Some(&query))
        }
        Tab::Operators => {
            shown.filter = Some(filter("operators", &estate.operators, &query));
            operators_panel(base, &estate.operators, &query)
        }
        Tab::AroOperator => aro_panel(&estate.aro),
        Tab::ControlPlane => {
            shown.board = control_plane_panels(base, &estate.control_plane, &estate.machines, &estate.pools);
            return;
        }
        Tab::Operations => {
            let stopped = matches!(input.entry.shown_state(), web::State::Failed(_));
            shown.board = crate::operations_board::live_board(input);
            shown.board.side = vec![version_panel(&estate.version, true, stopped)];
            return;
        }
        _ => {
            shown.board = overview_board(&overview(input, base, estate, look), found);
            return;
        }
    };
    shown.board = Board::full_width(vec![panel]);
}

/// The filter above a table, with how many rows there are and need attention.
fn filter<T: Row>(what: &'static str, seen: &ObservedRows<T>, query: &TableQuery) -> TableFilter {
    let count = |n: usize| u64::try_from(n).ok().filter(|_| seen.known());
    let wrong = seen.rows.iter().filter(|row| row.wrong()).count();
    TableFilter { query: query.clone(), what, problems: count(wrong), all: count(seen.rows.len()) }
}

fn item_board(tab: Tab, name: &str, base: &str, estate: &ClusterObjects, shown: &mut ObjectsView) {
    let (list, gone) = match tab {
        Tab::Nodes => {
            shown.board = node_board(base, name, &estate.nodes, &estate.machines, &estate.events);
            ("Nodes", lacks(&estate.nodes, name))
        }
        Tab::Machines => {
            shown.board = machine_board(base, name, &estate.machines, &estate.events);
            ("Machines", lacks(&estate.machines, name))
        }
        Tab::MachineSets => {
            shown.board = machine_set_board(base, name, &estate.sets, &estate.machines, &estate.events);
            ("Machine sets", lacks(&estate.sets, name))
        }
        _ => {
            shown.board = operator_board(base, name, &estate.operators, &estate.events);
            ("Operators", lacks(&estate.operators, name))
        }
    };
    shown.gone = gone;
    let list = Link::new(list, format!("{base}/{}", tab.segment()));
    // The badges are in the panel, which is live; the head stays as it was.
    shown.item = Some(ItemHead { list, name: name.chars().take(300).collect(), badges: Vec::new() });
}

/// The actions on a node, in the head of its panel.
fn offer_node_acts(input: &TabInput<'_>, estate: &ClusterObjects, board: &mut Board) {
    let node = estate.nodes.rows.iter().find(|node| node.name() == input.item);
    if let (Some(node), Some(panel)) = (node, board.top.first_mut()) {
        panel.links.extend(node_acts(input.user, input.entry, input.item, node.schedulable));
    }
}

/// The kind is known, and no object of it has the name.
fn lacks<T: Row>(seen: &ObservedRows<T>, name: &str) -> bool {
    seen.known() && !seen.rows.iter().any(|row| row.name() == name)
}

/// The findings of the monitor's last check.
pub fn monitor_findings(entry: &Entry, state: &PortalState) -> MonitorFindings {
    let health = entry.health.as_deref();
    MonitorFindings {
        look: entry.last_look(state.session.clock.now()),
        healthz: health.and_then(|health| health.healthz),
        certificate: health.and_then(|health| health.certificate).map(rp_base::Timestamp::seconds),
        operators: health.map(|health| health.operators.clone()).unwrap_or_default(),
        nodes: health.map_or(0, |health| health.nodes.into()),
        not_ready: health.map_or(0, |health| health.nodes_not_ready.into()),
        alerts: health.map(|health| health.alert_names.clone()).unwrap_or_default(),
    }
}

fn overview(input: &TabInput<'_>, base: &str, estate: ClusterObjects, look: MonitorFindings) -> Overview {
    let entry = input.entry;
    let about = cluster_head::cluster(entry, input.user);
    let busy = matches!(about.verdict.tone, web::Tone::Busy | web::Tone::Bad);
    let operation = about.since.filter(|_| busy).map(|since| (since, input.frame.now, about.verdict.tone));
    let why = "It has no private endpoint yet, so nothing of it can be asked. The resource record is below.";
    Overview {
        base: base.to_owned(),
        now: input.frame.now,
        document: about.verdict,
        install: about.install,
        estate,
        look,
        operation: operation.into_iter().collect(),
        imported: entry.imported.is_some(),
        unreachable: (!entry.reachable).then(|| why.to_owned()),
        run: crate::operations_board::overview_run(input),
    }
}

/// The parts of a page that its stream keeps current.
fn parts(page: &ClusterPage) -> Vec<Fragment> {
    let parts = page.fragments().unwrap_or_else(|error| {
        tracing::error!(error = %error, "a part of a page could not be rendered");
        Vec::new()
    });
    parts.into_iter().map(|(id, html)| Fragment { id, html }).collect()
}

/// The same from the current data.
pub fn fragments(tab: Tab, input: &TabInput<'_>) -> Vec<Fragment> {
    let shown = objects_view(tab, input);
    let mut about = cluster_head::cluster(input.entry, input.user);
    about.looks = shown.looks;
    let frame = input.frame.clone();
    parts(&ClusterPage { tab, cluster: about, board: shown.board, frame, ..ClusterPage::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read_from_paths() {
        let read = |rest: &str| parse_path(&format!("/x{rest}"), 2);
        assert_eq!(read("/nodes"), Some((Tab::Nodes, String::new())));
        assert_eq!(read("/nodes/a%2Fb"), Some((Tab::Nodes, "a/b".into())));
        assert_eq!(read(""), Some((Tab::Overview, String::new())));
        assert_eq!((read("/nothing"), read("/nodes/%ff")), (None, None));
    }
}
