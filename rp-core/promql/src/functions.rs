//! What each function does, in a few words (prometheus.io/docs/prometheus/latest/querying/functions).

/// Aggregation operators.
pub(crate) const AGGREGATORS: [&str; 14] = [
    "sum",
    "min",
    "max",
    "avg",
    "group",
    "stddev",
    "stdvar",
    "count",
    "count_values",
    "bottomk",
    "topk",
    "quantile",
    "limitk",
    "limit_ratio",
];

pub(crate) fn takes_parameter(op: &str) -> bool {
    matches!(op, "count_values" | "bottomk" | "topk" | "quantile" | "limitk" | "limit_ratio")
}

/// What an aggregation does.
pub(crate) fn aggregation_description(op: &str) -> &'static str {
    match op {
        "sum" => "adds up",
        "min" => "takes the smallest",
        "max" => "takes the largest",
        "avg" => "averages",
        "group" => "gives 1 for each group",
        "stddev" => "standard deviation",
        "stdvar" => "variance",
        "count" => "counts the series",
        "count_values" => "counts series with the same value",
        "bottomk" => "keeps the series with the smallest values",
        "topk" => "keeps the series with the largest values",
        "quantile" => "takes a quantile over the series",
        "limitk" => "keeps some series",
        _ => "keeps a share of the series",
    }
}

/// What a function does; `None`: not known here.
pub(crate) fn function_description(name: &str) -> Option<&'static str> {
    Some(match name {
        "rate" => "per-second increase of a counter, averaged over the window; restarts are allowed for",
        "irate" => "per-second increase between the last two samples of the window",
        "increase" => "how much a counter grew over the window; restarts are allowed for",
        "delta" => "difference between the ends of the window, for gauges",
        "idelta" => "difference between the last two samples",
        "deriv" => "slope of a gauge, per second, by linear regression",
        "predict_linear" => "value that a gauge will have after some seconds, by linear regression",
        "changes" => "how often the value changed in the window",
        "resets" => "how often a counter restarted in the window",
        "histogram_quantile" => "quantile of a histogram, interpolated inside its buckets",
        "histogram_avg" => "average of a native histogram",
        "histogram_count" => "number of observations of a native histogram",
        "histogram_sum" => "sum of observations of a native histogram",
        "histogram_fraction" => "share of observations between two values",
        "avg_over_time" => "average of each series over the window",
        "min_over_time" => "smallest value of each series over the window",
        "max_over_time" => "largest value of each series over the window",
        "sum_over_time" => "sum of the samples of each series over the window",
        "count_over_time" => "number of samples of each series over the window",
        "last_over_time" => "newest sample of each series in the window",
        "present_over_time" => "1 for each series that has a sample in the window",
        "absent_over_time" => "1 when nothing in the window matches",
        "quantile_over_time" => "quantile of the samples of each series over the window",
        "stddev_over_time" => "standard deviation of each series over the window",
        "stdvar_over_time" => "variance of each series over the window",
        "mad_over_time" => "median absolute deviation of each series over the window",
        "absent" => "1 when nothing matches, else nothing",
        "abs" => "absolute value",
        "ceil" => "rounded up",
        "floor" => "rounded down",
        "round" => "rounded to the nearest",
        "clamp" => "kept between two bounds",
        "clamp_min" => "at least a bound",
        "clamp_max" => "at most a bound",
        "exp" => "e to the power of the value",
        "ln" => "natural logarithm",
        "log2" => "logarithm to base 2",
        "log10" => "logarithm to base 10",
        "sqrt" => "square root",
        "sgn" => "sign: -1, 0 or 1",
        "sort" | "sort_desc" => "sorted by value",
        "sort_by_label" | "sort_by_label_desc" => "sorted by labels",
        "label_replace" => "sets a label from another one by a regular expression",
        "label_join" => "sets a label from several others",
        "scalar" => "the one series as a plain number",
        "vector" => "a plain number as a series without labels",
        "time" => "the time of evaluation, Unix seconds",
        "timestamp" => "the time of each sample, Unix seconds",
        "minute" | "hour" | "day_of_week" | "day_of_month" | "day_of_year" | "days_in_month" | "month"
        | "year" => "that part of a time, in UTC",
        "info" => "adds the labels of info metrics",
        "pi" => "3.14159…",
        "deg" => "radians in degrees",
        "rad" => "degrees in radians",
        "sin" | "cos" | "tan" | "asin" | "acos" | "atan" | "sinh" | "cosh" | "tanh" | "asinh" | "acosh"
        | "atanh" => "trigonometry, in radians",
        "double_exponential_smoothing" | "holt_winters" => "smoothed value of a gauge",
        _ => return None,
    })
}

/// What an operator between two sides does.
pub(crate) fn operator_description(op: &str) -> &'static str {
    match op {
        "+" => "adds both sides",
        "-" => "subtracts the right side from the left",
        "*" => "multiplies both sides",
        "/" => "divides the left side by the right",
        "%" => "remainder of left by right",
        "^" => "left to the power of right",
        "atan2" => "angle of the two sides",
        "and" => "keeps series of the left that the right has too",
        "or" => "takes series of the left, and those of the right that the left lacks",
        "unless" => "keeps series of the left that the right lacks",
        "==" => "keeps what is equal",
        "!=" => "keeps what is not equal",
        "<" => "keeps what is less than the right",
        "<=" => "keeps what is at most the right",
        ">" => "keeps what is greater than the right",
        _ => "keeps what is at least the right",
    }
}
