//! Parts of the overview that only Prometheus knows. The page does not wait for them: each is fetched once it is there
//! (`{RES}/overview?card=…`).

use std::time::Duration;

use axum::response::Response;
use http::StatusCode;
use portal_model::index::Entry;
use portal_model::prom;
use portal_model::prom::{Kind, PromQuery};
use portal_model::state::PortalState;
use portal_session::context::Context;
use portal_session::fault::Fault;
use portal_session::user::CurrentUser;
use web::objects::{FiringAlert, alerts_panel};
use web::{Block, Pair, Panel, Skeleton, Slot, Value, explore_href};

use crate::answer::html;
use crate::frame::frame;

/// Maximum wait of a card.
const PATIENCE: Duration = Duration::from_secs(20);

/// The cards before their answers.
pub(crate) fn awaited(entry: &Entry) -> Vec<Panel> {
    let base = entry.path();
    let later = |card: &str| format!("{base}/overview?card={card}");
    let api = Panel::new("api", "API server and etcd, now")
        .link("Statistics", format!("{base}/statistics"))
        .slot(Slot::Loading(Skeleton::lines("API server", 3)));
    vec![alerts_panel(&base, Slot::Ready, &[], Some(later("alerts"))), Panel { later: later("api"), ..api }]
}

/// One card.
pub(crate) async fn card(
    state: &PortalState,
    context: &Context,
    user: &CurrentUser,
    entry: &Entry,
    card: &str,
) -> Result<Response, Fault> {
    if !entry.reachable {
        return Err(Fault::not_found());
    }
    let panel = match card {
        "alerts" => alerts(state, context, user, entry).await,
        "api" => api(state, context, user, entry).await,
        _ => return Err(Fault::not_found()),
    };
    let text = panel.html(&frame(state, context)).map_err(|error| {
        tracing::error!(error = %error, "a card could not be rendered");
        Fault::internal()
    })?;
    let mut response = html(text);
    *response.status_mut() = StatusCode::OK;
    Ok(response)
}

fn too_slow() -> Fault {
    let what = "Its Prometheus did not answer in time";
    Fault::new(StatusCode::GATEWAY_TIMEOUT, "timeout", rp_documents::Side::Cluster, what)
        .why("The rest of this page does not come from Prometheus and is not affected.")
}

async fn alerts(state: &PortalState, context: &Context, user: &CurrentUser, entry: &Entry) -> Panel {
    let base = entry.path();
    let found = tokio::time::timeout(PATIENCE, prom::alerts(state, user, &entry.id)).await;
    let found = found.map_err(|_| too_slow()).and_then(|found| found.map_err(Fault::from));
    match found {
        Ok(found) => alerts_panel(&base, Slot::Ready, &firing(&found.items), None),
        Err(fault) => {
            let failure = fault.link("Try again", format!("{base}/alerts")).failure(&frame(state, context));
            alerts_panel(&base, Slot::Failed(failure), &[], None)
        }
    }
}

/// Firing alerts that are not silenced, one line per name, most severe first.
fn firing(alerts: &[rp_prometheus::alerts::Alert]) -> Vec<FiringAlert> {
    let mut names: Vec<FiringAlert> = Vec::new();
    let loud = alerts.iter().filter(|a| a.state == "firing" && a.silenced_by.is_empty() && !a.inhibited);
    // Watchdog always fires: it shows that alerting works.
    for alert in loud.filter(|alert| alert.name != "Watchdog") {
        let since = alert.since.map(rp_base::Timestamp::seconds);
        match names.iter_mut().find(|each| each.name == alert.name && each.severity == alert.severity) {
            Some(each) => {
                each.count += 1;
                each.since = [each.since, since].into_iter().flatten().min();
            }
            None => names.push(FiringAlert {
                name: alert.name.clone(),
                severity: alert.severity.clone(),
                count: 1,
                since,
                summary: alert.summary.clone(),
                runbook: alert.runbook.clone(),
            }),
        }
    }
    let rank = |severity: &str| match severity {
        "critical" => 0,
        "warning" => 1,
        _ => 2,
    };
    names.sort_by(|a, b| rank(&a.severity).cmp(&rank(&b.severity)).then_with(|| a.since.cmp(&b.since)));
    names
}

/// The query of a card and the format of its number.
struct CardQuery {
    label: &'static str,
    query: &'static str,
    told: fn(f64) -> String,
}

const QUESTIONS: [CardQuery; 4] = [
    CardQuery {
        label: "Latency, p99",
        query: "histogram_quantile(0.99, sum by (le) (rate(apiserver_request_duration_seconds_bucket{job=\"apiserver\",verb!~\"WATCH|CONNECT\"}[5m])))",
        told: duration,
    },
    CardQuery {
        label: "Requests",
        query: "sum(rate(apiserver_request_total{job=\"apiserver\"}[5m]))",
        told: |value| format!("{value:.1} per second"),
    },
    CardQuery {
        label: "Server errors",
        query: "sum(rate(apiserver_request_total{job=\"apiserver\",code=~\"5..\"}[5m])) / sum(rate(apiserver_request_total{job=\"apiserver\"}[5m]))",
        told: |value| format!("{:.2} %", value * 100.0),
    },
    CardQuery {
        label: "etcd commit, p99",
        query: "histogram_quantile(0.99, sum by (le) (rate(etcd_disk_backend_commit_duration_seconds_bucket[5m])))",
        told: duration,
    },
];

fn duration(seconds: f64) -> String {
    if seconds < 1.0 { format!("{:.0} ms", seconds * 1000.0) } else { format!("{seconds:.1} s") }
}

async fn api(state: &PortalState, context: &Context, user: &CurrentUser, entry: &Entry) -> Panel {
    let base = entry.path();
    let panel =
        Panel::new("api", "API server and etcd, now").link("Statistics", format!("{base}/statistics"));
    let asked = QUESTIONS.iter().map(|question| number(state, user, entry, question));
    let all = tokio::time::timeout(PATIENCE, futures_util::future::join_all(asked)).await;
    let all = match all {
        Ok(all) => all,
        Err(_) => vec![Err(too_slow())],
    };
    if let Some(fault) =
        all.iter().find_map(|one| one.as_ref().err()).filter(|_| all.iter().all(Result::is_err))
    {
        let failure =
            fault.clone().link("Try again", format!("{base}/statistics")).failure(&frame(state, context));
        return panel.slot(Slot::Failed(failure));
    }
    let pairs = QUESTIONS.iter().zip(all).map(|(question, value)| {
        let told = match value {
            Ok(Some(value)) => (question.told)(value),
            Ok(None) => "no data".to_owned(),
            Err(_) => "no answer".to_owned(),
        };
        let href = explore_href(&base, question.query, false, "3h");
        Pair::new(question.label, Value::Link(web::Link::new(told, href)))
    });
    panel.with(Block::Pairs(pairs.collect()))
}

/// The one number of an answer; none where it has no rows or is no number.
async fn number(
    state: &PortalState,
    user: &CurrentUser,
    entry: &Entry,
    question: &CardQuery,
) -> Result<Option<f64>, Fault> {
    let kind = Kind::Instant { time: None };
    let ask = PromQuery { query: question.query.to_owned(), kind, source: None, series: 1 };
    let table = prom::ask(state, user, &entry.id, &ask).await.map_err(Fault::from)?;
    let sample = table.series.first().and_then(|series| series.samples.last());
    Ok(sample.map(|(_, value)| *value).filter(|value| value.is_finite()))
}
