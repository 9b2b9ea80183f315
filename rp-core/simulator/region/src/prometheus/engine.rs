//! A declared subset of PromQL over the canned series.
//!
//! Simulated: selectors with all four matchers and `offset`; `rate`, `irate`, `increase`, `delta` and
//! `{avg,min,max,sum,count,last}_over_time`; `sum`, `min`, `max`, `avg`, `count`, `group`, `topk`, `bottomk` with
//! `by` and `without`; arithmetic, comparison (also `bool`), `and`, `or`, `unless` with `on` and `ignoring`, one to
//! one; `histogram_quantile`, `abs`, `ceil`, `floor`, `round`, `clamp_min`, `clamp_max`, `sort`, `sort_desc`,
//! `scalar`, `vector`, `time`, `absent`. Everything else is refused with a sentence.

mod operators;

use std::collections::BTreeMap;

use hyper::StatusCode;
use regex::Regex;
use rp_promql::ast::{Group, Matcher, Op};
use rp_promql::{Expr, Node, Selector};
use rp_simulator::objects::View;
use serde_json::{Value, json};

use super::series::{self, Canned};

/// Points of one answer.
const MOST_POINTS: usize = 11_000;
const MOST_SAMPLES: usize = 4_000_000;
/// Between two samples of a window.
const SCRAPE: f64 = 30.0;

type Labels = BTreeMap<String, String>;
type Vector = Vec<(Labels, f64)>;

/// Why there is no answer.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(super) status: StatusCode,
    pub(super) kind: &'static str,
    pub(super) message: String,
}

impl Refusal {
    pub(super) fn bad(message: impl Into<String>) -> Self {
        Self { status: StatusCode::BAD_REQUEST, kind: "bad_data", message: message.into() }
    }

    pub(super) fn unknown() -> Self {
        let message = "this path is not simulated".to_owned();
        Self { status: StatusCode::NOT_FOUND, kind: "not_found", message }
    }

    /// Right, but not simulated.
    fn not_simulated(what: impl std::fmt::Display) -> Self {
        Self {
            status: StatusCode::UNPROCESSABLE_ENTITY,
            kind: "execution",
            message: format!(
                "{what} is not simulated: this cluster's Prometheus is a simulation that knows selectors, rate and its kind, sum and its kind, arithmetic and comparison, histogram_quantile and some simple functions"
            ),
        }
    }

    pub(super) fn answer(self) -> (StatusCode, Value) {
        (self.status, json!({"status": "error", "errorType": self.kind, "error": self.message}))
    }
}

/// The value of an expression at one instant.
#[derive(Debug, Clone)]
enum EvaluatedValue {
    Scalar(f64),
    Text(String),
    Vector(Vector),
}

/// The answer of an instant query.
pub(super) fn evaluate(view: &View<'_>, node: &Node, time: f64) -> Result<Value, Refusal> {
    let engine = Engine::new(view, node)?;
    if let Expr::Selector(selector) = &node.expr
        && selector.range.is_some()
    {
        return Ok(engine.matrix(selector, time));
    }
    Ok(match engine.at(node, time)? {
        EvaluatedValue::Scalar(value) => json!({"resultType": "scalar", "result": sample(time, value)}),
        EvaluatedValue::Text(text) => json!({"resultType": "string", "result": [time, text]}),
        EvaluatedValue::Vector(rows) => {
            let rows: Vec<Value> = rows
                .into_iter()
                .map(|(labels, value)| json!({"metric": labels, "value": sample(time, value)}))
                .collect();
            json!({"resultType": "vector", "result": rows})
        }
    })
}

/// The answer of a range query.
pub(super) fn range(view: &View<'_>, node: &Node, start: f64, end: f64, step: f64) -> Result<Value, Refusal> {
    if end < start {
        return Err(Refusal::bad("invalid parameter \"end\": end timestamp must not be before start time"));
    }
    if step <= 0.0 {
        return Err(Refusal::bad(
            "invalid parameter \"step\": zero or negative query resolution step widths are not accepted. Try a positive integer",
        ));
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
    let points = ((end - start) / step) as usize + 1;
    if points > MOST_POINTS {
        return Err(Refusal::bad(
            "exceeded maximum resolution of 11,000 points per timeseries. Try decreasing the query resolution (?step=XX)",
        ));
    }
    let engine = Engine::new(view, node)?;
    let mut rows: BTreeMap<Labels, Vec<Value>> = BTreeMap::new();
    let mut samples = 0;
    for number in 0..points {
        #[expect(clippy::cast_precision_loss, reason = "at most 11,000")]
        let time = start + step * number as f64;
        let seen = match engine.at(node, time)? {
            EvaluatedValue::Scalar(value) => vec![(Labels::new(), value)],
            EvaluatedValue::Vector(rows) => rows,
            EvaluatedValue::Text(_) => {
                return Err(Refusal::bad(
                    "invalid expression type \"string\" for range query, must be Scalar or instant Vector",
                ));
            }
        };
        samples += seen.len();
        if samples > MOST_SAMPLES {
            let message =
                "query processing would load too many samples into memory in query execution".to_owned();
            return Err(Refusal { status: StatusCode::UNPROCESSABLE_ENTITY, kind: "execution", message });
        }
        for (labels, value) in seen {
            rows.entry(labels).or_default().push(sample(time, value));
        }
    }
    let rows: Vec<Value> =
        rows.into_iter().map(|(metric, values)| json!({"metric": metric, "values": values})).collect();
    Ok(json!({"resultType": "matrix", "result": rows}))
}

fn sample(time: f64, value: f64) -> Value {
    let text = if value.is_nan() {
        "NaN".to_owned()
    } else if value.is_infinite() {
        if value > 0.0 { "+Inf" } else { "-Inf" }.to_owned()
    } else {
        value.to_string()
    };
    json!([time, text])
}

/// Series that a selector picks.
pub(super) fn select(view: &View<'_>, selector: &Selector) -> Result<Vec<Canned>, Refusal> {
    let by_name =
        selector.matchers.iter().find(|matcher| matcher.label == "__name__" && matcher.op == Op::Is);
    let name = selector.name.as_deref().or(by_name.map(|matcher| matcher.value.as_str()));
    let mut found = match name {
        Some(name) => series::canned(view, name),
        None => series::all(view),
    };
    for matcher in &selector.matchers {
        let test = test(matcher)?;
        found.retain(|series| {
            let value = match matcher.label.as_str() {
                "__name__" => series.name,
                label => series.labels.iter().find(|(name, _)| *name == label).map_or("", |(_, value)| value),
            };
            test(value)
        });
    }
    Ok(found)
}

type Test = Box<dyn Fn(&str) -> bool>;

fn test(matcher: &Matcher) -> Result<Test, Refusal> {
    let value = matcher.value.clone();
    let like = || {
        // Anchored, as Prometheus anchors them; the size limit of the regex crate applies.
        Regex::new(&format!("^(?s:{})$", matcher.value)).map_err(|_| {
            Refusal::bad(format!("invalid parameter \"query\": error parsing regexp: {:?}", matcher.value))
        })
    };
    Ok(match matcher.op {
        Op::Is => Box::new(move |text| text == value),
        Op::Not => Box::new(move |text| text != value),
        Op::Like => {
            let regex = like()?;
            Box::new(move |text| regex.is_match(text))
        }
        Op::Unlike => {
            let regex = like()?;
            Box::new(move |text| !regex.is_match(text))
        }
    })
}

/// Series by the place of their selector in the query: picked once, evaluated at many instants.
struct Engine {
    picked: BTreeMap<String, Vec<(Canned, Labels)>>,
}

impl Engine {
    fn new(view: &View<'_>, node: &Node) -> Result<Self, Refusal> {
        let mut selectors = Vec::new();
        node.selectors(&mut |selector| selectors.push(selector));
        let mut picked = BTreeMap::new();
        for selector in selectors {
            if selector.shift.at.is_some() {
                return Err(Refusal::not_simulated("the modifier @"));
            }
            let found = select(view, selector)?.into_iter().map(|series| {
                let labels = series.labels();
                (series, labels)
            });
            picked.insert(selector.to_string(), found.collect());
        }
        Ok(Self { picked })
    }

    fn series(&self, selector: &Selector) -> &[(Canned, Labels)] {
        self.picked.get(&selector.to_string()).map(Vec::as_slice).unwrap_or_default()
    }

    #[expect(clippy::cast_precision_loss, reason = "durations fit")]
    fn shifted(selector: &Selector, time: f64) -> f64 {
        time - selector.shift.offset.unwrap_or(0) as f64 / 1000.0
    }

    fn matrix(&self, selector: &Selector, time: f64) -> Value {
        let time = Self::shifted(selector, time);
        let rows: Vec<Value> = self
            .series(selector)
            .iter()
            .map(|(series, labels)| {
                let values: Vec<Value> = window(series, time, seconds(selector))
                    .into_iter()
                    .map(|(at, value)| sample(at, value))
                    .collect();
                json!({"metric": labels, "values": values})
            })
            .collect();
        json!({"resultType": "matrix", "result": rows})
    }

    fn at(&self, node: &Node, time: f64) -> Result<EvaluatedValue, Refusal> {
        match &node.expr {
            Expr::Number(number) => Ok(EvaluatedValue::Scalar(*number)),
            Expr::Text(text) => Ok(EvaluatedValue::Text(text.clone())),
            Expr::Parens(of) | Expr::Positive(of) => self.at(of, time),
            Expr::Negative(of) => Ok(match self.at(of, time)? {
                EvaluatedValue::Scalar(value) => EvaluatedValue::Scalar(-value),
                EvaluatedValue::Vector(rows) => EvaluatedValue::Vector(
                    rows.into_iter().map(|(labels, value)| (bare(labels), -value)).collect(),
                ),
                EvaluatedValue::Text(_) => {
                    return Err(Refusal::bad(
                        "unary expression only allowed on expressions of type scalar or instant vector",
                    ));
                }
            }),
            Expr::Selector(selector) if selector.range.is_some() => Err(Refusal::bad(
                "invalid expression type \"range vector\", expected instant vector or scalar",
            )),
            Expr::Selector(selector) => {
                let time = Self::shifted(selector, time);
                let rows = self.series(selector).iter();
                Ok(EvaluatedValue::Vector(
                    rows.filter_map(|(series, labels)| Some((labels.clone(), series.at(time)?))).collect(),
                ))
            }
            Expr::Subquery { .. } => Err(Refusal::not_simulated("a subquery")),
            Expr::Aggregate { op, group, param, of } => self.aggregate(op, group, param.as_deref(), of, time),
            Expr::Binary(binary) => {
                let (left, right) = (self.at(&binary.left, time)?, self.at(&binary.right, time)?);
                operators::apply(binary, left, right)
            }
            Expr::Call { name, args } => self.call(name, args, time),
        }
    }

    fn vector(&self, node: &Node, time: f64) -> Result<Vector, Refusal> {
        match self.at(node, time)? {
            EvaluatedValue::Vector(rows) => Ok(rows),
            _ => Err(Refusal::bad("expected type instant vector")),
        }
    }

    fn scalar(&self, node: Option<&Node>, time: f64) -> Result<f64, Refusal> {
        match node.map(|node| self.at(node, time)).transpose()? {
            Some(EvaluatedValue::Scalar(value)) => Ok(value),
            _ => Err(Refusal::bad("expected type scalar")),
        }
    }

    fn aggregate(
        &self,
        op: &str,
        group: &Group,
        param: Option<&Node>,
        of: &Node,
        time: f64,
    ) -> Result<EvaluatedValue, Refusal> {
        let rows = self.vector(of, time)?;
        let mut groups: BTreeMap<Labels, Vector> = BTreeMap::new();
        for (labels, value) in rows {
            groups.entry(grouped(group, &labels)).or_default().push((labels, value));
        }
        if matches!(op, "topk" | "bottomk") {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
            let k = self.scalar(param, time)?.max(0.0) as usize;
            let mut kept = Vector::new();
            for (_, mut rows) in groups {
                rows.sort_by(|a, b| if op == "topk" { b.1.total_cmp(&a.1) } else { a.1.total_cmp(&b.1) });
                kept.extend(rows.into_iter().take(k));
            }
            return Ok(EvaluatedValue::Vector(kept));
        }
        let fold = |rows: &Vector| {
            let values = rows.iter().map(|(_, value)| *value);
            #[expect(clippy::cast_precision_loss, reason = "a few thousand")]
            let count = rows.len() as f64;
            Ok(match op {
                "sum" => values.sum(),
                "min" => values.fold(f64::INFINITY, f64::min),
                "max" => values.fold(f64::NEG_INFINITY, f64::max),
                "avg" => values.sum::<f64>() / count,
                "count" => count,
                "group" => 1.0,
                op => return Err(Refusal::not_simulated(format!("the aggregation {op}()"))),
            })
        };
        let folded: Result<Vector, Refusal> =
            groups.into_iter().map(|(labels, rows)| Ok((labels, fold(&rows)?))).collect();
        Ok(EvaluatedValue::Vector(folded?))
    }

    fn call(&self, name: &str, args: &[Node], time: f64) -> Result<EvaluatedValue, Refusal> {
        if let Some(over) = over_time(name) {
            let Some(Expr::Selector(selector)) = args.first().map(|arg| &arg.expr) else {
                return Err(Refusal::not_simulated(format!(
                    "{name}() of anything but a selector with a range"
                )));
            };
            if selector.range.is_none() {
                return Err(Refusal::bad(format!(
                    "expected type range vector in call to function {name:?}, got instant vector"
                )));
            }
            let (at, width) = (Self::shifted(selector, time), seconds(selector));
            let rows = self.series(selector).iter().filter_map(|(series, labels)| {
                let keeps = name == "last_over_time";
                let labels = if keeps { labels.clone() } else { bare(labels.clone()) };
                Some((labels, over(series, at, width)?))
            });
            return Ok(EvaluatedValue::Vector(rows.collect()));
        }
        let each = |change: &dyn Fn(f64) -> f64| -> Result<EvaluatedValue, Refusal> {
            let first = args
                .first()
                .ok_or_else(|| Refusal::bad(format!("expected arguments in call to {name:?}")))?;
            let rows = self.vector(first, time)?;
            Ok(EvaluatedValue::Vector(
                rows.into_iter().map(|(labels, value)| (bare(labels), change(value))).collect(),
            ))
        };
        match name {
            "time" => Ok(EvaluatedValue::Scalar(time)),
            "vector" => Ok(EvaluatedValue::Vector(vec![(Labels::new(), self.scalar(args.first(), time)?)])),
            "abs" => each(&f64::abs),
            "ceil" => each(&f64::ceil),
            "floor" => each(&f64::floor),
            "round" => each(&f64::round),
            "clamp_min" => {
                let least = self.scalar(args.get(1), time)?;
                each(&|value| value.max(least))
            }
            "clamp_max" => {
                let most = self.scalar(args.get(1), time)?;
                each(&|value| value.min(most))
            }
            "scalar" | "absent" | "sort" | "sort_desc" => {
                let first = args
                    .first()
                    .ok_or_else(|| Refusal::bad(format!("expected arguments in call to {name:?}")))?;
                let mut rows = self.vector(first, time)?;
                Ok(match (name, rows.as_slice()) {
                    ("scalar", [(_, value)]) => EvaluatedValue::Scalar(*value),
                    ("scalar", _) => EvaluatedValue::Scalar(f64::NAN),
                    ("absent", []) => EvaluatedValue::Vector(vec![(Labels::new(), 1.0)]),
                    ("absent", _) => EvaluatedValue::Vector(Vec::new()),
                    _ => {
                        rows.sort_by(
                            |a, b| if name == "sort" { a.1.total_cmp(&b.1) } else { b.1.total_cmp(&a.1) },
                        );
                        EvaluatedValue::Vector(rows)
                    }
                })
            }
            "histogram_quantile" => {
                let quantile = self.scalar(args.first(), time)?;
                let buckets = args.get(1).ok_or_else(|| Refusal::bad("expected 2 arguments"))?;
                Ok(EvaluatedValue::Vector(operators::quantile(quantile, self.vector(buckets, time)?)))
            }
            name => Err(Refusal::not_simulated(format!("the function {name}()"))),
        }
    }
}

fn bare(mut labels: Labels) -> Labels {
    labels.remove("__name__");
    labels
}

fn grouped(group: &Group, labels: &Labels) -> Labels {
    let keep = |label: &str| match group {
        Group::All => false,
        Group::By(by) => by.iter().any(|wanted| wanted == label),
        Group::Without(without) => label != "__name__" && !without.iter().any(|gone| gone == label),
    };
    labels
        .iter()
        .filter(|(label, _)| keep(label))
        .map(|(label, value)| (label.clone(), value.clone()))
        .collect()
}

#[expect(clippy::cast_precision_loss, reason = "durations fit")]
fn seconds(selector: &Selector) -> f64 {
    selector.range.unwrap_or(0) as f64 / 1000.0
}

/// Samples of a window, at most 120 of them.
fn window(series: &Canned, end: f64, width: f64) -> Vec<(f64, f64)> {
    let step = SCRAPE.max(width / 120.0);
    let mut at = ((end - width) / step).floor() * step + step;
    let mut samples = Vec::new();
    while at <= end {
        samples.extend(series.at(at).map(|value| (at, value)));
        at += step;
    }
    samples
}

/// The value of a series over a window, from the window's end and width in seconds; `None`: it has no sample there.
type WindowFunction = fn(&Canned, f64, f64) -> Option<f64>;

fn over_time(name: &str) -> Option<WindowFunction> {
    fn grown(series: &Canned, end: f64, width: f64) -> Option<f64> {
        Some(series.at(end)? - series.at(end - width)?)
    }
    fn values(series: &Canned, end: f64, width: f64) -> Option<Vec<f64>> {
        let values: Vec<f64> = window(series, end, width).into_iter().map(|(_, value)| value).collect();
        (!values.is_empty()).then_some(values)
    }
    Some(match name {
        "rate" => |series, end, width| grown(series, end, width).map(|grown| grown / width),
        "irate" => |series, end, width| {
            (width >= SCRAPE).then(|| grown(series, end, SCRAPE))?.map(|grown| grown / SCRAPE)
        },
        "increase" | "delta" => grown,
        #[expect(clippy::cast_precision_loss, reason = "at most 120")]
        "avg_over_time" => |series, end, width| {
            values(series, end, width).map(|all| all.iter().sum::<f64>() / all.len() as f64)
        },
        "min_over_time" => |series, end, width| values(series, end, width)?.into_iter().reduce(f64::min),
        "max_over_time" => |series, end, width| values(series, end, width)?.into_iter().reduce(f64::max),
        "sum_over_time" => |series, end, width| values(series, end, width).map(|all| all.iter().sum()),
        #[expect(clippy::cast_precision_loss, reason = "at most 120")]
        "count_over_time" => |series, end, width| values(series, end, width).map(|all| all.len() as f64),
        "last_over_time" => |series, end, width| values(series, end, width)?.into_iter().next_back(),
        _ => return None,
    })
}
