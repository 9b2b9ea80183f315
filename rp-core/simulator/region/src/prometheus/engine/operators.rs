//! Operators between two sides, and quantiles of histograms.

use std::collections::BTreeMap;

use rp_promql::ast::{Binary, Matching};

use super::{EvaluatedValue, Labels, Refusal, Vector, bare};

/// `left op right`.
pub(super) fn apply(
    binary: &Binary,
    left: EvaluatedValue,
    right: EvaluatedValue,
) -> Result<EvaluatedValue, Refusal> {
    let op = binary.op.as_str();
    if binary.matching.as_ref().is_some_and(|matching| matching.side.is_some()) {
        return Err(Refusal::not_simulated("group_left and group_right"));
    }
    match (left, right) {
        (EvaluatedValue::Scalar(a), EvaluatedValue::Scalar(b)) => match comparison(op) {
            Some(compare) => Ok(EvaluatedValue::Scalar(f64::from(u8::from(compare(a, b))))),
            None => arithmetic(op).map(|compute| EvaluatedValue::Scalar(compute(a, b))),
        },
        (EvaluatedValue::Vector(rows), EvaluatedValue::Scalar(b)) => {
            with_number(binary, rows, |value| (value, b))
        }
        (EvaluatedValue::Scalar(a), EvaluatedValue::Vector(rows)) => {
            with_number(binary, rows, |value| (a, value))
        }
        (EvaluatedValue::Vector(left), EvaluatedValue::Vector(right)) => between(binary, left, right),
        _ => Err(Refusal::bad("binary expression must contain only scalar and instant vector types")),
    }
}

fn comparison(op: &str) -> Option<fn(f64, f64) -> bool> {
    Some(match op {
        #[expect(clippy::float_cmp, reason = "PromQL compares so")]
        "==" => |a, b| a == b,
        #[expect(clippy::float_cmp, reason = "PromQL compares so")]
        "!=" => |a, b| a != b,
        "<" => |a, b| a < b,
        "<=" => |a, b| a <= b,
        ">" => |a, b| a > b,
        ">=" => |a, b| a >= b,
        _ => return None,
    })
}

fn arithmetic(op: &str) -> Result<fn(f64, f64) -> f64, Refusal> {
    Ok(match op {
        "+" => |a, b| a + b,
        "-" => |a, b| a - b,
        "*" => |a, b| a * b,
        "/" => |a, b| a / b,
        "%" => |a, b| a % b,
        "^" => f64::powf,
        "atan2" => f64::atan2,
        op => {
            return Err(Refusal::bad(format!("set operator {op:?} not allowed in binary scalar expression")));
        }
    })
}

fn with_number(
    binary: &Binary,
    rows: Vector,
    sides: impl Fn(f64) -> (f64, f64),
) -> Result<EvaluatedValue, Refusal> {
    let Some(compare) = comparison(&binary.op) else {
        let compute = arithmetic(&binary.op)?;
        let computed = rows.into_iter().map(|(labels, value)| {
            let (a, b) = sides(value);
            (bare(labels), compute(a, b))
        });
        return Ok(EvaluatedValue::Vector(computed.collect()));
    };
    let kept = rows.into_iter().filter_map(|(labels, value)| {
        let (a, b) = sides(value);
        match (binary.truth, compare(a, b)) {
            (true, holds) => Some((bare(labels), f64::from(u8::from(holds)))),
            (false, true) => Some((labels, value)),
            (false, false) => None,
        }
    });
    Ok(EvaluatedValue::Vector(kept.collect()))
}

fn key(matching: Option<&Matching>, labels: &Labels) -> Labels {
    let keep = |label: &str| match matching {
        None => label != "__name__",
        Some(Matching { on: true, labels, .. }) => labels.iter().any(|on| on == label),
        Some(Matching { labels, .. }) => label != "__name__" && !labels.iter().any(|not| not == label),
    };
    labels
        .iter()
        .filter(|(label, _)| keep(label))
        .map(|(label, value)| (label.clone(), value.clone()))
        .collect()
}

fn between(binary: &Binary, left: Vector, right: Vector) -> Result<EvaluatedValue, Refusal> {
    let matching = binary.matching.as_ref();
    let mut others: BTreeMap<Labels, f64> = BTreeMap::new();
    let set = matches!(binary.op.as_str(), "and" | "or" | "unless");
    for (labels, value) in &right {
        let twice = others.insert(key(matching, labels), *value).is_some();
        if twice && !set {
            return Err(many("right"));
        }
    }
    if set {
        let had: Vec<Labels> = left.iter().map(|(labels, _)| key(matching, labels)).collect();
        let mut rows: Vector = match binary.op.as_str() {
            "and" => {
                left.into_iter().filter(|(labels, _)| others.contains_key(&key(matching, labels))).collect()
            }
            "unless" => {
                left.into_iter().filter(|(labels, _)| !others.contains_key(&key(matching, labels))).collect()
            }
            _ => left,
        };
        if binary.op == "or" {
            rows.extend(right.into_iter().filter(|(labels, _)| !had.contains(&key(matching, labels))));
        }
        return Ok(EvaluatedValue::Vector(rows));
    }
    let mut rows: BTreeMap<Labels, (Labels, f64)> = BTreeMap::new();
    for (labels, a) in left {
        let key = key(matching, &labels);
        let Some(b) = others.get(&key) else { continue };
        let row = match comparison(&binary.op) {
            None => Some((key.clone(), arithmetic(&binary.op)?(a, *b))),
            Some(compare) if binary.truth => Some((key.clone(), f64::from(u8::from(compare(a, *b))))),
            Some(compare) => compare(a, *b).then_some((labels, a)),
        };
        let Some(row) = row else { continue };
        if rows.insert(key, row).is_some() {
            return Err(many("left"));
        }
    }
    Ok(EvaluatedValue::Vector(rows.into_values().collect()))
}

fn many(side: &str) -> Refusal {
    Refusal {
        status: hyper::StatusCode::UNPROCESSABLE_ENTITY,
        kind: "execution",
        message: format!(
            "found duplicate series for the match group on the {side} hand-side of the operation: many-to-many matching not allowed: matching labels must be unique on one side"
        ),
    }
}

/// Interpolated inside the bucket that the quantile falls into, as Prometheus does.
pub(super) fn quantile(quantile: f64, rows: Vector) -> Vector {
    let mut histograms: BTreeMap<Labels, Vec<(f64, f64)>> = BTreeMap::new();
    for (labels, count) in rows {
        let mut labels = bare(labels);
        let Some(bound) = labels.remove("le").and_then(|le| le.parse::<f64>().ok()) else { continue };
        histograms.entry(labels).or_default().push((bound, count));
    }
    histograms.into_iter().map(|(labels, buckets)| (labels, of_buckets(quantile, buckets))).collect()
}

fn of_buckets(quantile: f64, mut buckets: Vec<(f64, f64)>) -> f64 {
    buckets.sort_by(|a, b| a.0.total_cmp(&b.0));
    let total = match buckets.last() {
        Some((bound, count)) if bound.is_infinite() && *count > 0.0 => *count,
        _ => return f64::NAN,
    };
    let rank = quantile * total;
    let at = buckets.partition_point(|(_, count)| *count < rank);
    let Some((bound, count)) = buckets.get(at).copied() else { return f64::NAN };
    let (below, before) = at.checked_sub(1).and_then(|at| buckets.get(at).copied()).unwrap_or((0.0, 0.0));
    if bound.is_infinite() {
        below
    } else {
        below + (bound - below) * (rank - before) / (count - before).max(1e-300)
    }
}
