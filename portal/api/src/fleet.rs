//! `POST /api/v1/fleet/query`: answers as they come, as server-sent events (WHATWG HTML, 9.2).

use std::convert::Infallible;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::response::Response;
use futures_util::{StreamExt as _, stream};
use http::{HeaderValue, header};
use portal_model::prom::fleet::{FleetQuery, RunningFleetQuery, start};
use portal_model::state::PortalState;
use portal_session::context::Ctx;
use portal_session::fault::Fault;
use portal_session::user::CurrentUser;
use rp_prometheus::fleet::{ClusterReply, data};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;

/// Between two aggregations that are sent.
const AGGREGATE_EVERY: Duration = Duration::from_millis(300);
/// A comment keeps connections open while clusters take their time.
const ALIVE_EVERY: Duration = Duration::from_secs(10);

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(
    rename = "FleetQuery",
    extend("required" = ["query", "clusters"]),
    example = serde_json::json!({"query": "sum by (phase) (kube_pod_status_phase)", "clusters": "view:not-healthy", "aggregate": "sum", "by": ["phase"]})
)]
pub struct FleetRequest {
    /// PromQL.
    query: String,
    /// Words of the list of clusters, its filters as `field:value`, or `all`.
    clusters: String,
    /// The instant of an instant query, in Unix seconds; now without.
    time: Option<f64>,
    /// Begin of a range, in Unix seconds.
    start: Option<f64>,
    /// End of a range, in Unix seconds.
    end: Option<f64>,
    /// Seconds between the samples of a range.
    step: Option<f64>,
    /// How the answers of the clusters are put together, e.g. `sum`; empty: each by itself.
    aggregate: String,
    /// Labels that stay in an aggregation.
    by: Vec<String>,
    /// Rows of an aggregation that has a number of them.
    k: Option<usize>,
    /// Seconds for each cluster.
    timeout: Option<f64>,
    /// Id of the Prometheus that is asked; without, the first that answers.
    source: Option<String>,
    /// Most series of a cluster.
    series: Option<usize>,
}

impl FleetRequest {
    fn ask(self) -> Result<FleetQuery, Fault> {
        let range = match (self.start, self.end) {
            (None, None) => None,
            (Some(start), Some(end)) => Some((start, end, self.step)),
            _ => return Err(Fault::bad_input("A range has a start and an end, in Unix seconds")),
        };
        let aggregate = (!self.aggregate.is_empty()).then_some((self.aggregate, self.by, self.k));
        Ok(FleetQuery {
            query: self.query,
            clusters: self.clusters,
            time: self.time,
            range,
            aggregate,
            source: self.source.filter(|source| !source.is_empty()),
            timeout: self.timeout,
            series: self.series,
        })
    }
}

/// One PromQL over a set of clusters.
pub async fn query(
    State(state): State<PortalState>,
    user: CurrentUser,
    Ctx(context): Ctx,
    body: Bytes,
) -> Result<Response, Fault> {
    let asked: FleetRequest = serde_json::from_slice(&body)
        .map_err(|error| Fault::bad_input(format!("The body is JSON with query and clusters: {error}")))?;
    let running = match start(&state, &user, &asked.ask()?).await {
        Ok(running) => running,
        Err(fault) => return Ok(fault.json(&context.id)),
    };
    let telling = FleetEvents::new(running);
    let events = stream::unfold(telling, |mut telling| async move {
        telling.next().await.map(|event| (Ok::<_, Infallible>(event), telling))
    });
    let mut response = Response::new(Body::from_stream(events.fuse()));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Plan,
    Replies,
    End,
    Over,
}

/// A fleet query that is streamed event by event. Dropping it cancels the query.
struct FleetEvents {
    running: RunningFleetQuery,
    stage: Stage,
    began: Instant,
    aggregated: Instant,
    bytes: u64,
}

impl FleetEvents {
    fn new(running: RunningFleetQuery) -> Self {
        let now = Instant::now();
        Self { running, stage: Stage::Plan, began: now, aggregated: now, bytes: 0 }
    }

    async fn next(&mut self) -> Option<Bytes> {
        match self.stage {
            Stage::Plan => {
                self.stage = Stage::Replies;
                let plan =
                    json!({"clusters": self.running.progress.clusters, "parallel": self.running.parallel});
                Some(self.event("plan", &plan))
            }
            Stage::Replies => Some(self.reply().await),
            Stage::End => Some(self.end()),
            Stage::Over => None,
        }
    }

    async fn reply(&mut self) -> Bytes {
        let merging = self.running.merge.is_some();
        if merging && self.aggregated.elapsed() >= AGGREGATE_EVERY && self.running.progress.answered > 0 {
            self.aggregated = Instant::now();
            return self.aggregate();
        }
        match tokio::time::timeout(ALIVE_EVERY, self.running.next()).await {
            Err(_) => Bytes::from_static(b": waiting\n\n"),
            Ok(Some(reply)) => {
                let (name, value) = told(&reply, merging);
                self.event(name, &value)
            }
            Ok(None) => {
                self.stage = Stage::End;
                if merging { self.aggregate() } else { self.end() }
            }
        }
    }

    fn end(&mut self) -> Bytes {
        self.stage = Stage::Over;
        let mut end = json!(self.running.progress);
        end["took_ms"] = json!(millis(self.began.elapsed()));
        let event = self.event("end", &end);
        self.running.end(self.bytes);
        event
    }

    fn aggregate(&mut self) -> Bytes {
        let progress = self.running.progress;
        let Some(merge) = &self.running.merge else { return Bytes::new() };
        let value = json!({
            "data": data(merge.kind(), &merge.result()),
            "answered": progress.answered,
            "missing": progress.failed + progress.waiting(),
            "partial": merge.left_out,
        });
        self.event("aggregate", &value)
    }

    fn event(&mut self, name: &str, value: &Value) -> Bytes {
        let text = format!("event: {name}\ndata: {value}\n\n");
        self.bytes += text.len() as u64;
        Bytes::from(text)
    }
}

fn millis(took: Duration) -> u64 {
    u64::try_from(took.as_millis()).unwrap_or(u64::MAX)
}

fn told(reply: &ClusterReply, merging: bool) -> (&'static str, Value) {
    let mut value = json!({
        "cluster": reply.member.name, "path": reply.member.id.key(), "took_ms": millis(reply.took),
    });
    match &reply.result {
        Err(error) => {
            let shown = error.shown();
            value["error"] = json!({
                "what": shown.message, "why": shown.message, "side": shown.side.name(), "code": shown.code,
                "action": shown.action,
            });
            ("fault", value)
        }
        Ok(table) => {
            value["source"] = json!(table.source);
            value["series"] = json!(table.series.len());
            value["partial"] = json!(table.truncated);
            value["warnings"] = json!(table.warnings);
            if !merging {
                value["data"] = data(&table.kind, &table.series);
            }
            ("answer", value)
        }
    }
}
