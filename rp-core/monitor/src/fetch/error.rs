//! Errors of reads from a cluster.

use std::time::Duration;

use rp_base::chain;
use rp_base::text::clean;
use rp_kube::lean::LeanError;
use rp_prometheus::PromError;
use serde::Deserialize;

/// Maximum length of an API server's message, characters.
const MOST_MESSAGE: usize = 300;

/// A failed read. Texts are cleaned and bounded and contain no secrets.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FetchError {
    #[error("could not reach the API server ({stage}): {why}")]
    Unreachable { stage: &'static str, why: String },
    #[error("the API server did not answer within {0} s")]
    NoAnswer(u64),
    #[error("the answer stopped in the middle for {0} s")]
    Stalled(u64),
    #[error("the connection broke: {0}")]
    Broken(String),
    #[error("the API server answered {code}: {message}")]
    Status { code: u16, message: String, retry_after: Option<Duration> },
    #[error("the answer has more than {0} bytes")]
    TooLarge(usize),
    #[error("the list has more than {0} pages")]
    TooLong(usize),
    #[error("the list expired twice while it was read")]
    Expired,
    #[error("the answer cannot be read: {0}")]
    Malformed(String),
    /// The limit of requests to this cluster is exhausted.
    #[error("the cluster's request budget would have been free in {0} s")]
    Crowded(u64),
    #[error("{0}")]
    Alertmanager(String),
    #[error("not asked: {0}")]
    NotAsked(&'static str),
    #[error("the time of the look was up")]
    Deadline,
}

impl FetchError {
    /// The HTTP status of the API server's refusal; 0 when it did not respond.
    pub const fn code(&self) -> u16 {
        match self {
            Self::Status { code, .. } => *code,
            Self::Expired => 410,
            Self::Unreachable { .. }
            | Self::NoAnswer(_)
            | Self::Stalled(_)
            | Self::Broken(_)
            | Self::TooLarge(_)
            | Self::TooLong(_)
            | Self::Malformed(_)
            | Self::Crowded(_)
            | Self::Alertmanager(_)
            | Self::NotAsked(_)
            | Self::Deadline => 0,
        }
    }

    /// There is no such object or kind.
    pub const fn is_missing(&self) -> bool {
        self.code() == 404
    }

    /// The stage at which the connection failed, for the metric of failed connections: `None` when it was established.
    pub const fn stage(&self) -> Option<&'static str> {
        match self {
            Self::Unreachable { stage, .. } => Some(stage),
            Self::NoAnswer(_) => Some("head"),
            _ => None,
        }
    }

    pub(crate) fn alerts(error: &PromError) -> Self {
        match error {
            PromError::Cluster(dial) => Self::Unreachable {
                stage: dial.stage.name(),
                why: clean(&chain(&*dial.cause).to_string(), MOST_MESSAGE),
            },
            error => Self::Alertmanager(clean(&chain(error).to_string(), MOST_MESSAGE)),
        }
    }

    /// There is no ready pod of Alertmanager.
    pub(crate) fn no_alertmanager() -> Self {
        let message = "no pod openshift-monitoring/alertmanager-main-0, -1 or -2".to_owned();
        Self::Status { code: 404, message, retry_after: None }
    }

    /// The error for a response with an error status.
    pub(crate) fn status(code: u16, retry_after: Option<Duration>, body: &[u8]) -> Self {
        #[derive(Deserialize)]
        struct StatusBody {
            #[serde(default)]
            message: String,
        }
        let said = serde_json::from_slice::<StatusBody>(body).map(|said| said.message).unwrap_or_default();
        let message = match (clean(&said, MOST_MESSAGE), code) {
            (said, _) if !said.is_empty() => said,
            (_, 401) => "the credential is not accepted".to_owned(),
            (_, 403) => "the credential may not read this".to_owned(),
            (_, 404) => "not found".to_owned(),
            (_, 429) => "too many requests".to_owned(),
            _ => "no message".to_owned(),
        };
        Self::Status { code, message, retry_after }
    }
}

impl From<LeanError> for FetchError {
    fn from(error: LeanError) -> Self {
        match &error {
            LeanError::Dial(dial) => {
                let why = clean(&chain(&*dial.cause).to_string(), MOST_MESSAGE);
                Self::Unreachable { stage: dial.stage.name(), why }
            }
            LeanError::NoHead(within) => Self::NoAnswer(within.as_secs()),
            LeanError::Stalled(within) => Self::Stalled(within.as_secs()),
            LeanError::TooLong(most) => Self::TooLarge(*most),
            LeanError::Broken(_) | LeanError::Path(_) => {
                Self::Broken(clean(&chain(&error).to_string(), MOST_MESSAGE))
            }
        }
    }
}
