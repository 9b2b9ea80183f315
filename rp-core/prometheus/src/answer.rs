//! An answer with what is known before its body.

use crate::body::AnswerBody;

/// Start, end and step of a range query, seconds.
pub type Range = (f64, f64, f64);

/// What a Prometheus answers.
#[derive(Debug)]
pub struct Answer {
    /// Which source answered: [`crate::Place::id`].
    pub source: &'static str,
    /// Why not the first choice.
    pub why: Option<String>,
    /// The range that was asked.
    pub range: Option<Range>,
    /// `Content-Type`.
    pub content_type: &'static str,
    pub body: AnswerBody,
}
