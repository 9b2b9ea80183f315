//! The client's errors, with the API's error body.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The API said no.
    #[error("{0}")]
    Refused(Box<Refusal>),
    /// The operation that the request began ended badly.
    #[error("the operation ended as {status}: {error}")]
    Failed { status: String, error: ErrorBody },
    /// It was not at its end after that time.
    #[error("the operation is still {status} after {after:?}")]
    Unfinished { status: String, after: Duration },
    /// No answer came.
    #[error("{host} does not answer: {cause}")]
    Unreachable { host: String, cause: reqwest::Error },
    /// The answer cannot be used.
    #[error("the answer cannot be used: {0}")]
    Answer(String),
    /// The request cannot be made.
    #[error("the request cannot be made: {0}")]
    Request(String),
    /// The observer of the client's exchanges objects.
    #[error("{0}")]
    Observed(String),
}

/// An answer that refuses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// HTTP status.
    pub status: u16,
    /// `x-ms-request-id`, by which the service's log knows the request.
    pub request_id: String,
    pub error: ErrorBody,
}

/// ARM's error body (`contract/api.md` §18). All empty: the answer had none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ErrorBody {
    pub code: String,
    pub message: String,
    /// Path of the member that is wrong; empty: none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub target: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub details: Vec<ErrorBody>,
}

impl ClientError {
    /// The status of a refusal.
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Refused(refusal) => Some(refusal.status),
            _ => None,
        }
    }

    /// The code of a refusal or of an operation's end; empty: none.
    pub fn code(&self) -> &str {
        match self {
            Self::Refused(refusal) => &refusal.error.code,
            Self::Failed { error, .. } => &error.code,
            _ => "",
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.status, self.error)?;
        if self.request_id.is_empty() { Ok(()) } else { write!(f, " (request {})", self.request_id) }
    }
}

impl fmt::Display for ErrorBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.code.as_str(), self.target.as_str()) {
            ("", _) => f.write_str("no reason was given")?,
            (code, "") => write!(f, "{code}: {}", self.message)?,
            (code, target) => write!(f, "{code}: {target}: {}", self.message)?,
        }
        for detail in &self.details {
            write!(f, "; {detail}")?;
        }
        Ok(())
    }
}
