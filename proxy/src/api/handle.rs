//! Handles one API request: authenticate, authorize, audit, send, forward the response.

mod exec;

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use http::uri::PathAndQuery;
use http::{HeaderName, HeaderValue, Method, Request, Response, StatusCode, Uri, Version, header};
use hyper::body::Incoming;
use rp_access::{Access, ActiveGrant, RequestGuard, StreamGuard};
use rp_audit::Audit;
use rp_base::{Id, SharedClock, SharedRandom, chain};
use rp_config::RecordingPolicy;
use rp_documents::{GrantKind, Phase, ResourceId, Rights, Side};
use rp_metrics::Registry;
use rp_net::{Dialer, Directory};
use rp_recording::{RecordError, Recorder, Recordings};
use tokio_util::sync::CancellationToken;

use super::address::{bearer, path_of, split};
use super::audit::{AuditEntryGuard, Weight, entry, weight};
use super::body::{Body, ClusterBody};
use super::error::ProxyError;
use super::headers;
use super::metrics::{ApiMetrics, RequestLabels};
use super::pool::{Class, Outgoing, Pools, Upstream, UpstreamBody};
use super::redaction::{self, Search};
use super::redirect;
use super::request::{Classified, classify, is_escaped};
use super::rules::{Denied, needed, permit, stream_of};
use super::session_kind::{SessionKind, session_kind};
use super::session_recording;
use super::upgrade::{self, Session};
use super::watch_end::WatchEndEvent;
use crate::overseer::{Overseer, WatchLimits};

pub(crate) use exec::{ExecRequest, RunningExec};

const AUDIT_ID: HeaderName = HeaderName::from_static("audit-id");
const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const SWEEP_EVERY: Duration = Duration::from_secs(60);

/// Timeouts of one request.
#[derive(Debug, Clone)]
pub struct Timeouts {
    /// Dial and TLS (`contract/portal.md` §12.2: 30 s).
    pub connect: Duration,
    /// The head of the answer, after the last byte of the request.
    pub head: Duration,
    /// Between two pieces of an answer that is no stream.
    pub idle: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(30),
            head: Duration::from_secs(90),
            idle: Duration::from_secs(300),
        }
    }
}

/// What the proxy is made of.
#[derive(Debug)]
pub struct ApiProxyParts {
    pub access: Arc<Access>,
    pub directory: Arc<dyn Directory>,
    pub dialer: Dialer,
    pub clock: SharedClock,
    pub random: SharedRandom,
    pub registry: Registry,
    pub timeouts: Timeouts,
    /// Of exec and attach.
    pub recordings: Recordings,
    /// Cuts upgraded streams when the process must end.
    pub cut: CancellationToken,
}

/// The Kubernetes API proxy (`contract/portal.md` §11).
#[derive(Debug)]
pub struct ApiProxy {
    access: Arc<Access>,
    audit: Audit,
    directory: Arc<dyn Directory>,
    pools: Arc<Pools>,
    clock: SharedClock,
    random: SharedRandom,
    metrics: ApiMetrics,
    timeouts: Timeouts,
    recordings: Recordings,
    overseer: Arc<Overseer>,
    cut: CancellationToken,
}

/// A GET request that a portal page sends to a cluster on behalf of its viewer.
#[derive(Debug)]
pub struct PageRequest {
    /// The viewer's grant of kind page.
    pub live: Arc<ActiveGrant>,
    pub request_id: Id,
    pub from: IpAddr,
    /// Path and query as the API server knows them.
    pub path: PathAndQuery,
    /// The header of that name.
    pub accept: &'static str,
}

/// What the proxy knows about the request it is handling.
struct RequestContext {
    request_id: Id,
    ip: IpAddr,
    live: Arc<ActiveGrant>,
    upgrade: bool,
    classified: Classified,
    /// The rights that the request needs.
    needed: Rights,
    /// What is done about credentials in the answer.
    search: Search,
    /// Path and query towards the cluster, byte for byte.
    path: PathAndQuery,
}

/// The permit that counts a request or stream against its owner's limit.
enum RequestPermit {
    Stream(StreamGuard),
    Request(RequestGuard),
}

impl ApiProxy {
    /// Starts the proxy's housekeeping.
    pub fn new(parts: ApiProxyParts) -> Arc<Self> {
        let pools = Pools::new(parts.dialer, parts.timeouts.connect);
        let swept = Arc::downgrade(&pools);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(SWEEP_EVERY).await;
                let Some(pools) = swept.upgrade() else { return };
                pools.sweep();
            }
        });
        Arc::new(Self {
            audit: parts.access.audit().clone(),
            access: parts.access,
            directory: parts.directory,
            pools,
            clock: parts.clock,
            random: parts.random,
            metrics: ApiMetrics::register(&parts.registry),
            timeouts: parts.timeouts,
            recordings: parts.recordings,
            overseer: Overseer::start(),
            cut: parts.cut,
        })
    }

    pub(super) fn directory(&self) -> &dyn Directory {
        &*self.directory
    }

    pub(super) fn pools(&self) -> &Pools {
        &self.pools
    }

    pub(super) fn clock(&self) -> &SharedClock {
        &self.clock
    }

    /// Whether a path is the proxy's. Decided before any router normalises.
    pub fn matches(path: &str) -> bool {
        split(path).is_some()
    }

    /// Answers a request.
    pub async fn handle(&self, request: Request<Incoming>, peer: SocketAddr) -> Response<Body> {
        let request_id = Id::random(&*self.random);
        let ip = peer.ip().to_canonical();
        let upgrade = request.version() < Version::HTTP_2 && request.headers().contains_key(header::UPGRADE);
        let mut response = match self.admit(&request, request_id.clone(), ip).await {
            Ok(context) => self.forward(request.map(Some), context).await,
            Err(error) => self.refuse_unauthenticated(&error, &request_id, ip),
        };
        if let Ok(id) = HeaderValue::from_str(request_id.as_str()) {
            response.headers_mut().insert(X_REQUEST_ID, id);
        }
        if upgrade && response.status() != StatusCode::SWITCHING_PROTOCOLS {
            // What the client sent after its handshake is no request.
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }

    /// Answers what a page asks with the viewer's own grant: the same decisions, audit and cuts as a client's
    /// request. A failure of this service or of the connection puts its [`ErrorText`] into the response's extensions.
    pub async fn look(&self, look: PageRequest) -> Response<Body> {
        let PageRequest { live, request_id, from, path, accept } = look;
        let mut request = Request::new(None);
        *request.method_mut() = Method::GET;
        request.headers_mut().insert(header::ACCEPT, HeaderValue::from_static(accept));
        let classified = classify(&Method::GET, path.path(), path.query());
        let search = redaction::search(&classified, live.rights);
        let (needed, upgrade) = (search.needed(needed(&classified, false)), false);
        let context =
            RequestContext { request_id, ip: from, live, upgrade, classified, needed, search, path };
        if context.live.grant.kind != GrantKind::Page {
            return self.failed(&ProxyError::OtherKind, &context, None);
        }
        Box::pin(self.forward(request, context)).await
    }

    /// Authenticates and classifies the request. Nothing is sent to the cluster yet.
    async fn admit(
        &self,
        request: &Request<Incoming>,
        request_id: Id,
        ip: IpAddr,
    ) -> Result<RequestContext, ProxyError> {
        let (target, tail) = split(request.uri().path()).ok_or(ProxyError::BadRequest("no such address"))?;
        let live =
            self.access.authenticate(bearer(request.headers())?, ip).await.map_err(ProxyError::Refused)?;
        if live.grant.kind != GrantKind::Kubeconfig {
            return Err(ProxyError::OtherKind);
        }
        if live.grant.target.as_ref() != Some(&target) {
            return Err(ProxyError::OtherTarget);
        }
        let query = request.uri().query();
        if !is_escaped(tail) {
            return Err(ProxyError::BadRequest("a % of its path begins no escape"));
        }
        let classified = classify(request.method(), tail, query);
        let path = path_of(tail, query).ok_or(ProxyError::BadRequest("its path"))?;
        let upgrade = headers::upgrade_of(request.headers()).is_some();
        let search = redaction::search(&classified, live.rights);
        let needed = search.needed(needed(&classified, upgrade));
        Ok(RequestContext { request_id, ip, live, upgrade, classified, needed, search, path })
    }

    async fn forward(&self, request: Request<ClientBody>, context: RequestContext) -> Response<Body> {
        let began = self.clock.now();
        let from = context.ip.to_string();
        let make =
            |phase| entry(began, phase, &context.request_id, &context.live, &from, &context.classified);
        let allowed = self.check(&request, &context);
        let heavy = weight(&context.classified, context.upgrade) == Weight::Heavy;
        let (phase, started) = match &allowed {
            Ok(_) if heavy => (Phase::End, Box::pin(self.audit.promise(make(Phase::Start))).await.map(drop)),
            // A full audit queue delays the request here, before anything is sent.
            Ok(_) | Err(_) => (Phase::Single, self.audit.room().await),
        };
        if let Err(error) = started {
            return self.failed(&ProxyError::Audit(error), &context, None);
        }
        let settle = AuditEntryGuard::new(make(phase), &self.audit, &self.clock);
        let permit = match allowed {
            Ok(permit) => permit,
            Err(error) => return self.failed(&error, &context, Some(settle)),
        };
        let ended = context.live.token_for(context.needed);
        tokio::select! {
            // Check the cancellation first: access that ended while the entry was written must not be used.
            biased;
            () = ended.cancelled() => {
                let why = context.live.end_reason(self.clock.now());
                let error = ProxyError::Refused(rp_access::Refusal::Ended(why));
                self.failed(&error, &context, None)
            }
            answer = self.exchange(request, &context, settle, permit) => match answer {
                Ok(response) => {
                    self.count(&context.classified, response.status().as_u16(), None);
                    self.metrics.head.observe_duration(self.clock.now().since(began));
                    response
                }
                Err((error, settle)) => self.failed(&error, &context, Some(settle)),
            },
        }
    }

    /// Decides whether the request may be sent, and counts it from then on.
    fn check(
        &self,
        request: &Request<ClientBody>,
        context: &RequestContext,
    ) -> Result<RequestPermit, ProxyError> {
        if headers::impersonates(request.headers()) {
            return Err(ProxyError::Impersonation);
        }
        if context.upgrade && request.version() != Version::HTTP_11 {
            return Err(ProxyError::BadRequest("an upgrade needs HTTP/1.1"));
        }
        if context.upgrade && !headers::known_upgrade(request.headers()) {
            return Err(ProxyError::BadRequest("an upgrade is to websocket or SPDY/3.1"));
        }
        if context.upgrade && !is_end(request.body()) {
            return Err(ProxyError::BadRequest("an upgrade has no body"));
        }
        let live = &context.live;
        permit(&context.classified, context.upgrade, context.needed, live.rights).map_err(|denied| {
            ProxyError::Denied(Denied {
                fallen: live.reduction_reason().map(rp_access::EndReason::sentence),
                ..denied
            })
        })?;
        match session_kind(&context.classified, context.upgrade) {
            SessionKind::Refused(sentence) => return Err(ProxyError::NotThisWay(sentence)),
            SessionKind::Unknown if self.recordings.policy() == RecordingPolicy::Required => {
                return Err(ProxyError::Unrecordable);
            }
            SessionKind::Answer
            | SessionKind::Session
            | SessionKind::Bytes
            | SessionKind::Unknown
            | SessionKind::Kubelet => {}
        }
        if !(context.upgrade || context.classified.watch || context.classified.follow) {
            return self
                .access
                .request(live)
                .map(RequestPermit::Request)
                .map_err(ProxyError::TooManyRequests);
        }
        self.access.rates().stream(live.grant.primary_id().as_str()).map_err(ProxyError::TooOften)?;
        let open = self.access.stream(live, || stream_of(&context.classified));
        open.map(RequestPermit::Stream).map_err(ProxyError::TooManyStreams)
    }

    async fn exchange(
        &self,
        request: Request<ClientBody>,
        context: &RequestContext,
        mut settle: AuditEntryGuard,
        permit: RequestPermit,
    ) -> Result<Response<Body>, (ProxyError, AuditEntryGuard)> {
        let (upstream, head) = match self.assemble(&request, context, &mut settle).await {
            Ok(assembled) => assembled,
            Err(error) => return Err((error, settle)),
        };
        if context.upgrade {
            let recorder = match self.recorder(context).await {
                Ok(recorder) => recorder,
                Err(error) => return Err((ProxyError::Recording(error), settle)),
            };
            let session = Session {
                recorder,
                input: self.recordings.records_input(),
                live: Arc::clone(&context.live),
                ended: context.live.token_for(context.needed),
                settle,
                open: permit.stream(),
                streams: self.metrics.streams.track(),
                clock: Arc::clone(&self.clock),
                request_id: context.request_id.to_string(),
                cut: self.cut.clone(),
                idle: (!context.classified.watch && !context.classified.follow).then_some(self.timeouts.idle),
                overseer: Arc::clone(&self.overseer),
            };
            let (parts, body) = request.into_parts();
            let Some(body) = body else {
                return Err((ProxyError::BadRequest("an upgrade needs a client"), session.settle));
            };
            let request = Request::from_parts(parts, body);
            return Box::pin(upgrade::upgrade(&upstream, request, head, self.timeouts.head, session)).await;
        }
        let method = request.method().clone();
        let body = outgoing(request, &settle);
        match upstream.send(head, body, self.timeouts.head).await {
            Ok(answer) if answer.status().is_informational() => {
                let error = ProxyError::Broken("the cluster switched protocols unasked".into());
                Err((error, settle))
            }
            Ok(answer) => self.forward_response(answer, &method, &upstream, context, settle, permit),
            Err(error) => Err((error, settle)),
        }
    }

    /// Starts the recording of a session; `None` when the request opens no session or it is not recorded.
    async fn recorder(&self, context: &RequestContext) -> Result<Option<Recorder>, RecordError> {
        if session_kind(&context.classified, context.upgrade) != SessionKind::Session {
            return Ok(None);
        }
        Box::pin(session_recording::begin(&self.recordings, &context.live, &context.classified)).await
    }

    /// The request for the cluster: our headers, and those of the client's that may pass.
    async fn assemble(
        &self,
        request: &Request<ClientBody>,
        context: &RequestContext,
        settle: &mut AuditEntryGuard,
    ) -> Result<(Arc<Upstream>, Request<()>), ProxyError> {
        let id = context.live.grant.target.as_ref().ok_or(ProxyError::OtherTarget)?;
        let target = self.directory.find(id).await.map_err(ProxyError::Directory)?;
        let class = if context.live.rights > Rights::Read { Class::Admin } else { Class::Read };
        let upstream = self.pools.for_target(&target, class)?;
        let seen = upstream.impersonation_mode().await?;
        let mut headers = headers::inbound(request.headers(), context.upgrade);
        settle.identity(seen.apply(&context.live, &mut headers));
        if context.search == Search::Withheld {
            redaction::ask(&mut headers);
        }
        if let Some(authorization) = &upstream.authorization {
            headers.insert(header::AUTHORIZATION, authorization.clone());
        }
        // The length that was parsed, not what a header says. A GET without a body names none.
        let length = request.body().as_ref().and_then(|body| http_body::Body::size_hint(body).exact());
        if let Some(length) =
            length.filter(|length| *length > 0 || request.headers().contains_key(header::CONTENT_LENGTH))
        {
            headers.insert(header::CONTENT_LENGTH, HeaderValue::from(length));
        }
        if let Ok(value) = HeaderValue::from_str(context.request_id.as_str()) {
            headers.insert(AUDIT_ID, value);
        }
        if let Ok(value) = HeaderValue::from_str(&context.ip.to_string()) {
            headers.insert(X_FORWARDED_FOR, value);
        }
        let path = match upstream.target.base_path() {
            "" => context.path.clone(),
            base => {
                format!("{base}{}", context.path).parse().map_err(|_| ProxyError::BadRequest("its path"))?
            }
        };
        let uri = Uri::builder()
            .scheme("https")
            .authority(upstream.authority.clone())
            .path_and_query(path)
            .build()
            .map_err(|_| ProxyError::BadRequest("its path"))?;
        let mut head = Request::new(());
        head.method_mut().clone_from(request.method());
        *head.uri_mut() = uri;
        *head.headers_mut() = headers;
        Ok((upstream, head))
    }

    fn forward_response(
        &self,
        answer: Response<UpstreamBody>,
        method: &Method,
        upstream: &Upstream,
        context: &RequestContext,
        mut settle: AuditEntryGuard,
        permit: RequestPermit,
    ) -> Result<Response<Body>, (ProxyError, AuditEntryGuard)> {
        let (parts, answer) = answer.into_parts();
        settle.status(parts.status.as_u16(), None);
        let mut headers = headers::outbound(&parts.headers);
        if headers.contains_key(header::LOCATION) {
            let asked = format!("{}{}", upstream.target.base_path(), context.path.path());
            if let Err(error) =
                redirect::rewrite(&mut headers, parts.status, &upstream.redirect_context(&asked))
            {
                return Err((error, settle));
            }
        }
        let redactor = match context.search {
            Search::Withheld => match redaction::redactor(method, parts.status, &mut headers) {
                Ok(redactor) => redactor,
                Err(error) => return Err((error, settle)),
            },
            Search::None | Search::Shown(_) => None,
        };
        let (open, place) = match permit {
            RequestPermit::Stream(open) => (Some((open, self.metrics.streams.track())), None),
            RequestPermit::Request(place) => (None, Some(place)),
        };
        let live = Arc::clone(&context.live);
        let until = WatchLimits {
            ended: Some(live.token_for(context.needed)),
            idle: open.is_none().then_some(self.timeouts.idle),
        };
        let id = context.request_id.as_str();
        let answer = ClusterBody {
            answer,
            redactor,
            sent: settle.counters().0,
            settle,
            farewell: WatchEndEvent::for_answer(&context.classified, &parts.headers, &self.clock, id),
            _live: live,
            _open: open,
        };
        let mut response = Response::new(Body::watched(&self.overseer, answer, until, place));
        *response.status_mut() = parts.status;
        *response.headers_mut() = headers;
        Ok(response)
    }

    /// A request that had a grant and was refused or failed.
    fn failed(
        &self,
        error: &ProxyError,
        context: &RequestContext,
        settle: Option<AuditEntryGuard>,
    ) -> Response<Body> {
        let (status, side) = (error.status(), error.side());
        if side != Side::You {
            tracing::warn!(
                request_id = %context.request_id,
                cluster = context.live.grant.target.as_ref().map(ResourceId::key).unwrap_or_default(),
                side = side.name(),
                error = %chain(error),
                "request to a cluster failed"
            );
        }
        if let Some(mut settle) = settle {
            settle.status(status.as_u16(), Some(side));
        }
        self.count(&context.classified, status.as_u16(), Some(side));
        let mut response = error.response(context.request_id.as_str()).map(Body::full);
        response.extensions_mut().insert(error.error_text());
        response
    }

    /// A request without a grant: one log line and no audit entry, because anyone can send any number of these.
    fn refuse_unauthenticated(&self, error: &ProxyError, request_id: &Id, ip: IpAddr) -> Response<Body> {
        self.metrics.strangers.inc();
        tracing::info!(
            target: "proxy.access",
            request_id = %request_id,
            from = %ip,
            status = error.status().as_u16(),
            result = "refused",
            error = %chain(error),
            "request"
        );
        error.response(request_id.as_str()).map(Body::full)
    }

    fn count(&self, classified: &Classified, code: u16, side: Option<Side>) {
        let labels = RequestLabels { verb: classified.verb, code, side: side.map_or("", Side::name) };
        self.metrics.requests.with(&labels).inc();
    }
}

/// A client's body; `None` for a request of a portal page, which has none.
type ClientBody = Option<Incoming>;

fn is_end(body: &ClientBody) -> bool {
    body.as_ref().is_none_or(http_body::Body::is_end_stream)
}

fn outgoing(request: Request<ClientBody>, settle: &AuditEntryGuard) -> Outgoing {
    let bodiless = matches!(*request.method(), Method::GET | Method::HEAD) && is_end(request.body());
    match request.into_body() {
        Some(body) if !bodiless => Outgoing::client(body, settle.counters().1),
        Some(_) | None => Outgoing::Empty,
    }
}

impl RequestPermit {
    fn stream(self) -> Option<StreamGuard> {
        match self {
            Self::Stream(open) => Some(open),
            Self::Request(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size<A, B, F>(_: impl FnOnce(A, B) -> F) -> usize {
        size_of::<F>()
    }

    #[test]
    fn a_request_carries_no_room_for_what_is_rare() {
        let handle = size(|api: &'static ApiProxy, (request, peer)| api.handle(request, peer));
        assert!(handle <= 6 * 1024, "{handle} bytes");
    }
}
