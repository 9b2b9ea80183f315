//! A query in its usual dress: one line, or broken where it is long.

use std::fmt::{self, Write as _};

use crate::ast::{At, Binary, Expr, Group, Node, Selector, Shift};

/// Longer lines are broken.
const WIDTH: usize = 100;

/// Formats a query, two blanks per level.
pub fn pretty(node: &Node) -> String {
    let mut out = String::new();
    write(node, 0, &mut out);
    out
}

fn write(node: &Node, level: usize, out: &mut String) {
    let line = node.to_string();
    if 2 * level + line.chars().count() <= WIDTH {
        let _ = write!(out, "{:indent$}{line}", "", indent = 2 * level);
        return;
    }
    let pad = "  ".repeat(level);
    match &node.expr {
        Expr::Parens(of) => list(&format!("{pad}("), [&**of], level, &format!("{pad})"), out),
        Expr::Call { name, args } if !args.is_empty() => {
            list(&format!("{pad}{name}("), args.iter(), level, &format!("{pad})"), out);
        }
        Expr::Aggregate { op, group, param, of } => {
            let args = param.as_deref().into_iter().chain([&**of]);
            list(&format!("{pad}{op}{}(", Grouping(group)), args, level, &format!("{pad})"), out);
        }
        Expr::Binary(binary) => {
            // What is long to the left is no deeper: else the blanks of a long sum were many times its text.
            let deeper = usize::from(!matches!(binary.left.expr, Expr::Binary(_)));
            write(&binary.left, level + deeper, out);
            let _ = write!(out, "\n{pad}{}\n", Operator(binary));
            write(&binary.right, level + 1, out);
        }
        _ => {
            let _ = write!(out, "{pad}{line}");
        }
    }
}

fn list<'a>(
    open: &str,
    nodes: impl IntoIterator<Item = &'a Node>,
    level: usize,
    close: &str,
    out: &mut String,
) {
    out.push_str(open);
    for (at, node) in nodes.into_iter().enumerate() {
        out.push_str(if at == 0 { "\n" } else { ",\n" });
        write(node, level + 1, out);
    }
    let _ = write!(out, "\n{close}");
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.expr {
            Expr::Number(number) => f.write_str(&self::number(*number)),
            Expr::Text(text) => write!(f, "{}", quoted(text)),
            Expr::Selector(selector) => write!(f, "{selector}"),
            Expr::Subquery { of, range, step, shift } => {
                let step = step.map(duration).unwrap_or_default();
                write!(f, "{of}[{}:{step}]{}", duration(*range), Shifted(shift))
            }
            Expr::Call { name, args } => {
                write!(f, "{name}(")?;
                comma(f, args.iter())?;
                f.write_str(")")
            }
            Expr::Aggregate { op, group, param, of } => {
                write!(f, "{op}{}(", Grouping(group))?;
                comma(f, param.as_deref().into_iter().chain([&**of]))?;
                f.write_str(")")
            }
            Expr::Binary(binary) => write!(f, "{} {} {}", binary.left, Operator(binary), binary.right),
            Expr::Negative(of) => write!(f, "-{of}"),
            Expr::Positive(of) => write!(f, "+{of}"),
            Expr::Parens(of) => write!(f, "({of})"),
        }
    }
}

fn comma<'a>(f: &mut fmt::Formatter<'_>, nodes: impl Iterator<Item = &'a Node>) -> fmt::Result {
    for (at, node) in nodes.enumerate() {
        write!(f, "{}{node}", if at == 0 { "" } else { ", " })?;
    }
    Ok(())
}

struct Grouping<'a>(&'a Group);

impl fmt::Display for Grouping<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Group::All => Ok(()),
            Group::By(labels) => write!(f, " by ({}) ", names(labels)),
            Group::Without(labels) => write!(f, " without ({}) ", names(labels)),
        }
    }
}

struct Operator<'a>(&'a Binary);

impl fmt::Display for Operator<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.op)?;
        if self.0.truth {
            f.write_str(" bool")?;
        }
        let Some(matching) = &self.0.matching else { return Ok(()) };
        let word = if matching.on { "on" } else { "ignoring" };
        write!(f, " {word} ({})", names(&matching.labels))?;
        if let Some(side) = &matching.side {
            let word = if side.left { "group_left" } else { "group_right" };
            write!(f, " {word} ({})", names(&side.include))?;
        }
        Ok(())
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain = self.name.as_deref().filter(|name| is_name(name, true) && !is_reserved(name));
        f.write_str(plain.unwrap_or_default())?;
        let odd = self.name.as_deref().filter(|_| plain.is_none()).map(quoted);
        let matchers = self.matchers.iter().map(|matcher| {
            format!("{}{}{}", label(&matcher.label), matcher.op.text(), quoted(&matcher.value))
        });
        let inner: Vec<String> = odd.into_iter().chain(matchers).collect();
        if !inner.is_empty() {
            write!(f, "{{{}}}", inner.join(","))?;
        }
        if let Some(range) = self.range {
            write!(f, "[{}]", duration(range))?;
        }
        write!(f, "{}", Shifted(&self.shift))
    }
}

struct Shifted<'a>(&'a Shift);

impl fmt::Display for Shifted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.at {
            None => {}
            Some(At::Time(at)) => write!(f, " @ {at:.3}")?,
            Some(At::Start) => f.write_str(" @ start()")?,
            Some(At::End) => f.write_str(" @ end()")?,
        }
        match self.0.offset {
            None => Ok(()),
            Some(offset) => {
                let sign = if offset < 0 { "-" } else { "" };
                write!(f, " offset {sign}{}", duration(offset.unsigned_abs()))
            }
        }
    }
}

fn names(labels: &[String]) -> String {
    labels.iter().map(|name| label(name)).collect::<Vec<_>>().join(", ")
}

fn label(name: &str) -> String {
    if is_name(name, false) && !is_number(name) { name.to_owned() } else { quoted(name) }
}

/// Words that are read as a number wherever they stand.
fn is_number(name: &str) -> bool {
    name.eq_ignore_ascii_case("inf") || name.eq_ignore_ascii_case("nan")
}

/// Words that stand for something else where a metric could stand.
fn is_reserved(name: &str) -> bool {
    let words = ["bool", "on", "ignoring", "group_left", "group_right"];
    is_number(name) || words.iter().any(|word| name.eq_ignore_ascii_case(word))
}

fn is_name(name: &str, metric: bool) -> bool {
    let good = |c: char| c.is_ascii_alphanumeric() || c == '_' || metric && c == ':';
    !name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit()) && name.chars().all(good)
}

/// In double quotes, escaped as Go does.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

fn number(number: f64) -> String {
    if number.is_nan() {
        "NaN".to_owned()
    } else if number.is_infinite() {
        if number > 0.0 { "Inf" } else { "-Inf" }.to_owned()
    } else {
        number.to_string()
    }
}

/// `1h30m` of milliseconds.
pub(crate) fn duration(mut millis: u64) -> String {
    const UNITS: [(&str, u64); 7] = [
        ("y", 31_536_000_000),
        ("w", 604_800_000),
        ("d", 86_400_000),
        ("h", 3_600_000),
        ("m", 60_000),
        ("s", 1000),
        ("ms", 1),
    ];
    if millis == 0 {
        return "0s".to_owned();
    }
    let mut out = String::new();
    for (unit, size) in UNITS {
        // Years and weeks only where they come out even, as Prometheus prints them.
        if matches!(unit, "y" | "w") && !millis.is_multiple_of(size) {
            continue;
        }
        if millis >= size {
            let _ = write!(out, "{}{unit}", millis / size);
            millis %= size;
        }
    }
    out
}
