//! Pages: from what we know to the typed pages of `web`.

pub(crate) mod access;
pub(crate) mod alerts;
pub(crate) mod audit;
mod cards;
pub(crate) mod cluster;
mod cluster_rows;
pub(crate) mod clusters;
mod confirm;
mod denial;
pub(crate) mod device;
pub(crate) mod elevate;
pub(crate) mod elevation_decisions;
pub(crate) mod elevations;
pub(crate) mod explore;
pub(crate) mod extend;
pub(crate) mod flash;
pub(crate) mod fleet;
pub(crate) mod gallery;
pub(crate) mod host_keys;
pub(crate) mod imported;
pub(crate) mod jump;
pub(crate) mod kubeconfig;
pub(crate) mod logs;
pub(crate) mod look;
pub(crate) mod metrics;
pub(crate) mod network;
pub(crate) mod objects;
pub(crate) mod operations;
pub(crate) mod recordings;
pub(crate) mod report;
pub(crate) mod resources;
pub(crate) mod revoke;
pub(crate) mod revoke_many;
pub(crate) mod robots;
mod rows;
pub(crate) mod serial;
pub(crate) mod signin;
pub(crate) mod ssh;
pub(crate) mod statistics;
pub(crate) mod terminal;
mod times;
pub(crate) mod tunnel;
pub(crate) mod views;
mod workload_rows;
pub(crate) mod workloads;

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{FromRequestParts, State};
use axum::response::Response;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use rp_documents::elevation::ElevationMethod;
use rp_documents::{ResourceId, Role};
use web::{Elevation, Frame, KeysPage, Link, NavItem, Notice, PageFragment, Person, Tone, View};

use crate::compression::AcceptedEncodings;
use crate::context::{Context, Ctx};
use crate::fault::{Fault, html};
use crate::index::Entry;
use crate::state::PortalState;
use crate::user::CurrentUser;

/// The longest form or JSON is bounded by the route; a list shows so many rows.
pub(crate) const PAGE: usize = 50;

/// The cluster that a page is about, and the page's frame.
///
/// # Errors
/// There is no such cluster.
fn place(state: &PortalState, context: &Context, id: &ResourceId) -> Result<(Arc<Entry>, Frame), Fault> {
    let entry = state.0.index.snapshot().get(id).cloned().ok_or_else(Fault::no_cluster)?;
    let frame = Frame { place: NavItem::Clusters, ..frame(state, context) };
    Ok((entry, frame))
}

/// What is around every page. Works before sign-in too.
pub(crate) fn frame(state: &PortalState, context: &Context) -> Frame {
    let parts = &state.0;
    let user = context.user.get();
    let clusters = u64::try_from(parts.index.snapshot().entries.len()).ok();
    let mut notices = Vec::new();
    if parts.index.stale().is_some() {
        notices.push(Notice {
            tone: Tone::Warn,
            lead: "The store does not answer.".to_owned(),
            text: "What you see may be old, and nothing can be changed now.".to_owned(),
            action: None,
        });
    }
    Frame {
        region: parts.site.region.clone(),
        now: parts.clock.now().seconds(),
        person: user.map(person),
        csrf: user.map(|user| user.csrf.clone()).unwrap_or_default(),
        request_id: context.id.to_string(),
        path: context.target.clone(),
        place: NavItem::Elsewhere,
        clusters: user.and(clusters),
        grants: None,
        regions: parts.site.regions.iter().map(|link| Link::new(&link.text, &link.url)).collect(),
        simulated: parts.site.simulated,
        elevations: user.map(|user| elevated(state, user)).unwrap_or_default(),
        waiting: None,
        notices,
        toasts: context.flash.map(flash::Flash::notice).into_iter().collect(),
        session_ended: false,
    }
}

/// The person's elevations in force, the one that gives most first.
fn elevated(state: &PortalState, user: &CurrentUser) -> Vec<Elevation> {
    let mut active = state.0.access.active_elevations(&user.caller.person.sub);
    active.sort_by_key(|each| (std::cmp::Reverse(each.rights), each.target.is_some()));
    let shown = active.iter().map(|each| Elevation {
        id: each.id.to_string(),
        rights: rows::rights(each.rights),
        cluster: each.target.as_ref().map(|id| Link::new(id.name(), id.key())),
        break_glass: each.way == ElevationMethod::BreakGlass,
        reason: each.reason.clone(),
        ticket: each.ticket.clone().unwrap_or_default(),
        approved_by: each.decision.as_ref().map(|decision| decision.by.name.clone()).unwrap_or_default(),
        since: each.not_before.unwrap_or(each.asked).seconds(),
        until: each.not_after.unwrap_or(each.asked).seconds(),
    });
    shown.collect()
}

fn person(user: &CurrentUser) -> Person {
    let person = &user.caller.person;
    Person {
        name: person.name.clone(),
        account: person.name.clone(),
        roles: user.caller.roles.iter().map(|role| role.name().to_owned()).collect(),
        may_take: user.has(Role::Sre),
        may_audit: user.has(Role::Auditor),
        may_import: user.has(Role::Admin),
        may_elevate: user.has(Role::Elevated),
        may_approve: user.has(Role::Approver),
        may_admin: user.has(Role::Admin),
    }
}

/// A page, or the part that was asked for.
pub(crate) fn answer(
    context: &Context,
    status: StatusCode,
    page: &(impl View + ?Sized),
) -> Result<Response, Fault> {
    let text = page.render(context.part).map_err(|error| {
        tracing::error!(error = %error, "a page could not be rendered");
        Fault::internal()
    })?;
    let mut response = html(text);
    *response.status_mut() = status;
    let vary = "HX-Request, HX-Target, HX-History-Restore-Request, Cookie";
    response.headers_mut().insert(header::VARY, HeaderValue::from_static(vary));
    if context.flash.is_some() && context.part == PageFragment::Page {
        flash::clear_cookie(&mut response);
    }
    Ok(response)
}

/// A part of a page that is as the asker has it.
pub(crate) fn unchanged() -> Response {
    let mut response = Response::default();
    *response.status_mut() = StatusCode::NO_CONTENT;
    response
}

/// To another page of ours, by GET.
pub(crate) fn see_other(path: &str) -> Response {
    let mut response = Response::default();
    *response.status_mut() = StatusCode::SEE_OTHER;
    let location = HeaderValue::from_str(path).unwrap_or(HeaderValue::from_static("/"));
    response.headers_mut().insert(header::LOCATION, location);
    response
}

/// The cluster that a path is about.
#[derive(Debug, Clone)]
pub(crate) struct ClusterPath(pub(crate) ResourceId);

impl<S: Sync> FromRequestParts<S> for ClusterPath {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Fault> {
        let path = parts.uri.path();
        ResourceId::parse_prefix(path).map(|(id, _)| Self(id)).map_err(|_| {
            // The contract's words (`contract/portal.md` §4).
            let shown = rp_base::text::clean(path, 300);
            Fault::bad_input(format!("invalid resourceId \"{shown}\""))
        })
    }
}

/// `GET /healthz/ready`: the store, the audit trail and the cluster list are there
/// (`contract/portal.md` "Do better" 37).
pub(crate) async fn ready(State(state): State<PortalState>) -> Result<Response, Fault> {
    state.0.store.ready().await.map_err(|error| Fault::store(&error))?;
    state.0.audit.ready().map_err(|error| Fault::audit(&error))?;
    Ok(Response::default())
}

/// `GET /static/…`: by hash for ever, by name to be asked again.
pub(crate) async fn asset(uri: Uri, headers: HeaderMap) -> Result<Response, Fault> {
    let asset = web::assets::get(uri.path()).ok_or_else(Fault::not_found)?;
    let mut response = Response::default();
    let held = headers.get(header::IF_NONE_MATCH).and_then(|value| value.to_str().ok());
    let weak = |tag: &str| tag.trim().trim_start_matches("W/") == asset.etag.trim_start_matches("W/");
    if held.is_some_and(|held| held.split(',').any(weak)) {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    } else {
        let accepted = AcceptedEncodings::from_headers(&headers);
        let (bytes, coding) = match (asset.brotli, asset.gzip) {
            (Some(brotli), _) if accepted.brotli => (brotli, Some("br")),
            (_, Some(gzip)) if accepted.gzip => (gzip, Some("gzip")),
            _ => (asset.bytes, None),
        };
        *response.body_mut() = Body::from(bytes);
        if let Some(coding) = coding {
            response.headers_mut().insert(header::CONTENT_ENCODING, HeaderValue::from_static(coding));
        }
    }
    let keep = if asset.immutable { "public, max-age=31536000, immutable" } else { "no-cache" };
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(asset.content_type));
    headers.insert(header::ETAG, HeaderValue::from_static(asset.etag));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(keep));
    headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    Ok(response)
}

/// `GET /keys`.
pub(crate) async fn keys(State(state): State<PortalState>, Ctx(context): Ctx) -> Result<Response, Fault> {
    answer(&context, StatusCode::OK, &KeysPage { frame: frame(&state, &context) })
}
