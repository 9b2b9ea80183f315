//! Tokens of a query.

use crate::{Position, SyntaxError};

/// One token.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Token {
    Name(String),
    Number(f64),
    /// Milliseconds.
    Duration(u64),
    Text(String),
    /// One of the signs.
    Sign(&'static str),
    End,
}

/// A token and its byte range.
#[derive(Debug, Clone)]
pub(crate) struct PositionedToken {
    pub(crate) token: Token,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// Longer signs first.
const SIGNS: [&str; 24] = [
    "==", "!=", "=~", "!~", "<=", ">=", "<", ">", "=", "+", "-", "*", "/", "%", "^", "(", ")", "{", "}", "[",
    "]", ",", "@", ":",
];

pub(crate) fn tokenize(text: &str) -> Result<Vec<PositionedToken>, SyntaxError> {
    let mut lexer = Lexer { text, at: 0, brackets: 0 };
    let mut words = Vec::new();
    loop {
        let word = lexer.next()?;
        let end = word.token == Token::End;
        words.push(word);
        if end {
            return Ok(words);
        }
    }
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    /// Inside `[…]` a colon is a sign, elsewhere part of a name.
    brackets: usize,
}

impl Lexer<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn wrong(&self, at: usize, message: impl Into<String>) -> SyntaxError {
        SyntaxError { position: Position::at(self.text, at), message: message.into() }
    }

    fn skip(&mut self) {
        loop {
            let rest = self.rest();
            let blank = rest.len() - rest.trim_start().len();
            self.at += blank;
            if !self.rest().starts_with('#') {
                return;
            }
            self.at += self.rest().find('\n').unwrap_or(self.rest().len());
        }
    }

    fn next(&mut self) -> Result<PositionedToken, SyntaxError> {
        self.skip();
        let start = self.at;
        let token = self.token(start)?;
        Ok(PositionedToken { token, start, end: self.at })
    }

    fn token(&mut self, start: usize) -> Result<Token, SyntaxError> {
        let Some(first) = self.rest().chars().next() else { return Ok(Token::End) };
        let after = self.rest().as_bytes().get(1).copied().unwrap_or_default();
        if matches!(first, '"' | '\'' | '`') {
            return self.string(first, start);
        }
        if first.is_ascii_digit() || first == '.' && after.is_ascii_digit() {
            return self.number(start);
        }
        if first.is_ascii_alphabetic() || first == '_' || first == ':' && self.brackets == 0 {
            let name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':' && self.brackets == 0;
            let end = self.rest().find(|c| !name(c)).unwrap_or(self.rest().len());
            let word = self.rest()[..end].to_owned();
            self.at += end;
            return Ok(match word.to_ascii_lowercase().as_str() {
                "inf" => Token::Number(f64::INFINITY),
                "nan" => Token::Number(f64::NAN),
                _ => Token::Name(word),
            });
        }
        let sign = SIGNS.into_iter().find(|sign| self.rest().starts_with(sign));
        let sign = sign.ok_or_else(|| self.wrong(start, format!("unexpected character: {first:?}")))?;
        self.at += sign.len();
        match sign {
            "[" => self.brackets += 1,
            "]" => self.brackets = self.brackets.saturating_sub(1),
            _ => {}
        }
        Ok(Token::Sign(sign))
    }

    fn number(&mut self, start: usize) -> Result<Token, SyntaxError> {
        let rest = self.rest();
        let end =
            rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '.' && c != '_').unwrap_or(rest.len());
        let mut word = &rest[..end];
        // `1e-3`: the sign belongs to the number.
        let exponent = (word.ends_with(['e', 'E']) && !word.starts_with("0x"))
            .then(|| &rest[end..])
            .filter(|tail| tail.starts_with(['+', '-']))
            .map(|tail| 1 + tail[1..].find(|c: char| !c.is_ascii_digit()).unwrap_or(tail.len() - 1))
            .filter(|more| *more > 1);
        if let Some(more) = exponent {
            word = &rest[..end + more];
        }
        let token = if let Some(millis) = duration(word) {
            Some(Token::Duration(millis))
        } else if let Some(hex) = word.strip_prefix("0x").or_else(|| word.strip_prefix("0X")) {
            #[expect(clippy::cast_precision_loss, reason = "numbers of a query are floating point")]
            u64::from_str_radix(hex, 16).ok().map(|number| Token::Number(number as f64))
        } else {
            word.parse().ok().map(Token::Number)
        };
        let length = word.len();
        let token =
            token.ok_or_else(|| self.wrong(start, format!("bad number or duration syntax: {word:?}")))?;
        self.at += length;
        Ok(token)
    }

    fn string(&mut self, quote: char, start: usize) -> Result<Token, SyntaxError> {
        let mut out = String::new();
        let mut chars = self.rest().char_indices().skip(1);
        while let Some((at, c)) = chars.next() {
            if c == quote {
                self.at += at + 1;
                return Ok(Token::Text(out));
            }
            if c != '\\' || quote == '`' {
                out.push(c);
                continue;
            }
            let Some((_, escape)) = chars.next() else { break };
            let many = match escape {
                'x' => 2,
                'u' => 4,
                'U' => 8,
                _ => 0,
            };
            if many > 0 {
                let digits: String = chars.by_ref().take(many).map(|(_, c)| c).collect();
                let code = u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32);
                out.push(code.ok_or_else(|| self.wrong(start + at, "unknown escape sequence"))?);
                continue;
            }
            out.push(match escape {
                'n' => '\n',
                't' => '\t',
                'r' => '\r',
                'a' => '\u{7}',
                'b' => '\u{8}',
                'f' => '\u{c}',
                'v' => '\u{b}',
                '0' => '\0',
                '\\' | '"' | '\'' => escape,
                _ => return Err(self.wrong(start + at, format!("unknown escape sequence: {escape:?}"))),
            });
        }
        Err(self.wrong(start, "unterminated quoted string"))
    }
}

/// `1h30m` in milliseconds (units `ms s m h d w y`, largest first).
pub(crate) fn duration(word: &str) -> Option<u64> {
    const UNITS: [(&str, u64); 7] = [
        ("ms", 1),
        ("y", 31_536_000_000),
        ("w", 604_800_000),
        ("d", 86_400_000),
        ("h", 3_600_000),
        ("m", 60_000),
        ("s", 1000),
    ];
    let (mut rest, mut total, mut last) = (word, 0_u64, u64::MAX);
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).filter(|at| *at > 0)?;
        let number: u64 = rest[..digits].parse().ok()?;
        let (unit, size) = UNITS.into_iter().find(|(unit, _)| rest[digits..].starts_with(unit))?;
        if size >= last {
            return None;
        }
        last = size;
        total = total.checked_add(number.checked_mul(size)?)?;
        rest = &rest[digits + unit.len()..];
    }
    Some(total)
}
