//! A response: metadata that is known before the body, and the body.

use crate::body::ResponseBody;

/// Start, end and step of a range query, seconds.
pub type Range = (f64, f64, f64);

/// The response of a Prometheus.
#[derive(Debug)]
pub struct PromResponse {
    /// Which source answered: [`crate::Instance::id`].
    pub source: &'static str,
    /// Why not the first choice.
    pub why: Option<String>,
    /// The range that was queried.
    pub range: Option<Range>,
    /// `Content-Type`.
    pub content_type: &'static str,
    pub body: ResponseBody,
}
