//! A sample of a look: one value of one metric of [`crate::names`].

use std::borrow::Cow;

use crate::names::{ALL, Exposed, Kind, Metric, Scope, Spread};

/// Text of a dimension: most are constants or short.
pub type Text = Cow<'static, str>;

/// A number on the wire: `g` or `f` (`contract/monitor.md` §13).
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value {
    Int(i64),
    Float(f64),
}

impl Value {
    /// The number for Prometheus.
    #[expect(clippy::cast_precision_loss, reason = "counts and days are far below 2^53")]
    pub fn as_f64(self) -> f64 {
        match self {
            Self::Int(value) => value as f64,
            Self::Float(value) => value,
        }
    }
}

/// One number of one cluster.
#[derive(Debug, Clone)]
pub struct Sample {
    pub metric: &'static Metric,
    pub value: Value,
    /// One text for each of `metric.dims`, in their order; without those of the scope.
    pub dims: Vec<Text>,
    /// Dimensions whose names are data (operator flags): on the statsd line as they are, in Prometheus one series each.
    pub spread: Vec<(Text, Text)>,
    /// The value in the unit of the Prometheus name, where statsd has another one (days against a time stamp).
    pub exact: Option<f64>,
}

impl Sample {
    /// A sample of value 1.
    pub fn one(metric: &'static Metric, dims: impl IntoIterator<Item = Text>) -> Self {
        Self::int(metric, 1, dims)
    }

    /// A whole number.
    pub fn int(metric: &'static Metric, value: i64, dims: impl IntoIterator<Item = Text>) -> Self {
        Self::new(metric, Value::Int(value), dims)
    }

    /// A number with six decimals.
    pub fn float(metric: &'static Metric, value: f64, dims: impl IntoIterator<Item = Text>) -> Self {
        Self::new(metric, Value::Float(value), dims)
    }

    fn new(metric: &'static Metric, value: Value, dims: impl IntoIterator<Item = Text>) -> Self {
        let dims = dims.into_iter().collect();
        Self { metric, value, dims, spread: Vec::new(), exact: None }
    }

    /// The dimensions of the statsd line beside those of the scope, in the order of the table.
    pub fn statsd(&self) -> impl Iterator<Item = (&str, &str)> {
        let plain = self.metric.dims.iter().zip(&self.dims);
        let plain = plain.filter_map(|(dim, text)| Some((dim.statsd?, text.as_ref())));
        plain.chain(self.spread.iter().map(|(name, text)| (name.as_ref(), text.as_ref())))
    }

    /// The Prometheus series, without the labels of the cluster: none when the metric is not exposed.
    pub fn series(&self) -> Vec<Series<'_>> {
        let Some(exposed) = &self.metric.exposed else { return Vec::new() };
        let value = self.exact.unwrap_or_else(|| self.value.as_f64());
        let labels = || {
            let fixed = exposed.fixed.iter().map(|(name, text)| (*name, Cow::Borrowed(*text)));
            let own = self.metric.dims.iter().zip(&self.dims);
            fixed.chain(own.filter_map(|(dim, text)| Some((dim.label?, short(text))))).collect::<Vec<_>>()
        };
        match exposed.spread {
            Spread::Whole => vec![Series { exposed, labels: labels(), value }],
            Spread::Each { name, text } => {
                let each = |(key, value): &'_ (Text, Text)| (key.clone(), code(value));
                let series = |(key, code): (Text, &'static str)| {
                    let mut labels = labels();
                    labels.push((name, Cow::Owned(short(&key).into_owned())));
                    labels.push((text, Cow::Borrowed(code)));
                    Series { exposed, labels, value }
                };
                self.spread.iter().map(each).map(series).collect()
            }
        }
    }

    /// Whether it has as many dimensions as its metric and belongs to the list.
    pub fn is_sound(&self) -> bool {
        let known = ALL.iter().any(|metric| std::ptr::eq(*metric, self.metric));
        let spreads = matches!(self.metric.exposed, Some(Exposed { spread: Spread::Each { .. }, .. }));
        known && self.dims.len() == self.metric.dims.len() && (spreads || self.spread.is_empty())
    }
}

/// One Prometheus series without the labels of the cluster.
#[derive(Debug, Clone)]
pub struct Series<'a> {
    pub exposed: &'a Exposed,
    pub labels: Vec<(&'static str, Cow<'a, str>)>,
    pub value: f64,
}

/// The most series that one cluster has (`contract/metrics.md` §4.3).
pub const MOST_SERIES: usize = 300;

/// The Prometheus series of one cluster, at most [`MOST_SERIES`], and how many were left out. States and gauges
/// come first, so that faults are never crowded out by mere information.
pub fn budget(samples: &[Sample]) -> (Vec<Series<'_>>, usize) {
    let held = |sample: &&Sample| sample.metric.scope != Scope::None && sample.metric.kind.is_held();
    let (info, rest): (Vec<_>, Vec<_>) =
        samples.iter().filter(held).partition(|sample| sample.metric.kind == Kind::PerObject);
    let mut series: Vec<_> = rest.into_iter().chain(info).flat_map(Sample::series).collect();
    let left_out = series.len().saturating_sub(MOST_SERIES);
    series.truncate(MOST_SERIES);
    (series, left_out)
}

/// Characters of a label's text.
const MOST_LABEL: usize = 128;

fn short(text: &Text) -> Cow<'_, str> {
    match text.char_indices().nth(MOST_LABEL) {
        None => Cow::Borrowed(text.as_ref()),
        Some((end, _)) => Cow::Borrowed(text.get(..end).unwrap_or_default()),
    }
}

/// A bounded code for the value of a flag, which is arbitrary user input.
fn code(value: &str) -> &'static str {
    const CODES: [&str; 12] = [
        "true",
        "false",
        "DNE",
        "deny",
        "dryrun",
        "warn",
        "auto",
        "vap",
        "gatekeeper",
        "minimal-logs",
        "reduced-logs",
        "max-logs",
    ];
    CODES.into_iter().find(|code| *code == value).unwrap_or("other")
}
