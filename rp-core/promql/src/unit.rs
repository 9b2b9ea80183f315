//! Units, guessed from names by Prometheus' own conventions (prometheus.io/docs/practices/naming).

use crate::ast::{Expr, Node};

const ENDINGS: [(&str, &str); 12] = [
    ("_seconds", "seconds"),
    ("_milliseconds", "milliseconds"),
    ("_bytes", "bytes"),
    ("_ratio", "ratio"),
    ("_percent", "percent"),
    ("_celsius", "celsius"),
    ("_volts", "volts"),
    ("_amperes", "amperes"),
    ("_joules", "joules"),
    ("_meters", "meters"),
    ("_timestamp_seconds", "timestamp"),
    ("_time_seconds", "timestamp"),
];

/// The unit of a metric by its name.
fn of_name(name: &str) -> Option<&'static str> {
    let name = ["_total", "_sum", "_bucket", "_created", "_info"]
        .into_iter()
        .find_map(|ending| name.strip_suffix(ending))
        .unwrap_or(name);
    if name.ends_with("_count") {
        return None;
    }
    // The longest matching suffix wins.
    let fits = ENDINGS.iter().filter(|(ending, _)| name.ends_with(ending));
    fits.max_by_key(|(ending, _)| ending.len()).map(|(_, unit)| *unit)
}

/// The unit of a query's values, where the names tell.
pub fn unit_of(node: &Node) -> Option<&'static str> {
    match &node.expr {
        Expr::Number(_) | Expr::Text(_) => None,
        Expr::Selector(selector) => of_name(selector.name.as_deref()?),
        Expr::Subquery { of, .. } | Expr::Negative(of) | Expr::Positive(of) | Expr::Parens(of) => unit_of(of),
        Expr::Aggregate { op, of, .. } => match op.as_str() {
            "count" | "count_values" | "group" => None,
            _ => unit_of(of),
        },
        Expr::Call { name, args } => of_call(name, args),
        Expr::Binary(binary) => match (unit_of(&binary.left), unit_of(&binary.right), binary.op.as_str()) {
            (_, _, "==" | "!=" | "<" | "<=" | ">" | ">=") if binary.truth => None,
            (Some(a), Some(b), "/") => (a == b).then_some("ratio"),
            (Some(a), Some(b), _) => (a == b).then_some(a),
            (
                Some(unit),
                None,
                "+" | "-" | "and" | "or" | "unless" | "==" | "!=" | "<" | "<=" | ">" | ">=",
            ) => Some(unit),
            _ => None,
        },
    }
}

fn of_call(name: &str, args: &[Node]) -> Option<&'static str> {
    match name {
        "rate" | "irate" | "deriv" => match args.first().and_then(unit_of) {
            // Seconds per second: of CPU time, cores.
            Some("seconds") => Some("cores"),
            Some("bytes") => Some("bytes/s"),
            _ => Some("/s"),
        },
        "histogram_quantile" => args.get(1).and_then(bucket_unit),
        "time" | "timestamp" => Some("timestamp"),
        "absent" | "absent_over_time" | "changes" | "resets" | "count_over_time" | "present_over_time" => {
            None
        }
        "quantile_over_time" => args.get(1).and_then(unit_of),
        _ => args.first().and_then(unit_of),
    }
}

/// What the buckets of a histogram measure: the unit in their name, whatever was done to the counts.
fn bucket_unit(node: &Node) -> Option<&'static str> {
    let mut unit = None;
    node.selectors(&mut |selector| {
        unit = unit.or_else(|| selector.name.as_deref().and_then(of_name));
    });
    unit
}
