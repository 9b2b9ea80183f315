//! The door of `aro tunnel`: `{RES}/tunnel` on the proxy's host, a WebSocket with a bearer grant of kind tunnel.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, header};
use hyper::body::Incoming;
use rp_access::{Access, ActiveGrant};
use rp_base::{Id, SharedClock, SharedRandom, chain};
use rp_documents::{GrantKind, ResourceId, Side};
use rp_metrics::{Counter, Family, Gauge, Registry, labels, metrics};
use rp_tunnel::{Keepalive, PROTOCOL};
use serde_json::json;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::destinations::Destinations;
use super::session::Session;
use crate::api::{Body, ProxyError, bearer};

labels! {
    /// How a stream of a tunnel began or ended.
    pub(crate) struct TunnelLabels { result: &'static str }
}

metrics! {
    /// Tunnels of `aro tunnel`.
    pub(crate) struct TunnelMetrics("aro_tunnel") {
        /// Tunnels that are open.
        pub(crate) open: Gauge = "open";
        /// Connections through tunnels that are open.
        pub(crate) connections: Gauge = "connections";
        /// Connections asked for through tunnels, by result: ok, refused, failed, cut.
        pub(crate) asked: Family<TunnelLabels, Counter> = "connections_total";
        /// Bytes that came from clients.
        pub(crate) received: Counter = "received_bytes_total";
        /// Bytes that went to clients.
        pub(crate) sent: Counter = "sent_bytes_total";
        /// Requests for a tunnel refused because they had no living grant for it.
        pub(crate) strangers: Counter = "strangers_total";
    }
}

/// What the door is made of.
#[derive(Debug)]
pub struct TunnelApiParts {
    pub access: Arc<Access>,
    pub places: Arc<Destinations>,
    pub clock: SharedClock,
    pub random: SharedRandom,
    pub registry: Registry,
    pub keepalive: Keepalive,
    /// From then on clients are told to go elsewhere with new streams.
    pub stopping: CancellationToken,
    /// Cuts what is open.
    pub cut: CancellationToken,
}

/// Serves tunnels.
#[derive(Debug)]
pub struct TunnelApi {
    pub(super) access: Arc<Access>,
    pub(super) places: Arc<Destinations>,
    pub(super) clock: SharedClock,
    pub(super) metrics: TunnelMetrics,
    pub(super) keepalive: Keepalive,
    pub(super) stopping: CancellationToken,
    pub(super) cut: CancellationToken,
    random: SharedRandom,
    tasks: TaskTracker,
}

const MOUNT: &str = "/tunnel";
const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const NEW_GRANT: &str = "Run aro tunnel again; it asks for a new access.";

impl TunnelApi {
    /// Puts it together.
    pub fn new(parts: TunnelApiParts) -> Arc<Self> {
        Arc::new(Self {
            access: parts.access,
            places: parts.places,
            clock: parts.clock,
            metrics: TunnelMetrics::register(&parts.registry),
            keepalive: parts.keepalive,
            stopping: parts.stopping,
            cut: parts.cut,
            random: parts.random,
            tasks: TaskTracker::new(),
        })
    }

    /// Whether a path is a tunnel's. Decided before any router normalises.
    pub fn matches(path: &str) -> bool {
        split(path).is_some()
    }

    /// Waits until every tunnel is over; call it once none can begin.
    pub async fn finished(&self) {
        self.tasks.close();
        self.tasks.wait().await;
    }

    /// Answers a request: 101, or why not.
    pub async fn handle(self: &Arc<Self>, request: Request<Incoming>, peer: SocketAddr) -> Response<Body> {
        let request_id = Id::random(&*self.random);
        let ip = peer.ip().to_canonical();
        let mut response = match self.open(request, &request_id, ip).await {
            Ok(response) => response,
            Err(error) => {
                self.metrics.strangers.inc();
                tracing::info!(
                    target: "proxy.access",
                    request_id = %request_id,
                    peer = %ip,
                    status = error.status().as_u16(),
                    result = "refused",
                    error = %chain(&error),
                    "tunnel"
                );
                refused(&error, &request_id)
            }
        };
        if let Ok(id) = HeaderValue::from_str(request_id.as_str()) {
            response.headers_mut().insert(X_REQUEST_ID, id);
        }
        response
    }

    async fn open(
        self: &Arc<Self>,
        mut request: Request<Incoming>,
        request_id: &Id,
        ip: IpAddr,
    ) -> Result<Response<Body>, ProxyError> {
        let (live, target) = self.admit(&request, ip).await?;
        let accept = handshake(&request)?;
        self.access.rates().stream(live.grant.primary_id().as_str()).map_err(ProxyError::TooOften)?;
        let guard = self.access.stream(&live, || "tunnel".to_owned()).map_err(ProxyError::TooManyStreams)?;
        let session = Session::new(Arc::clone(self), live, target, request_id.clone(), ip, guard);
        // No data flows before the audit entry is durable.
        session.begin().await.map_err(ProxyError::Audit)?;
        let upgrade = hyper::upgrade::on(&mut request);
        self.tasks.spawn(session.run(upgrade));
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
        let headers = response.headers_mut();
        headers.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
        headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
        headers.insert(header::SEC_WEBSOCKET_ACCEPT, accept);
        headers.insert(header::SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(PROTOCOL));
        Ok(response)
    }

    async fn admit(
        &self,
        request: &Request<Incoming>,
        ip: IpAddr,
    ) -> Result<(Arc<ActiveGrant>, ResourceId), ProxyError> {
        let target = split(request.uri().path()).ok_or(ProxyError::BadRequest("no such address"))?;
        let live =
            self.access.authenticate(bearer(request.headers())?, ip).await.map_err(ProxyError::Refused)?;
        if live.grant.kind != GrantKind::Tunnel {
            return Err(ProxyError::OtherKind);
        }
        if live.grant.target.as_ref() != Some(&target) {
            return Err(ProxyError::OtherTarget);
        }
        Ok((live, target))
    }
}

/// The answer to the client's key (RFC 6455 §4.2), if it is a handshake for our frames. A browser is not a client of
/// this door: it would send its origin.
fn handshake(request: &Request<Incoming>) -> Result<HeaderValue, ProxyError> {
    let headers = request.headers();
    let one = |name: HeaderName| single(headers, &name);
    let is = |name, word: &str| one(name).is_some_and(|value| value.eq_ignore_ascii_case(word));
    let upgrades = one(header::CONNECTION)
        .is_some_and(|value| value.split(',').any(|part| part.trim().eq_ignore_ascii_case("upgrade")));
    let sound = request.method() == Method::GET
        && request.version() == http::Version::HTTP_11
        && upgrades
        && is(header::UPGRADE, "websocket")
        && is(header::SEC_WEBSOCKET_VERSION, "13")
        && !headers.contains_key(header::ORIGIN)
        && http_body::Body::is_end_stream(request.body());
    if !sound {
        return Err(ProxyError::BadRequest("a tunnel is a WebSocket of aro tunnel"));
    }
    let ours = one(header::SEC_WEBSOCKET_PROTOCOL)
        .is_some_and(|value| value.split(',').any(|part| part.trim() == PROTOCOL));
    if !ours {
        return Err(ProxyError::BadRequest("this version of aro tunnel is not known here"));
    }
    let key = one(header::SEC_WEBSOCKET_KEY).filter(|key| key.len() == 24);
    let key = key.ok_or(ProxyError::BadRequest("no key of a WebSocket"))?;
    HeaderValue::from_str(&derive_accept_key(key.as_bytes()))
        .map_err(|_| ProxyError::BadRequest("no key of a WebSocket"))
}

fn single<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (Some(value), None) => value.to_str().ok(),
        _ => None,
    }
}

/// `{RES}/tunnel` and nothing after it.
fn split(path: &str) -> Option<ResourceId> {
    let (id, rest) = ResourceId::parse_prefix(path).ok()?;
    rest.eq_ignore_ascii_case(MOUNT).then_some(id)
}

/// The wire error of our JSON.
fn refused(error: &ProxyError, request_id: &Id) -> Response<Body> {
    let (code, message) = match error {
        ProxyError::OtherKind => ("other_kind", "This token is none for a tunnel.".to_owned()),
        _ => error.words(),
    };
    let action = if error.side() == Side::You { NEW_GRANT } else { "Try again in a moment." };
    let body = json!({ "error": {
        "code": code, "message": message, "side": error.side().name(), "action": action,
        "request_id": request_id.as_str(),
    }});
    let mut response = Response::new(Body::full(Bytes::from(body.to_string())));
    *response.status_mut() = error.status();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    if error.status() == StatusCode::UNAUTHORIZED {
        headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mount_ends_the_path() {
        let res = "/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/g/providers/Microsoft.RedHatOpenShift/openShiftClusters/C";
        assert!(TunnelApi::matches(&format!("{res}/Tunnel")));
        for other in ["", "/tunnel/", "/tunnels", "/tunnel/x", "/kubeconfig/proxy"] {
            assert!(!TunnelApi::matches(&format!("{res}{other}")), "{other}");
        }
    }

    #[test]
    fn a_header_that_comes_twice_is_none() {
        let mut headers = HeaderMap::new();
        headers.append(header::UPGRADE, HeaderValue::from_static("websocket"));
        assert_eq!(single(&headers, &header::UPGRADE), Some("websocket"));
        headers.append(header::UPGRADE, HeaderValue::from_static("websocket"));
        assert_eq!(single(&headers, &header::UPGRADE), None);
    }
}
