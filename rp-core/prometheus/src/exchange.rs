//! One question over a connection, and what its answer or failure means.

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
use crate::error::PromError;
use crate::lane::{Connection, Lane};
use crate::source::Place;
use crate::way::Way;

/// Words of an error.
const MOST_ERROR: usize = 64 * 1024;
/// For the words of an error to come.
const WORDS: Duration = Duration::from_secs(3);
pub(crate) const JSON: &str = "application/json";
const TEXT: &str = "text/plain; charset=utf-8";

pub(crate) type Head = http::response::Parts;

pub(crate) fn parted(
    answer: Response<hyper::body::Incoming>,
    connection: Connection,
    lane: Arc<Lane>,
) -> (Head, Upstream) {
    let (head, body) = answer.into_parts();
    (head, Upstream::Wire { body, connection: Some(connection), lane })
}

pub(crate) fn request(
    method: &Method,
    way: &Way,
    path: &str,
    body: Option<&str>,
) -> Result<Request<Full<bytes::Bytes>>, PromError> {
    let (host, base) = match way {
        Way::Pod { pod, port, .. } => (format!("{pod}:{port}"), ""),
        Way::Address(url) => (
            format!("{}:{}", url.host_str().unwrap_or_default(), url.port_or_known_default().unwrap_or(PORT)),
            url.path().trim_end_matches('/'),
        ),
        Way::Service { service, .. } => (service.clone(), ""),
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

pub(crate) async fn through_api(
    cluster: &Cluster,
    call: &Call,
    place: Place,
    base: &str,
) -> Result<(Head, Upstream), PromError> {
    let (method, path, body) = call.wire();
    let mut request = Request::new(rp_kube::KubeBody::from(body.clone().unwrap_or_default().into_bytes()));
    *request.method_mut() = method;
    *request.uri_mut() = format!("{base}{path}").parse().map_err(|_| PromError::RefusedPath)?;
    if body.is_some() {
        let form = HeaderValue::from_static("application/x-www-form-urlencoded");
        request.headers_mut().insert(CONTENT_TYPE, form);
    }
    let answer = cluster.client.send(request).await.map_err(|error| of_kube(place, base, &error))?;
    let (head, body) = answer.into_parts();
    Ok((head, Upstream::Kube(Box::new(body))))
}

/// Only Prometheus' own answers pass; its refusals keep their words.
pub(crate) async fn check(
    head: &Head,
    upstream: Upstream,
    place: Place,
    call: &Call,
) -> Result<(&'static str, Upstream), PromError> {
    let kind = head.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let json = kind.starts_with(JSON);
    let health = matches!(&call.endpoint, Endpoint::Other(tail) if tail.starts_with("-/"));
    if head.status.is_success() && (json || health) {
        return Ok((if json { JSON } else { TEXT }, upstream));
    }
    let bytes = match upstream {
        Upstream::Wire { body, .. } => timeout(WORDS, Limited::new(body, MOST_ERROR).collect()).await.ok(),
        Upstream::Kube(body) => timeout(WORDS, Limited::new(body, MOST_ERROR).collect()).await.ok(),
    };
    let text = bytes.and_then(Result::ok).map(|read| read.to_bytes()).unwrap_or_default();
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Said {
        #[serde(default)]
        error_type: String,
        error: String,
    }
    if let Some(said) = json.then(|| serde_json::from_slice::<Said>(&text).ok()).flatten() {
        let position = Position::in_message(&call.query, &said.error);
        let message = rp_base::text::clean(&said.error, 4000);
        return Err(PromError::Refused {
            status: head.status.as_u16(),
            kind: said.error_type,
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

pub(crate) fn said(error: &(dyn std::error::Error + 'static)) -> String {
    rp_base::text::clean(&rp_base::chain(error).to_string(), 300)
}

pub(crate) fn of_wire(place: Place, error: &hyper::Error) -> PromError {
    PromError::SourceAway { place: place.id(), why: said(error) }
}

/// A dial that failed is the cluster's; a refusal by its API server is about the pod.
pub(crate) fn of_kube(place: Place, what: &str, error: &KubeError) -> PromError {
    if let Some(dial) = dial_error(error) {
        let cause = said(dial);
        let mut copy = DialError::new(dial.side, dial.stage, cause);
        copy.timed_out = dial.timed_out;
        return PromError::Cluster(Box::new(copy));
    }
    let why = match rp_kube::api_status(error) {
        Some(404) => format!("{what} is not there"),
        Some(403) => "our credential may not open it".to_owned(),
        _ => said(error),
    };
    PromError::SourceAway { place: place.id(), why }
}
