//! The Prometheus and the Alertmanager of a simulated cluster: their HTTP API over canned series.
//!
//! PromQL is a declared subset ([`engine`]); everything else is refused with a sentence that says so. The
//! series are a function of the cluster and of time ([`series`]): nothing is kept.

mod alerts;
mod engine;
mod series;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::sync::Arc;

use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use rp_base::{SharedClock, Timestamp};
use rp_promql::{Expr, Node};
use rp_simulator::body::{self, Body};
use rp_simulator::fleet::{Cluster, Fleet};
use rp_simulator::objects::View;
use serde_json::{Value, json};
use tokio::io::DuplexStream;
use url::form_urlencoded;

use self::engine::{Refusal, evaluate, range};

/// The service that listens in a pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MonitoringService {
    Prometheus,
    Alertmanager,
}

impl MonitoringService {
    /// The service that listens on a port of a pod.
    pub(crate) fn at_port(namespace: &str, pod: &str, port: u16) -> Option<Self> {
        match (namespace, port) {
            ("openshift-monitoring", 9090)
                if pod.starts_with("prometheus-k8s-") || pod.starts_with("thanos-querier-") =>
            {
                Some(Self::Prometheus)
            }
            ("openshift-monitoring", 9093) if pod.starts_with("alertmanager-main-") => {
                Some(Self::Alertmanager)
            }
            _ => None,
        }
    }
}

/// Serves one connection.
pub(crate) async fn serve(
    served: MonitoringService,
    cluster: Cluster,
    (fleet, clock): (Arc<Fleet>, SharedClock),
    stream: DuplexStream,
) {
    let service = service_fn(|request| {
        let now = clock.now();
        let changed = fleet.changed(&cluster, now);
        let cluster = &cluster;
        async move {
            let cluster = changed.unwrap_or_else(|| cluster.clone());
            Ok::<_, Infallible>(answer(served, cluster, now, request).await)
        }
    });
    let served = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service);
    if let Err(error) = served.await {
        tracing::debug!(error = %rp_base::chain(&error), "simulated Prometheus connection ended");
    }
}

const MOST_BODY: usize = 256 * 1024;

/// Parameters of a request.
struct Params(Vec<(String, String)>);

impl Params {
    fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }

    fn all(&self, name: &str) -> Vec<&str> {
        self.0.iter().filter(|(found, _)| found == name).map(|(_, value)| value.as_str()).collect()
    }

    #[expect(clippy::cast_precision_loss, reason = "milliseconds since 1970 fit")]
    fn time(&self, name: &str) -> Result<Option<f64>, Refusal> {
        let Some(text) = self.get(name).filter(|text| !text.is_empty()) else { return Ok(None) };
        let seconds = text.parse::<f64>().ok().filter(|seconds| seconds.abs() < 1e12);
        let instant = || Timestamp::parse(text).ok().map(|at| at.millis() as f64 / 1000.0);
        let wrong = || {
            Refusal::bad(format!("invalid parameter {name:?}: cannot parse {text:?} to a valid timestamp"))
        };
        seconds.or_else(instant).map(Some).ok_or_else(wrong)
    }
}

async fn answer(
    served: MonitoringService,
    cluster: Cluster,
    now: Timestamp,
    request: Request<Incoming>,
) -> Response<Body> {
    let (head, body) = request.into_parts();
    let body = http_body_util::Limited::new(body, MOST_BODY).collect().await.map(|read| read.to_bytes());
    let body = body.unwrap_or_default();
    let query = head.uri.query().unwrap_or_default();
    let pairs = form_urlencoded::parse(query.as_bytes()).chain(form_urlencoded::parse(&body));
    let params = Params(pairs.map(|(name, value)| (name.into_owned(), value.into_owned())).collect());
    let path = head.uri.path().to_owned();
    if matches!(path.as_str(), "/-/ready" | "/-/healthy") {
        let mut response = Response::new(body::full("Prometheus Server is Ready (simulated).\n"));
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
        return response;
    }
    // Eight weeks of a dozen charts are seconds of work: in a process of many parts it must hold up nothing else.
    let evaluated = tokio::task::spawn_blocking(move || {
        evaluated(served, &View { cluster: &cluster, now }, &path, &params)
    });
    let (status, text) = evaluated
        .await
        .unwrap_or_else(|_| (StatusCode::INTERNAL_SERVER_ERROR, "evaluation broke off".to_owned()));
    let mut response = Response::new(body::full(text));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert("x-aro-simulated", HeaderValue::from_static("true"));
    response
}

fn evaluated(
    served: MonitoringService,
    view: &View<'_>,
    path: &str,
    params: &Params,
) -> (StatusCode, String) {
    let answered = match served {
        MonitoringService::Prometheus => {
            prometheus(view, path, params).map(|data| json!({"status": "success", "data": data}))
        }
        MonitoringService::Alertmanager => alerts::alertmanager(view, path),
    };
    let (status, value) = match answered {
        Ok(value) => (StatusCode::OK, value),
        Err(refusal) => refusal.answer(),
    };
    (status, value.to_string())
}

fn parse(text: &str) -> Result<Node, Refusal> {
    rp_promql::parse(text).map_err(|error| Refusal::bad(format!("invalid parameter \"query\": {error}")))
}

fn prometheus(view: &View<'_>, path: &str, params: &Params) -> Result<Value, Refusal> {
    let tail = path.strip_prefix("/api/v1/").ok_or_else(Refusal::unknown)?;
    let text = params.get("query").unwrap_or_default();
    match tail {
        "query" => {
            let node = parse(text)?;
            #[expect(clippy::cast_precision_loss, reason = "milliseconds since 1970 fit")]
            let now = view.now.millis() as f64 / 1000.0;
            evaluate(view, &node, params.time("time")?.unwrap_or(now))
        }
        "query_range" => {
            let node = parse(text)?;
            let missing = |name: &str| Refusal::bad(format!("invalid parameter {name:?}: cannot parse \"\""));
            let start = params.time("start")?.ok_or_else(|| missing("start"))?;
            let end = params.time("end")?.ok_or_else(|| missing("end"))?;
            let step = params.get("step").unwrap_or_default();
            let step =
                step.parse().ok().or_else(|| rp_promql::duration(step)).ok_or_else(|| missing("step"))?;
            range(view, &node, start, end, step)
        }
        "format_query" => Ok(json!(rp_promql::pretty(&parse(text)?))),
        "labels" => Ok(json!(labels(view, params)?.keys().collect::<Vec<_>>())),
        "series" => {
            let mut found = Vec::new();
            for selector in params.all("match[]") {
                found.extend(selected(view, selector)?);
            }
            Ok(json!(found))
        }
        "metadata" => Ok(series::metadata(params.get("metric"))),
        "rules" => Ok(alerts::rules(view)),
        "alerts" => Ok(json!({"alerts": alerts::firing(view)})),
        "alertmanagers" => Ok(json!({"activeAlertmanagers": [], "droppedAlertmanagers": []})),
        "targets" => Ok(series::targets(view)),
        "status/buildinfo" => {
            Ok(json!({"version": "2.55.1+simulated", "revision": "simulated", "branch": "",
            "buildUser": "", "buildDate": "", "goVersion": "simulated"}))
        }
        "status/runtimeinfo" => Ok(json!({"startTime": view.cluster.created, "storageRetention": "15d"})),
        "status/flags" => Ok(json!({"storage.tsdb.retention.time": "15d"})),
        "status/config" => Ok(json!({"yaml": "# simulated\n"})),
        tail => {
            let name = tail.strip_prefix("label/").and_then(|rest| rest.strip_suffix("/values"));
            let name = name.ok_or_else(Refusal::unknown)?;
            let values = labels(view, params)?.remove(name).unwrap_or_default();
            Ok(json!(values))
        }
    }
}

/// Label sets that a selector picks.
fn selected(view: &View<'_>, selector: &str) -> Result<Vec<BTreeMap<String, String>>, Refusal> {
    let node = parse(selector)?;
    let Expr::Selector(selector) = &node.expr else {
        return Err(Refusal::bad("invalid parameter \"match[]\": a selector is needed"));
    };
    Ok(engine::select(view, selector)?.into_iter().map(|series| series.labels()).collect())
}

/// Every label of the selected series, with its values.
fn labels(view: &View<'_>, params: &Params) -> Result<BTreeMap<String, BTreeSet<String>>, Refusal> {
    let matches = params.all("match[]");
    let mut sets = Vec::new();
    if matches.is_empty() {
        sets.extend(series::all(view).into_iter().map(|series| series.labels()));
    }
    for selector in matches {
        sets.extend(selected(view, selector)?);
    }
    let mut labels: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (label, value) in sets.into_iter().flatten() {
        labels.entry(label).or_default().insert(value);
    }
    Ok(labels)
}
