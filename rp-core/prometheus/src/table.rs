//! A bounded response, read completely.

use std::collections::BTreeMap;

use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use serde::{Deserialize, Deserializer};

use crate::error::PromError;
use crate::response::PromResponse;

/// Labels and samples of one series.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Series {
    pub metric: BTreeMap<String, String>,
    /// Unix seconds and value; NaN and infinities are values.
    pub samples: Vec<(f64, f64)>,
}

/// An answer as rows.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    /// Which source answered.
    pub source: String,
    /// Why not the first choice.
    pub why: Option<String>,
    /// Step of a range query, seconds.
    pub step: Option<f64>,
    /// `vector`, `matrix`, `scalar` or `string`.
    pub kind: String,
    pub series: Vec<Series>,
    /// The value of a `string`.
    pub text: Option<String>,
    pub warnings: Vec<String>,
    /// A limit of this service cut it.
    pub truncated: bool,
    /// Bytes that were read.
    pub bytes: u64,
}

#[derive(Deserialize)]
struct Envelope {
    data: Data,
    #[serde(default)]
    warnings: Vec<String>,
    #[serde(default)]
    infos: Vec<String>,
}

#[derive(Deserialize)]
#[serde(tag = "resultType", content = "result", rename_all = "lowercase")]
enum Data {
    Vector(Vec<InstantSeries>),
    Matrix(Vec<RangeSeries>),
    Scalar(Sample),
    String((f64, String)),
}

#[derive(Deserialize)]
struct InstantSeries {
    #[serde(default)]
    metric: BTreeMap<String, String>,
    value: Option<Sample>,
}

#[derive(Deserialize)]
struct RangeSeries {
    #[serde(default)]
    metric: BTreeMap<String, String>,
    #[serde(default)]
    values: Vec<Sample>,
}

/// `[1700000000.5, "0.25"]`.
#[derive(Clone, Copy)]
struct Sample(f64, f64);

impl<'de> Deserialize<'de> for Sample {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (at, value) = <(f64, std::borrow::Cow<'de, str>)>::deserialize(deserializer)?;
        value
            .parse()
            .map(|value| Self(at, value))
            .map_err(|_| serde::de::Error::custom("a value is no number"))
    }
}

/// Reads a body of at most `most` bytes.
pub(crate) async fn read(answer: PromResponse, most: usize) -> Result<(Vec<u8>, bool), PromError> {
    let passed = answer.body.passed();
    let read = Limited::new(answer.body, most).collect().await.map_err(|error| {
        match error.downcast::<PromError>() {
            Ok(error) => *error,
            Err(error) if error.is::<LengthLimitError>() => PromError::TooLarge(most as u64),
            Err(error) => PromError::Broken(error),
        }
    })?;
    Ok((read.to_bytes().to_vec(), passed.cut()))
}

impl Table {
    /// Reads an answer of at most `most` bytes.
    ///
    /// # Errors
    /// It broke off, is larger, or is no query's answer.
    pub async fn read(answer: PromResponse, most: usize) -> Result<Self, PromError> {
        let (source, why, range) = (answer.source, answer.why.clone(), answer.range);
        let (bytes, truncated) = read(answer, most).await?;
        let envelope: Envelope =
            serde_json::from_slice(&bytes).map_err(|error| PromError::Broken(error.into()))?;
        let mut table = Self {
            source: source.to_owned(),
            why,
            step: range.map(|(_, _, step)| step),
            warnings: envelope.warnings.into_iter().chain(envelope.infos).collect(),
            truncated,
            bytes: bytes.len() as u64,
            ..Self::default()
        };
        table.fill(envelope.data);
        Ok(table)
    }

    fn fill(&mut self, data: Data) {
        let (kind, series) = match data {
            Data::Vector(rows) => {
                let one = |row: InstantSeries| {
                    let samples = row.value.map(|Sample(at, value)| (at, value)).into_iter().collect();
                    Series { metric: row.metric, samples }
                };
                ("vector", rows.into_iter().map(one).collect())
            }
            Data::Matrix(rows) => {
                let one = |row: RangeSeries| Series {
                    metric: row.metric,
                    samples: row.values.into_iter().map(|Sample(at, value)| (at, value)).collect(),
                };
                ("matrix", rows.into_iter().map(one).collect())
            }
            Data::Scalar(Sample(at, value)) => {
                ("scalar", vec![Series { metric: BTreeMap::new(), samples: vec![(at, value)] }])
            }
            Data::String((_, text)) => {
                self.text = Some(text);
                ("string", Vec::new())
            }
        };
        kind.clone_into(&mut self.kind);
        self.series = series;
    }
}

/// A value as Prometheus writes it.
pub(crate) fn number(value: f64) -> String {
    if value.is_nan() {
        "NaN".to_owned()
    } else if value.is_infinite() {
        if value > 0.0 { "+Inf" } else { "-Inf" }.to_owned()
    } else {
        value.to_string()
    }
}

impl Series {
    /// In Prometheus' notation: `name{a="b"}`; `{}` without labels.
    pub fn notation(&self) -> String {
        let name = self.metric.get("__name__").map_or("", String::as_str);
        let labels: Vec<String> = self
            .metric
            .iter()
            .filter(|(label, _)| *label != "__name__")
            .map(|(label, value)| format!("{label}={}", rp_promql::quoted(value)))
            .collect();
        if labels.is_empty() && !name.is_empty() {
            name.to_owned()
        } else {
            format!("{name}{{{}}}", labels.join(", "))
        }
    }
}
