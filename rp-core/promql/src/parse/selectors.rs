//! Selectors, and what stands behind an expression: a range, an offset, an instant.

use super::{Parsed, Parser};
use crate::ast::{At, Expr, Matcher, Node, Op, Selector, Shift};
use crate::lex::Token;
use crate::{Position, SyntaxError};

impl Parser<'_> {
    pub(super) fn selector(&mut self, start: usize, name: Option<String>) -> Parsed<Node> {
        let mut selector = Selector { name, ..Selector::default() };
        if self.accept("{") {
            while !self.accept("}") {
                self.matcher(&mut selector)?;
                if !self.accept(",") && !self.is("}") {
                    return Err(self.unexpected("\",\" or \"}\""));
                }
            }
        }
        if selector.name.is_none() && selector.matchers.is_empty() {
            let message = "vector selector must contain at least one non-empty matcher".to_owned();
            return Err(SyntaxError { position: Position::at(self.text, start), message });
        }
        Ok(self.node(start, Expr::Selector(selector)))
    }

    /// `label="value"`, `"quoted label"="value"`, or a quoted metric name alone.
    fn matcher(&mut self, selector: &mut Selector) -> Parsed<()> {
        let (label, quoted) = match self.peek().clone() {
            Token::Name(label) => (label, false),
            Token::Text(label) => (label, true),
            _ => return Err(self.unexpected("a label name or \"}\"")),
        };
        self.take();
        if quoted && (self.is(",") || self.is("}")) {
            selector.name = Some(label);
            return Ok(());
        }
        let op = match self.peek() {
            Token::Sign("=") => Op::Is,
            Token::Sign("!=") => Op::Not,
            Token::Sign("=~") => Op::Like,
            Token::Sign("!~") => Op::Unlike,
            _ => return Err(self.unexpected("a label matching operator")),
        };
        self.take();
        let Token::Text(value) = self.peek().clone() else {
            return Err(self.unexpected("a string"));
        };
        self.take();
        selector.matchers.push(Matcher { label, op, value });
        Ok(())
    }

    fn duration(&mut self) -> Parsed<u64> {
        let millis = match self.peek() {
            Token::Duration(millis) => *millis,
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked")]
            Token::Number(seconds) if (0.0..1e12).contains(seconds) => (seconds * 1000.0) as u64,
            _ => return Err(self.unexpected("a duration")),
        };
        self.take();
        Ok(millis)
    }

    pub(super) fn range(&mut self, start: usize, of: Node) -> Parsed<Node> {
        self.expect("[")?;
        let range = self.duration()?;
        if self.accept(":") {
            self.chain()?;
            let step = if self.is("]") { None } else { Some(self.duration()?) };
            self.expect("]")?;
            let expr = Expr::Subquery { of: Box::new(of), range, step, shift: Shift::default() };
            return Ok(self.node(start, expr));
        }
        self.expect("]")?;
        match of.expr {
            Expr::Selector(selector) if selector.range.is_none() && selector.shift == Shift::default() => {
                let selector = Selector { range: Some(range), ..selector };
                Ok(self.node(start, Expr::Selector(selector)))
            }
            _ => Err(SyntaxError {
                position: Position::at(self.text, start),
                message: "ranges only allowed for vector selectors".to_owned(),
            }),
        }
    }

    pub(super) fn shifted(&mut self, start: usize, mut node: Node) -> Parsed<Node> {
        let place = self.start();
        let at = self.accept("@");
        let (mut offset, mut instant) = (None, None);
        if at {
            instant = Some(self.instant()?);
        } else {
            self.take();
            let negative = self.accept("-");
            let millis = i64::try_from(self.duration()?).unwrap_or(i64::MAX);
            offset = Some(if negative { -millis } else { millis });
        }
        let shift = match &mut node.expr {
            Expr::Selector(selector) => &mut selector.shift,
            Expr::Subquery { shift, .. } => shift,
            _ => {
                let what = if at { "@ modifier" } else { "offset modifier" };
                let message = format!("{what} must be preceded by a selector or a subquery");
                return Err(SyntaxError { position: Position::at(self.text, place), message });
            }
        };
        shift.offset = shift.offset.or(offset);
        shift.at = shift.at.or(instant);
        Ok(self.node(start, node.expr))
    }

    fn instant(&mut self) -> Parsed<At> {
        let negative = self.accept("-");
        match self.take() {
            Token::Number(seconds) => Ok(At::Time(if negative { -seconds } else { seconds })),
            Token::Name(name) if name == "start" || name == "end" => {
                self.expect("(")?;
                self.expect(")")?;
                Ok(if name == "start" { At::Start } else { At::End })
            }
            _ => {
                self.at = self.at.saturating_sub(1);
                Err(self.unexpected("a timestamp, start() or end()"))
            }
        }
    }
}
