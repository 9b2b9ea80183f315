//! In front of every handler: authentication, authorization, the CSRF check of unsafe requests, and the audit entry.

use std::time::Instant;

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use http::{HeaderValue, StatusCode, header};
use portal_model::state::PortalState;
use portal_session::client::{by_client_token, is_client_token};
use portal_session::context::{Context, ResponseKind, RouteName, Shared};
use portal_session::csrf;
use portal_session::fault::Fault;
use portal_session::session_user::SessionUser;
use portal_session::user::{CurrentUser, missing_with_groups};
use rp_access::{Caller, Refusal};
use rp_documents::{GrantKind, Outcome, ResourceId, Side};
use tower_sessions::Session;

use crate::route::{AllowedCaller, AuditClass, Route};

/// What the gate of one route needs.
#[derive(Debug, Clone)]
pub(crate) struct Gate {
    pub(crate) state: PortalState,
    pub(crate) route: &'static Route,
}

/// Lets a request through or answers it.
pub(crate) async fn gate(State(gate): State<Gate>, mut request: Request, next: Next) -> Response {
    let Some(context) = request.extensions().get::<Shared>().cloned() else {
        return Fault::internal().into_response();
    };
    let _ = context.route.set(RouteName { method: gate.route.method.name(), path: gate.route.path });
    let started = Instant::now();
    let target = target(request.uri().path());
    let response = match admit(&gate, &context, &mut request).await {
        Ok(()) => next.run(request).await,
        Err(refusal) => refusal,
    };
    record(&gate, &context, response.status(), target, started).await;
    response
}

async fn admit(gate: &Gate, context: &Context, request: &mut Request) -> Result<(), Response> {
    let admitted = check(gate, context, request).await;
    match admitted {
        Ok(()) => Ok(()),
        Err(fault) if fault.status == StatusCode::UNAUTHORIZED => Err(not_signed_in(context, fault)),
        Err(fault) => Err(fault.into_response()),
    }
}

async fn check(gate: &Gate, context: &Context, request: &mut Request) -> Result<(), Fault> {
    if gate.route.who == AllowedCaller::Public {
        return Ok(());
    }
    let bearer = bearer(request)?;
    let user = match &bearer {
        Some(token) => by_token(gate, context, token).await?,
        None => {
            let session = request.extensions().get::<Session>().cloned().ok_or_else(Fault::internal)?;
            by_session(gate, context, &session).await?
        }
    };
    let _ = context.user.set(user.clone());
    if gate.route.csrf && bearer.is_none() {
        check_csrf(gate, request).await?;
    }
    if let AllowedCaller::Role(role) = gate.route.who
        && !user.has(role)
    {
        return Err(missing_with_groups(role, gate.state.session.access.policy()));
    }
    request.extensions_mut().insert(user);
    Ok(())
}

fn bearer(request: &Request) -> Result<Option<String>, Fault> {
    let Some(value) = request.headers().get(header::AUTHORIZATION) else { return Ok(None) };
    let text = value.to_str().unwrap_or_default();
    match text.split_once(' ') {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => Ok(Some(token.trim().to_owned())),
        _ => Err(refused_token("this scheme of Authorization is not known; use Bearer")),
    }
}

fn refused_token(why: impl Into<String>) -> Fault {
    Fault::new(StatusCode::UNAUTHORIZED, "token_refused", Side::You, "The token is refused")
        .why(why)
        .action("Sign in again with aro login.")
}

async fn by_token(gate: &Gate, context: &Context, token: &str) -> Result<CurrentUser, Fault> {
    if is_client_token(token) {
        return by_client_token(&gate.state.session, context, token).await;
    }
    let access = &gate.state.session.access;
    let live = access.authenticate(token, context.from).await.map_err(|refusal| match refusal {
        Refusal::Unsure | Refusal::Unavailable => Fault::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "store_unavailable",
            Side::Us,
            "The store did not answer",
        ),
        Refusal::TooOften(rp_net::TooOften(wait)) => Fault::too_often(wait),
        Refusal::Malformed | Refusal::Unknown | Refusal::Spent | Refusal::Ended(_) => {
            refused_token(refusal.to_string())
        }
    })?;
    // A kubeconfig opens its cluster through the proxy, and nothing here.
    if !matches!(live.grant.kind, GrantKind::Cli | GrantKind::Robot) {
        return Err(refused_token("it is of a kind that does not open the portal"));
    }
    let caller = access.caller(&live, context.from.to_string(), context.id.clone());
    let auth_time = live.grant.auth_time;
    Ok(CurrentUser { caller, csrf: String::new(), session_ends: None, session: None, auth_time })
}

async fn by_session(gate: &Gate, context: &Context, session: &Session) -> Result<CurrentUser, Fault> {
    let found = SessionUser::load(session).await.map_err(|_| {
        Fault::new(StatusCode::SERVICE_UNAVAILABLE, "store_unavailable", Side::Us, "The store did not answer")
            .why("Your session cannot be looked up now; it is not lost.")
            .action("Try again in a moment.")
    })?;
    let user = found.ok_or_else(|| Fault::status(StatusCode::UNAUTHORIZED))?;
    let key = gate
        .state
        .session
        .sign_in
        .sessions
        .key(session)
        .ok_or_else(|| Fault::status(StatusCode::UNAUTHORIZED))?;
    let session_ends = Some(gate.state.session.sign_in.sessions.end_of(user.signed_in));
    let roles = gate.state.session.access.policy().roles_of(&user.person.groups);
    let caller = Caller {
        person: user.person,
        roles,
        from: context.from.to_string(),
        request_id: context.id.clone(),
        via: rp_access::Via::Session,
    };
    let csrf = csrf::token(&gate.state.session.keyring, &*gate.state.session.random, &key);
    Ok(CurrentUser { caller, csrf, session_ends, session: Some(key), auth_time: user.auth_time })
}

/// Reads the body (bounded) for the form field, and puts it back.
async fn check_csrf(gate: &Gate, request: &mut Request) -> Result<(), Fault> {
    let body = std::mem::replace(request.body_mut(), Body::empty());
    let bytes = to_bytes(body, gate.route.body).await.map_err(|_| {
        let most = gate.route.body / 1024;
        Fault::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", Side::You, "That is too much to send")
            .why(format!("This address takes {most} KiB at most. Nothing was changed."))
    })?;
    let session = request.extensions().get::<Session>().ok_or_else(Fault::internal)?;
    let key = gate.state.session.sign_in.sessions.key(session).ok_or_else(Fault::internal)?;
    csrf::check(
        &gate.state.session.keyring,
        &key,
        &gate.state.session.site.urls.portal,
        request.headers(),
        &bytes,
    )?;
    *request.body_mut() = Body::from(bytes);
    Ok(())
}

/// Page loads go to sign-in and come back; scripts get 401.
fn not_signed_in(context: &Context, fault: Fault) -> Response {
    if context.wants != ResponseKind::Page || fault.code == "token_refused" {
        let mut response = fault.into_response();
        response
            .headers_mut()
            .insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"aro\""));
        return response;
    }
    // A redirect cannot post a form again: it leads back to the page of the form.
    let back = context.target.trim_end_matches("/new");
    let location = match context.path() {
        // Signed out already.
        "/api/logout" => "/".to_owned(),
        _ => format!("/api/login?redirect_uri={}", web::text::encode(back).replace("%2F", "/")),
    };
    let mut response = StatusCode::SEE_OTHER.into_response();
    if let Ok(value) = HeaderValue::from_str(&location) {
        response.headers_mut().insert(header::LOCATION, value);
    }
    response
}

fn target(path: &str) -> Option<ResourceId> {
    ResourceId::parse_prefix(path).ok().map(|(id, _)| id)
}

async fn record(
    gate: &Gate,
    context: &Context,
    status: StatusCode,
    target: Option<ResourceId>,
    started: Instant,
) {
    let failed = status.is_client_error() || status.is_server_error();
    let verb = match gate.route.audit {
        AuditClass::Read(verb) => verb,
        AuditClass::Change(verb) if failed => verb,
        // What succeeded has its durable entry from the handler.
        AuditClass::Change(_) | AuditClass::None => return,
    };
    let Some(user) = context.user.get() else { return };
    let (word, side) = match status.as_u16() {
        400..=499 => ("refused", Some(Side::You)),
        500.. => ("failed", Some(Side::Us)),
        _ => ("ok", None),
    };
    let result = Outcome { status: status.as_u16(), word: word.to_owned(), side };
    gate.state
        .session
        .note(&user.caller, verb, result, |entry| {
            entry.target = target;
            entry.query = without_cluster_prefix(gate.route.path).to_owned();
            entry.took_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        })
        .await;
}

/// A route's pattern, without the cluster that the entry names as its target.
fn without_cluster_prefix(pattern: &str) -> &str {
    pattern.rsplit_once("/{name}").map_or(pattern, |(_, rest)| rest)
}
