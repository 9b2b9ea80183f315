//! Quantities of Kubernetes.

/// A quantity, e.g. `3500m` or `16Ki`.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Quantity {
    /// Thousandths; large values saturate.
    pub millis: Option<i64>,
    /// Whole units. Plain numbers keep every digit.
    pub units: Option<i64>,
}

impl Quantity {
    /// Reads a text; without values when it is no quantity.
    pub fn parse(text: &str) -> Self {
        let millis = millis(text);
        Self { millis, units: text.parse().ok().or_else(|| millis.map(|millis| millis / 1000)) }
    }
}

/// Decimal and binary suffixes and exponents (resource.Quantity of apimachinery).
#[expect(clippy::cast_possible_truncation, reason = "floating numbers stop at the ends of the whole ones")]
fn millis(text: &str) -> Option<i64> {
    if text.len() > 40 {
        return None;
    }
    let end = text.find(|c: char| !matches!(c, '0'..='9' | '.' | '+' | '-')).unwrap_or(text.len());
    let (number, suffix) = (text.get(..end)?, text.get(end..)?);
    let number: f64 = number.parse().ok().filter(|number: &f64| number.is_finite())?;
    let factor = match suffix {
        "n" => 1e-9,
        "u" => 1e-6,
        "m" => 1e-3,
        "" => 1.0,
        "k" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "T" => 1e12,
        "P" => 1e15,
        "E" => 1e18,
        "Ki" => 1024.0,
        "Mi" => 1_048_576.0,
        "Gi" => 1_073_741_824.0,
        "Ti" => 1_099_511_627_776.0,
        "Pi" => 1_125_899_906_842_624.0,
        "Ei" => 1_152_921_504_606_846_976.0,
        exponent => {
            let digits = exponent.strip_prefix(['e', 'E'])?;
            10f64.powi(digits.parse::<i32>().ok().filter(|e| e.abs() <= 30)?)
        }
    };
    Some((number * factor * 1000.0).round() as i64)
}
