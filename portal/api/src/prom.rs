//! Prometheus' HTTP API behind a session (`contract/portal.md` §13), and what the explorer asks beside it.

use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse as _, Response};
use portal_model::prom;
use portal_model::prom::{PromFault, asker, choice};
use portal_model::state::PortalState;
use portal_session::context::Ctx;
use portal_session::fault::Fault;
use portal_session::json::json;
use portal_session::user::CurrentUser;
use proxy::prom::{PromBody, PromRequest};
use rp_base::Timestamp;
use rp_documents::ResourceId;
use rp_prometheus::{CompletionKind, CompletionRequest, PromError, SourceState};
pub use rp_prometheus::{Suggestions, alerts::Alerts, statistics::StatSeries};
pub use rp_promql::Explanation;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::answer::Query;

/// A form of parameters.
const MOST_BODY: usize = 256 * 1024;

/// A cluster in a path.
pub type ClusterPath = Path<(String, String, String)>;

/// The cluster that a path names.
pub fn cluster(path: &(String, String, String)) -> Result<ResourceId, Fault> {
    ResourceId::from_parts(&path.0, &path.1, &path.2).map_err(|_| Fault::no_cluster())
}

/// `…/prometheus/api/v1/{tail}`, `…/prometheus/-/{tail}` and `/api/v1/prom{RES}/{tail}`: one handler. The tail is
/// taken as it was sent, because names of labels in it may be escaped.
pub async fn serve(
    State(state): State<PortalState>,
    user: CurrentUser,
    request: Request,
) -> Result<Response, Fault> {
    let (head, body) = request.into_parts();
    let (id, tail) = split(head.uri.path()).ok_or_else(Fault::not_found)?;
    let body = axum::body::to_bytes(body, MOST_BODY)
        .await
        .map_err(|_| Fault::status(http::StatusCode::PAYLOAD_TOO_LARGE))?;
    let prom = &state.model.clusters.prom;
    let asked = PromRequest {
        method: &head.method,
        tail,
        query: head.uri.query(),
        body: &body,
        limits: prom.limits().pages,
    };
    let response: http::Response<PromBody> = prom.serve(&asker(&user), &id, asked).await;
    Ok(response.map(Body::new))
}

/// The cluster and the tail of any of the three addresses.
fn split(path: &str) -> Option<(ResourceId, &str)> {
    let helper = path.strip_prefix("/api/v1/prom");
    let (id, rest) = ResourceId::parse_prefix(helper.unwrap_or(path)).ok()?;
    let rest = rest.strip_prefix('/')?;
    if helper.is_some() {
        return Some((id, rest));
    }
    let tail = rest.strip_prefix("prometheus/")?;
    tail.strip_prefix("api/v1/").or_else(|| tail.starts_with("-/").then_some(tail)).map(|tail| (id, tail))
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "PrometheusSources")]
pub struct SourcesResponse {
    /// Id of the one that is asked now.
    chosen: &'static str,
    /// Why it is not the first; empty when it is.
    why: String,
    items: Vec<SourceState>,
}

/// Which Prometheus there are, and which one is asked.
pub async fn sources(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    Path(path): ClusterPath,
) -> Result<Response, Fault> {
    let id = cluster(&path)?;
    match prom::sources(&state, &id).await {
        Ok((chosen, why, items)) => json(&SourcesResponse { chosen, why, items }),
        Err(fault) => Ok(fault.json(&context.id)),
    }
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SuggestQuery {
    /// What is completed; `metric` without.
    #[schemars(extend("enum" = ["metric", "label", "value"]))]
    what: String,
    /// What is typed: words that all occur.
    q: String,
    /// Only labels and values of this metric.
    metric: Option<String>,
    /// The label whose values are completed.
    label: Option<String>,
    /// Rows; 100 without.
    limit: Option<usize>,
    /// Id of the Prometheus that is asked; without, the first that answers.
    source: Option<String>,
}

/// Names that begin or contain what was typed.
pub async fn suggest(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    Path(path): ClusterPath,
    Query(query): Query<SuggestQuery>,
) -> Result<Response, Fault> {
    let id = cluster(&path)?;
    let metric = query.metric.filter(|metric| !metric.is_empty());
    let what = match (query.what.as_str(), query.label.filter(|label| !label.is_empty())) {
        ("" | "metric", _) => CompletionKind::Metrics,
        ("label", _) => CompletionKind::Labels { metric },
        ("value", Some(label)) => CompletionKind::Values { label, metric },
        _ => return Err(Fault::bad_input("what is metric, label, or value with a label")),
    };
    let suggested = async {
        let source = choice(query.source.as_deref())?;
        let wish = CompletionRequest { what, text: query.q, limit: query.limit.unwrap_or(100), source };
        let target = state.model.clusters.prom.target(&id).await?;
        let found = state.model.clusters.prom.prometheus().suggest(&target, &wish).await;
        found.map_err(|shown| PromFault { shown: Box::new(shown) })
    };
    match suggested.await {
        Ok(found) => json(&found),
        Err(fault) => Ok(fault.json(&context.id)),
    }
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("required" = ["query"]))]
pub struct ExplainQuery {
    /// PromQL.
    query: String,
}

/// What a query does; asks no cluster.
pub async fn explain(Ctx(context): Ctx, Query(query): Query<ExplainQuery>) -> Result<Response, Fault> {
    match rp_promql::explain(&query.query) {
        Ok(explained) => json(&explained),
        Err(error) => {
            let (position, message) = (Some(error.position), error.to_string());
            let error = PromError::Refused { status: 400, kind: "bad_data".to_owned(), message, position };
            Ok(PromFault::from(error).json(&context.id))
        }
    }
}

/// What fires in a cluster.
pub async fn alerts(
    State(state): State<PortalState>,
    user: CurrentUser,
    Ctx(context): Ctx,
    Path(path): ClusterPath,
) -> Result<Response, Fault> {
    let id = cluster(&path)?;
    match prom::alerts(&state, &user, &id).await {
        Ok(alerts) => json(&alerts),
        Err(fault) => Ok(fault.json(&context.id)),
    }
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("required" = ["duration", "endtime"]))]
pub struct StatisticQuery {
    /// A Go duration such as 90s, 30m or 168h.
    duration: String,
    #[schemars(with = "Timestamp")]
    endtime: String,
    /// Pixels that it is drawn on: no finer samples are loaded.
    width: Option<u32>,
}

/// The names of all statistics, for the document of the API.
pub fn statistic_names() -> Vec<&'static str> {
    rp_prometheus::statistics::ALL.iter().map(|one| one.name).collect()
}

/// `contract/portal.md` §14: duration, end time, type, checked in this order. With `width`, no finer than can
/// be drawn on so many pixels.
pub async fn statistic(
    State(state): State<PortalState>,
    user: CurrentUser,
    Path((sub, group, name, kind)): Path<(String, String, String, String)>,
    Query(query): Query<StatisticQuery>,
) -> Result<Response, Fault> {
    use rp_prometheus::statistics;
    let duration = statistics::go_duration(&query.duration).ok_or_else(|| {
        Fault::bad_input("duration is a Go duration such as 90s, 30m or 168h; there are no days and weeks")
    })?;
    let end = Timestamp::parse(&query.endtime)
        .map_err(|_| Fault::bad_input("endtime is an RFC 3339 instant such as 2026-11-21T12:00:00Z"))?;
    let statistic = statistics::find(&kind).ok_or_else(|| {
        let names: Vec<&str> = statistics::ALL.iter().map(|one| one.name).collect();
        Fault::bad_input(format!("No statistic has this name; there are {}", names.join(", ")))
    })?;
    let id = cluster(&(sub, group, name))?;
    let span = statistics::Span { duration, end, width: query.width };
    match prom::statistic(&state, &user, &id, statistic, span).await {
        // Serializing megabytes of numbers would block the other tasks of this worker thread.
        Ok(loaded) => {
            let written = tokio::task::spawn_blocking(move || json(&loaded.series)).await;
            written.map_err(|_| Fault::internal())?
        }
        Err(fault) => Ok(fault.into_response()),
    }
}
