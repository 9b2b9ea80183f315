//! PromQL as text (prometheus.io/docs/prometheus/latest/querying/basics): parser, formatter, explanation.
//!
//! Entry rule: what can be derived from the text of a query alone. Prometheus decides what is
//! valid: it may know functions that this crate does not, so a query that does not parse here is only
//! left unexplained, never refused.

pub mod ast;
mod explain;
mod functions;
mod lex;
mod parse;
mod print;
mod unit;

pub use ast::{Expr, Node, Selector, Span};
pub use explain::{Explanation, Tree, explain};
pub use parse::parse;
pub use print::pretty;
pub use unit::unit_of;

/// Longest query that is read, bytes.
pub const MOST_QUERY: usize = 64 * 1024;
/// Deepest nesting that is read.
pub const MOST_DEPTH: usize = 64;
/// Most operators and subqueries of a query.
pub const MOST_CHAINED: usize = 500;

/// A duration such as `1h30m`, in seconds.
#[expect(clippy::cast_precision_loss, reason = "milliseconds of any duration that is meant fit")]
pub fn duration(text: &str) -> Option<f64> {
    lex::duration(text).map(|millis| millis as f64 / 1000.0)
}

/// A text in double quotes, as a matcher's value is written.
pub fn quoted(text: &str) -> String {
    print::quoted(text)
}

/// A query that is not PromQL.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: parse error: {message}", .position)]
pub struct SyntaxError {
    pub position: Position,
    pub message: String,
}

/// A place in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Position {
    /// Bytes from the start.
    pub offset: usize,
    /// From 1.
    pub line: usize,
    /// Characters from 1.
    pub column: usize,
}

impl std::fmt::Display for Position {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

impl Position {
    /// The place at an offset of `text`; past its end, the end.
    pub fn at(text: &str, offset: usize) -> Self {
        let mut offset = offset.min(text.len());
        while !text.is_char_boundary(offset) {
            offset -= 1;
        }
        let before = &text[..offset];
        let line = before.matches('\n').count() + 1;
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        Self { offset, line, column: before[start..].chars().count() + 1 }
    }

    /// The place that Prometheus names in `line:column: parse error: …`; columns there count bytes.
    pub fn in_message(text: &str, message: &str) -> Option<Self> {
        let at = message.find(": parse error:")?;
        let numbers = message[..at].rsplit([' ', '"', '\'']).next()?;
        let (line, column) = numbers.split_once(':')?;
        let (line, column): (usize, usize) = (line.parse().ok()?, column.parse().ok()?);
        let start: usize = text.split_inclusive('\n').take(line.checked_sub(1)?).map(str::len).sum();
        Some(Self::at(text, start + column.checked_sub(1)?))
    }
}

#[cfg(test)]
mod tests;
