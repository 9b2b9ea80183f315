//! `{RES}/terminal`, `POST {RES}/terminal/new` and the WebSocket `{RES}/terminal/socket`: a shell in the browser, with an
//! access of the person's own (`proxy::terminal`).

use std::time::Duration;

use axum::Extension;
use axum::body::{Body, Bytes};
use axum::extract::{Query, RawQuery, Request, State};
use axum::response::Response;
use http::{HeaderMap, StatusCode, header};
use portal_model::access_kinds::TERMINAL;
use portal_model::access_offer;
use portal_model::index::Entry;
use portal_model::objects::names::{is_dns, is_segment};
use portal_model::session_follow;
use portal_model::state::PortalState;
use portal_session::context::{Context, Ctx};
use portal_session::csrf;
use portal_session::fault::Fault;
use portal_session::refusals;
use portal_session::user::CurrentUser;
use proxy::terminal::{OpenTerminal, Visitor, accept};
use rp_access::{ActiveGrant, IssueError, IssueRequest};
use rp_documents::Side;
use rp_observe::ClusterSnapshot;
use tower_sessions::Session;
use web::{
    AccessForm, AccessQuestion, NavItem, Tab, TerminalAccess, TerminalOpen, TerminalPage, TerminalQuery,
};

use crate::access_dialog;
use crate::answer::{answer, see_other};
use crate::cluster_path::ClusterPath;
use crate::elevate::CARRIED;
use crate::frame::frame;
use crate::live;
use crate::terminal_choice::choice;

/// What its form asks: where it leads, and why.
const FIELDS: [&str; 6] = ["namespace", "pod", "container", "machine", "reason", "ticket"];
/// Maximum wait for the pod's containers; the page works without them.
const MOMENT: Duration = Duration::from_millis(250);

/// The page: a terminal, the form for its reason, or the choice of its target.
pub async fn page(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    user: CurrentUser,
    ClusterPath(id): ClusterPath,
    Query(query): Query<TerminalQuery>,
    RawQuery(typed): RawQuery,
    headers: HeaderMap,
) -> Result<Response, Fault> {
    let entry = state.model.index.snapshot().get(&id).cloned().ok_or_else(Fault::no_cluster)?;
    let mut page = blank(&state, &context, &user, &entry, validate_query(query)?);
    if page.failure.is_some() {
        return answer(&context, StatusCode::OK, &page);
    }
    let open = state.model.clusters.terminals.open_in(&id);
    if page.query.is_watch() {
        let status = watch(&state, &user, &entry, &open, &mut page).await;
        return answer(&context, status, &page);
    }
    if !page.query.is_chosen() {
        // The search of the page takes the pods from the answer (`terminal.html`), and nothing else.
        let narrows = headers.get("hx-target").is_some_and(|target| target == "term-pods");
        page.choice = choice(&state, &entry, &page.query.q, !narrows).await;
        if !narrows {
            page.open = open.into_iter().map(|open| terminal_row(open, &user)).collect();
        }
        return answer(&context, StatusCode::OK, &page);
    }
    match access(&state, &user, &entry, &page.query).await? {
        Some(live) => {
            page.containers = containers(&state, &entry, &page.query).await;
            page.access = TerminalAccess {
                id: live.grant.id.to_string(),
                ticket: live.grant.ticket.clone().unwrap_or_default(),
                reason: live.grant.reason.clone(),
                until: live.grant.not_after.seconds(),
            };
        }
        None => {
            let mut ask = question(&state, &user, &entry, &page.query).await;
            ask.form = access_dialog::read_form(typed.unwrap_or_default().as_bytes(), &["reason", "ticket"])?;
            page.ask = Some(ask);
        }
    }
    answer(&context, StatusCode::OK, &page)
}

/// What is asked before a terminal opens, or why it cannot be.
async fn question(
    state: &PortalState,
    user: &CurrentUser,
    entry: &Entry,
    query: &TerminalQuery,
) -> AccessQuestion {
    let offer = access_offer::offer(state, user, entry, &TERMINAL).await;
    let back = format!("{}&{CARRIED}", query.href(format!("{}/terminal", entry.path())));
    access_dialog::question(state, entry, &offer, &back)
}

fn terminal_row(open: OpenTerminal, user: &CurrentUser) -> TerminalOpen {
    TerminalOpen {
        own: open.person == user.caller.person.name,
        id: open.id.to_string(),
        person: open.person,
        place: open.place,
        began: open.began.seconds(),
        watchers: open.watchers,
    }
}

/// The page that watches another person's terminal, or why it is not shown.
async fn watch(
    state: &PortalState,
    user: &CurrentUser,
    entry: &Entry,
    open: &[OpenTerminal],
    page: &mut TerminalPage,
) -> StatusCode {
    let Some(open) = open.iter().find(|open| open.id.as_str() == page.query.watch) else {
        let fault = Fault::new(StatusCode::NOT_FOUND, "no_session", Side::You, "There is no such terminal")
            .why("It has ended, or another replica of the service has it, or looking on is off here.")
            .link("Open terminals", format!("{}/terminal", entry.path()));
        page.failure = Some(fault.failure(&page.frame));
        return fault.status;
    };
    let open = terminal_row(open.clone(), user);
    page.ask =
        Some(question(state, user, entry, &page.query).await).filter(|question| question.barred.is_some());
    page.watching = Some(open);
    StatusCode::OK
}

fn blank(
    state: &PortalState,
    context: &Context,
    user: &CurrentUser,
    entry: &Entry,
    query: TerminalQuery,
) -> TerminalPage {
    let mut frame = frame(state, context);
    frame.place = NavItem::Clusters;
    let refusal = access_offer::refusal(state, user, entry, &TERMINAL);
    TerminalPage {
        cluster: crate::cluster_head::cluster(entry, user),
        query,
        failure: refusal.map(|refusal| refusal.fault(state.session.access.policy()).failure(&frame)),
        frame,
        ..TerminalPage::default()
    }
}

/// Checks that the names of the query are valid.
fn validate_query(query: TerminalQuery) -> Result<TerminalQuery, Fault> {
    if query.is_watch() {
        let id = query.watch.len() <= 64 && query.watch.bytes().all(|b| b.is_ascii_alphanumeric());
        let alone = TerminalQuery { watch: query.watch, ..TerminalQuery::default() };
        return if id { Ok(alone) } else { Err(Fault::bad_input("That is no terminal's id")) };
    }
    if query.is_machine() {
        let alone = TerminalQuery { machine: query.machine, ..TerminalQuery::default() };
        return if is_dns(&alone.machine, 253) {
            Ok(alone)
        } else {
            Err(Fault::bad_input("That is no machine's name"))
        };
    }
    let pod = query.pod.is_empty() || is_dns(&query.namespace, 63) && is_dns(&query.pod, 253);
    let container = query.container.is_empty() || is_segment(&query.container);
    if pod && container { Ok(query) } else { Err(Fault::bad_input("That is no pod's or container's name")) }
}

async fn access(
    state: &PortalState,
    user: &CurrentUser,
    entry: &Entry,
    query: &TerminalQuery,
) -> Result<Option<std::sync::Arc<ActiveGrant>>, Fault> {
    let machine = query.is_machine().then_some(query.machine.as_str());
    state.session.access.own_terminal(&user.caller, &entry.id, machine).await.map_err(|_| {
        Fault::new(StatusCode::SERVICE_UNAVAILABLE, "store_unavailable", Side::Us, "The store did not answer")
            .why("Without it no access can be checked, so nothing was opened.")
            .action("Try again in a moment.")
    })
}

/// Containers of the pod, if the pods are watched already or arrive in time.
async fn containers(state: &PortalState, entry: &Entry, query: &TerminalQuery) -> Vec<String> {
    let viewing = (!query.is_machine()).then(|| live::watch(state, entry, Tab::Pods)).flatten();
    let Some(viewing) = viewing else { return Vec::new() };
    let snapshot: std::sync::Arc<ClusterSnapshot> = viewing.settled(MOMENT).await;
    let pod =
        snapshot.pods.iter().find(|pod| pod.meta.namespace == query.namespace && pod.meta.name == query.pod);
    let all = pod.into_iter().flat_map(|pod| pod.containers.iter());
    all.filter(|each| is_segment(&each.name)).map(|each| each.name.clone()).collect()
}

/// Where a posted form leads.
fn target(form: &AccessForm) -> TerminalQuery {
    TerminalQuery {
        namespace: form.namespace.clone(),
        pod: form.pod.clone(),
        container: form.container.clone(),
        machine: form.machine.clone(),
        ..TerminalQuery::default()
    }
}

/// Gives the access, then goes on to the terminal.
pub async fn give(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    user: CurrentUser,
    ClusterPath(id): ClusterPath,
    bytes: Bytes,
) -> Result<Response, Fault> {
    let entry = state.model.index.snapshot().get(&id).cloned().ok_or_else(Fault::no_cluster)?;
    let form = access_dialog::read_form(&bytes, &FIELDS)?;
    let query = validate_query(target(&form))?;
    if !query.is_chosen() || query.is_watch() {
        return Err(Fault::bad_input("A terminal leads to a pod or to a machine"));
    }
    let ask = IssueRequest {
        ticket: access_dialog::ticket(&form),
        machine: query.is_machine().then(|| query.machine.clone()),
        ..TERMINAL.request(id.clone(), form.reason.clone())
    };
    let Err(error) = state.session.access.issue(&user.caller, ask).await else {
        return Ok(see_other(&query.href(format!("{}/terminal", entry.path()))));
    };
    let mut asked = AccessQuestion { form, ..AccessQuestion::default() };
    match &error {
        IssueError::Reason { .. } | IssueError::Ticket { .. } => {
            access_dialog::shown_at_field(&mut asked.errors, &error);
        }
        IssueError::ElevationNeeded { .. } | IssueError::NotAllowed { .. } => {
            asked.barred = question(&state, &user, &entry, &query).await.barred;
            if asked.barred.is_none() {
                return Err(refusals::issue(&error));
            }
        }
        other => return Err(refusals::issue(other)),
    }
    let page = TerminalPage { ask: Some(asked), ..blank(&state, &context, &user, &entry, query) };
    answer(&context, StatusCode::UNPROCESSABLE_ENTITY, &page)
}

/// The WebSocket of a terminal's page. A browser sends a session's cookie from any site, so the `Origin` header is
/// required and must be this portal's.
pub async fn socket(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    user: CurrentUser,
    session: Option<Extension<Session>>,
    ClusterPath(id): ClusterPath,
    mut request: Request,
) -> Result<Response, Fault> {
    let key = session.and_then(|Extension(session)| state.session.sign_in.sessions.key(&session));
    let Some(key) = key.filter(|_| user.token_grant().is_none()) else {
        return Err(
            Fault::bad_input("Terminals are for browsers").why("Scripts use kubectl exec, or aro ssh.")
        );
    };
    if !request.headers().contains_key(header::ORIGIN) {
        return Err(Fault::new(StatusCode::FORBIDDEN, "csrf", Side::You, "Forbidden - origin missing")
            .why("A page says where it comes from."));
    }
    csrf::origin(&state.session.site.urls.portal, request.headers())?;
    state.model.index.snapshot().get(&id).ok_or_else(Fault::no_cluster)?;
    let (response, upgrading) = accept(&mut request).map_err(Fault::bad_input)?;
    let signed = session_follow::follow(&state, key);
    let visitor = Visitor { caller: user.caller, from: context.from, target: id, signed };
    let terminals = state.model.clusters.terminals.clone();
    tokio::spawn(async move { terminals.serve(upgrading, visitor).await });
    Ok(response.map(|()| Body::empty()))
}
