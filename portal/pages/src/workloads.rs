//! `{RES}/pods…`, `{RES}/workloads…`, `{RES}/events`: what runs and what happened. The page and the stream that keeps it
//! current are rendered by the same functions.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Query, RawQuery, State};
use axum::response::Response;
use http::{StatusCode, Uri};
use portal_model::state::PortalState;
use portal_session::context::Ctx;
use portal_session::fault::Fault;
use portal_session::user::CurrentUser;
use rp_observe::ClusterSnapshot;
use rp_rows::{Event, Pod, Workload};
use serde::de::DeserializeOwned;
use web::{
    EventLine, EventQuery, EventsPage, Link, LiveElement, PodPage, PodQuery, PodsPage, Tab, WorkloadPage,
    WorkloadQuery, WorkloadsPage,
};

use crate::act_words::{pod_acts, workload_acts};
use crate::answer::answer;
use crate::cluster_path::ClusterPath;
use crate::frame::frame;
use crate::live;
use crate::live::{Fragment, TabInput};
use crate::workload_rows::{
    conditions, containers, count, event_line, is_problem, kind_segment, notices, owner_of, pod_row,
    severity_rank, workload_row,
};

/// Rows of a page of pods.
const PER_PAGE: usize = 100;
/// Workloads and events of a page.
const MOST_ROWS: usize = 500;
const MOST_EVENTS: usize = 200;
/// Events and pods on the page of one thing.
const FEW: usize = 50;
/// How long the first byte waits for a cluster that was not watched; the rest arrives by the live stream.
const MOMENT: Duration = Duration::from_millis(250);
/// Maximum wait of a request with `wait`, and of pages without scripts.
const WAIT: Duration = Duration::from_secs(12);

/// The page at any of these addresses.
pub async fn page(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    user: CurrentUser,
    ClusterPath(id): ClusterPath,
    RawQuery(query): RawQuery,
    uri: Uri,
) -> Result<Response, Fault> {
    let entry = state.model.index.snapshot().get(&id).cloned().ok_or_else(Fault::no_cluster)?;
    let query = query.unwrap_or_default();
    let rest = uri.path().get(id.key().len()..).unwrap_or_default().trim_matches('/');
    let (segment, item) = rest.split_once('/').unwrap_or((rest, ""));
    let tab = Tab::from_segment(segment).ok_or_else(Fault::not_found)?;
    let item = percent_encoding::percent_decode_str(item).decode_utf8_lossy().into_owned();
    let mut frame = frame(&state, &context);
    frame.place = web::NavItem::Clusters;
    let viewing = entry.reachable.then(|| live::watch(&state, &entry, tab)).flatten();
    let waits =
        url::form_urlencoded::parse(query.as_bytes()).any(|(name, value)| name == "wait" && value == "1");
    let snapshot = match &viewing {
        Some(viewing) => viewing.settled(if waits { WAIT } else { MOMENT }).await,
        None => Arc::new(ClusterSnapshot::empty(state.session.clock.now())),
    };
    let input = TabInput {
        state: &state,
        entry: &entry,
        user: &user,
        frame: &frame,
        snapshot,
        item: &item,
        query: &query,
    };
    let made: Option<Box<dyn LiveElement + Send + Sync>> = match (tab, item.is_empty()) {
        (Tab::Pods, true) => Some(Box::new(pods(&input))),
        (Tab::Pods, false) => pod(&input).map(|page| Box::new(page) as _),
        (Tab::Workloads, true) => Some(Box::new(workloads(&input))),
        (Tab::Workloads, false) => workload(&input).map(|page| Box::new(page) as _),
        (Tab::Events, true) => Some(Box::new(events(&input))),
        _ => None,
    };
    let mut page = made.ok_or_else(|| gone(&item))?;
    let bar = viewing.is_some().then(|| live::bar(&input, tab, &parts(page.as_ref())));
    let failure = viewing.is_none().then(|| no_way().failure(&frame));
    page.complete(crate::cluster_head::active(&state, &user, &entry).await, bar, failure);
    answer(&context, StatusCode::OK, &*page)
}

fn no_way() -> Fault {
    Fault::new(
        StatusCode::BAD_GATEWAY,
        "not_reachable",
        rp_documents::Side::Cluster,
        "The cluster cannot be reached",
    )
    .why("It has no private endpoint yet.")
}

fn gone(item: &str) -> Fault {
    let name = rp_base::text::clean(item, 300);
    Fault::new(StatusCode::NOT_FOUND, "not_there", rp_documents::Side::You, "That is not there")
        .why(format!("The system namespaces have no {name}: it may have been deleted, or it lives in another namespace."))
        .action("Search the list, or look among the resources.")
}

/// The element that follows.
fn parts(page: &dyn LiveElement) -> Vec<Fragment> {
    let html = page.element().unwrap_or_default();
    vec![Fragment { id: page.live_id().to_owned(), html }]
}

/// What changed of pods: the list, or one of them.
pub fn pod_fragments(input: &TabInput<'_>) -> Vec<Fragment> {
    if input.item.is_empty() {
        parts(&pods(input))
    } else {
        pod(input).map(|page| parts(&page)).unwrap_or_default()
    }
}

/// What changed of workloads.
pub fn workload_fragments(input: &TabInput<'_>) -> Vec<Fragment> {
    if input.item.is_empty() {
        parts(&workloads(input))
    } else {
        workload(input).map(|page| parts(&page)).unwrap_or_default()
    }
}

/// What changed of events.
pub fn event_fragments(input: &TabInput<'_>) -> Vec<Fragment> {
    parts(&events(input))
}

/// The query of a page; invalid fields are ignored.
fn query<T: DeserializeOwned + Default>(input: &TabInput<'_>) -> T {
    let uri = format!("/?{}", input.query).parse::<Uri>().unwrap_or_default();
    Query::<T>::try_from_uri(&uri).map(|query| query.0).unwrap_or_default()
}

fn names<'a>(all: impl Iterator<Item = &'a str>) -> Vec<String> {
    let unique: BTreeSet<&str> = all.filter(|name| !name.is_empty()).collect();
    unique.into_iter().map(str::to_owned).collect()
}

fn has(text: &str, wanted: &str) -> bool {
    rp_base::text::contains_ignore_case(text, wanted)
}

fn pods(input: &TabInput<'_>) -> PodsPage {
    let query: PodQuery = query(input);
    let (base, now) = (input.entry.path(), input.frame.now);
    let slice = &input.snapshot.pods;
    let wanted = query.q.trim().to_ascii_lowercase();
    let restarts: i64 = query.restarts.parse().unwrap_or(0);
    let fits = |pod: &&Pod| {
        let (kind, name) = owner_of(pod);
        (wanted.is_empty() || has(&pod.meta.name, &wanted))
            && (query.namespace.is_empty() || pod.meta.namespace == query.namespace)
            && (query.node.is_empty() || pod.node == query.node)
            && (restarts <= 0 || pod.restarts() >= restarts)
            && (query.owner.is_empty() || query.owner.split_once('/') == Some((kind, name)))
            && state_fits(pod, &query.state)
    };
    let mut found: Vec<&Pod> = slice.iter().filter(fits).collect();
    // Stable: pods of one rank stay by name.
    found.sort_by_key(|pod| severity_rank(pod, now));
    let start = usize::try_from(query.page.max(1) - 1).unwrap_or(0).saturating_mul(PER_PAGE);
    PodsPage {
        frame: input.frame.clone(),
        cluster: crate::cluster_head::cluster(input.entry, input.user),
        live: live::bar(input, Tab::Pods, &[]),
        namespaces: names(slice.iter().map(|pod| pod.meta.namespace.as_str())),
        nodes: names(slice.iter().map(|pod| pod.node.as_str())),
        rows: found.iter().skip(start).take(PER_PAGE).map(|pod| pod_row(pod, &base)).collect(),
        matched: count(found.len()),
        // Of those that were asked for: both numbers are of one set.
        problems: count(found.iter().filter(|pod| is_problem(pod)).count()),
        total: count(slice.items.len()),
        per_page: count(PER_PAGE),
        notices: notices(slice, "pods"),
        query,
        ..PodsPage::default()
    }
}

fn state_fits(pod: &Pod, state: &str) -> bool {
    match state {
        "" => true,
        "problem" => is_problem(pod),
        "NotReady" => pod.phase == "Running" && !pod.is_well(),
        "Running" | "Pending" | "Failed" | "Succeeded" => pod.phase == state,
        other => pod.status == other,
    }
}

/// Namespace and name of an item.
fn pair(item: &str) -> Option<(&str, &str)> {
    item.split_once('/').filter(|(namespace, name)| !namespace.is_empty() && !name.is_empty())
}

/// The page of a pod; `None` when the pods are known and it is not among them.
fn pod(input: &TabInput<'_>) -> Option<PodPage> {
    let (namespace, name) = pair(input.item)?;
    let slice = &input.snapshot.pods;
    let base = input.entry.path();
    let found = slice.iter().find(|pod| pod.meta.namespace == namespace && pod.meta.name == name);
    if found.is_none() && slice.as_of.is_some() && slice.left_out == 0 {
        return None;
    }
    let mut page = PodPage {
        frame: input.frame.clone(),
        cluster: crate::cluster_head::cluster(input.entry, input.user),
        live: live::bar(input, Tab::Pods, &[]),
        ..PodPage::default()
    };
    let Some(found) = found else {
        name.clone_into(&mut page.pod.row.name);
        return Some(page);
    };
    page.acts = pod_acts(input.user, input.entry, namespace, name);
    let (kind, owner) = owner_of(found);
    let of_owner =
        slice.iter().filter(|pod| pod.meta.namespace == namespace && owner_of(pod) == (kind, owner)).count();
    let enc = web::text::encode;
    let row = pod_row(found, &base);
    page.pod = web::Pod {
        object: format!("{base}/resources/core/v1/pods/{}/{}", enc(namespace), enc(name)),
        containers: containers(found, &row.href),
        row,
        phase: found.phase.clone(),
        ip: found.ip.clone(),
        conditions: ready_condition(found),
        events: about(input, &base, |event| {
            event.object_kind == "Pod" && event.object_namespace == namespace && event.object_name == name
        }),
        siblings: (of_owner > 1 && !owner.is_empty()).then(|| {
            let href =
                format!("{base}/pods?namespace={}&owner={}", enc(namespace), enc(&format!("{kind}/{owner}")));
            Link::new(format!("{of_owner} of the same owner"), href)
        }),
        message: found.message.clone(),
    };
    Some(page)
}

fn ready_condition(pod: &Pod) -> Vec<web::Condition> {
    let status = pod.ready.as_str();
    vec![web::Condition {
        kind: "Ready".to_owned(),
        status: portal_model::look::describe::status_of("Ready", status),
        reason: pod.reason.clone(),
        since: crate::workload_rows::seconds(pod.ready_since),
        message: pod.message.clone(),
    }]
}

/// Newest events that are about something.
fn about(input: &TabInput<'_>, base: &str, fits: impl Fn(&Event) -> bool) -> Vec<EventLine> {
    let all = input.snapshot.events.iter().filter(|event| fits(event));
    all.take(FEW).map(|event| event_line(event, base)).collect()
}

fn off(each: &Workload) -> bool {
    !each.is_well()
}

fn workloads(input: &TabInput<'_>) -> WorkloadsPage {
    let query: WorkloadQuery = query(input);
    let base = input.entry.path();
    let snapshot = &input.snapshot;
    let wanted = query.q.trim().to_ascii_lowercase();
    let fits = |each: &&Workload| {
        (wanted.is_empty() || has(&each.meta.name, &wanted))
            && (query.namespace.is_empty() || each.meta.namespace == query.namespace)
            && (query.kind.is_empty() || kind_segment(each.kind) == query.kind)
            && (query.state != "problem" || off(each))
    };
    let mut found: Vec<&Workload> = snapshot.workloads().filter(fits).collect();
    found.sort_by_key(|each| (!off(each), each.ready > 0, &each.meta.namespace, &each.meta.name));
    let mut told = notices(&snapshot.deployments, "deployments");
    told.extend(notices(&snapshot.daemon_sets, "daemon sets"));
    told.extend(notices(&snapshot.stateful_sets, "stateful sets"));
    WorkloadsPage {
        frame: input.frame.clone(),
        cluster: crate::cluster_head::cluster(input.entry, input.user),
        live: live::bar(input, Tab::Workloads, &[]),
        namespaces: names(snapshot.workloads().map(|each| each.meta.namespace.as_str())),
        rows: found.iter().take(MOST_ROWS).map(|each| workload_row(each, &base)).collect(),
        matched: count(found.len()),
        problems: count(snapshot.workloads().filter(|each| off(each)).count()),
        total: count(snapshot.workloads().count()),
        notices: told,
        query,
        ..WorkloadsPage::default()
    }
}

/// The page of a workload; `None` when its kind is known and it is not there.
fn workload(input: &TabInput<'_>) -> Option<WorkloadPage> {
    let (kind, rest) = input.item.split_once('/')?;
    let (namespace, name) = pair(rest)?;
    let (base, now) = (input.entry.path(), input.frame.now);
    let snapshot = &input.snapshot;
    let same = |each: &&Workload| {
        kind_segment(each.kind) == kind && each.meta.namespace == namespace && each.meta.name == name
    };
    let found = snapshot.workloads().find(same);
    let known = match kind {
        "deployment" => snapshot.deployments.as_of,
        "daemonset" => snapshot.daemon_sets.as_of,
        "statefulset" => snapshot.stateful_sets.as_of,
        _ => return None,
    };
    if found.is_none() && known.is_some() {
        return None;
    }
    let mut page = WorkloadPage {
        frame: input.frame.clone(),
        cluster: crate::cluster_head::cluster(input.entry, input.user),
        live: live::bar(input, Tab::Workloads, &[]),
        ..WorkloadPage::default()
    };
    let Some(found) = found else {
        name.clone_into(&mut page.row.name);
        return Some(page);
    };
    page.acts = workload_acts(input.user, input.entry, (kind, namespace, name));
    let owner = (found.kind.as_str(), name);
    let mut pods: Vec<&Pod> = snapshot
        .pods
        .iter()
        .filter(|pod| pod.meta.namespace == namespace && owner_of(pod) == owner)
        .collect();
    pods.sort_by_key(|pod| severity_rank(pod, now));
    page.row = workload_row(found, &base);
    page.conditions = conditions(&found.conditions);
    page.pods = pods.into_iter().take(FEW).map(|pod| pod_row(pod, &base)).collect();
    // A deployment's replica sets carry its name.
    let sets = format!("{name}-");
    page.events = about(input, &base, |event| {
        event.object_namespace == namespace
            && (event.object_kind == owner.0 && event.object_name == name
                || event.object_kind == "ReplicaSet"
                    && owner.0 == "Deployment"
                    && event.object_name.starts_with(&sets))
    });
    Some(page)
}

fn events(input: &TabInput<'_>) -> EventsPage {
    let query: EventQuery = query(input);
    let base = input.entry.path();
    let slice = &input.snapshot.events;
    let wanted = query.q.trim().to_ascii_lowercase();
    let fits = |event: &&Event| {
        let texts = [&event.object_name, &event.reason, &event.message];
        (wanted.is_empty() || texts.iter().any(|text| has(text, &wanted)))
            && (query.kind_of.is_empty() || event.kind == query.kind_of)
            && (query.namespace.is_empty() || event.object_namespace == query.namespace)
            && (query.kind.is_empty() || event.object_kind == query.kind)
    };
    let found: Vec<&Event> = slice.iter().filter(fits).collect();
    EventsPage {
        frame: input.frame.clone(),
        cluster: crate::cluster_head::cluster(input.entry, input.user),
        live: live::bar(input, Tab::Events, &[]),
        namespaces: names(slice.iter().map(|event| event.object_namespace.as_str())),
        kinds: names(slice.iter().map(|event| event.object_kind.as_str())),
        rows: found.iter().take(MOST_EVENTS).map(|event| event_line(event, &base)).collect(),
        matched: count(found.len()),
        total: count(slice.items.len()),
        notices: notices(slice, "events"),
        query,
        ..EventsPage::default()
    }
}
