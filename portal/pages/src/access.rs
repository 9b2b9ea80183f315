//! `/access`: grants, mine and those of others; `/access/{id}`: one of them.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use axum::extract::{Path, Query, State};
use axum::response::Response;
use http::StatusCode;
use portal_model::grant_fields::parse;
use portal_model::grant_search::{GrantStateFilter, Search};
use portal_model::named_cluster::cluster;
use portal_model::state::PortalState;
use portal_session::context::{Context, Ctx, ResponseKind};
use portal_session::fault::Fault;
use portal_session::refusals;
use portal_session::user::CurrentUser;
use rp_access::GrantView;
use rp_base::{Id, Timestamp};
use rp_documents::grant::GrantState;
use rp_documents::{GrantKind, Role};
use web::{AccessPage, GrantPage, GrantQuery, Link, NavItem, Section, StreamRow};

use crate::answer::{PAGE, answer, unchanged};
use crate::frame::frame;
use crate::poll::{PollQuery, poll_address};
use crate::{elevations, rows};

/// Ended grants beside the living ones.
const ENDED: usize = 10;
/// Entries of one grant on its page.
const ENTRIES: usize = 50;

/// A list of grants.
pub async fn page(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    user: CurrentUser,
    Query(query): Query<GrantQuery>,
) -> Result<Response, Fault> {
    let everybody = user.has(Role::Auditor) || user.has(Role::Admin);
    if query.is(web::GrantView::All) && !everybody {
        user.require(Role::Auditor, state.session.access.policy())?;
    }
    let mut frame = frame(&state, &context);
    frame.place = NavItem::Access;
    let seen = query.seen.clone();
    let query = GrantQuery { seen: String::new(), ..query };
    let mut page = AccessPage { frame, query, ..AccessPage::default() };
    match fill(&state, &user, &mut page, everybody).await {
        Ok(digest) if context.wants == ResponseKind::Fragment && digest == seen => return Ok(unchanged()),
        Ok(digest) => page.live = poll_address(&page.query.href(), &digest),
        Err(fault) if fault.status.is_server_error() => page.failure = Some(fault.failure(&page.frame)),
        Err(fault) => return Err(fault),
    }
    answer(&context, StatusCode::OK, &page)
}

/// Fills in the rows and gives a digest of them.
async fn fill(
    state: &PortalState,
    user: &CurrentUser,
    page: &mut AccessPage,
    everybody: bool,
) -> Result<String, Fault> {
    let query = page.query.clone();
    let mine = query.is(web::GrantView::Mine);
    let some = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
    let target = match some(&query.cluster) {
        None if query.is(web::GrantView::Cluster) => return Ok(String::new()),
        None => None,
        Some(text) => match cluster(state, &text) {
            Some(id) => Some(id),
            // No cluster has this name, so no grant matches.
            None => return Ok(String::new()),
        },
    };
    let search = Search {
        owner_sub: (mine || !everybody).then(|| user.caller.person.sub.clone()),
        person: some(&query.person).filter(|_| !mine && everybody),
        target,
        kind: some(&query.kind).and_then(|name| GrantKind::from_name(&name)),
        wanted: wanted(&query.state),
        text: some(&query.q),
        limit: PAGE,
        continuation: some(&query.after),
    };
    let found = search.run(state).await?;
    let mut views = found.items;
    if mine
        && query.after.is_empty()
        && found.next.is_none()
        && wanted(&query.state) == GrantStateFilter::Active
    {
        // First to end first: all of them are here.
        views.sort_by_key(|view| view.grant.not_after);
    }
    let mut digest = digest(&views);
    page.grants = views.iter().map(|view| row(state, view, user)).collect();
    page.next = found.next;
    if mine && !query.narrows() && query.after.is_empty() {
        page.held = count(&views);
        page.frame.grants = Some(page.held);
        page.limit = u64::try_from(state.session.access.policy().access.max_grants).unwrap_or(0);
        let ended = Search {
            owner_sub: Some(user.caller.person.sub.clone()),
            wanted: GrantStateFilter::Ended,
            limit: ENDED,
            ..Search::default()
        };
        let ended = ended.run(state).await?.items;
        digest.push_str(&self::digest(&ended));
        page.ended = ended.iter().map(|view| rows::grant_row(view, user)).collect();
    }
    Ok(digest)
}

fn wanted(state: &str) -> GrantStateFilter {
    match state {
        "ended" => GrantStateFilter::Ended,
        "expired" => GrantStateFilter::Expired,
        "revoked" => GrantStateFilter::Revoked,
        "any" => GrantStateFilter::Any,
        _ => GrantStateFilter::Active,
    }
}

fn count<T>(of: &[T]) -> u64 {
    u64::try_from(of.len()).unwrap_or(u64::MAX)
}

/// Digest of everything that a page shows of grants except times: it changes when the page changes.
fn digest(views: &[GrantView]) -> String {
    let mut hasher = DefaultHasher::new();
    for view in views {
        let grant = &view.grant;
        (grant.id.as_str(), view.state as u8, view.rights, view.streams).hash(&mut hasher);
        view.is_effective().hash(&mut hasher);
        (grant.not_after.millis(), view.last_used.map(Timestamp::millis)).hash(&mut hasher);
        for open in &view.open {
            (&open.replica, open.count, &open.what).hash(&mut hasher);
        }
    }
    format!("{:016x}", hasher.finish())
}

/// One grant: its owner, auditors and admins.
pub async fn detail(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    user: CurrentUser,
    Path(id): Path<String>,
    Query(query): Query<PollQuery>,
) -> Result<Response, Fault> {
    let id = parse(&id)?;
    let view = state.session.access.get(&user.caller, &id).await.map_err(|error| refusals::access(&error))?;
    let digest = digest(std::slice::from_ref(&view));
    if context.wants == ResponseKind::Fragment && digest == query.seen {
        return Ok(unchanged());
    }
    let mut frame = frame(&state, &context);
    frame.place = NavItem::Access;
    let audit = entries(&state, &user, &view.grant.id, &view.grant.owner.sub, &frame).await;
    let page = shown(&state, &context, &user, &view, audit, frame, &digest);
    answer(&context, StatusCode::OK, &page)
}

/// A grant as a row; Extend is offered only where it can live longer.
pub(crate) fn row(state: &PortalState, view: &GrantView, user: &CurrentUser) -> web::GrantRow {
    let row = rows::grant_row(view, user);
    web::GrantRow { may_extend: row.may_extend && crate::extend::is_possible(state, view), ..row }
}

fn shown(
    state: &PortalState,
    _context: &Context,
    user: &CurrentUser,
    view: &GrantView,
    audit: Section<web::AuditRow>,
    frame: web::Frame,
    digest: &str,
) -> GrantPage {
    let grant = &view.grant;
    let row = row(state, view, user);
    let live =
        if view.state == GrantState::Active { poll_address(&row.path(), digest) } else { String::new() };
    let now = state.session.clock.now();
    GrantPage {
        subject: grant.owner.sub.clone(),
        last_from: view.last_from.clone().unwrap_or_default(),
        elevation: view.elevation.as_deref().map(|each| elevations::row(each, user, now)),
        parent: grant.parent.as_ref().map(|id| Link::new(id.as_str(), format!("/access/{id}"))),
        destinations: grant.destinations.clone(),
        recordings: recordings(state, user, view),
        streams: view
            .open
            .iter()
            .map(|open| StreamRow {
                replica: open.replica.clone(),
                count: u64::try_from(open.count).unwrap_or(u64::MAX),
                since: open.first_opened.seconds(),
                what: open.what.clone(),
            })
            .collect(),
        audit,
        live,
        grant: row,
        failure: None,
        frame,
    }
}

/// Where its sessions' recordings are listed, for those who may watch them.
fn recordings(state: &PortalState, user: &CurrentUser, view: &GrantView) -> String {
    use rp_documents::GrantKind::{Kubeconfig, Ssh, Terminal};
    let grant = &view.grant;
    let has_sessions = matches!(grant.kind, Kubeconfig | Ssh | Terminal);
    let own = grant.owner.sub == user.caller.person.sub && user.has(Role::Sre);
    if state.model.clusters.recordings.are_kept() && has_sessions && (own || user.has(Role::Auditor)) {
        web::RecordingsQuery { grant: grant.primary_id().to_string(), ..web::RecordingsQuery::default() }
            .href()
    } else {
        String::new()
    }
}

/// The audit entries of one grant: for auditors and its owner.
async fn entries(
    state: &PortalState,
    user: &CurrentUser,
    id: &Id,
    owner: &str,
    frame: &web::Frame,
) -> Section<web::AuditRow> {
    if !user.has(Role::Auditor) && owner != user.caller.person.sub {
        return Section::Hidden("Auditors see what was done with it.".to_owned());
    }
    let query = rp_audit::Query { grant: Some(id.clone()), limit: ENTRIES, ..rp_audit::Query::default() };
    match state.session.audit.search(&query).await {
        Ok(found) => {
            Section::Rows(found.entries.iter().map(rows::audit_row).collect(), count(&found.entries))
        }
        Err(error) => Section::Failed(refusals::audit_search(&error).failure(frame)),
    }
}
