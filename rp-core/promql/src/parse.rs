//! Precedence climbing over the tokens.

mod selectors;

use crate::ast::{Binary, Expr, Group, Matching, Node, Side, Span};
use crate::functions::{AGGREGATORS, takes_parameter};
use crate::lex::{PositionedToken, Token, tokenize};
use crate::{MOST_CHAINED, MOST_DEPTH, MOST_QUERY, Position, SyntaxError};

/// Reads a query.
///
/// # Errors
/// [`SyntaxError`] with the place.
pub fn parse(text: &str) -> Result<Node, SyntaxError> {
    if text.len() > MOST_QUERY {
        let message = format!("a query has at most {MOST_QUERY} bytes");
        return Err(SyntaxError { position: Position::at(text, MOST_QUERY), message });
    }
    let words = tokenize(text)?;
    let mut parser = Parser { text, words, at: 0, depth: 0, chained: 0 };
    if parser.peek() == &Token::End {
        return Err(parser.wrong("no expression found in input"));
    }
    let node = parser.binary(0)?;
    if parser.peek() == &Token::End { Ok(node) } else { Err(parser.unexpected("")) }
}

struct Parser<'a> {
    text: &'a str,
    words: Vec<PositionedToken>,
    at: usize,
    depth: usize,
    /// Operators and subqueries so far: each puts what is left of it one level deeper.
    chained: usize,
}

type Parsed<T> = Result<T, SyntaxError>;

/// Binding strength and whether it binds to the right.
fn precedence(op: &str) -> Option<(u8, bool)> {
    Some(match op {
        "or" => (1, false),
        "and" | "unless" => (2, false),
        "==" | "!=" | "<=" | "<" | ">=" | ">" => (3, false),
        "+" | "-" => (4, false),
        "*" | "/" | "%" | "atan2" => (5, false),
        "^" => (7, true),
        _ => return None,
    })
}

/// Between `*` and `^`.
const UNARY: u8 = 6;

impl Parser<'_> {
    fn peek(&self) -> &Token {
        self.words.get(self.at).map_or(&Token::End, |word| &word.token)
    }

    fn start(&self) -> usize {
        self.words.get(self.at).map_or(self.text.len(), |word| word.start)
    }

    /// End of the last consumed token.
    fn end(&self) -> usize {
        self.at.checked_sub(1).and_then(|at| self.words.get(at)).map_or(0, |word| word.end)
    }

    fn take(&mut self) -> Token {
        let token = self.peek().clone();
        self.at += usize::from(token != Token::End);
        token
    }

    fn is(&self, sign: &str) -> bool {
        matches!(self.peek(), Token::Sign(there) if *there == sign)
    }

    fn accept(&mut self, sign: &str) -> bool {
        let is = self.is(sign);
        self.at += usize::from(is);
        is
    }

    fn word(&self) -> String {
        match self.peek() {
            Token::Name(name) => name.to_ascii_lowercase(),
            _ => String::new(),
        }
    }

    fn accept_keyword(&mut self, word: &str) -> bool {
        let is = self.word() == word;
        self.at += usize::from(is);
        is
    }

    fn wrong(&self, message: impl Into<String>) -> SyntaxError {
        SyntaxError { position: Position::at(self.text, self.start()), message: message.into() }
    }

    fn unexpected(&self, wanted: &str) -> SyntaxError {
        let what = match self.peek() {
            Token::End => "end of input".to_owned(),
            Token::Name(name) => format!("identifier {name:?}"),
            Token::Number(number) => format!("number {number}"),
            Token::Duration(_) => "duration".to_owned(),
            Token::Text(_) => "string".to_owned(),
            Token::Sign(sign) => format!("{sign:?}"),
        };
        let wanted = if wanted.is_empty() { String::new() } else { format!(", expected {wanted}") };
        self.wrong(format!("unexpected {what}{wanted}"))
    }

    fn expect(&mut self, sign: &str) -> Parsed<()> {
        if self.accept(sign) { Ok(()) } else { Err(self.unexpected(&format!("{sign:?}"))) }
    }

    fn node(&self, start: usize, expr: Expr) -> Node {
        Node { span: Span { start, end: self.end() }, expr }
    }

    fn operator(&self) -> Option<(String, u8, bool)> {
        let op = match self.peek() {
            Token::Sign(sign) => (*sign).to_owned(),
            Token::Name(name) => name.to_ascii_lowercase(),
            _ => return None,
        };
        precedence(&op).map(|(precedence, right)| (op, precedence, right))
    }

    fn binary(&mut self, least: u8) -> Parsed<Node> {
        self.depth += 1;
        if self.depth > MOST_DEPTH {
            return Err(self.wrong(format!("an expression is nested at most {MOST_DEPTH} deep")));
        }
        let start = self.start();
        let mut left = self.unary()?;
        while let Some((op, precedence, to_right)) = self.operator() {
            if precedence < least {
                break;
            }
            self.chain()?;
            self.take();
            let truth = self.accept_keyword("bool");
            let matching = self.matching()?;
            let right = self.binary(if to_right { precedence } else { precedence + 1 })?;
            let expr = Expr::Binary(Box::new(Binary { op, left, right, truth, matching }));
            left = self.node(start, expr);
        }
        self.depth -= 1;
        Ok(left)
    }

    /// What walks the tree goes to its depth on the stack, so all chains of a query together have a bound.
    fn chain(&mut self) -> Parsed<()> {
        self.chained += 1;
        if self.chained <= MOST_CHAINED {
            return Ok(());
        }
        Err(self.wrong(format!("a query has at most {MOST_CHAINED} operators and subqueries")))
    }

    fn matching(&mut self) -> Parsed<Option<Matching>> {
        let on = match self.word().as_str() {
            "on" => true,
            "ignoring" => false,
            _ => return Ok(None),
        };
        self.take();
        let labels = self.labels()?;
        let left = match self.word().as_str() {
            "group_left" => Some(true),
            "group_right" => Some(false),
            _ => None,
        };
        let side = match left {
            None => None,
            Some(left) => {
                self.take();
                let include = if self.is("(") { self.labels()? } else { Vec::new() };
                Some(Side { left, include })
            }
        };
        Ok(Some(Matching { on, labels, side }))
    }

    fn labels(&mut self) -> Parsed<Vec<String>> {
        self.expect("(")?;
        let mut labels = Vec::new();
        while !self.accept(")") {
            match self.take() {
                Token::Name(label) | Token::Text(label) => labels.push(label),
                _ => {
                    self.at = self.at.saturating_sub(1);
                    return Err(self.unexpected("a label name or \")\""));
                }
            }
            if !self.accept(",") && !self.is(")") {
                return Err(self.unexpected("\",\" or \")\""));
            }
        }
        Ok(labels)
    }

    fn unary(&mut self) -> Parsed<Node> {
        let start = self.start();
        let negative = self.is("-");
        if negative || self.is("+") {
            self.take();
            let of = Box::new(self.binary(UNARY)?);
            return Ok(self.node(start, if negative { Expr::Negative(of) } else { Expr::Positive(of) }));
        }
        let mut node = self.primary()?;
        loop {
            if self.is("[") {
                node = self.range(start, node)?;
            } else if self.word() == "offset" || self.is("@") {
                node = self.shifted(start, node)?;
            } else {
                return Ok(node);
            }
        }
    }

    fn primary(&mut self) -> Parsed<Node> {
        let start = self.start();
        match self.peek().clone() {
            Token::Number(number) => {
                self.take();
                Ok(self.node(start, Expr::Number(number)))
            }
            #[expect(clippy::cast_precision_loss, reason = "numbers of a query are floating point")]
            Token::Duration(millis) => {
                self.take();
                Ok(self.node(start, Expr::Number(millis as f64 / 1000.0)))
            }
            Token::Text(text) => {
                self.take();
                Ok(self.node(start, Expr::Text(text)))
            }
            Token::Sign("(") => {
                self.take();
                let inner = self.binary(0)?;
                self.expect(")")?;
                Ok(self.node(start, Expr::Parens(Box::new(inner))))
            }
            Token::Sign("{") => self.selector(start, None),
            Token::Name(name) => {
                let lower = name.to_ascii_lowercase();
                self.take();
                let aggregates = AGGREGATORS.contains(&lower.as_str())
                    && (self.is("(") || matches!(self.word().as_str(), "by" | "without"));
                if aggregates {
                    self.aggregate(start, lower)
                } else if self.is("(") {
                    let args = self.arguments()?;
                    Ok(self.node(start, Expr::Call { name, args }))
                } else {
                    self.selector(start, Some(name))
                }
            }
            _ => Err(self.unexpected("")),
        }
    }

    fn arguments(&mut self) -> Parsed<Vec<Node>> {
        self.expect("(")?;
        let mut args = Vec::new();
        while !self.accept(")") {
            args.push(self.binary(0)?);
            if !self.accept(",") && !self.is(")") {
                return Err(self.unexpected("\",\" or \")\""));
            }
        }
        Ok(args)
    }

    fn grouping(&mut self) -> Parsed<Option<Group>> {
        let by = match self.word().as_str() {
            "by" => true,
            "without" => false,
            _ => return Ok(None),
        };
        self.take();
        let labels = self.labels()?;
        Ok(Some(if by { Group::By(labels) } else { Group::Without(labels) }))
    }

    fn aggregate(&mut self, start: usize, op: String) -> Parsed<Node> {
        let before = self.grouping()?;
        let mut args = self.arguments()?;
        let group = match before {
            Some(group) => group,
            None => self.grouping()?.unwrap_or(Group::All),
        };
        let wanted = if takes_parameter(&op) { 2 } else { 1 };
        let bad = args.len() != wanted;
        let (Some(of), false) = (args.pop(), bad) else {
            return Err(SyntaxError {
                position: Position::at(self.text, start),
                message: format!(
                    "wrong number of arguments for aggregate expression {op}, expected {wanted}"
                ),
            });
        };
        let param = args.pop().map(Box::new);
        Ok(self.node(start, Expr::Aggregate { op, group, param, of: Box::new(of) }))
    }
}
