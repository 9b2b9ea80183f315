//! The way of every request (`contract/frontend.md` §2): authenticated before its body is read, one answer,
//! one log line, one entry in the trail.
//!
//! A request goes on when its client goes away once it is known who calls: what was begun is finished, logged and audited.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use axum::body::Body;
use axum::extract::{ConnectInfo, Request, State};
use futures_util::FutureExt as _;
use http::{HeaderName, HeaderValue, Method, StatusCode, request};
use http_body::Body as _;
use rp_api::CloudError;
use rp_base::chain;
use rp_base::text::clean;
use rp_net::door::Visitor;
use tokio_util::sync::CancellationToken;

use crate::admin::{self, Admin, AdminRole};
use crate::answer::{Answer, empty, error};
use crate::audit;
use crate::call::{self, Call, Correlation, header};
use crate::dispatch::dispatch;
use crate::fault::{Fault, internal, unavailable};
use crate::metrics::Ended;
use crate::parts::{Caller, FrontendParts, Taken};
use crate::path::{Lost, Route, is_admin, route};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-ms-request-id");
const CLIENT_REQUEST_ID: HeaderName = HeaderName::from_static("x-ms-client-request-id");
/// The longest name that a caller gives its request, in characters.
const MOST_NAME: usize = 128;

/// A request's head, looked at once. It holds the caller's token, and so has no `Debug`.
pub(crate) struct Seen {
    pub(crate) head: request::Parts,
    /// The address that it comes from.
    pub(crate) peer: String,
    pub(crate) query: Vec<(String, String)>,
    pub(crate) api_version: String,
    /// Path `/admin…` or `api-version=admin`.
    pub(crate) admin: bool,
    pub(crate) correlation: Correlation,
    /// Who stands behind an admin call, as the calling tool says.
    pub(crate) principal: Option<String>,
    found: Result<Route, Lost>,
    body: AtomicU64,
    begun: AtomicBool,
    /// Set when it is known who calls.
    taken: OnceLock<Taken>,
    /// Nobody waits for the answer any more.
    gone: CancellationToken,
}

impl Seen {
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
            taken: OnceLock::new(),
            gone,
        }
    }

    pub(crate) fn header(&self, name: &str) -> String {
        header(&self.head.headers, name).unwrap_or_default()
    }

    /// The route as metrics and the trail name it.
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

    /// Objects or a machine of a cluster, which the query names.
    pub(crate) fn is_named_by_query(&self) -> bool {
        matches!(&self.found, Ok(Route::Admin(Admin::Objects(_) | Admin::SerialConsole(_))))
    }

    /// What a machine wrote may hold what nobody meant to show.
    fn reads_logs(&self) -> bool {
        matches!(&self.found, Ok(Route::Admin(Admin::SerialConsole(_))))
    }

    /// The admin tool that calls, by its certificate; empty: it is not known by that.
    pub(crate) fn tool(&self) -> &str {
        self.taken.get().map_or("", |taken| &taken.tool)
    }

    /// Whether the admin tool, and the person for whom it calls, may do this.
    fn permitted(&self, parts: &FrontendParts, route: &Route) -> Result<(), CloudError> {
        if !self.admin {
            return Ok(());
        }
        // Anything but what says no: a value that nobody can read is refused later.
        let restricted = ["", "0", "f", "F", "false", "FALSE", "False"];
        let asked = call::parameter(&self.query, "unrestricted").unwrap_or_default();
        let needed = admin::needed(&self.head.method, route, !restricted.contains(&asked));
        let most = self.taken.get().map_or(AdminRole::Reader, |taken| taken.most);
        let allowed = admin::may_tool(most, needed)
            .and_then(|()| parts.admin.roles.check(self.principal.as_deref(), needed));
        if allowed.is_err() {
            parts.edge.metrics.refused(true);
        }
        allowed
    }

    /// The address of a caller whom nobody knows; `None`: the caller is known.
    pub(crate) fn stranger(&self) -> Option<IpAddr> {
        if self.taken.get().is_some() {
            return None;
        }
        Some(self.peer.parse().unwrap_or(Ipv4Addr::UNSPECIFIED.into()))
    }

    fn is_health(&self) -> bool {
        self.found == Ok(Route::Ready)
    }
}

pub(crate) async fn handle(State(parts): State<Arc<FrontendParts>>, request: Request) -> Answer {
    let gone = CancellationToken::new();
    let _waiting = gone.clone().drop_guard();
    let ended = tokio::spawn(whole(parts, request, gone)).await;
    ended.unwrap_or_else(|_| error(&internal()))
}

async fn whole(parts: Arc<FrontendParts>, request: Request, gone: CancellationToken) -> Answer {
    let began = Instant::now();
    let _running = parts.edge.metrics.counted.running.track();
    let (head, body) = request.into_parts();
    let seen = Seen::new(&parts, head, gone);
    let ran = AssertUnwindSafe(run(&parts, &seen, body)).catch_unwind().await;
    let mut answer = ran.unwrap_or_else(|_| {
        parts.edge.metrics.counted.panics.inc();
        tracing::error!(request_id = seen.correlation.request, "a request panicked");
        error(&internal())
    });
    name(&mut answer, &seen);
    let told = (answer.status().as_u16(), answer.body().size_hint().exact().unwrap_or_default());
    ended(&parts, &seen, told, began).await;
    answer
}

/// Puts the request's names on its answer.
fn name(answer: &mut Answer, seen: &Seen) {
    if let Ok(id) = HeaderValue::from_str(&seen.correlation.request) {
        answer.headers_mut().insert(REQUEST_ID, id);
    }
    if seen.header("x-ms-return-client-request-id").eq_ignore_ascii_case("true")
        && let Some(id) = seen.head.headers.get(&CLIENT_REQUEST_ID)
    {
        answer.headers_mut().insert(CLIENT_REQUEST_ID, id.clone());
    }
}

/// Logs, counts and audits.
async fn ended(parts: &FrontendParts, seen: &Seen, (code, written): (u16, u64), began: Instant) {
    let took = began.elapsed();
    let (method, api_version) = (&seen.head.method, seen.api_version.as_str());
    parts.edge.metrics.ended(&Ended { method, api_version, code, route: seen.template(), took });
    let read = seen.body.load(Ordering::Relaxed);
    log(seen, code, took.as_secs_f64(), (read, written));
    if let Some(audit) = parts.edge.audit.as_ref().filter(|_| !seen.is_health()) {
        let begun = seen.begun.load(Ordering::Relaxed);
        let end = audit::End { status: code, took, read, written, begun };
        audit::ended(audit, seen, parts.clock.now(), &end).await;
    }
}

/// The one line of a request (`contract/frontend.md` §14.1).
fn log(seen: &Seen, code: u16, seconds: f64, (read, written): (u64, u64)) {
    let cluster = seen.found.as_ref().ok().and_then(Route::cluster);
    let result = match code {
        ..400 => "Success",
        400..500 => "UserError",
        _ => "InternalServerError",
    };
    tracing::info!(
        component = "access",
        request_method = %seen.head.method,
        request_path = &*clean(seen.head.uri.path(), 1024),
        request_proto = ?seen.head.version,
        request_remote_addr = seen.peer,
        request_user_agent = &*clean(&seen.header("user-agent"), 256),
        response_status_code = code,
        body_read_bytes = read,
        body_written_bytes = written,
        duration = seconds,
        request_id = seen.correlation.request,
        operation_id = seen.correlation.operation,
        correlation_id = seen.correlation.correlation,
        client_request_id = seen.correlation.client_request,
        client_principal_name = seen.principal.as_deref().unwrap_or_default(),
        client_certificate = seen.tool(),
        subscription_id = cluster.map(|path| path.subscription.as_str()),
        resource_group = cluster.map(|path| path.group.as_str()),
        resource_name = cluster.map(|path| path.name.as_str()),
        resource_id = cluster.map(crate::path::ClusterPath::key),
        route = seen.template(),
        result_type = result,
        "sent response"
    );
}

async fn run(parts: &FrontendParts, seen: &Seen, body: Body) -> Answer {
    let done = checked(parts, seen, body).await;
    done.unwrap_or_else(|fault| error(&fault.told()))
}

async fn checked(parts: &FrontendParts, seen: &Seen, body: Body) -> Result<Answer, Fault> {
    if seen.is_health() {
        // Anybody may ask, and so nothing more of the request is read, kept or waited for.
        if seen.head.method != Method::GET {
            return Ok(empty(StatusCode::METHOD_NOT_ALLOWED));
        }
    } else {
        let caller = Caller { head: &seen.head, admin: seen.admin };
        let Some(taken) = parts.authorizer.takes(&caller).await else {
            parts.edge.metrics.refused(seen.admin);
            return Err(CloudError::new(403, "Forbidden", "", "Forbidden.").into());
        };
        if let Some(visitor) = seen.head.extensions.get::<Visitor>() {
            visitor.known();
        }
        // A request is looked at once.
        let _ = seen.taken.set(taken);
        // Who left while we asked who they are does not want it any more (`contract/frontend.md` §3).
        if seen.gone.is_cancelled() {
            let message = "The client closed the request.";
            return Err(CloudError::new(499, "ClientClosedRequest", "", message).into());
        }
    }
    let route = match &seen.found {
        Ok(route) => route,
        Err(Lost::Wrong(error)) => return Err(error.clone().into()),
        Err(Lost::Unknown) => {
            let message = "The requested path could not be found.";
            return Err(CloudError::new(404, "NotFound", "", message).into());
        }
    };
    seen.permitted(parts, route)?;
    // Held until the answer is there: bodies have their room.
    let (_room, call) = read(parts, seen, body).await?;
    if let Some(audit) = parts.edge.audit.as_ref().filter(|_| matters(&call.method) || seen.reads_logs()) {
        begins(parts, audit, seen).await?;
    }
    dispatch(parts, &call, route).await
}

/// Whether the request may change something or show a secret.
fn matters(method: &Method) -> bool {
    matches!(*method, Method::PUT | Method::PATCH | Method::POST | Method::DELETE)
}

/// What cannot be audited is not done.
async fn begins(parts: &FrontendParts, audit: &rp_audit::Audit, seen: &Seen) -> Result<(), CloudError> {
    audit::begins(audit, seen, parts.clock.now()).await.map_err(|error| {
        tracing::error!(error = %chain(&error), "the audit log takes no entry, the request is refused");
        unavailable()
    })?;
    seen.begun.store(true, Ordering::Relaxed);
    Ok(())
}

/// Reads the rest of a request.
async fn read<'a>(
    parts: &'a FrontendParts,
    seen: &Seen,
    body: Body,
) -> Result<(Option<tokio::sync::SemaphorePermit<'a>>, Call), Fault> {
    let edge = &parts.edge;
    let room = match matters(&seen.head.method) {
        true => {
            let room = tokio::time::timeout(edge.read_time, edge.bodies.acquire()).await;
            Some(room.map_err(|_| unavailable())?.map_err(|_| unavailable())?)
        }
        false => None,
    };
    let system_data = header(&seen.head.headers, "x-ms-arm-resource-system-data").and_then(|text| {
        serde_json::from_str(&text)
            .inspect_err(|error| tracing::warn!(%error, "the header of system data cannot be read"))
            .ok()
    });
    let body = call::body(&seen.head, body, edge.read_time).await?;
    seen.body.store(body.len() as u64, Ordering::Relaxed);
    let call = Call {
        method: seen.head.method.clone(),
        api_version: seen.api_version.clone(),
        query: seen.query.clone(),
        referer: call::referer(&seen.head, edge),
        body,
        correlation: seen.correlation.clone(),
        system_data,
        identity_url: header(&seen.head.headers, "x-ms-identity-url"),
        home_tenant: header(&seen.head.headers, "x-ms-home-tenant-id"),
        principal: seen.principal.clone(),
        peer: seen.peer.clone(),
    };
    Ok((room, call))
}
