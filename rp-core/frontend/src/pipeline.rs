//! The pipeline of every request (`contract/frontend.md` §2): authenticated before its body is read, one response,
//! one log line, one audit entry.
//!
//! After authentication a request continues even if its client disconnects: it is finished, logged and audited.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use axum::body::Body;
use axum::extract::{ConnectInfo, Request, State};
use futures_util::FutureExt as _;
use http::{HeaderName, HeaderValue, Method, request};
use http_body::Body as _;
use rp_api::CloudError;
use rp_base::chain;
use rp_base::text::clean;
use rp_net::door::ConnectionHandle;
use tokio_util::sync::CancellationToken;

use crate::admin::{self, Admin, AdminRole, AuditDetail, StreamEnd, StreamWatch};
use crate::audit;
use crate::call::{self, Call, Correlation, header};
use crate::dependencies::{AuthorizedCaller, Caller, FrontendParts};
use crate::dispatch::dispatch;
use crate::fault::{Fault, internal, unavailable};
use crate::metrics::RequestSample;
use crate::path::{Route, RouteError, is_admin, route};
use crate::response::{Change, HttpResponse, error, method_not_allowed};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-ms-request-id");
const CLIENT_REQUEST_ID: HeaderName = HeaderName::from_static("x-ms-client-request-id");
/// The longest correlation id that is accepted from a caller, in characters.
const MOST_NAME: usize = 128;

/// A request's head, parsed once. It holds the caller's token, and so has no `Debug`.
pub(crate) struct RequestContext {
    pub(crate) head: request::Parts,
    /// The address that it comes from.
    pub(crate) peer: String,
    pub(crate) query: Vec<(String, String)>,
    pub(crate) api_version: String,
    /// Path `/admin…` or `api-version=admin`.
    pub(crate) admin: bool,
    pub(crate) correlation: Correlation,
    /// The person behind an admin call, as the calling tool reports.
    pub(crate) principal: Option<String>,
    found: Result<Route, RouteError>,
    body: AtomicU64,
    begun: AtomicBool,
    /// What the body of an administrator's action is about.
    detail: OnceLock<AuditDetail>,
    /// Set once the caller is authorized.
    authorized: OnceLock<AuthorizedCaller>,
    /// Cancelled when the client has disconnected.
    gone: CancellationToken,
}

impl RequestContext {
    fn new(parts: &FrontendParts, head: request::Parts, gone: CancellationToken) -> Self {
        let query = call::query(&head);
        let api_version = call::parameter(&query, "api-version").unwrap_or_default().to_owned();
        let admin = is_admin(head.uri.path()) || api_version == "admin";
        let peer = head.extensions.get::<ConnectInfo<SocketAddr>>();
        // It is stored with the cluster, and logged.
        let said = |name| clean(&header(&head.headers, name).unwrap_or_default(), MOST_NAME);
        let correlation = Correlation {
            request: parts.random.uuid().to_string(),
            operation: parts.random.uuid().to_string(),
            correlation: said("x-ms-correlation-request-id"),
            client_request: said("x-ms-client-request-id"),
        };
        let principal = header(&head.headers, "x-ms-client-principal-name").filter(|_| admin);
        Self {
            peer: peer.map(|info| info.0.ip().to_canonical().to_string()).unwrap_or_default(),
            found: route(head.uri.path(), &parts.region, &api_version),
            principal: principal.map(|name| clean(&name, 256)),
            query,
            api_version,
            admin,
            correlation,
            head,
            body: AtomicU64::new(0),
            begun: AtomicBool::new(false),
            detail: OnceLock::new(),
            authorized: OnceLock::new(),
            gone,
        }
    }

    pub(crate) fn header(&self, name: &str) -> String {
        header(&self.head.headers, name).unwrap_or_default()
    }

    /// The route's name in metrics and in the audit log.
    pub(crate) fn template(&self) -> &'static str {
        match &self.found {
            Ok(route) => route.template(),
            Err(_) => "unknown",
        }
    }

    /// The lower-case id of the cluster that the path names.
    pub(crate) fn cluster(&self) -> Option<String> {
        self.found.as_ref().ok()?.cluster().map(crate::path::ClusterPath::key)
    }

    /// Whether the query names the objects or the machine that the request is about.
    pub(crate) fn is_named_by_query(&self) -> bool {
        let found = self.found.as_ref();
        matches!(found, Ok(Route::Admin(Admin::Objects(_) | Admin::SerialConsole(_) | Admin::Action { .. })))
    }

    /// Whether the request reads a log, which may contain secrets by accident.
    fn reads_logs(&self) -> bool {
        match &self.found {
            Ok(Route::Admin(Admin::SerialConsole(_))) => true,
            Ok(Route::Admin(Admin::Action { action, .. })) => action.shows_logs(),
            _ => false,
        }
    }

    /// What the body of an administrator's action is about, once it was read.
    pub(crate) fn detail(&self) -> Option<&AuditDetail> {
        self.detail.get()
    }

    /// The admin tool that calls, by its certificate; empty: not authenticated by a named certificate.
    pub(crate) fn tool(&self) -> &str {
        self.authorized.get().map_or("", |authorized| &authorized.tool)
    }

    /// Whether the admin tool, and the person for whom it calls, may do this.
    fn permitted(&self, parts: &FrontendParts, route: &Route) -> Result<(), CloudError> {
        if !self.admin {
            return Ok(());
        }
        // Any value other than false counts as true here; a value that cannot be parsed is refused later.
        let restricted = ["", "0", "f", "F", "false", "FALSE", "False"];
        let asked = call::parameter(&self.query, "unrestricted").unwrap_or_default();
        let needed = admin::needed(&self.head.method, route, !restricted.contains(&asked));
        let most = self.authorized.get().map_or(AdminRole::Reader, |authorized| authorized.most);
        let allowed = admin::may_tool(most, needed)
            .and_then(|()| parts.admin.roles.check(self.principal.as_deref(), needed));
        if allowed.is_err() {
            parts.edge.metrics.refused(true);
        }
        allowed
    }

    /// The address of an unauthenticated caller; `None`: the caller is authenticated.
    pub(crate) fn unknown_address(&self) -> Option<IpAddr> {
        if self.authorized.get().is_some() {
            return None;
        }
        Some(self.peer.parse().unwrap_or(Ipv4Addr::UNSPECIFIED.into()))
    }

    fn is_health(&self) -> bool {
        self.found == Ok(Route::Ready)
    }
}

pub(crate) async fn handle(State(parts): State<Arc<FrontendParts>>, request: Request) -> HttpResponse {
    let gone = CancellationToken::new();
    let _waiting = gone.clone().drop_guard();
    let ended = tokio::spawn(process(parts, request, gone)).await;
    ended.unwrap_or_else(|_| error(&internal()))
}

async fn process(parts: Arc<FrontendParts>, request: Request, gone: CancellationToken) -> HttpResponse {
    let began = Instant::now();
    let _running = parts.edge.metrics.counted.running.track();
    let (head, body) = request.into_parts();
    let context = RequestContext::new(&parts, head, gone);
    let ran = AssertUnwindSafe(run(&parts, &context, body)).catch_unwind().await;
    let mut answer = ran.unwrap_or_else(|_| {
        parts.edge.metrics.counted.panics.inc();
        tracing::error!(request_id = context.correlation.request, "a request panicked");
        error(&internal())
    });
    set_request_ids(&mut answer, &context);
    let change = answer.extensions_mut().remove::<Change>();
    let end =
        |streamed, written| RequestOutcome { code: answer.status().as_u16(), written, streamed, change };
    match answer.extensions().get::<StreamWatch>().cloned() {
        // The answer is still being written: the request ends with it.
        Some(watch) => {
            let end = end(None, 0);
            tokio::spawn(async move {
                let StreamEnd { word, written } = watch.end().await;
                let outcome = RequestOutcome { streamed: Some(word), written, ..end };
                record_end(&parts, &context, outcome, began).await;
            });
        }
        None => {
            let written = answer.body().size_hint().exact().unwrap_or_default();
            record_end(&parts, &context, end(None, written), began).await;
        }
    }
    answer
}

/// How a request ended.
struct RequestOutcome {
    code: u16,
    /// Bytes of the body.
    written: u64,
    /// How a streamed answer ended.
    streamed: Option<&'static str>,
    change: Option<Change>,
}

/// Sets the request ids on the response.
fn set_request_ids(answer: &mut HttpResponse, context: &RequestContext) {
    if let Ok(id) = HeaderValue::from_str(&context.correlation.request) {
        answer.headers_mut().insert(REQUEST_ID, id);
    }
    if context.header("x-ms-return-client-request-id").eq_ignore_ascii_case("true")
        && let Some(id) = context.head.headers.get(&CLIENT_REQUEST_ID)
    {
        answer.headers_mut().insert(CLIENT_REQUEST_ID, id.clone());
    }
}

/// Logs, counts and audits.
async fn record_end(
    parts: &FrontendParts,
    context: &RequestContext,
    outcome: RequestOutcome,
    began: Instant,
) {
    let RequestOutcome { code, written, streamed, change } = outcome;
    let took = began.elapsed();
    let (method, api_version) = (&context.head.method, context.api_version.as_str());
    parts.edge.metrics.observe(&RequestSample { method, api_version, code, route: context.template(), took });
    let read = context.body.load(Ordering::Relaxed);
    log(context, code, took.as_secs_f64(), (read, written));
    if let Some(audit) = parts.edge.audit.as_ref().filter(|_| !context.is_health()) {
        let begun = context.begun.load(Ordering::Relaxed);
        let end = audit::RequestEnd { status: code, streamed, change, took, read, written, begun };
        audit::record_end(audit, context, parts.clock.now(), &end).await;
    }
}

/// The one line of a request (`contract/frontend.md` §14.1).
fn log(context: &RequestContext, code: u16, seconds: f64, (read, written): (u64, u64)) {
    let cluster = context.found.as_ref().ok().and_then(Route::cluster);
    let result = match code {
        ..400 => "Success",
        400..500 => "UserError",
        _ => "InternalServerError",
    };
    tracing::info!(
        component = "access",
        request_method = %context.head.method,
        request_path = &*clean(context.head.uri.path(), 1024),
        request_proto = ?context.head.version,
        request_remote_addr = context.peer,
        request_user_agent = &*clean(&context.header("user-agent"), 256),
        response_status_code = code,
        body_read_bytes = read,
        body_written_bytes = written,
        duration = seconds,
        request_id = context.correlation.request,
        operation_id = context.correlation.operation,
        correlation_id = context.correlation.correlation,
        client_request_id = context.correlation.client_request,
        client_principal_name = context.principal.as_deref().unwrap_or_default(),
        client_certificate = context.tool(),
        subscription_id = cluster.map(|path| path.subscription.as_str()),
        resource_group = cluster.map(|path| path.group.as_str()),
        resource_name = cluster.map(|path| path.name.as_str()),
        resource_id = cluster.map(crate::path::ClusterPath::key),
        route = context.template(),
        result_type = result,
        "sent response"
    );
}

async fn run(parts: &FrontendParts, context: &RequestContext, body: Body) -> HttpResponse {
    let done = authorize_and_dispatch(parts, context, body).await;
    done.unwrap_or_else(|fault| error(&fault.into_cloud_error()))
}

async fn authorize_and_dispatch(
    parts: &FrontendParts,
    context: &RequestContext,
    body: Body,
) -> Result<HttpResponse, Fault> {
    if context.is_health() {
        // Unauthenticated callers may request this, so nothing more of the request is read, kept or waited for.
        if context.head.method != Method::GET {
            return Ok(method_not_allowed(Route::Ready.methods()));
        }
    } else {
        let caller = Caller { head: &context.head, admin: context.admin };
        let Some(authorized) = parts.authorizer.authorize(&caller).await else {
            parts.edge.metrics.refused(context.admin);
            return Err(CloudError::new(403, "Forbidden", "", "Forbidden.").into());
        };
        if let Some(visitor) = context.head.extensions.get::<ConnectionHandle>() {
            visitor.known();
        }
        // A request is authorized once, so the cell is empty.
        let _ = context.authorized.set(authorized);
        // The client disconnected during authentication: the request is not processed (`contract/frontend.md` §3).
        if context.gone.is_cancelled() {
            let message = "The client closed the request.";
            return Err(CloudError::new(499, "ClientClosedRequest", "", message).into());
        }
    }
    let route = match &context.found {
        Ok(route) => route,
        Err(RouteError::Wrong(error)) => return Err(error.clone().into()),
        Err(RouteError::Unknown) => {
            let message = "The requested path could not be found.";
            return Err(CloudError::new(404, "NotFound", "", message).into());
        }
    };
    context.permitted(parts, route)?;
    // The permit is held until the response is ready; it bounds the bodies in memory.
    let (_room, call) = read(parts, context, body).await?;
    if context.admin {
        // A request is read once, so the cell is empty.
        let _ = context.detail.set(admin::audit_detail(route, &call));
    }
    if let Some(audit) =
        parts.edge.audit.as_ref().filter(|_| is_sensitive(&call.method) || context.reads_logs())
    {
        record_start(parts, audit, context).await?;
    }
    dispatch(parts, &call, route).await
}

/// Whether the request may change something or show a secret.
fn is_sensitive(method: &Method) -> bool {
    matches!(*method, Method::PUT | Method::PATCH | Method::POST | Method::DELETE)
}

/// Writes the first audit entry; a request that cannot be audited is refused.
async fn record_start(
    parts: &FrontendParts,
    audit: &rp_audit::Audit,
    context: &RequestContext,
) -> Result<(), CloudError> {
    audit::record_start(audit, context, parts.clock.now()).await.map_err(|error| {
        tracing::error!(error = %chain(&error), "the audit log takes no entry, the request is refused");
        unavailable()
    })?;
    context.begun.store(true, Ordering::Relaxed);
    Ok(())
}

/// Reads the rest of a request.
async fn read<'a>(
    parts: &'a FrontendParts,
    context: &RequestContext,
    body: Body,
) -> Result<(Option<tokio::sync::SemaphorePermit<'a>>, Call), Fault> {
    let edge = &parts.edge;
    let room = match is_sensitive(&context.head.method) {
        true => {
            let room = tokio::time::timeout(edge.read_time, edge.bodies.acquire()).await;
            Some(room.map_err(|_| unavailable())?.map_err(|_| unavailable())?)
        }
        false => None,
    };
    let system_data = header(&context.head.headers, "x-ms-arm-resource-system-data").and_then(|text| {
        serde_json::from_str(&text)
            .inspect_err(|error| {
                tracing::warn!(column = error.column(), "the header of system data cannot be read");
            })
            .ok()
    });
    let body = call::body(&context.head, body, edge.read_time).await?;
    context.body.store(body.len() as u64, Ordering::Relaxed);
    let call = Call {
        method: context.head.method.clone(),
        api_version: context.api_version.clone(),
        query: context.query.clone(),
        referer: call::referer(&context.head, edge),
        body,
        correlation: context.correlation.clone(),
        system_data,
        identity_url: header(&context.head.headers, "x-ms-identity-url"),
        home_tenant: header(&context.head.headers, "x-ms-home-tenant-id"),
        principal: context.principal.clone(),
        peer: context.peer.clone(),
    };
    Ok((room, call))
}
