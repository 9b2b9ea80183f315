//! Queries to Prometheus on behalf of people in a browser: for the JSON API, and for pages that work
//! without scripts. Everything here is audited by [`proxy::prom`].

pub mod fleet;

use axum::response::{IntoResponse, Response};
use http::StatusCode;
use portal_session::fault::Fault;
use portal_session::user::CurrentUser;
use proxy::prom::{PromCaller, PromRequestError, error_response};
use rp_base::Id;
use rp_documents::{Actor, ResourceId};
use rp_prometheus::alerts::Alerts;
use rp_prometheus::statistics::{LoadedStatistic, Span, Statistic};
use rp_prometheus::{Call, ErrorView, PromError, SourceChoice, SourceState, Table};
use rp_promql::Position;

use crate::state::PortalState;

/// Bytes of an answer that a page is made of.
const MOST: usize = 16 << 20;

/// A PromQL query of a page.
#[derive(Debug, Clone)]
pub struct PromQuery {
    pub query: String,
    pub kind: Kind,
    /// An id of the sources; `None`: chosen by itself.
    pub source: Option<String>,
    /// Most series.
    pub series: usize,
}

/// Of an instant or over a range, Unix seconds.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    Instant { time: Option<f64> },
    Range { start: f64, end: f64, step: Option<f64>, width: Option<u32> },
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq)]
pub struct PromFault {
    pub shown: Box<ErrorView>,
}

impl PromFault {
    /// Where a syntax error is.
    pub fn position(&self) -> Option<Position> {
        self.shown.position
    }

    /// In Prometheus' shape.
    pub fn json(&self, request_id: &Id) -> Response {
        error_response(&self.shown, request_id.as_str()).map(axum::body::Body::from)
    }
}

impl From<PromRequestError> for PromFault {
    fn from(error: PromRequestError) -> Self {
        let shown = match &error {
            PromRequestError::Prom(error) => error.shown(),
            PromRequestError::Audit(_) => ErrorView {
                status: 503,
                kind: "unavailable".to_owned(),
                code: "audit_unavailable",
                message: "The audit trail cannot be written, so nothing was asked.".to_owned(),
                side: rp_documents::Side::Us,
                action: "Try again in a moment.".to_owned(),
                position: None,
            },
        };
        Self { shown: Box::new(shown) }
    }
}

impl From<PromError> for PromFault {
    fn from(error: PromError) -> Self {
        Self { shown: Box::new(error.shown()) }
    }
}

impl From<PromFault> for Fault {
    fn from(fault: PromFault) -> Self {
        let shown = *fault.shown;
        let status = StatusCode::from_u16(shown.status).unwrap_or(StatusCode::BAD_GATEWAY);
        let message = shown.message.trim_end_matches('.');
        Self::new(status, shown.code, shown.side, message).action(shown.action)
    }
}

impl IntoResponse for PromFault {
    fn into_response(self) -> Response {
        Fault::from(self).into_response()
    }
}

/// The person on whose behalf a query runs.
pub fn asker(user: &CurrentUser) -> PromCaller {
    let caller = &user.caller;
    PromCaller {
        actor: Actor {
            sub: caller.person.sub.clone(),
            name: caller.person.name.clone(),
            from: caller.from.clone(),
        },
        request_id: caller.request_id.clone(),
        grant: None,
        reason: String::new(),
        ended: None,
    }
}

/// The choice of that id.
pub fn choice(source: Option<&str>) -> Result<SourceChoice, PromError> {
    let source = source.unwrap_or_default();
    SourceChoice::parse(source).ok_or_else(|| PromError::UnknownSource(source.chars().take(100).collect()))
}

/// Asks one cluster and waits for the rows.
pub async fn ask(
    state: &PortalState,
    user: &CurrentUser,
    id: &ResourceId,
    ask: &PromQuery,
) -> Result<Table, PromFault> {
    let prom = &state.model.clusters.prom;
    let mut limits = prom.limits().pages;
    limits.series = ask.series.clamp(1, limits.series);
    limits.drawn = limits.series;
    let source = choice(ask.source.as_deref())?;
    let call = match ask.kind {
        Kind::Instant { time } => Call::instant(&ask.query, time, source, limits),
        Kind::Range { start, end, step, width } => {
            Call::over(&ask.query, (start, end), step, width.unwrap_or(250), source, limits)?
        }
    };
    Ok(prom.table(&asker(user), id, &call, MOST).await?)
}

/// What fires in a cluster.
pub async fn alerts(state: &PortalState, user: &CurrentUser, id: &ResourceId) -> Result<Alerts, PromFault> {
    Ok(state.model.clusters.prom.alerts(&asker(user), id).await?)
}

/// One statistic of a cluster.
pub async fn statistic(
    state: &PortalState,
    user: &CurrentUser,
    id: &ResourceId,
    statistic: &Statistic,
    span: Span,
) -> Result<LoadedStatistic, PromFault> {
    Ok(state.model.clusters.prom.statistic(&asker(user), id, statistic, span).await?)
}

/// The sources of a cluster: the one that is chosen now, why not the first, all of them.
pub async fn sources(
    state: &PortalState,
    id: &ResourceId,
) -> Result<(&'static str, String, Vec<SourceState>), PromFault> {
    let prom = &state.model.clusters.prom;
    let target = prom.target(id).await?;
    // A page that loads the sources will soon need names for completion.
    prom.prometheus().warm(&target, SourceChoice::Auto);
    Ok(prom.prometheus().sources(&target)?)
}
