//! A validated client request: endpoint, parameters and cost limits.

use std::time::Duration;

use http::Method;
use rp_base::Timestamp;

use crate::error::PromError;
use crate::reduce::Buckets;
use crate::source::SourceChoice;
use crate::{MOST_POINTS, form, step};

/// Limits of one request.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Time limit of the query; also sent to Prometheus.
    pub time: Duration,
    /// Series, or other elements of an answer's list.
    pub series: usize,
    /// Series when a width was given: what can be drawn.
    pub drawn: usize,
    /// Bytes of an answer.
    pub bytes: u64,
}

/// Which part of Prometheus' API (prometheus.io/docs/prometheus/latest/querying/api).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Endpoint {
    Query,
    QueryRange,
    /// Every other one that is served, by its path.
    Other(String),
}

/// A request that may be sent.
#[derive(Debug, Clone)]
pub struct Call {
    pub endpoint: Endpoint,
    pub source: SourceChoice,
    /// The parameters sent to Prometheus, without those of this service.
    pub params: Vec<(String, String)>,
    /// The query, or the selectors; for the audit trail.
    pub query: String,
    /// Unix seconds and step of a range query.
    pub range: Option<(f64, f64, f64)>,
    pub limits: Limits,
    /// Reduces each series to what can be drawn.
    pub(crate) buckets: Option<Buckets>,
}

/// Served by GET, or by both.
const GET_ONLY: [&str; 11] = [
    "metadata",
    "targets",
    "targets/metadata",
    "rules",
    "alerts",
    "alertmanagers",
    "status/config",
    "status/flags",
    "status/runtimeinfo",
    "status/buildinfo",
    "status/tsdb",
];
const BOTH: [&str; 7] =
    ["query", "query_range", "query_exemplars", "series", "labels", "format_query", "parse_query"];
/// Longer parameters go in a body.
const MOST_IN_QUERY: usize = 2048;
/// Most parameters.
const MOST_PARAMS: usize = 200;

impl Call {
    /// Reads a request to `api/v1/TAIL` (not decoded), with its query string and form body.
    ///
    /// # Errors
    /// [`PromError::RefusedPath`], [`PromError::Method`], [`PromError::Parameter`], [`PromError::TooManyPoints`].
    pub fn parse(
        method: &Method,
        tail: &str,
        query: Option<&str>,
        body: &[u8],
        limits: Limits,
        now: Timestamp,
    ) -> Result<Self, PromError> {
        let endpoint = endpoint(method, tail)?;
        let mut params: Vec<(String, String)> =
            form::pairs(query.unwrap_or_default().as_bytes()).chain(form::pairs(body)).collect();
        if params.len() > MOST_PARAMS {
            let why = format!("at most {MOST_PARAMS} parameters");
            return Err(PromError::Parameter { name: "match[]", why });
        }
        let mut ours = |name: &str| {
            let at = params.iter().position(|(other, _)| other == name)?;
            Some(params.remove(at).1)
        };
        let source = ours("source").unwrap_or_default();
        let source = SourceChoice::parse(&source).ok_or(PromError::UnknownSource(source))?;
        let width = count("width", ours("width").as_deref(), 20_000)?;
        let series = count("series", ours("series").as_deref(), u32::MAX)?;
        let reduce = ours("reduce").is_none_or(|text| text != "none");
        let mut limits = limits;
        if width.is_some() {
            limits.series = limits.drawn.min(limits.series);
        }
        if let Some(series) = series {
            limits.series = limits.series.min(usize::try_from(series).unwrap_or(usize::MAX)).max(1);
        }
        let told = params.iter().filter(|(name, _)| name == "query" || name == "match[]");
        let told = told.map(|(_, value)| value.as_str()).collect::<Vec<_>>().join("; ");
        let mut call = Self { endpoint, source, params, query: told, range: None, limits, buckets: None };
        match call.endpoint {
            Endpoint::Query => call.bound_time()?,
            Endpoint::QueryRange => {
                call.bound_time()?;
                call.fit(width, reduce, now)?;
            }
            Endpoint::Other(_) => {}
        }
        Ok(call)
    }

    /// An internal call: `path` below `api/v1/`, or from the root when it begins with a slash.
    pub(crate) fn internal(
        path: &str,
        params: impl IntoIterator<Item = (String, String)>,
        source: SourceChoice,
        limits: Limits,
    ) -> Self {
        Self {
            endpoint: Endpoint::Other(path.to_owned()),
            source,
            params: params.into_iter().collect(),
            query: String::new(),
            range: None,
            limits,
            buckets: None,
        }
    }

    /// An internal instant query.
    pub fn instant(query: &str, time: Option<f64>, source: SourceChoice, limits: Limits) -> Self {
        let mut params = vec![
            ("query".to_owned(), query.to_owned()),
            ("timeout".to_owned(), format!("{}ms", limits.time.as_millis())),
        ];
        params.extend(time.map(|time| ("time".to_owned(), format!("{time:.3}"))));
        let query = query.to_owned();
        Self { endpoint: Endpoint::Query, source, params, query, range: None, limits, buckets: None }
    }

    /// An internal range query; without a step it is fitted to `width`.
    ///
    /// # Errors
    /// The cost guard.
    pub fn over(
        query: &str,
        (start, end): (f64, f64),
        step: Option<f64>,
        width: u32,
        source: SourceChoice,
        limits: Limits,
    ) -> Result<Self, PromError> {
        let mut call = Self::instant(query, None, source, limits);
        call.endpoint = Endpoint::QueryRange;
        call.set("start", format!("{start:.3}"));
        call.set("end", format!("{end:.3}"));
        if let Some(step) = step {
            call.set("step", step.to_string());
        }
        call.fit(Some(width), true, Timestamp::default())?;
        Ok(call)
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.params.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    fn set(&mut self, name: &str, value: String) {
        self.params.retain(|(other, _)| other != name);
        self.params.push((name.to_owned(), value));
    }

    /// Limits the query's `timeout` parameter to our own time limit.
    fn bound_time(&mut self) -> Result<(), PromError> {
        let ours = self.limits.time;
        let asked = match self.get("timeout") {
            None | Some("") => ours,
            Some(text) => {
                let seconds = duration(text).ok_or_else(|| wrong("timeout", text))?;
                Duration::try_from_secs_f64(seconds).map_err(|_| wrong("timeout", text))?.min(ours)
            }
        };
        self.limits.time = asked;
        self.set("timeout", format!("{}ms", asked.as_millis().max(1)));
        Ok(())
    }

    /// Checks the cost of a range query before it is sent.
    #[expect(clippy::cast_precision_loss, reason = "milliseconds since 1970 fit")]
    fn fit(&mut self, width: Option<u32>, reduce: bool, now: Timestamp) -> Result<(), PromError> {
        let now = now.millis() as f64 / 1000.0;
        let instant = |name: &'static str, text: Option<&str>, default: Option<f64>| match text {
            None | Some("") => default.ok_or_else(|| wrong(name, "")),
            Some(text) => time(text).ok_or_else(|| wrong(name, text)),
        };
        let end = instant("end", self.get("end"), Some(now))?;
        let start = instant("start", self.get("start"), None)?;
        if end < start {
            let why = "end timestamp must not be before start time".to_owned();
            return Err(PromError::Parameter { name: "end", why });
        }
        let (fitted, seconds) = match self.get("step") {
            None | Some("") => (true, step::fit(end - start, width.unwrap_or(250))),
            Some(text) => (false, duration(text).ok_or_else(|| wrong("step", text))?),
        };
        if seconds <= 0.0 {
            let why =
                "zero or negative query resolution step widths are not accepted. Try a positive integer";
            return Err(PromError::Parameter { name: "step", why: why.to_owned() });
        }
        let points = step::points(start, end, seconds);
        if points > f64::from(MOST_POINTS) {
            let least = ((end - start) / f64::from(MOST_POINTS - 1)).ceil();
            return Err(PromError::TooManyPoints { points, step: seconds, least });
        }
        if let Some(width) = width.filter(|width| reduce && points > 2.0 * f64::from(*width)) {
            self.buckets = Some(Buckets::new(start, end, width));
        }
        if fitted {
            self.set("step", seconds.to_string());
        }
        self.set("end", format!("{end:.3}"));
        self.range = Some((start, end, seconds));
        Ok(())
    }

    /// Path and query below the root of the API, and the body of a POST.
    pub(crate) fn wire(&self) -> (Method, String, Option<String>) {
        let tail = match &self.endpoint {
            Endpoint::Query => "query",
            Endpoint::QueryRange => "query_range",
            Endpoint::Other(tail) => tail,
        };
        let root = match tail.bytes().next() {
            Some(b'/') => "",
            Some(b'-') => "/",
            _ => "/api/v1/",
        };
        let params = form::encode(self.params.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        if params.is_empty() {
            (Method::GET, format!("{root}{tail}"), None)
        } else if params.len() > MOST_IN_QUERY && BOTH.contains(&tail) {
            (Method::POST, format!("{root}{tail}"), Some(params))
        } else {
            (Method::GET, format!("{root}{tail}?{params}"), None)
        }
    }

    /// The name in the audit trail and as a label: of a bounded set.
    pub fn name(&self) -> &'static str {
        match &self.endpoint {
            Endpoint::Query => "query",
            Endpoint::QueryRange => "query_range",
            Endpoint::Other(tail) => GET_ONLY
                .iter()
                .chain(&BOTH)
                .find(|known| *known == tail)
                .copied()
                .unwrap_or(if tail.starts_with("label/") { "label_values" } else { "status" }),
        }
    }
}

fn endpoint(method: &Method, tail: &str) -> Result<Endpoint, PromError> {
    let tail = tail.trim_end_matches('/');
    let both = BOTH.contains(&tail);
    let known = both
        || GET_ONLY.contains(&tail)
        || matches!(tail, "status/walreplay" | "-/ready" | "-/healthy")
        || is_label(tail);
    if !known {
        return Err(PromError::RefusedPath);
    }
    match *method {
        Method::GET => {}
        Method::POST if both => {}
        Method::POST => return Err(PromError::Method("GET")),
        _ => return Err(PromError::Method("GET and POST")),
    }
    Ok(match tail {
        "query" => Endpoint::Query,
        "query_range" => Endpoint::QueryRange,
        tail => Endpoint::Other(tail.to_owned()),
    })
}

/// `label/NAME/values`: one segment, as it was sent (`U__…` and percent-encoding for UTF-8 names).
fn is_label(tail: &str) -> bool {
    let name = tail.strip_prefix("label/").and_then(|rest| rest.strip_suffix("/values")).unwrap_or_default();
    let good = |b: u8| b.is_ascii_alphanumeric() || b"_.-~%:".contains(&b);
    (1..=1024).contains(&name.len())
        && name.bytes().all(good)
        && !matches!(name, "." | "..")
        && !name.to_ascii_lowercase().contains("%2f")
}

fn wrong(name: &'static str, text: &str) -> PromError {
    let text: String = text.chars().take(100).collect();
    PromError::Parameter { name, why: format!("cannot parse {text:?}") }
}

fn count(name: &'static str, text: Option<&str>, most: u32) -> Result<Option<u32>, PromError> {
    match text {
        None | Some("") => Ok(None),
        Some(text) => {
            let number = text.parse::<u32>().ok().filter(|number| (1..=most).contains(number));
            number.map(Some).ok_or_else(|| wrong(name, text))
        }
    }
}

/// Unix seconds or RFC 3339, as Prometheus takes both.
#[expect(clippy::cast_precision_loss, reason = "milliseconds since 1970 fit")]
fn time(text: &str) -> Option<f64> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| seconds.abs() < 1e12);
    seconds.or_else(|| Timestamp::parse(text).ok().map(|at| at.millis() as f64 / 1000.0))
}

/// Seconds, or a duration such as `5m`.
fn duration(text: &str) -> Option<f64> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| seconds.is_finite());
    seconds.or_else(|| rp_promql::duration(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits =
        Limits { time: Duration::from_secs(25), series: 50_000, drawn: 1000, bytes: 1 << 28 };

    fn parse(tail: &str, query: &str) -> Result<Call, PromError> {
        Call::parse(&Method::GET, tail, Some(query), b"", LIMITS, Timestamp::from_seconds(1_700_000_000))
    }

    #[test]
    fn only_reading_paths_are_served() {
        for tail in
            ["query", "label/job/values", "status/buildinfo", "-/ready", "label/U__a_2e_b/values", "rules"]
        {
            assert!(parse(tail, "query=up&start=1").is_ok(), "{tail}");
        }
        for tail in [
            "",
            "admin/tsdb/delete_series",
            "write",
            "otlp/v1/metrics",
            "read",
            "query/../admin",
            "label/a/b/values",
            "label/..%2Fadmin/values",
            "-/reload",
            "-/quit",
            "status",
            "QUERY",
            "notifications/live",
        ] {
            assert!(matches!(parse(tail, ""), Err(PromError::RefusedPath)), "{tail}");
        }
        let post = Call::parse(&Method::POST, "rules", None, b"", LIMITS, Timestamp::default());
        assert!(matches!(post, Err(PromError::Method("GET"))));
    }

    #[test]
    fn ours_stay_here_and_time_is_bounded() {
        let call =
            parse("query", "query=up%7Ba%3D%22%2B%22%7D&source=thanos-querier&series=7&timeout=10m").unwrap();
        assert_eq!(call.source, SourceChoice::Forced("thanos-querier"));
        assert_eq!(call.limits.series, 7);
        assert_eq!(call.wire().1, "/api/v1/query?query=up%7Ba%3D%22%2B%22%7D&timeout=25000ms");
        assert!(matches!(parse("query", "source=x"), Err(PromError::UnknownSource(_))));
        assert!(parse("query", "timeout=x").is_err());
        let body = format!("query={}", "x".repeat(5000));
        let long =
            Call::parse(&Method::POST, "query", None, body.as_bytes(), LIMITS, Timestamp::default()).unwrap();
        assert_eq!(long.wire().0, Method::POST);
    }

    #[test]
    fn ranges_are_fitted_and_guarded() {
        let call = parse("query_range", "query=up&start=1699996400&width=500").unwrap();
        assert_eq!(call.range, Some((1_699_996_400.0, 1_700_000_000.0, 5.0)));
        assert!(call.buckets.is_none() && call.limits.series == 1000);
        let fine = parse("query_range", "query=up&start=0&end=10000&step=1&width=500").unwrap();
        assert!(fine.buckets.is_some());
        assert!(
            parse("query_range", "query=up&start=0&end=10000&step=1&width=500&reduce=none")
                .unwrap()
                .buckets
                .is_none()
        );
        match parse("query_range", "query=up&start=0&end=10000000&step=1") {
            Err(error @ PromError::TooManyPoints { .. }) => {
                let shown = error.shown();
                assert_eq!(shown.status, 422);
                assert!(shown.action.contains("at least 910 s"), "{}", shown.action);
            }
            other => panic!("{other:?}"),
        }
        for bad in [
            "start=2&end=1&step=1",
            "start=x&step=1",
            "start=1&step=0",
            "start=1&step=-5",
            "step=1",
            "start=1e300&step=1",
        ] {
            assert!(matches!(parse("query_range", bad), Err(PromError::Parameter { .. })), "{bad}");
        }
        assert!(
            parse("query_range", "query=up&start=2023-11-14T21:13:20Z&end=2023-11-14T22:13:20Z&step=1m")
                .is_ok()
        );
    }
}
