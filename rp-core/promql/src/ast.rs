//! What a query is made of.

/// A byte range in the query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Span {
    pub start: usize,
    pub end: usize,
}

/// An expression at its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    pub span: Span,
    pub expr: Expr,
}

/// An expression.
#[derive(Debug, Clone, PartialEq)]
pub enum Expr {
    Number(f64),
    Text(String),
    Selector(Selector),
    Subquery { of: Box<Node>, range: u64, step: Option<u64>, shift: Shift },
    Call { name: String, args: Vec<Node> },
    Aggregate { op: String, group: Group, param: Option<Box<Node>>, of: Box<Node> },
    Binary(Box<Binary>),
    Negative(Box<Node>),
    Positive(Box<Node>),
    Parens(Box<Node>),
}

/// `left op right`.
#[derive(Debug, Clone, PartialEq)]
pub struct Binary {
    pub op: String,
    pub left: Node,
    pub right: Node,
    /// `bool`: 0 and 1 instead of a filter.
    pub truth: bool,
    pub matching: Option<Matching>,
}

/// `on (…)` or `ignoring (…)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Matching {
    pub on: bool,
    pub labels: Vec<String>,
    pub side: Option<Side>,
}

/// `group_left (…)` or `group_right (…)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Side {
    pub left: bool,
    pub include: Vec<String>,
}

/// How an aggregation groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Group {
    All,
    By(Vec<String>),
    Without(Vec<String>),
}

/// Series by name and labels; with a range, their samples in it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Selector {
    pub name: Option<String>,
    pub matchers: Vec<Matcher>,
    /// Milliseconds.
    pub range: Option<u64>,
    pub shift: Shift,
}

/// `offset` and `@`.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Shift {
    /// Milliseconds into the past; negative: into the future.
    pub offset: Option<i64>,
    pub at: Option<At>,
}

/// What `@` names.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum At {
    /// Unix seconds.
    Time(f64),
    Start,
    End,
}

/// One label matcher.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Matcher {
    pub label: String,
    pub op: Op,
    pub value: String,
}

/// How a matcher compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    Is,
    Not,
    Like,
    Unlike,
}

impl Op {
    /// As written.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Is => "=",
            Self::Not => "!=",
            Self::Like => "=~",
            Self::Unlike => "!~",
        }
    }
}

impl Node {
    /// Calls `see` for every selector, in order of the text.
    pub fn selectors<'a>(&'a self, see: &mut impl FnMut(&'a Selector)) {
        match &self.expr {
            Expr::Number(_) | Expr::Text(_) => {}
            Expr::Selector(selector) => see(selector),
            Expr::Subquery { of, .. } | Expr::Negative(of) | Expr::Positive(of) | Expr::Parens(of) => {
                of.selectors(see);
            }
            Expr::Call { args, .. } => args.iter().for_each(|arg| arg.selectors(see)),
            Expr::Aggregate { param, of, .. } => {
                if let Some(param) = param {
                    param.selectors(see);
                }
                of.selectors(see);
            }
            Expr::Binary(binary) => {
                binary.left.selectors(see);
                binary.right.selectors(see);
            }
        }
    }
}
