//! Errors that end a list or a watch.

use std::time::Duration;

use rp_base::chain;
use rp_kube::KubeError;
use rp_kube::connect::{ClientError, dial_error};
use rp_net::{BudgetExceeded, DirectoryError};

use crate::kinds::Kind;
use crate::snapshot::DisplayText;

/// Why a request about a kind failed.
#[derive(Debug, Clone)]
pub(crate) enum WatchError {
    /// The resource version is too old: list again.
    Expired,
    /// The page was larger than the limit: request fewer objects.
    TooLarge,
    /// 403.
    Forbidden(DisplayText),
    /// The kind is not served.
    Missing,
    /// The cluster cannot be reached, refuses the credential, or sends an invalid response.
    Away(DisplayText),
}

impl WatchError {
    /// The value for the metric label.
    pub(crate) const fn word(&self) -> &'static str {
        match self {
            Self::Expired => "expired",
            Self::TooLarge => "too_large",
            Self::Forbidden(_) => "forbidden",
            Self::Missing => "missing",
            Self::Away(_) => "away",
        }
    }

    pub(crate) fn away(text: &str) -> Self {
        Self::Away(DisplayText::new(text))
    }

    /// From a response's status and the message in its body.
    pub(crate) fn of_status(status: u16, message: &str, kind: Kind) -> Self {
        match status {
            401 => Self::away("The cluster refuses the credential that we hold for it."),
            403 => {
                let says = if message.is_empty() { "no reason given" } else { message };
                Self::Forbidden(DisplayText::new(&format!(
                    "The cluster does not let us read {}: {says}",
                    kind.words()
                )))
            }
            404 => Self::Missing,
            410 => Self::Expired,
            429 => Self::away("The cluster's API server is busy and told us to come later."),
            _ if message.is_empty() => {
                Self::Away(DisplayText::new(&format!("The API server answered {status}.")))
            }
            _ => Self::Away(DisplayText::new(&format!("The API server answered {status}: {message}"))),
        }
    }

    pub(crate) fn of_kube(error: &KubeError) -> Self {
        if let Some(dial) = dial_error(error) {
            let why = if dial.timed_out { "it did not answer in time" } else { "the connection failed" };
            return Self::Away(DisplayText::new(&format!(
                "The cluster cannot be reached: {why} ({}).",
                dial.stage.name()
            )));
        }
        let text = chain(error).to_string();
        if text.contains("length limit exceeded") {
            return Self::TooLarge;
        }
        if text.contains("did not answer within") || text.contains("timed out") {
            return Self::away("The API server did not answer in time.");
        }
        tracing::debug!(error = %text, "a request to a cluster failed");
        Self::away("The connection to the API server broke.")
    }
}

impl From<DirectoryError> for WatchError {
    fn from(error: DirectoryError) -> Self {
        match error {
            DirectoryError::Unknown => Self::away("The cluster is not in the list any more."),
            DirectoryError::NotReachable(why) => {
                Self::Away(DisplayText::new(&format!("It cannot be reached: {why}.")))
            }
            DirectoryError::Unusable(why) => {
                Self::Away(DisplayText::new(&format!("The stored access to it cannot be used: {why}.")))
            }
            DirectoryError::Unavailable(_) => {
                Self::away("The store does not answer, so its address is not known.")
            }
        }
    }
}

impl From<ClientError> for WatchError {
    fn from(error: ClientError) -> Self {
        tracing::warn!(error = %chain(&error), "what is stored of a cluster makes no client");
        Self::away("The stored access to it cannot be used.")
    }
}

impl From<BudgetExceeded> for WatchError {
    fn from(error: BudgetExceeded) -> Self {
        Self::Away(DisplayText::new(&format!("We ask this cluster too much already: {error}.")))
    }
}

/// How long to wait before the next try after an error that lasts.
pub(crate) const fn retry_delay(error: &WatchError, limits: &crate::ObserveLimits) -> Option<Duration> {
    match error {
        WatchError::Forbidden(_) | WatchError::Missing => Some(limits.ask_again),
        WatchError::Expired | WatchError::TooLarge | WatchError::Away(_) => None,
    }
}
