//! The statistics tabs (`contract/portal.md` §14, `contract/portal-ui.md` §6.7; titles by
//! `contract/portal-ui.md` "Do better" B 7: rates, not sizes).

use std::sync::Arc;
use std::time::Duration;

use rp_base::Timestamp;
use rp_net::Target;
use schemars::JsonSchema;
use serde::Serialize;

use crate::call::{Call, Limits};
use crate::error::PromError;
use crate::reach::Prometheus;
use crate::source::SourceChoice;
use crate::step;

/// One chart.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Statistic {
    /// The contract's type.
    pub name: &'static str,
    /// The tab that shows it.
    pub tab: &'static str,
    pub title: &'static str,
    pub unit: &'static str,
    pub query: &'static str,
}

const fn chart(
    name: &'static str,
    tab: &'static str,
    title: &'static str,
    unit: &'static str,
    query: &'static str,
) -> Statistic {
    Statistic { name, tab, title, unit, query }
}

const API: &str = "APIStatistics";
const KCM: &str = "KCMStatistics";
const DNS: &str = "DNSStatistics";
const INGRESS: &str = "IngressStatistics";

/// All twelve, in the order of the tabs.
pub const ALL: [Statistic; 12] = [
    chart(
        "kubeapicodes",
        API,
        "API server: failed requests by code and verb",
        "requests/s",
        r#"sum(rate(apiserver_request_total{job="apiserver",code=~"[45].."}[10m])) by (code, verb)"#,
    ),
    chart(
        "kubeapicpu",
        API,
        "API server: CPU per instance",
        "cores",
        r#"rate(process_cpu_seconds_total{job="apiserver"}[5m])"#,
    ),
    chart(
        "kubeapimemory",
        API,
        "API server: memory per instance",
        "bytes",
        r#"process_resident_memory_bytes{job="apiserver"}"#,
    ),
    chart(
        "kubecontrollermanagercodes",
        KCM,
        "Controller manager: requests by code",
        "requests/s",
        r#"sum(rate(rest_client_requests_total{job="kube-controller-manager"}[5m])) by (code)"#,
    ),
    chart(
        "kubecontrollermanagercpu",
        KCM,
        "Controller manager: CPU per instance",
        "cores",
        r#"rate(process_cpu_seconds_total{job="kube-controller-manager"}[5m])"#,
    ),
    chart(
        "kubecontrollermanagermemory",
        KCM,
        "Controller manager: memory per instance",
        "bytes",
        r#"process_resident_memory_bytes{job="kube-controller-manager"}"#,
    ),
    chart(
        "dnsresponsecodes",
        DNS,
        "DNS: answers by code",
        "answers/s",
        "sum(rate(coredns_dns_responses_total[5m])) by (rcode)",
    ),
    chart(
        "dnsalltraffic",
        DNS,
        "DNS: time to answer, 95th percentile",
        "seconds",
        "histogram_quantile(0.95, sum(rate(coredns_dns_request_duration_seconds_bucket[5m])) by (le))",
    ),
    chart(
        "dnserrorrate",
        DNS,
        "DNS: errors for each good answer, per pod",
        "ratio",
        concat!(
            r#"sum(rate(coredns_dns_responses_total{rcode=~"SERVFAIL|NXDOMAIN"}[5m])) by (pod) / "#,
            r#"sum(rate(coredns_dns_responses_total{rcode=~"NOERROR"}[5m])) by (pod)"#
        ),
    ),
    chart(
        "dnshealthcheck",
        DNS,
        "DNS: time of its health check, 99th percentile",
        "seconds",
        "histogram_quantile(0.99, sum(rate(coredns_health_request_duration_seconds_bucket[5m])) by (le))",
    ),
    chart(
        "dnsforwardedtraffic",
        DNS,
        "DNS: time of forwarded queries, 95th percentile",
        "seconds",
        "histogram_quantile(0.95, sum(rate(coredns_forward_request_duration_seconds_bucket[5m])) by (le))",
    ),
    chart(
        "ingresscontrollercondition",
        INGRESS,
        "Ingress controllers by condition",
        "controllers",
        "sum(ingress_controller_conditions) by (condition)",
    ),
];

/// The statistic of that name.
pub fn find(name: &str) -> Option<&'static Statistic> {
    ALL.iter().find(|statistic| statistic.name == name)
}

/// The contract's step.
const STEP: f64 = 120.0;
/// Bytes of one statistic.
const MOST: usize = 16 << 20;

/// The time range of a statistic.
#[derive(Debug, Clone, Copy)]
pub struct Span {
    pub duration: Duration,
    pub end: Timestamp,
    /// Width of the chart, where it is known: no finer points are requested than can be drawn.
    pub width: Option<u32>,
}

impl Span {
    /// Seconds: two minutes as long as Prometheus gives so many points, then the next good step
    /// (`contract/portal.md` "Do better" 29).
    pub fn step(&self) -> f64 {
        step::fit(self.duration.as_secs_f64(), self.width.unwrap_or(crate::MOST_POINTS)).max(STEP)
    }
}

/// One series, as the contract writes it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct StatSeries {
    pub metricname: String,
    pub metricvalue: Vec<StatSample>,
}

/// One sample; NaN and infinities, which JSON cannot carry, are null.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct StatSample {
    pub timestamp: Timestamp,
    pub value: Option<f64>,
}

/// A loaded statistic.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadedStatistic {
    pub series: Vec<StatSeries>,
    /// Seconds.
    pub step: f64,
    pub source: String,
    pub bytes: u64,
    pub warnings: Vec<String>,
}

impl Prometheus {
    /// Loads one statistic of a cluster.
    ///
    /// # Errors
    /// [`PromError`].
    #[expect(clippy::cast_precision_loss, reason = "milliseconds since 1970 fit")]
    pub async fn statistic(
        &self,
        target: &Arc<Target>,
        statistic: &Statistic,
        span: Span,
        limits: Limits,
    ) -> Result<LoadedStatistic, PromError> {
        let until = span.end.millis() as f64 / 1000.0;
        let range = (until - span.duration.as_secs_f64(), until);
        let step = span.step();
        let call =
            Call::over(statistic.query, range, Some(step), crate::MOST_POINTS, SourceChoice::Auto, limits)?;
        let table = self.table(target, &call, MOST).await?;
        let series = table.series.iter().map(|series| StatSeries {
            metricname: series.notation(),
            metricvalue: series
                .samples
                .iter()
                .map(|(at, value)| StatSample {
                    timestamp: instant(*at),
                    value: value.is_finite().then_some(*value),
                })
                .collect(),
        });
        Ok(LoadedStatistic {
            series: series.collect(),
            step,
            source: table.source,
            bytes: table.bytes,
            warnings: table.warnings,
        })
    }
}

#[expect(clippy::cast_possible_truncation, reason = "milliseconds since 1970 fit")]
fn instant(seconds: f64) -> Timestamp {
    Timestamp::from_millis((seconds * 1000.0).round() as i64)
}

/// A Go duration: `90s`, `30m`, `1h30m`, `168h`, `1.5h`; no days.
pub fn go_duration(text: &str) -> Option<Duration> {
    const UNITS: [(&str, f64); 7] =
        [("ns", 1e-9), ("us", 1e-6), ("µs", 1e-6), ("ms", 1e-3), ("h", 3600.0), ("m", 60.0), ("s", 1.0)];
    if text == "0" {
        return Some(Duration::ZERO);
    }
    let (mut rest, mut total) = (text.strip_prefix('+').unwrap_or(text), 0.0);
    if rest.is_empty() || rest.len() > 40 {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').filter(|at| *at > 0)?;
        let number: f64 = rest[..digits].parse().ok()?;
        let (unit, size) = UNITS.into_iter().find(|(unit, _)| rest[digits..].starts_with(unit))?;
        total += number * size;
        rest = &rest[digits + unit.len()..];
    }
    // Go counts nanoseconds in 63 bits.
    (total <= 9.2e9).then(|| Duration::try_from_secs_f64(total).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_query_is_promql_and_named_once() {
        for (at, one) in ALL.iter().enumerate() {
            assert!(rp_promql::parse(one.query).is_ok(), "{}", one.name);
            assert!(ALL[at + 1..].iter().all(|other| other.name != one.name));
        }
    }

    #[test]
    fn eight_weeks_fit() {
        let step = |hours: u64, width| {
            Span { duration: Duration::from_secs(hours * 3600), end: Timestamp::from_millis(0), width }.step()
        };
        let steps = [1, 360, 672, 1344].map(|hours| step(hours, None));
        assert_eq!(steps.map(|step| step / STEP), [1.0, 1.0, 2.5, 5.0]);
        // As fine as it can be drawn, never finer than the contract's.
        let steps = [1, 360, 672, 1344].map(|hours| step(hours, Some(700)));
        assert_eq!(steps.map(|step| step / STEP), [1.0, 5.0, 7.5, 15.0]);
    }

    #[test]
    fn durations_as_go_reads_them() {
        for (text, seconds) in [
            ("90s", 90.0),
            ("1h30m", 5400.0),
            ("1344h", 4_838_400.0),
            ("1.5h", 5400.0),
            ("0", 0.0),
            ("1m0.5s", 60.5),
        ] {
            assert_eq!(go_duration(text), Some(Duration::from_secs_f64(seconds)), "{text}");
        }
        for text in ["", "1d", "1w", "h", "-5m", "5", "1h x", "99999999999h"] {
            assert_eq!(go_duration(text), None, "{text}");
        }
    }
}
