//! What a query does, as a tree of sentences.

use schemars::JsonSchema;
use serde::Serialize;

use crate::ast::{At, Binary, Expr, Group, Node, Op, Selector, Shift};
use crate::print::{duration, quoted};
use crate::{SyntaxError, functions, parse, pretty, unit_of};

/// A parsed query with its explanation.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Explanation {
    pub query: String,
    pub formatted: String,
    /// Names of its metrics, each once.
    pub metrics: Vec<String>,
    /// Unit of its values, where names tell.
    pub unit: Option<&'static str>,
    /// What might surprise.
    pub notes: Vec<String>,
    pub tree: Tree,
}

/// One expression of the tree.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "ExpressionPart")]
pub struct Tree {
    pub kind: &'static str,
    /// The expression as formatted, on one line.
    pub text: String,
    /// What it does, without a full stop.
    pub says: String,
    /// Its byte range in the query.
    pub start: usize,
    pub end: usize,
    pub children: Vec<Tree>,
}

/// Longest text of a node.
const MOST_TEXT: usize = 300;

/// Explains a query.
///
/// # Errors
/// The query does not parse.
pub fn explain(query: &str) -> Result<Explanation, SyntaxError> {
    let node = parse(query)?;
    let mut metrics: Vec<String> = Vec::new();
    node.selectors(&mut |selector| {
        if let Some(name) = metric(selector)
            && !metrics.contains(&name)
        {
            metrics.push(name);
        }
    });
    let mut notes = Vec::new();
    note(&node, &mut notes);
    Ok(Explanation {
        query: query.to_owned(),
        formatted: pretty(&node),
        metrics,
        unit: unit_of(&node),
        notes,
        tree: tree(&node),
    })
}

fn metric(selector: &Selector) -> Option<String> {
    let matched = || {
        let named = |m: &&crate::ast::Matcher| m.label == "__name__" && m.op == Op::Is;
        selector.matchers.iter().find(named).map(|matcher| matcher.value.clone())
    };
    selector.name.clone().or_else(matched)
}

fn tree(node: &Node) -> Tree {
    let (kind, says, children): (_, String, Vec<&Node>) = match &node.expr {
        Expr::Number(_) => ("number", "a number".to_owned(), Vec::new()),
        Expr::Text(_) => ("string", "a text".to_owned(), Vec::new()),
        Expr::Selector(selector) => {
            (if selector.range.is_some() { "range" } else { "selector" }, selects(selector), Vec::new())
        }
        Expr::Subquery { of, range, step, shift } => {
            let step = step.map_or("the default step".to_owned(), duration);
            let says = format!("evaluated every {step} over the last {}{}", duration(*range), shifted(shift));
            ("subquery", says, vec![of])
        }
        Expr::Call { name, args } => {
            let effect = functions::function_description(name)
                .map_or_else(|| format!("the function {name}"), str::to_owned);
            ("call", effect, args.iter().collect())
        }
        Expr::Aggregate { op, group, param, of } => {
            let says = format!("{}{}", functions::aggregation_description(op), grouped(group));
            ("aggregate", says, param.as_deref().into_iter().chain([&**of]).collect())
        }
        Expr::Binary(binary) => ("binary", operator_description(binary), vec![&binary.left, &binary.right]),
        Expr::Negative(of) => ("unary", "with the sign turned".to_owned(), vec![of]),
        Expr::Positive(of) => ("unary", "as it is".to_owned(), vec![of]),
        Expr::Parens(of) => ("parens", "first of all".to_owned(), vec![of]),
    };
    let mut text = node.to_string();
    if text.chars().count() > MOST_TEXT {
        text = text.chars().take(MOST_TEXT).chain(['…']).collect();
    }
    let children = children.into_iter().map(tree).collect();
    Tree { kind, text, says, start: node.span.start, end: node.span.end, children }
}

fn selects(selector: &Selector) -> String {
    let what = match &selector.name {
        Some(name) => format!("series of {name}"),
        None => "series of any name".to_owned(),
    };
    let conditions: Vec<String> = selector
        .matchers
        .iter()
        .map(|matcher| {
            let word = match matcher.op {
                Op::Is => "is",
                Op::Not => "is not",
                Op::Like => "matches",
                Op::Unlike => "does not match",
            };
            format!("{} {word} {}", matcher.label, quoted(&matcher.value))
        })
        .collect();
    let conditions =
        if conditions.is_empty() { String::new() } else { format!(" where {}", conditions.join(" and ")) };
    let range = match selector.range {
        Some(range) => format!(", all samples of the last {}", duration(range)),
        None => String::new(),
    };
    format!("{what}{conditions}{range}{}", shifted(&selector.shift))
}

fn shifted(shift: &Shift) -> String {
    let at = match shift.at {
        None => String::new(),
        Some(At::Time(at)) => format!(", at Unix time {at}"),
        Some(At::Start) => ", at the start of the range".to_owned(),
        Some(At::End) => ", at the end of the range".to_owned(),
    };
    match shift.offset {
        None => at,
        Some(offset) if offset < 0 => format!("{at}, {} later", duration(offset.unsigned_abs())),
        Some(offset) => format!("{at}, {} earlier", duration(offset.unsigned_abs())),
    }
}

fn grouped(group: &Group) -> String {
    match group {
        Group::All => " over all series".to_owned(),
        Group::By(labels) if labels.is_empty() => " over all series".to_owned(),
        Group::By(labels) => format!(", one result per {}", labels.join(" and ")),
        Group::Without(labels) => format!(", without the labels {}", labels.join(" and ")),
    }
}

fn operator_description(binary: &Binary) -> String {
    let mut says = functions::operator_description(&binary.op).to_owned();
    if binary.truth {
        says = format!("1 where true, 0 where not: {}", says.replace("keeps what", "it"));
    }
    if let Some(matching) = &binary.matching {
        let word = if matching.on { "paired by" } else { "paired by all labels but" };
        says = format!("{says}, {word} {}", matching.labels.join(" and "));
        if let Some(side) = &matching.side {
            says.push_str(if side.left { ", many on the left to one" } else { ", one to many on the right" });
        }
    }
    says
}

fn note(node: &Node, notes: &mut Vec<String>) {
    let mut add = |text: String| {
        if !notes.contains(&text) {
            notes.push(text);
        }
    };
    match &node.expr {
        Expr::Call { name, args } => {
            if let ("rate" | "irate" | "increase", Some(Expr::Selector(selector))) =
                (name.as_str(), args.first().map(|arg| &arg.expr))
            {
                let metric = metric(selector).unwrap_or_default();
                let counts = ["_total", "_count", "_sum", "_bucket"].iter().any(|end| metric.ends_with(end));
                if !metric.is_empty() && !counts && !metric.contains(':') {
                    add(format!("{name}() is for counters; {metric} does not look like one by its name."));
                }
                if selector.range.is_some_and(|range| range < 60_000) {
                    add(format!(
                        "The window of {name}() is short: it needs two samples in it, and scrapes are often 30 s apart."
                    ));
                }
            }
            if name == "histogram_quantile"
                && let Some(Expr::Aggregate { group, .. }) = args.get(1).map(|arg| &arg.expr)
                && !keeps_le(group)
            {
                add("histogram_quantile() needs the label le: the aggregation inside drops it.".to_owned());
            }
        }
        Expr::Selector(selector) => {
            if let Some(all) = selector.matchers.iter().find(|m| m.op == Op::Like && m.value == ".*") {
                add(format!("{}=~\".*\" matches everything: it can be left out.", all.label));
            }
            if selector.name.is_none() && !selector.matchers.iter().any(|m| m.label == "__name__") {
                add("A selector without a metric name looks at every metric that has the labels.".to_owned());
            }
        }
        _ => {}
    }
    match &node.expr {
        Expr::Subquery { of, .. } | Expr::Negative(of) | Expr::Positive(of) | Expr::Parens(of) => {
            note(of, notes);
        }
        Expr::Call { args, .. } => args.iter().for_each(|arg| note(arg, notes)),
        Expr::Aggregate { of, .. } => note(of, notes),
        Expr::Binary(binary) => {
            note(&binary.left, notes);
            note(&binary.right, notes);
        }
        Expr::Number(_) | Expr::Text(_) | Expr::Selector(_) => {}
    }
}

fn keeps_le(group: &Group) -> bool {
    match group {
        Group::All => false,
        Group::By(labels) => labels.iter().any(|label| label == "le"),
        Group::Without(labels) => labels.iter().all(|label| label != "le"),
    }
}
