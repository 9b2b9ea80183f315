//! One look at one cluster, printed and not emitted: `aro monitor once`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use rp_base::text::clean;
use rp_base::{SharedClock, Timestamp};
use rp_documents::ResourceId;
use rp_net::{Budget, Dialer, Directory, DirectoryError, Target};
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::check::{Check, CheckOptions, CheckParts, SideMonitor, SubnetSource};
use crate::emit::Emitters;
use crate::view::ClusterView;
use crate::worker::Round;

/// What a look would have emitted, and the results of its collectors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Resource id.
    pub cluster: String,
    pub looked_at: Timestamp,
    pub took_ms: f64,
    /// Status of `/healthz`; 0: no answer.
    pub healthz: u16,
    /// In the contract's order.
    pub collectors: Vec<ReportedCollector>,
    /// In the order of emission, without what the emitters add to every line.
    pub metrics: Vec<ReportedMetric>,
}

/// One collector.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReportedCollector {
    pub name: String,
    /// Including the time it waited; absent: it was not begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub took_ms: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// One number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReportedMetric {
    /// Name and value as in statsd.
    pub metric: String,
    pub value: f64,
    pub dims: BTreeMap<String, String>,
}

/// The parameters of a single look.
pub struct Once {
    pub directory: Arc<dyn Directory>,
    pub dialer: Dialer,
    pub clock: SharedClock,
    pub view: ClusterView,
    pub options: CheckOptions,
    /// Monitors that run beside the cluster monitor.
    pub beside: Vec<Arc<dyn SideMonitor>>,
    pub subnets: Option<Arc<dyn SubnetSource>>,
    /// As in the first round of an hour.
    pub hourly: bool,
}

impl std::fmt::Debug for Once {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Once").field("cluster", &self.view.id).finish_non_exhaustive()
    }
}

impl Once {
    /// Performs the look; errors are part of the report.
    pub async fn look(self, cancel: CancellationToken) -> Report {
        let (emitters, recorder) = Emitters::recording(Arc::clone(&self.clock));
        let cluster = self.view.id.original().to_owned();
        let check = Check::new(CheckParts {
            directory: self.directory,
            dialer: self.dialer,
            clock: self.clock,
            budget: Budget::unlimited(),
            emitters,
            records: None,
            beside: self.beside,
            subnets: self.subnets,
            options: self.options,
        });
        let round = Round { hourly: self.hourly, nsg_due: true, number: 1 };
        let observed = check.observe(Arc::new(self.view), round, cancel).await;
        let collectors = observed.outcomes.into_iter().map(|outcome| ReportedCollector {
            name: outcome.name.to_owned(),
            took_ms: outcome.took.map(millis),
            error: outcome.error,
        });
        let metrics = recorder.take().into_iter().map(|line| ReportedMetric {
            metric: line.metric.to_owned(),
            value: line.value.as_f64(),
            dims: line.dims,
        });
        Report {
            cluster,
            looked_at: observed.done.started,
            took_ms: millis(observed.done.took),
            healthz: observed.healthz,
            collectors: collectors.collect(),
            metrics: metrics.collect(),
        }
    }
}

fn millis(time: Duration) -> f64 {
    (time.as_secs_f64() * 100_000.0).round() / 100.0
}

/// A directory of one cluster.
#[derive(Debug)]
pub struct OneTarget(pub Arc<Target>);

#[async_trait]
impl Directory for OneTarget {
    async fn find(&self, id: &ResourceId) -> Result<Arc<Target>, DirectoryError> {
        if *id == self.0.id { Ok(Arc::clone(&self.0)) } else { Err(DirectoryError::Unknown) }
    }
}

/// Characters of a dimension or an error in a table.
const MOST_CELL: usize = 200;
/// Dimensions that are equal on every line.
const OF_THE_CLUSTER: [&str; 5] =
    ["resourceId", "subscriptionId", "resourceGroup", "resourceName", "location"];

impl Report {
    /// Whether every collector succeeded.
    pub fn is_well(&self) -> bool {
        self.collectors.iter().all(|collector| collector.error.is_none())
    }

    /// Whether the API server responded.
    pub const fn is_reached(&self) -> bool {
        self.healthz != 0
    }

    /// Table for users: the metrics without common dimensions, then the collectors.
    pub fn table(&self) -> String {
        let metrics = self.metrics.iter().map(|line| {
            let dims = line.dims.iter().filter(|(name, _)| !OF_THE_CLUSTER.contains(&name.as_str()));
            let dims: Vec<String> = dims.map(|(name, text)| format!("{name}={}", quoted(text))).collect();
            [line.metric.clone(), number(line.value), dims.join(" ")]
        });
        let collectors = self.collectors.iter().map(|collector| {
            let took = collector.took_ms.map_or_else(|| "-".to_owned(), |took| format!("{took:.1}"));
            let error =
                collector.error.as_deref().map_or_else(|| "ok".to_owned(), |error| clean(error, MOST_CELL));
            [collector.name.clone(), took, error]
        });
        let mut text = String::new();
        rows(&mut text, std::iter::once(["METRIC", "VALUE", "DIMENSIONS"].map(str::to_owned)).chain(metrics));
        text.push('\n');
        rows(&mut text, std::iter::once(["COLLECTOR", "MS", "RESULT"].map(str::to_owned)).chain(collectors));
        let failed = self.collectors.iter().filter(|collector| collector.error.is_some()).count();
        // Writing to a `String` does not fail.
        let _ = writeln!(
            text,
            "\n{}: {} numbers, {} collectors, {failed} failed, {:.0} ms",
            self.cluster,
            self.metrics.len(),
            self.collectors.len(),
            self.took_ms
        );
        text
    }
}

fn quoted(text: &str) -> String {
    let text = clean(text, MOST_CELL);
    if text.is_empty() || text.contains([' ', '=', '"']) { format!("{text:?}") } else { text }
}

/// Whole numbers without a point.
fn number(value: f64) -> String {
    if value.fract() == 0.0 { format!("{value:.0}") } else { format!("{value:.6}") }
}

/// Columns two blanks apart.
fn rows<const N: usize>(text: &mut String, rows: impl Iterator<Item = [String; N]>) {
    let rows: Vec<[String; N]> = rows.collect();
    let mut widths = [0; N];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    for row in &rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(widths) {
            let pad = width.saturating_sub(cell.chars().count()) + 2;
            line.push_str(cell);
            line.extend(std::iter::repeat_n(' ', pad));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_says_what_differs() {
        let dims = [("resourceName", "x"), ("code", "200"), ("msg", "contact support")];
        let report = Report {
            cluster: "/subscriptions/s".to_owned(),
            looked_at: Timestamp::default(),
            took_ms: 12.4,
            healthz: 200,
            collectors: vec![
                ReportedCollector { name: "a".to_owned(), took_ms: Some(1.25), error: None },
                ReportedCollector {
                    name: "b".to_owned(),
                    took_ms: None,
                    error: Some("bad\nluck".to_owned()),
                },
            ],
            metrics: vec![ReportedMetric {
                metric: "apiserver.healthz.code".to_owned(),
                value: 1.0,
                dims: dims.map(|(name, text)| (name.to_owned(), text.to_owned())).into(),
            }],
        };
        let table = report.table();
        assert!(
            table.contains("apiserver.healthz.code  1      code=200 msg=\"contact support\"\n"),
            "{table}"
        );
        assert!(table.contains("a          1.2  ok\nb          -    badluck\n"), "{table}");
        assert!(table.ends_with("/subscriptions/s: 1 numbers, 2 collectors, 1 failed, 12 ms\n"), "{table}");
        assert!(!report.is_well() && report.is_reached());
        let json = serde_json::to_string(&report).unwrap();
        assert_eq!(serde_json::from_str::<Report>(&json).unwrap(), report);
    }
}
