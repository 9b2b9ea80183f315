//! What may be asked.

/// Longest question, in characters (`contract/frontend.md` "Do better" 35).
pub const MOST_QUESTION: usize = 1000;

/// A question that was checked. It is data everywhere: a value of a config map, never a part of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question(String);

/// Why a text is no question; the texts are the contract's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum QuestionError {
    /// There is nothing but white space.
    #[error("The question parameter is required and must be non-empty.")]
    Empty,
    /// It has more than [`MOST_QUESTION`] characters.
    #[error("The question must not exceed {MOST_QUESTION} characters.")]
    TooLong,
    /// It has a character of Unicode's category Cc: line ends, tabs, escapes.
    #[error("The question must not contain control characters.")]
    Control,
}

impl Question {
    /// Checks a text.
    ///
    /// # Errors
    /// [`QuestionError`].
    pub fn parse(text: &str) -> Result<Self, QuestionError> {
        if text.trim().is_empty() {
            return Err(QuestionError::Empty);
        }
        if text.chars().nth(MOST_QUESTION).is_some() {
            return Err(QuestionError::TooLong);
        }
        if text.chars().any(char::is_control) {
            return Err(QuestionError::Control);
        }
        Ok(Self(text.to_owned()))
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_one_line_of_bounded_text() {
        for good in ["x", "why is dns degraded?", "`$(id)` \"it's\"; --help", "größe 東京", "-f /etc/passwd"]
        {
            assert_eq!(Question::parse(good).unwrap().text(), good);
        }
        assert_eq!(Question::parse(&"x".repeat(1000)).unwrap().text().len(), 1000);
        assert!(Question::parse(&"é".repeat(1000)).is_ok());
        assert_eq!(Question::parse(&"x".repeat(1001)), Err(QuestionError::TooLong));
        assert_eq!(Question::parse(&"é".repeat(1001)), Err(QuestionError::TooLong));
        for empty in ["", " ", "\n\t "] {
            assert_eq!(Question::parse(empty), Err(QuestionError::Empty));
        }
        for bad in ["a\nb", "a\rb", "a\tb", "\u{1b}[31mred", "a\0", "a\u{7f}", "a\u{9b}31m", "a\u{85}b"] {
            assert_eq!(Question::parse(bad), Err(QuestionError::Control), "{bad:?}");
        }
    }
}
