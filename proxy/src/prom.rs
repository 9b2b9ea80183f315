//! Questions to the Prometheus of clusters, on behalf of people (`contract/portal.md` §13): who asks is
//! authorised before and audited here, answers are streamed. Pages and tools share it.
//!
//! The cluster sees the service credential; the trail has the person, the query, its range, what came back
//! and how long it took (`contract/rules.md` §3.6, shared looks).

mod body;
mod error;
mod query_audit;
mod tools;

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderName, HeaderValue, Method, Response, header};
use rp_audit::{Audit, AuditError};
use rp_base::{Id, SharedClock};
use rp_documents::{Actor, Entry, Phase, ResourceId};
use rp_net::{Directory, Target};
use rp_prometheus::alerts::Alerts;
use rp_prometheus::statistics::{LoadedStatistic, Span, Statistic};
use rp_prometheus::{Call, Limits, PromError, Prometheus, Table};
use tokio_util::sync::CancellationToken;

use crate::overseer::Overseer;

pub use body::PromBody;
pub use error::error_response;
pub use query_audit::QueryAudit;
pub use tools::{MetricsApi, MetricsApiParts};

/// Longest query of a page: the portal answers every request within 30 s.
const MOST_PAGE_TIME: Duration = Duration::from_secs(25);
/// Longest query of one cluster in a fleet query.
const MOST_FLEET_TIME: Duration = Duration::from_secs(60);

/// What pages, tools and fleet queries may cost.
#[derive(Debug, Clone, Copy)]
pub struct PromLimits {
    pub pages: Limits,
    pub tools: Limits,
    /// For each cluster of a fleet query.
    pub fleet: Limits,
    /// Clusters of a fleet query at once.
    pub parallel: usize,
}

impl PromLimits {
    fn new(settings: &rp_config::Prometheus) -> Self {
        let limits = |time| Limits {
            time,
            series: settings.series,
            drawn: settings.drawn,
            bytes: settings.answer_bytes,
        };
        Self {
            pages: limits(settings.page_time.min(MOST_PAGE_TIME)),
            tools: limits(settings.tool_time),
            fleet: limits(settings.fleet_time.min(MOST_FLEET_TIME)),
            parallel: settings.parallel,
        }
    }
}

/// What [`Prom`] is made of.
#[derive(Debug, Clone)]
pub struct PromParts {
    pub prometheus: Arc<Prometheus>,
    pub directory: Arc<dyn Directory>,
    pub audit: Audit,
    pub clock: SharedClock,
    pub settings: rp_config::Prometheus,
}

/// Asks on behalf of people. Shared; a cheap clone.
#[derive(Debug, Clone)]
pub struct Prom(Arc<PromParts>, Arc<Overseer>);

/// The person or tool on whose behalf a request is made.
#[derive(Debug, Clone)]
pub struct PromCaller {
    pub actor: Actor,
    pub request_id: Id,
    /// The grant of a tool.
    pub grant: Option<Id>,
    pub reason: String,
    /// Ends when the access does.
    pub ended: Option<CancellationToken>,
}

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
pub enum PromRequestError {
    #[error(transparent)]
    Prom(#[from] PromError),
    #[error("the audit trail cannot be written")]
    Audit(#[source] AuditError),
}

const SOURCE: HeaderName = HeaderName::from_static("x-aro-source");
const SOURCE_WHY: HeaderName = HeaderName::from_static("x-aro-source-why");
const STEP: HeaderName = HeaderName::from_static("x-aro-step");

/// A request to Prometheus' API, as it came.
#[derive(Debug)]
pub struct PromRequest<'a> {
    pub method: &'a Method,
    /// Below `api/v1/`, or `-/ready`; not decoded.
    pub tail: &'a str,
    pub query: Option<&'a str>,
    /// A form, or nothing.
    pub body: &'a [u8],
    pub limits: Limits,
}

impl Prom {
    /// Puts it together, and starts to look after the answers.
    pub fn new(parts: PromParts) -> Self {
        Self(Arc::new(parts), Overseer::start())
    }

    /// The client for the clusters' Prometheus.
    pub fn prometheus(&self) -> &Arc<Prometheus> {
        &self.0.prometheus
    }

    /// Where clusters are found.
    pub fn directory(&self) -> &Arc<dyn Directory> {
        &self.0.directory
    }

    /// What may be asked.
    pub fn limits(&self) -> PromLimits {
        PromLimits::new(&self.0.settings)
    }

    /// The target of that id.
    ///
    /// # Errors
    /// It is not known, or not to be reached.
    pub async fn target(&self, id: &ResourceId) -> Result<Arc<Target>, PromError> {
        self.0.directory.find(id).await.map_err(PromError::Directory)
    }

    /// The beginning of an audit entry; a full queue slows questions down here.
    async fn begin_entry(
        &self,
        asker: &PromCaller,
        id: Option<&ResourceId>,
        verb: &str,
    ) -> Result<QueryAudit, PromRequestError> {
        self.0.audit.room().await.map_err(PromRequestError::Audit)?;
        let now = self.0.clock.now();
        let mut entry = Entry::new(now, Phase::Single, asker.request_id.clone(), asker.actor.clone(), verb);
        entry.grant.clone_from(&asker.grant);
        entry.target = id.cloned();
        entry.reason.clone_from(&asker.reason);
        "service credential".clone_into(&mut entry.identity_used);
        "prometheus".clone_into(&mut entry.group);
        Ok(QueryAudit::new(entry, &self.0.audit, &self.0.clock))
    }

    /// Passes a request on and its answer back.
    pub async fn serve(
        &self,
        asker: &PromCaller,
        id: &ResourceId,
        asked: PromRequest<'_>,
    ) -> Response<PromBody> {
        let mut entry = match self.begin_entry(asker, Some(id), "promql").await {
            Ok(entry) => entry,
            Err(error) => return self.failed(&error, asker, id, None),
        };
        let now = self.0.clock.now();
        let call = Call::parse(asked.method, asked.tail, asked.query, asked.body, asked.limits, now);
        let call = match call {
            Ok(call) => call,
            Err(error) => {
                entry.set_query(rp_base::text::clean(asked.tail, 200));
                return self.failed(&error.into(), asker, id, Some(entry));
            }
        };
        entry.set_call(&call);
        let answered = async {
            let target = self.target(id).await?;
            self.0.prometheus.ask(&target, &call).await
        };
        let answer = match answered.await {
            Ok(answer) => answer,
            Err(error) => return self.failed(&error.into(), asker, id, Some(entry)),
        };
        entry.answered(answer.source, answer.body.passed());
        let mut response = Response::new(PromBody::empty());
        let headers = response.headers_mut();
        let text = |text: &str| HeaderValue::from_str(&rp_base::text::clean(text, 500)).ok();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(answer.content_type));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        headers.insert(SOURCE, HeaderValue::from_static(answer.source));
        if let Some(why) = answer.why.as_deref().and_then(text) {
            headers.insert(SOURCE_WHY, why);
        }
        if let Some(step) = answer.range.and_then(|(_, _, step)| text(&step.to_string())) {
            headers.insert(STEP, step);
        }
        *response.body_mut() = PromBody::watched(&self.1, answer.body, entry, asker.ended.clone());
        response
    }

    fn failed(
        &self,
        error: &PromRequestError,
        asker: &PromCaller,
        id: &ResourceId,
        entry: Option<QueryAudit>,
    ) -> Response<PromBody> {
        let shown = error::error_view(error);
        if let Some(mut entry) = entry {
            entry.failed(&shown);
        }
        error::log(error, &shown, asker, Some(id));
        error_response(&shown, asker.request_id.as_str()).map(PromBody::full)
    }

    /// A bounded answer, read whole: for pages and verbs.
    ///
    /// # Errors
    /// [`PromRequestError`], audited.
    pub async fn table(
        &self,
        asker: &PromCaller,
        id: &ResourceId,
        call: &Call,
        most: usize,
    ) -> Result<Table, PromRequestError> {
        let mut entry = self.begin_entry(asker, Some(id), "promql").await?;
        entry.set_call(call);
        let asked = async {
            let target = self.target(id).await?;
            self.0.prometheus.table(&target, call, most).await
        };
        let result = asked.await.map_err(PromRequestError::Prom);
        match &result {
            Ok(table) => entry.completed(&table.source, table.bytes, table.series.len(), table.truncated),
            Err(error) => entry.failed(&error::log(error, &error::error_view(error), asker, Some(id))),
        }
        result
    }

    /// One statistic of a cluster (`contract/portal.md` §14).
    ///
    /// # Errors
    /// [`PromRequestError`], audited.
    pub async fn statistic(
        &self,
        asker: &PromCaller,
        id: &ResourceId,
        statistic: &Statistic,
        span: Span,
    ) -> Result<LoadedStatistic, PromRequestError> {
        let mut entry = self.begin_entry(asker, Some(id), "statistics").await?;
        entry.set_query(format!("{} for {} s until {}", statistic.name, span.duration.as_secs(), span.end));
        let asked = async {
            let target = self.target(id).await?;
            self.0.prometheus.statistic(&target, statistic, span, self.limits().pages).await
        };
        let result = asked.await.map_err(PromRequestError::Prom);
        match &result {
            Ok(loaded) => entry.completed(&loaded.source, loaded.bytes, loaded.series.len(), false),
            Err(error) => entry.failed(&error::log(error, &error::error_view(error), asker, Some(id))),
        }
        result
    }

    /// What fires in a cluster.
    ///
    /// # Errors
    /// [`PromRequestError`], audited.
    pub async fn alerts(&self, asker: &PromCaller, id: &ResourceId) -> Result<Alerts, PromRequestError> {
        let mut entry = self.begin_entry(asker, Some(id), "alerts").await?;
        let asked = async {
            let target = self.target(id).await?;
            self.0.prometheus.alerts(&target, self.0.clock.now(), self.limits().pages).await
        };
        let result = asked.await.map_err(PromRequestError::Prom);
        match &result {
            Ok(alerts) => entry.completed(&alerts.source, 0, alerts.items.len(), alerts.left_out > 0),
            Err(error) => entry.failed(&error::log(error, &error::error_view(error), asker, Some(id))),
        }
        result
    }

    /// The entry of a fleet query, to be filled as it goes and written at its end.
    ///
    /// # Errors
    /// The audit trail cannot be written; no cluster may be asked.
    pub async fn fleet(
        &self,
        asker: &PromCaller,
        query: &str,
        details: Vec<String>,
    ) -> Result<QueryAudit, PromRequestError> {
        let mut entry = self.begin_entry(asker, None, "promql.fleet").await?;
        entry.set_query(query.to_owned());
        entry.details(details);
        Ok(entry)
    }
}

/// Registers the metrics of the questions: for the generated reference, and once by who asks.
pub fn register_metrics(registry: &rp_metrics::Registry) {
    rp_prometheus::register_metrics(registry);
    tools::ToolMetrics::register(registry);
}
