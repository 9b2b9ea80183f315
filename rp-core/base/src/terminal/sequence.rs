//! Where an escape sequence begins and ends in what goes to a terminal (ECMA-48 §5.4, §5.6, §8.3.117). What of it
//! may pass is the caller's matter. Only a sequence's parameters are kept, and of those a bounded number.

/// Characters of parameters; a sequence with more is known, its parameters are not.
const LONGEST: usize = 64;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum State {
    #[default]
    Text,
    /// After ESC.
    Escape,
    /// After ESC and intermediate characters: the only one, if there was one only.
    Intermediate(Option<char>),
    /// In a control sequence, after `ESC [`.
    Control,
    /// In a string for the terminal: OSC, DCS, SOS, PM, APC.
    String,
    /// In such a string, after ESC.
    StringEscape,
}

/// What a character completes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Token {
    /// It belongs to no sequence; it may be a control character.
    Text(char),
    /// `ESC` and this.
    Escape(char),
    /// `ESC`, an intermediate character and this.
    Intermediate(char, char),
    /// A control sequence that ends with this; see [`SequenceParser::parameters`].
    Control(char),
}

/// Reads character by character. It looks at ASCII only, so bytes of UTF-8 may be given as characters too.
///
/// A control character other than ESC ends what has begun, and is text; so an unfinished sequence swallows no more than
/// its line. In strings only BEL, LF, CAN and SUB do. CAN and SUB cancel, as in a terminal.
#[derive(Debug, Default)]
pub struct SequenceParser {
    state: State,
    parameters: String,
}

impl SequenceParser {
    /// Whether no sequence has begun.
    pub fn is_text(&self) -> bool {
        self.state == State::Text
    }

    /// Begins a control sequence, for who takes a character such as U+009B for `ESC [`.
    pub fn begin_control(&mut self) {
        self.parameters.clear();
        self.state = State::Control;
    }

    /// Parameters and intermediate characters of the control sequence that has just ended; `None`: it had too many.
    pub fn parameters(&self) -> Option<&str> {
        (self.parameters.len() <= LONGEST).then_some(&self.parameters)
    }

    /// The next character; `None` where it completes nothing.
    pub fn push(&mut self, c: char) -> Option<Token> {
        match (self.state, c) {
            (_, '\u{18}' | '\u{1a}') => self.end(None),
            (State::String, '\u{1b}') => self.go(State::StringEscape),
            (State::StringEscape, '\\') | (State::String, '\u{7}') => self.end(None),
            (State::String, '\n') => self.end(Some(Token::Text(c))),
            (State::String, _) => None,
            (_, '\u{1b}') => self.go(State::Escape),
            (State::Escape | State::StringEscape, '[') => {
                self.begin_control();
                None
            }
            (State::Escape | State::StringEscape, ']' | 'P' | 'X' | '^' | '_') => self.go(State::String),
            (State::Escape | State::StringEscape, ' '..='/') => self.go(State::Intermediate(Some(c))),
            (State::Escape | State::StringEscape, '0'..='~') => self.end(Some(Token::Escape(c))),
            (State::Intermediate(_), ' '..='/') => self.go(State::Intermediate(None)),
            (State::Intermediate(only), '0'..='~') => self.end(only.map(|only| Token::Intermediate(only, c))),
            (State::Control, ' '..='?') => {
                if self.parameters.len() <= LONGEST {
                    self.parameters.push(c);
                }
                None
            }
            (State::Control, '@'..='~') => self.end(Some(Token::Control(c))),
            _ => self.end(Some(Token::Text(c))),
        }
    }

    fn go(&mut self, state: State) -> Option<Token> {
        self.state = state;
        None
    }

    fn end(&mut self, token: Option<Token>) -> Option<Token> {
        self.state = State::Text;
        token
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn tokens(text: &str) -> Vec<Token> {
        let mut parser = SequenceParser::default();
        text.chars().filter_map(|c| parser.push(c)).collect()
    }

    /// What stands outside of sequences.
    fn text(text: &str) -> String {
        let letter = |token| if let Token::Text(c) = token { Some(c) } else { None };
        tokens(text).into_iter().filter_map(letter).collect()
    }

    #[test]
    fn sequences_end_where_a_terminal_ends_them() {
        for (sequence, token) in [
            ("\x1b7", Some(Token::Escape('7'))),
            ("\x1b(B", Some(Token::Intermediate('(', 'B'))),
            ("\x1b$(B", None),
            ("\x1b[1;38:2m", Some(Token::Control('m'))),
            ("\x1b\x1b[?25h", Some(Token::Control('h'))),
            ("\x1b]0;title\x07", None),
            ("\x1b]8;;http://x\x1b\\", None),
            ("\x1bPq\x1b[m", Some(Token::Control('m'))),
            ("\x1b[31\u{18}", None),
            ("\x1b_x\u{1a}", None),
        ] {
            let expected: Vec<Token> = token.into_iter().chain(Some(Token::Text('.'))).collect();
            assert_eq!(tokens(&format!("{sequence}.")), expected, "{sequence:?}");
        }
    }

    #[test]
    fn what_is_unfinished_swallows_no_further_line() {
        for start in ["\x1b", "\x1b(", "\x1b[3", "\x1b]0;x", "\x1bPx", "\x1b_x"] {
            assert_eq!(text(&format!("{start}\nnext")), "\nnext", "{start:?}");
        }
        assert_eq!(text("\x1bé\x1b(é\x1b[1é"), "ééé", "no letter beyond ASCII belongs to a sequence");
    }

    #[test]
    fn parameters_are_bounded() {
        let mut parser = SequenceParser::default();
        let mut read = |text: &str| {
            for c in text.chars() {
                let _ = parser.push(c);
            }
            parser.parameters().map(str::to_owned)
        };
        assert_eq!(read("\x1b[?1;2 q").as_deref(), Some("?1;2 "));
        assert_eq!(read("\x1b[m").as_deref(), Some(""));
        assert_eq!(read(&format!("\x1b[{}m", "1".repeat(LONGEST))).map(|all| all.len()), Some(LONGEST));
        assert_eq!(read(&format!("\x1b[{}m", "1".repeat(100_000))), None);
        assert!(parser.parameters.capacity() < 1000);
    }

    proptest! {
        #[test]
        fn text_without_controls_is_text(plain in "[^\\pC]{0,40}") {
            prop_assert_eq!(text(&plain), plain);
        }
    }
}
