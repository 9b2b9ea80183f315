//! Errors of requests to the API server.

use rp_kube::KubeError;

/// A request to the API server that failed.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// The API server refused it.
    #[error("cannot {verb} {object}: {message}")]
    Refused { verb: &'static str, object: String, code: u16, reason: String, message: String },
    /// The kind is not served: its definition is not there, or not yet.
    #[error("cannot {verb} {object}: the cluster does not serve this kind")]
    NotServed { verb: &'static str, object: String },
    /// No answer.
    #[error("cannot {verb} {object}")]
    Failed {
        verb: &'static str,
        object: String,
        #[source]
        cause: Box<KubeError>,
    },
    /// An answer that cannot be read, or is too large.
    #[error("cannot {verb} {object}: the answer cannot be read")]
    Unreadable { verb: &'static str, object: String },
    /// The request cannot be written.
    #[error("cannot {verb} {object}: its name or kind cannot stand in a request")]
    Request { verb: &'static str, object: String },
    /// More objects than a controller reads.
    #[error("cannot {verb} {object}: there are more than {most} objects")]
    TooMany { verb: &'static str, object: String, most: usize },
}

impl ApiError {
    /// The HTTP status of a refusal; `None` where there was no answer.
    pub const fn code(&self) -> Option<u16> {
        match self {
            Self::Refused { code, .. } => Some(*code),
            Self::NotServed { .. } => Some(404),
            Self::Failed { .. } | Self::Unreadable { .. } | Self::Request { .. } | Self::TooMany { .. } => {
                None
            }
        }
    }

    /// Another writer was first.
    pub const fn is_conflict(&self) -> bool {
        matches!(self, Self::Refused { code: 409, .. })
    }

    /// There is an object of that name already.
    pub fn already_exists(&self) -> bool {
        matches!(self, Self::Refused { code: 409, reason, .. } if reason == "AlreadyExists")
    }

    /// The resource version of a watch is too old.
    pub const fn is_expired(&self) -> bool {
        matches!(self, Self::Refused { code: 410, .. })
    }

    /// The kind is not served.
    pub const fn is_not_served(&self) -> bool {
        matches!(self, Self::NotServed { .. })
    }
}
