//! One query to many clusters: bounded parallelism, results streamed as they arrive, aggregated here.

mod merge;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{Stream, StreamExt as _, stream};
use rp_documents::ResourceId;
use rp_net::Directory;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::call::{Call, Limits};
use crate::error::PromError;
use crate::reach::Prometheus;
use crate::source::SourceChoice;
use crate::table::{Series, Table, number};

pub use merge::{Aggregate, Merge, Op};

/// The query that is sent to every cluster.
#[derive(Debug, Clone)]
pub struct FanOutQuery {
    pub query: String,
    /// Unix seconds of an instant query; `None`: now, the same instant for all.
    pub time: Option<f64>,
    /// Start, end and step of a range query.
    pub range: Option<(f64, f64, Option<f64>)>,
    pub source: SourceChoice,
    /// For each cluster: time, series, bytes.
    pub limits: Limits,
    /// Clusters at once.
    pub parallel: usize,
}

/// One cluster to query.
#[derive(Debug, Clone)]
pub struct Member {
    pub name: String,
    pub id: ResourceId,
}

/// The result of one cluster.
#[derive(Debug)]
pub struct ClusterReply {
    pub member: Member,
    pub took: Duration,
    pub result: Result<Table, PromError>,
}

/// Bytes of one cluster's answer.
const MOST_BYTES: usize = 4 << 20;

impl FanOutQuery {
    fn call(&self, now: f64) -> Result<Call, PromError> {
        match self.range {
            None => Ok(Call::instant(&self.query, Some(self.time.unwrap_or(now)), self.source, self.limits)),
            Some((start, end, step)) => {
                Call::over(&self.query, (start, end), step, 250, self.source, self.limits)
            }
        }
    }
}

/// Asks all members; replies come as they are there. Dropping the stream cancels what is under way.
///
/// # Errors
/// The cost guard refuses the query; no cluster was queried.
pub fn ask(
    prometheus: &Arc<Prometheus>,
    directory: &Arc<dyn Directory>,
    members: Vec<Member>,
    question: &FanOutQuery,
) -> Result<impl Stream<Item = ClusterReply> + Send + use<>, PromError> {
    let (prometheus, directory) = (Arc::clone(prometheus), Arc::clone(directory));
    let call = Arc::new(question.call(prometheus.now())?);
    let parallel = question.parallel.max(1);
    Ok(stream::iter(members)
        .map(move |member| {
            let (prometheus, directory, call) =
                (Arc::clone(&prometheus), Arc::clone(&directory), Arc::clone(&call));
            async move { one(&prometheus, &*directory, member, &call).await }
        })
        .buffer_unordered(parallel))
}

async fn one(
    prometheus: &Prometheus,
    directory: &dyn Directory,
    member: Member,
    call: &Call,
) -> ClusterReply {
    let began = Instant::now();
    let asked = async {
        let target = directory.find(&member.id).await.map_err(PromError::Directory)?;
        prometheus.table(&target, call, MOST_BYTES).await
    };
    // Dialling and waiting count: a cluster that hangs uses a parallel slot no longer than this.
    let limit = call.limits.time + Duration::from_secs(1);
    let result = tokio::time::timeout(limit, asked).await.unwrap_or(Err(PromError::Slow(call.limits.time)));
    let result = result.map(|mut table| {
        for series in &mut table.series {
            label(&mut series.metric, &member.name);
        }
        table
    });
    ClusterReply { member, took: began.elapsed(), result }
}

/// Adds the label `cluster`; one that the cluster itself gave becomes `exported_cluster`, as in a scrape.
fn label(metric: &mut BTreeMap<String, String>, name: &str) {
    if let Some(own) = metric.insert("cluster".to_owned(), name.to_owned()) {
        metric.insert("exported_cluster".to_owned(), own);
    }
}

/// Rows as Prometheus' API writes them.
pub fn data(kind: &str, series: &[Series]) -> Value {
    let sample = |(at, value): &(f64, f64)| json!([at, number(*value)]);
    let rows: Vec<Value> = series
        .iter()
        .map(|series| match kind {
            "matrix" => {
                json!({"metric": series.metric, "values": series.samples.iter().map(sample).collect::<Vec<_>>()})
            }
            _ => json!({"metric": series.metric, "value": series.samples.first().map(sample)}),
        })
        .collect();
    // A scalar cannot carry the label of its cluster: it is returned as a vector.
    json!({"resultType": if kind == "matrix" { "matrix" } else { "vector" }, "result": rows})
}

/// Progress of a fleet query.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Progress {
    pub clusters: usize,
    pub answered: usize,
    pub failed: usize,
    pub series: usize,
    /// Some failed or were cut.
    pub partial: bool,
}

impl Progress {
    /// Counts a reply.
    pub fn note(&mut self, reply: &ClusterReply) {
        match &reply.result {
            Ok(table) => {
                self.answered += 1;
                self.series += table.series.len();
                self.partial |= table.truncated || !table.warnings.is_empty();
            }
            Err(_) => {
                self.failed += 1;
                self.partial = true;
            }
        }
    }

    /// Clusters that have not replied.
    pub const fn waiting(&self) -> usize {
        self.clusters.saturating_sub(self.answered + self.failed)
    }
}
