//! One request over a connection, and how its response or failure is interpreted.

use std::sync::Arc;
use std::time::Duration;

use http::header::{ACCEPT, CONTENT_TYPE, HOST, USER_AGENT};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full, Limited};
use rp_kube::KubeError;
use rp_kube::connect::dial_error;
use rp_net::DialError;
use rp_promql::Position;
use serde::Deserialize;
use tokio::time::timeout;

use crate::body::Upstream;
use crate::call::{Call, Endpoint};
use crate::cluster::{Cluster, PORT};
use crate::connection_pool::{Connection, ConnectionPool};
use crate::error::PromError;
use crate::source::Instance;
use crate::upstream_address::UpstreamAddress;

/// Longest error body that is read, bytes.
const MOST_ERROR: usize = 64 * 1024;
/// Time limit for reading an error body.
const ERROR_BODY_TIMEOUT: Duration = Duration::from_secs(3);
pub(crate) const JSON: &str = "application/json";
const TEXT: &str = "text/plain; charset=utf-8";

pub(crate) type ResponseHead = http::response::Parts;

pub(crate) fn split_response(
    answer: Response<hyper::body::Incoming>,
    connection: Connection,
    pool: Arc<ConnectionPool>,
) -> (ResponseHead, Upstream) {
    let (head, body) = answer.into_parts();
    (head, Upstream::Wire { body, connection: Some(connection), pool })
}

pub(crate) fn request(
    method: &Method,
    way: &UpstreamAddress,
    path: &str,
    body: Option<&str>,
) -> Result<Request<Full<bytes::Bytes>>, PromError> {
    let (host, base) = match way {
        UpstreamAddress::Pod { pod, port, .. } => (format!("{pod}:{port}"), ""),
        UpstreamAddress::Address(url) => (
            format!("{}:{}", url.host_str().unwrap_or_default(), url.port_or_known_default().unwrap_or(PORT)),
            url.path().trim_end_matches('/'),
        ),
        UpstreamAddress::Service { service, .. } => (service.clone(), ""),
    };
    let mut request = Request::new(Full::new(bytes::Bytes::from(body.unwrap_or_default().to_owned())));
    *request.method_mut() = method.clone();
    *request.uri_mut() = format!("{base}{path}").parse().map_err(|_| PromError::RefusedPath)?;
    let headers = request.headers_mut();
    headers.insert(HOST, HeaderValue::from_str(&host).map_err(|_| PromError::RefusedPath)?);
    headers.insert(ACCEPT, HeaderValue::from_static(JSON));
    headers.insert(USER_AGENT, HeaderValue::from_static("aro"));
    if body.is_some() {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
    }
    Ok(request)
}

pub(crate) fn service_path(namespace: &str, service: &str, port: &str, tls: bool) -> String {
    let scheme = if tls { "https:" } else { "" };
    format!("/api/v1/namespaces/{namespace}/services/{scheme}{service}:{port}/proxy")
}

pub(crate) async fn send_through_service_proxy(
    cluster: &Cluster,
    call: &Call,
    place: Instance,
    base: &str,
) -> Result<(ResponseHead, Upstream), PromError> {
    let (method, path, body) = call.wire();
    let mut request = Request::new(rp_kube::KubeBody::from(body.clone().unwrap_or_default().into_bytes()));
    *request.method_mut() = method;
    *request.uri_mut() = format!("{base}{path}").parse().map_err(|_| PromError::RefusedPath)?;
    if body.is_some() {
        let form = HeaderValue::from_static("application/x-www-form-urlencoded");
        request.headers_mut().insert(CONTENT_TYPE, form);
    }
    let answer = cluster.client.send(request).await.map_err(|error| kube_error(place, base, &error))?;
    let (head, body) = answer.into_parts();
    Ok((head, Upstream::Kube(Box::new(body))))
}

/// Passes on only responses of Prometheus itself; its error messages are kept unchanged.
pub(crate) async fn check(
    head: &ResponseHead,
    upstream: Upstream,
    place: Instance,
    call: &Call,
) -> Result<(&'static str, Upstream), PromError> {
    let kind = head.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let json = kind.starts_with(JSON);
    let health = matches!(&call.endpoint, Endpoint::Other(tail) if tail.starts_with("-/"));
    if head.status.is_success() && (json || health) {
        return Ok((if json { JSON } else { TEXT }, upstream));
    }
    let bytes = match upstream {
        Upstream::Wire { body, .. } => {
            timeout(ERROR_BODY_TIMEOUT, Limited::new(body, MOST_ERROR).collect()).await.ok()
        }
        Upstream::Kube(body) => {
            timeout(ERROR_BODY_TIMEOUT, Limited::new(body, MOST_ERROR).collect()).await.ok()
        }
    };
    let text = bytes.and_then(Result::ok).map(|read| read.to_bytes()).unwrap_or_default();
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct ErrorBody {
        #[serde(default)]
        error_type: String,
        error: String,
    }
    if let Some(body) = json.then(|| serde_json::from_slice::<ErrorBody>(&text).ok()).flatten() {
        let position = Position::in_message(&call.query, &body.error);
        let message = rp_base::text::clean(&body.error, 4000);
        return Err(PromError::Refused {
            status: head.status.as_u16(),
            kind: body.error_type,
            message,
            position,
        });
    }
    let text = String::from_utf8_lossy(&text);
    if head.status == StatusCode::SERVICE_UNAVAILABLE && !kind.contains("html") {
        let why = "it is starting, or restarting (Service Unavailable)".to_owned();
        return Err(PromError::SourceAway { place: place.id(), why });
    }
    if head.status == StatusCode::NOT_FOUND && text.trim() == "404 page not found" {
        let message = "this version of Prometheus does not know this path".to_owned();
        return Err(PromError::Refused {
            status: 404,
            kind: "not_found".to_owned(),
            message,
            position: None,
        });
    }
    let what = if kind.contains("html") { "a web page" } else { "no JSON" };
    Err(PromError::NotPrometheus {
        place: place.id(),
        what: format!("{what} (HTTP {})", head.status.as_u16()),
    })
}

pub(crate) fn error_text(error: &(dyn std::error::Error + 'static)) -> String {
    rp_base::text::clean(&rp_base::chain(error).to_string(), 300)
}

pub(crate) fn connection_error(place: Instance, error: &hyper::Error) -> PromError {
    PromError::SourceAway { place: place.id(), why: error_text(error) }
}

/// A failed dial is an error of the cluster; a refusal by its API server is an error of the source.
pub(crate) fn kube_error(place: Instance, what: &str, error: &KubeError) -> PromError {
    if let Some(dial) = dial_error(error) {
        let cause = error_text(dial);
        let mut copy = DialError::new(dial.side, dial.stage, cause);
        copy.timed_out = dial.timed_out;
        return PromError::Cluster(Box::new(copy));
    }
    let why = match rp_kube::api_status(error) {
        Some(404) => format!("{what} is not there"),
        Some(403) => "our credential may not open it".to_owned(),
        _ => error_text(error),
    };
    PromError::SourceAway { place: place.id(), why }
}
