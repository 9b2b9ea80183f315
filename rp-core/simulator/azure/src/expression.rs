//! Expressions of templates: `[concat(parameters('a'), 'b')[0].c]`.

/// An expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Expression {
    Text(String),
    Number(i64),
    Call(String, Vec<Self>),
    /// Its member of that name.
    Member(Box<Self>, String),
    /// Its item or member.
    Index(Box<Self>, Box<Self>),
}

/// How deep expressions may be.
const DEPTH: usize = 40;

/// Reads the inside of `[…]`.
pub(super) fn parse(text: &str) -> Result<Expression, String> {
    let mut reader = Reader { rest: text };
    let found = reader.expression(DEPTH)?;
    reader.space();
    if reader.rest.is_empty() { Ok(found) } else { Err(format!("there is more behind it: {}", reader.rest)) }
}

struct Reader<'a> {
    rest: &'a str,
}

impl Reader<'_> {
    fn space(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn take(&mut self, sign: char) -> bool {
        self.space();
        match self.rest.strip_prefix(sign) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expression(&mut self, depth: usize) -> Result<Expression, String> {
        let depth = depth.checked_sub(1).ok_or("it is too deep")?;
        self.space();
        let mut found = if self.rest.starts_with('\'') {
            Expression::Text(self.text()?)
        } else if self.rest.starts_with(|c: char| c.is_ascii_digit() || c == '-') {
            let word = self.word(|c| c.is_ascii_digit() || c == '-');
            Expression::Number(word.parse().map_err(|_| "it is no number")?)
        } else {
            let name = self.word(|c| c.is_ascii_alphanumeric() || c == '_');
            if name.is_empty() || !self.take('(') {
                return Err(format!("expected a function at: {}", self.rest));
            }
            Expression::Call(name.to_ascii_lowercase(), self.arguments(depth)?)
        };
        loop {
            if self.rest.starts_with('.') {
                self.take('.');
                let name = self.word(|c| c.is_ascii_alphanumeric() || "_$-".contains(c));
                found = Expression::Member(Box::new(found), name);
            } else if self.rest.starts_with('[') {
                self.take('[');
                let index = self.expression(depth)?;
                if !self.take(']') {
                    return Err("an index does not end".to_owned());
                }
                found = Expression::Index(Box::new(found), Box::new(index));
            } else {
                return Ok(found);
            }
        }
    }

    fn arguments(&mut self, depth: usize) -> Result<Vec<Expression>, String> {
        let mut all = Vec::new();
        if self.take(')') {
            return Ok(all);
        }
        loop {
            all.push(self.expression(depth)?);
            if self.take(')') {
                return Ok(all);
            }
            if !self.take(',') {
                return Err(format!("expected ',' at: {}", self.rest));
            }
        }
    }

    fn word(&mut self, fits: impl Fn(char) -> bool) -> String {
        let end = self.rest.find(|c: char| !fits(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word.to_owned()
    }

    /// A quote is written twice.
    fn text(&mut self) -> Result<String, String> {
        let mut text = String::new();
        let mut signs = self.rest.char_indices().skip(1).peekable();
        while let Some((at, sign)) = signs.next() {
            if sign != '\'' {
                text.push(sign);
            } else if signs.next_if(|(_, next)| *next == '\'').is_some() {
                text.push('\'');
            } else {
                self.rest = self.rest.get(at + 1..).unwrap_or_default();
                return Ok(text);
            }
        }
        Err("a text does not end".to_owned())
    }
}
