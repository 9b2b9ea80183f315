//! Prometheus' HTTP API for tools: an address and a token are all that promtool or a dashboard needs.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, header};
use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;
use rp_access::{Access, ActiveGrant, TooManyRequests};
use rp_base::{Id, SharedRandom, chain};
use rp_documents::{Actor, GrantKind, ResourceId};
use rp_metrics::{Counter, Family, Registry, labels, metrics};
use rp_prometheus::ErrorView;

use super::{Prom, PromBody, PromCaller, PromRequest, error_response};
use crate::api::{Body, ProxyError, bearer};

labels! {
    /// How a tool's request ended.
    pub(crate) struct ToolLabels { code: u16 }
}

metrics! {
    /// The metrics API for tools.
    pub(crate) struct ToolMetrics("aro_metrics_api") {
        /// Requests that were answered, by status.
        pub(crate) requests: Family<ToolLabels, Counter> = "requests_total";
        /// Requests refused because they had no living grant.
        pub(crate) strangers: Counter = "strangers_total";
    }
}

/// What the API is made of.
#[derive(Debug)]
pub struct MetricsApiParts {
    pub access: Arc<Access>,
    pub prom: Prom,
    pub random: SharedRandom,
    pub registry: Registry,
}

/// `{RES}/prometheus/api/v1/…` on the proxy's host, with a bearer grant of kind metrics.
#[derive(Debug)]
pub struct MetricsApi {
    access: Arc<Access>,
    prom: Prom,
    random: SharedRandom,
    metrics: ToolMetrics,
}

/// A form of parameters.
const MOST_BODY: usize = 256 * 1024;
const BODY_WITHIN: Duration = Duration::from_secs(30);
const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const TOKEN: &str = "Take a token for metrics from the cluster's page in the portal.";

impl MetricsApi {
    /// Puts it together.
    pub fn new(parts: MetricsApiParts) -> Arc<Self> {
        let metrics = ToolMetrics::register(&parts.registry);
        Arc::new(Self { access: parts.access, prom: parts.prom, random: parts.random, metrics })
    }

    /// Whether a path is this API's. Decided before any router normalises.
    pub fn matches(path: &str) -> bool {
        split(path).is_some()
    }

    /// Answers a request.
    pub async fn handle(&self, request: Request<Incoming>, peer: SocketAddr) -> Response<Body> {
        let request_id = Id::random(&*self.random);
        let ip = peer.ip().to_canonical();
        let admitted = self.admit(&request, ip).await;
        let (mut response, place) = match admitted {
            Ok((live, target)) => match self.access.request(&live) {
                Ok(place) => (self.answer(request, &live, &target, &request_id, ip).await, Some(place)),
                Err(error) => (too_many_requests(error, &request_id), None),
            },
            Err(error) => {
                self.metrics.strangers.inc();
                tracing::info!(
                    target: "prom.access",
                    request_id = %request_id,
                    peer = %ip,
                    status = error.status().as_u16(),
                    result = "refused",
                    error = %chain(&error),
                    "question"
                );
                (error_response(&authentication_error(&error), request_id.as_str()).map(PromBody::full), None)
            }
        };
        self.metrics.requests.with(&ToolLabels { code: response.status().as_u16() }).inc();
        if let Ok(id) = HeaderValue::from_str(request_id.as_str()) {
            response.headers_mut().insert(X_REQUEST_ID, id);
        }
        response.map(|body| Body::prom(body, place))
    }

    async fn admit(
        &self,
        request: &Request<Incoming>,
        ip: IpAddr,
    ) -> Result<(Arc<ActiveGrant>, ResourceId), ProxyError> {
        let (target, _) = split(request.uri().path()).ok_or(ProxyError::BadRequest("no such address"))?;
        let token = token(request.headers())?;
        let live = self.access.authenticate(&token, ip).await.map_err(ProxyError::Refused)?;
        if live.grant.kind != GrantKind::Metrics {
            return Err(ProxyError::OtherKind);
        }
        if live.grant.target.as_ref() != Some(&target) {
            return Err(ProxyError::OtherTarget);
        }
        Ok((live, target))
    }

    async fn answer(
        &self,
        request: Request<Incoming>,
        live: &Arc<ActiveGrant>,
        target: &ResourceId,
        request_id: &Id,
        ip: IpAddr,
    ) -> Response<PromBody> {
        let owner = &live.grant.owner;
        let ended = live.token();
        let asker = PromCaller {
            actor: Actor { sub: owner.sub.clone(), name: owner.name.clone(), from: ip.to_string() },
            request_id: request_id.clone(),
            grant: Some(live.grant.id.clone()),
            reason: live.grant.reason.clone(),
            ended: Some(ended.clone()),
        };
        let (head, body) = request.into_parts();
        let read = tokio::time::timeout(BODY_WITHIN, Limited::new(body, MOST_BODY).collect()).await;
        let Some(body) = read.ok().and_then(Result::ok) else {
            let shown = refused(413, "too_large", format!("A request has at most {} KiB.", MOST_BODY / 1024));
            return error_response(&shown, request_id.as_str()).map(PromBody::full);
        };
        let body: Bytes = body.to_bytes();
        let tail = split(head.uri.path()).map_or("", |(_, tail)| tail);
        let asked = PromRequest {
            method: &head.method,
            tail,
            query: head.uri.query(),
            body: &body,
            limits: self.prom.limits().tools,
        };
        tokio::select! {
            biased;
            () = ended.cancelled() => {
                let shown = refused(401, "grant_ended", "This access has ended.".to_owned());
                error_response(&shown, request_id.as_str()).map(PromBody::full)
            }
            response = self.prom.serve(&asker, target, asked) => response,
        }
    }
}

/// The bearer token; or the password of basic authentication, for tools that know nothing else (promtool takes
/// `https://any:TOKEN@host/…`).
fn token(headers: &HeaderMap) -> Result<String, ProxyError> {
    if let Ok(token) = bearer(headers) {
        return Ok(token.to_owned());
    }
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let (Some(value), None) = (values.next(), values.next()) else { return Err(ProxyError::NoToken) };
    let (scheme, text) =
        value.to_str().ok().and_then(|text| text.split_once(' ')).ok_or(ProxyError::NoToken)?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return Err(ProxyError::NoToken);
    }
    let pair = STANDARD.decode(text.trim()).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    let password =
        pair.as_deref().and_then(|pair| pair.split_once(':')).map(|(_, password)| password.to_owned());
    password.ok_or(ProxyError::NoToken)
}

fn refused(status: u16, code: &'static str, message: String) -> ErrorView {
    ErrorView {
        status,
        kind: "bad_data".to_owned(),
        code,
        message,
        side: rp_documents::Side::You,
        action: if status == 401 { TOKEN.to_owned() } else { String::new() },
        position: None,
    }
}

/// Too many requests of this caller are in progress.
fn too_many_requests(error: TooManyRequests, request_id: &Id) -> Response<PromBody> {
    let (code, message) = ProxyError::TooManyRequests(error).words();
    let mut response = error_response(&refused(429, code, message), request_id.as_str()).map(PromBody::full);
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    response
}

/// The proxy's refusals in Prometheus' shape.
fn authentication_error(error: &ProxyError) -> ErrorView {
    let (status, side) = (error.status().as_u16(), error.side());
    let (code, message) = error.words();
    let message = match error {
        ProxyError::OtherKind => "This token is none for metrics.".to_owned(),
        _ => message,
    };
    let action = if side == rp_documents::Side::You { TOKEN } else { "Try again in a moment." };
    let kind = if status >= 500 { "unavailable" } else { "bad_data" };
    ErrorView {
        status,
        kind: kind.to_owned(),
        code,
        message,
        side,
        action: action.to_owned(),
        position: None,
    }
}

/// The cluster and what follows `api/v1/`, or `-/ready`. At the root, clients look whether a server is there.
fn split(path: &str) -> Option<(ResourceId, &str)> {
    const MOUNT: &str = "/prometheus/";
    let (id, rest) = ResourceId::parse_prefix(path).ok()?;
    let (mount, tail) = rest.split_at_checked(MOUNT.len())?;
    if !mount.eq_ignore_ascii_case(MOUNT) {
        return None;
    }
    let health = match tail {
        "" => "-/ready",
        tail if tail.starts_with("-/") => tail,
        _ => "",
    };
    Some((id, tail.strip_prefix("api/v1/").unwrap_or(health)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_may_be_a_password() {
        let of = |value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::AUTHORIZATION, HeaderValue::from_static(value));
            token(&headers).ok()
        };
        assert_eq!(of("Bearer abc").as_deref(), Some("abc"));
        assert_eq!(of("Basic YW55OmFybzE6eA==").as_deref(), Some("aro1:x"));
        assert_eq!(of("Basic ***"), None);
        assert_eq!(of("Digest x"), None);
    }

    #[test]
    fn the_tail_is_kept() {
        let res = "/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/g/providers/Microsoft.RedHatOpenShift/openShiftClusters/C";
        let tail = |rest: &str| split(&format!("{res}{rest}")).map(|(_, tail)| tail.to_owned());
        assert_eq!(tail("/prometheus/api/v1/label/U__a_2e_b/values").unwrap(), "label/U__a_2e_b/values");
        assert_eq!(tail("/Prometheus/-/ready").unwrap(), "-/ready");
        assert_eq!(tail("/prometheus/").unwrap(), "-/ready");
        assert_eq!(tail("/prometheus/graph").unwrap(), "");
        assert_eq!(tail("/prometheus").as_deref(), None);
        assert_eq!(tail("/kubeconfig/proxy/").as_deref(), None);
    }
}
