//! The part of the shell's grammar that is simulated: words with quotes and variables, redirections, pipes, `&&`, `||`,
//! and `if`.

/// Statements of a script; what follows is not read.
const MOST_STATEMENTS: usize = 1000;
/// `if` within `if`.
const MOST_DEPTH: usize = 16;

/// A script that cannot be read.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SyntaxError;

/// A piece of a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    /// As it is: in single quotes, or behind a backslash.
    Literal(String),
    /// In double quotes: variables are replaced.
    Quoted(String),
    /// Without quotes: variables are replaced.
    Bare(String),
}

/// A word before its variables are replaced.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Word {
    pub pieces: Vec<Piece>,
}

impl Word {
    /// The text of a word without quotes.
    pub(super) fn plain(&self) -> Option<&str> {
        match self.pieces.as_slice() {
            [Piece::Bare(text)] => Some(text),
            _ => None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Word(Word),
    /// `;`, a line break, `&&`, `||`, `|`.
    Operator(&'static str),
    /// The descriptor, and `<`, `>`, `>>` or `>&`.
    Redirection(u8, &'static str),
}

/// What a redirection does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Redirection {
    Input(Word),
    /// The descriptor 1 or 2; the file; whether it is appended to.
    Output(u8, Word, bool),
    /// One descriptor becomes another.
    Duplicate(u8, u8),
}

/// When a pipeline runs, by the status of the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Connector {
    Always,
    And,
    Or,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Joined {
    pub connector: Connector,
    pub pipeline: Vec<Statement>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Statement {
    Command { words: Vec<Word>, redirections: Vec<Redirection> },
    If { condition: Vec<Joined>, then: Vec<Joined>, otherwise: Vec<Joined> },
}

/// Reads a script.
pub(super) fn parse(text: &str) -> Result<Vec<Joined>, SyntaxError> {
    let mut parser = Parser { tokens: tokens(text), at: 0, statements: 0 };
    let list = parser.list(0)?;
    if parser.at < parser.tokens.len() && parser.statements < MOST_STATEMENTS {
        return Err(SyntaxError);
    }
    Ok(list)
}

fn tokens(text: &str) -> Vec<Token> {
    let mut lexer = Lexer { chars: text.chars().peekable(), tokens: Vec::new(), word: None };
    lexer.run();
    lexer.tokens
}

struct Lexer<'a> {
    chars: std::iter::Peekable<std::str::Chars<'a>>,
    tokens: Vec<Token>,
    word: Option<Word>,
}

impl Lexer<'_> {
    fn run(&mut self) {
        while let Some(next) = self.chars.next() {
            match next {
                ' ' | '\t' | '\r' => self.end_word(),
                '#' if self.word.is_none() => while self.chars.next_if(|c| *c != '\n').is_some() {},
                '\n' | ';' => self.operator(";"),
                '&' if self.chars.next_if_eq(&'&').is_some() => self.operator("&&"),
                '&' => self.operator(";"),
                '|' if self.chars.next_if_eq(&'|').is_some() => self.operator("||"),
                '|' => self.operator("|"),
                '<' => {
                    self.end_word();
                    self.tokens.push(Token::Redirection(0, "<"));
                }
                '>' => self.redirection(),
                '\'' => {
                    let text = self.until('\'', false);
                    self.push(Piece::Literal(text));
                }
                '"' => {
                    let text = self.until('"', true);
                    self.push(Piece::Quoted(text));
                }
                '\\' => {
                    let escaped = self.chars.next().map(String::from).unwrap_or_default();
                    self.push(Piece::Literal(escaped));
                }
                '$' if self.chars.peek() == Some(&'{') => {
                    let text = format!("${}}}", self.until('}', false));
                    self.push(Piece::Bare(text));
                }
                other => self.push(Piece::Bare(other.to_string())),
            }
        }
        self.end_word();
    }

    /// The text to a closing character, or to the end of the script.
    fn until(&mut self, end: char, escapes: bool) -> String {
        let mut text = String::new();
        while let Some(next) = self.chars.next() {
            match next {
                next if next == end => break,
                '\\' if escapes => match self.chars.next() {
                    Some(escaped @ ('"' | '\\')) => text.push(escaped),
                    Some(other) => text.extend(['\\', other]),
                    None => {}
                },
                next => text.push(next),
            }
        }
        text
    }

    fn push(&mut self, piece: Piece) {
        let word = self.word.get_or_insert_default();
        // Neighbouring characters without quotes are one piece, so that names of variables stay whole.
        match (piece, word.pieces.last_mut()) {
            (Piece::Bare(more), Some(Piece::Bare(last))) => last.push_str(&more),
            (piece, _) => word.pieces.push(piece),
        }
    }

    fn end_word(&mut self) {
        self.tokens.extend(self.word.take().map(Token::Word));
    }

    fn operator(&mut self, operator: &'static str) {
        self.end_word();
        self.tokens.push(Token::Operator(operator));
    }

    fn redirection(&mut self) {
        let descriptor = match self.word.as_ref().and_then(Word::plain) {
            Some("1") => Some(1),
            Some("2") => Some(2),
            _ => None,
        };
        match descriptor {
            Some(_) => self.word = None,
            None => self.end_word(),
        }
        let form = match self.chars.next_if(|c| matches!(c, '>' | '&')) {
            Some('>') => ">>",
            Some(_) => ">&",
            None => ">",
        };
        self.tokens.push(Token::Redirection(descriptor.unwrap_or(1), form));
    }
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
    statements: usize,
}

impl Parser {
    fn operator(&self) -> Option<&'static str> {
        match self.tokens.get(self.at) {
            Some(Token::Operator(operator)) => Some(operator),
            _ => None,
        }
    }

    fn keyword(&self) -> Option<&str> {
        match self.tokens.get(self.at) {
            Some(Token::Word(word)) => {
                word.plain().filter(|word| matches!(*word, "if" | "then" | "elif" | "else" | "fi"))
            }
            _ => None,
        }
    }

    fn expect(&mut self, keyword: &str) -> Result<(), SyntaxError> {
        if self.keyword() != Some(keyword) {
            return Err(SyntaxError);
        }
        self.at += 1;
        Ok(())
    }

    /// Pipelines until the end or a keyword that ends a list.
    fn list(&mut self, depth: usize) -> Result<Vec<Joined>, SyntaxError> {
        let mut list = Vec::new();
        let mut connector = Connector::Always;
        loop {
            match self.operator() {
                Some("|") => return Err(SyntaxError),
                Some(operator) => {
                    connector = match operator {
                        "&&" => Connector::And,
                        "||" => Connector::Or,
                        // A line break after an operator means nothing.
                        _ => connector,
                    };
                    self.at += 1;
                    continue;
                }
                None => {}
            }
            let ends = matches!(self.keyword(), Some("then" | "elif" | "else" | "fi"));
            if ends || self.at >= self.tokens.len() || self.statements >= MOST_STATEMENTS {
                return Ok(list);
            }
            let pipeline = self.pipeline(depth)?;
            list.push(Joined { connector: std::mem::replace(&mut connector, Connector::Always), pipeline });
        }
    }

    fn pipeline(&mut self, depth: usize) -> Result<Vec<Statement>, SyntaxError> {
        let mut pipeline = vec![self.statement(depth)?];
        while self.operator() == Some("|") {
            self.at += 1;
            pipeline.push(self.statement(depth)?);
        }
        Ok(pipeline)
    }

    fn statement(&mut self, depth: usize) -> Result<Statement, SyntaxError> {
        self.statements += 1;
        match self.keyword() {
            Some("if") if depth < MOST_DEPTH => {
                self.at += 1;
                self.condition(depth + 1)
            }
            Some(_) => Err(SyntaxError),
            None => self.command(),
        }
    }

    /// After `if` or `elif`.
    fn condition(&mut self, depth: usize) -> Result<Statement, SyntaxError> {
        let condition = self.list(depth)?;
        self.expect("then")?;
        let then = self.list(depth)?;
        let otherwise = match self.keyword() {
            Some("elif") if depth < MOST_DEPTH => {
                self.at += 1;
                let nested = self.condition(depth + 1)?;
                return Ok(Statement::If {
                    condition,
                    then,
                    otherwise: vec![Joined { connector: Connector::Always, pipeline: vec![nested] }],
                });
            }
            Some("else") => {
                self.at += 1;
                self.list(depth)?
            }
            _ => Vec::new(),
        };
        self.expect("fi")?;
        Ok(Statement::If { condition, then, otherwise })
    }

    fn command(&mut self) -> Result<Statement, SyntaxError> {
        let (mut words, mut redirections) = (Vec::new(), Vec::new());
        loop {
            match self.tokens.get(self.at).cloned() {
                Some(Token::Word(word)) => words.push(word),
                Some(Token::Redirection(descriptor, form)) => {
                    self.at += 1;
                    let Some(Token::Word(target)) = self.tokens.get(self.at).cloned() else {
                        return Err(SyntaxError);
                    };
                    redirections.push(match (form, target.plain()) {
                        ("<", _) => Redirection::Input(target),
                        (">&", Some("1")) => Redirection::Duplicate(descriptor, 1),
                        (">&", Some("2")) => Redirection::Duplicate(descriptor, 2),
                        (">&", _) => return Err(SyntaxError),
                        (form, _) => Redirection::Output(descriptor, target, form == ">>"),
                    });
                }
                Some(Token::Operator(_)) | None => break,
            }
            self.at += 1;
        }
        if words.is_empty() && redirections.is_empty() {
            return Err(SyntaxError);
        }
        Ok(Statement::Command { words, redirections })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_have_conditions_pipes_and_quotes() {
        let list = parse("if a; then b 'x y' | c; else d; fi && e").unwrap();
        assert_eq!((list.len(), list[1].connector), (2, Connector::And));
        let Statement::If { then, otherwise, .. } = &list[0].pipeline[0] else { panic!("{list:?}") };
        assert_eq!((then[0].pipeline.len(), otherwise.len()), (2, 1));
    }

    #[test]
    fn what_is_no_script_is_refused() {
        for text in ["if a; then b", "fi", "a >", "| a", "a |", "if if if"] {
            assert_eq!(parse(text), Err(SyntaxError), "{text}");
        }
        assert!(parse(&"if a; then ".repeat(1000)).is_err());
        assert!(parse(&"a;".repeat(100_000)).is_ok());
    }
}
