//! Errors of requests to Prometheus, and who is responsible for each.

use std::time::Duration;

use rp_documents::Side;
use rp_net::{DialError, DirectoryError};
use rp_promql::Position;

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
pub enum PromError {
    #[error("this path is not served")]
    RefusedPath,
    #[error("this address answers {0} only")]
    Method(&'static str),
    #[error("invalid parameter {name:?}: {why}")]
    Parameter { name: &'static str, why: String },
    #[error("no source is called {0:?}")]
    UnknownSource(String),
    /// The cost guard.
    #[error("a step of {step} s over this range gives {points} points per series")]
    TooManyPoints { points: f64, step: f64, least: f64 },
    /// An error response of Prometheus, with its message.
    #[error("{message}")]
    Refused { status: u16, kind: String, message: String, position: Option<Position> },
    #[error("no target")]
    Directory(#[source] DirectoryError),
    /// The cluster's API server could not be dialled.
    #[error("the cluster could not be reached")]
    Cluster(#[source] Box<DialError>),
    /// The cluster is reachable, this source is not.
    #[error("{place} did not answer: {why}")]
    SourceAway { place: &'static str, why: String },
    #[error("{place} answered {what}")]
    NotPrometheus { place: &'static str, what: String },
    #[error("no answer within {} s", .0.as_secs())]
    Slow(Duration),
    #[error("the answer broke off")]
    Broken(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// More than the limit, where nothing could be left out.
    #[error("the answer has more than {0} bytes")]
    TooLarge(u64),
    #[error("too many requests to this cluster at once")]
    Crowded,
    #[error("what is stored about the cluster cannot be used")]
    Unusable(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// An error as it is returned to clients.
#[derive(Debug, Clone, PartialEq)]
pub struct ErrorView {
    pub status: u16,
    /// Prometheus' `errorType`.
    pub kind: String,
    /// The error code of this service.
    pub code: &'static str,
    pub message: String,
    pub side: Side,
    pub action: String,
    pub position: Option<Position>,
}

const LATER: &str = "Try again; if it stays, tell the team that runs this service and quote the request id.";
const NARROW: &str = "Ask for a shorter range, a longer step, or fewer series: name the metric, add label matchers, or aggregate.";

impl PromError {
    /// Whether to try another source.
    pub(crate) const fn is_of_source(&self) -> bool {
        matches!(self, Self::SourceAway { .. } | Self::NotPrometheus { .. })
    }

    /// Who is responsible for the error.
    pub fn side(&self) -> Side {
        self.shown().side
    }

    /// The error as it is returned to clients.
    pub fn shown(&self) -> ErrorView {
        let of = |status, kind: &str, code, side, message: String, action: &str| ErrorView {
            status,
            kind: kind.to_owned(),
            code,
            message,
            side,
            action: action.to_owned(),
            position: None,
        };
        let you = |status, kind, code, message, action| of(status, kind, code, Side::You, message, action);
        let cluster =
            |status, kind, code, message, action| of(status, kind, code, Side::Cluster, message, action);
        match self {
            Self::RefusedPath => you(
                403,
                "forbidden",
                "refused_path",
                "This path of Prometheus is not served here: it would change something, or is not known."
                    .to_owned(),
                "Queries, metadata, targets, rules, alerts and status are served.",
            ),
            Self::Method(allowed) => {
                you(405, "bad_data", "method", format!("This address answers {allowed} only."), "")
            }
            Self::Parameter { .. } => you(400, "bad_data", "bad_query", self.to_string(), ""),
            Self::UnknownSource(_) => you(
                400,
                "bad_data",
                "bad_query",
                self.to_string(),
                "Sources are auto, prometheus-k8s-0, prometheus-k8s-1, thanos-querier, user-workload and configured.",
            ),
            Self::TooManyPoints { points, step, least } => you(
                422,
                "bad_data",
                "too_many_points",
                format!(
                    "A step of {step} s over this range gives {points:.0} points per series; Prometheus gives at most {}.",
                    crate::MOST_POINTS
                ),
                &format!(
                    "Use a step of at least {least:.0} s, leave the step out, or ask for a shorter range."
                ),
            ),
            Self::Refused { status, kind, message, position } => refused(*status, kind, message, *position),
            Self::Directory(error) => directory(error),
            Self::Cluster(error) => of(
                if error.timed_out { 504 } else { 502 },
                "unavailable",
                "cluster_away",
                error.side,
                "The cluster's API server did not answer, so its Prometheus cannot be reached.".to_owned(),
                "Look at the cluster's page in the portal.",
            ),
            Self::SourceAway { .. } => cluster(
                502,
                "unavailable",
                "source_away",
                format!("{self}."),
                "Choose another source, or look at the pods of openshift-monitoring.",
            ),
            Self::NotPrometheus { .. } => cluster(
                502,
                "unavailable",
                "not_prometheus",
                format!("{self}."),
                "Something else answers in Prometheus' place; look at the pods of openshift-monitoring.",
            ),
            Self::Slow(_) => cluster(504, "timeout", "slow", format!("Prometheus gave {self}."), NARROW),
            Self::Broken(_) => cluster(
                502,
                "unavailable",
                "broken",
                "Prometheus broke its answer off in the middle.".to_owned(),
                "Ask again.",
            ),
            Self::TooLarge(most) => you(
                422,
                "execution",
                "too_large",
                format!("The answer has more than {} MiB.", most / 1_048_576),
                NARROW,
            ),
            Self::Crowded => of(
                429,
                "unavailable",
                "crowded",
                Side::Us,
                "Too many requests to this cluster's Prometheus are under way.".to_owned(),
                "Try again in a moment.",
            ),
            Self::Unusable(_) => of(
                502,
                "internal",
                "stored_access",
                Side::Us,
                "What is stored about the cluster cannot be used.".to_owned(),
                LATER,
            ),
        }
    }
}

/// Maps an error response of Prometheus; its message is kept.
fn refused(status: u16, kind: &str, message: &str, position: Option<Position>) -> ErrorView {
    let (code, side, action) = match kind {
        "bad_data" if position.is_some() => ("syntax", Side::You, ""),
        "bad_data" => ("bad_query", Side::You, ""),
        "execution" => ("execution", Side::You, NARROW),
        "timeout" => ("slow", Side::Cluster, NARROW),
        "canceled" => ("canceled", Side::You, ""),
        "not_found" => ("not_found", Side::You, ""),
        _ if status < 500 => ("bad_query", Side::You, ""),
        _ => (
            "prometheus_failed",
            Side::Cluster,
            "Ask again; if it stays, look at the pods of openshift-monitoring.",
        ),
    };
    ErrorView {
        status,
        kind: kind.to_owned(),
        code,
        message: message.to_owned(),
        side,
        action: action.to_owned(),
        position,
    }
}

fn directory(error: &DirectoryError) -> ErrorView {
    let (status, kind, code, side, message, action) = match error {
        DirectoryError::Unknown => {
            (404, "not_found", "no_cluster", Side::You, "No cluster has this resource id.".to_owned(), "")
        }
        DirectoryError::NotReachable(what) => (
            502,
            "unavailable",
            "not_reachable",
            Side::Cluster,
            format!("The cluster cannot be reached: {what}."),
            "Look at the cluster's page in the portal.",
        ),
        DirectoryError::Unusable(what) => (
            502,
            "internal",
            "stored_access",
            Side::Us,
            format!("What is stored about the cluster cannot be used: {what}."),
            LATER,
        ),
        DirectoryError::Unavailable(_) => {
            (503, "unavailable", "store_away", Side::Us, "The store does not answer.".to_owned(), LATER)
        }
    };
    let (kind, action) = (kind.to_owned(), action.to_owned());
    ErrorView { status, kind, code, message, side, action, position: None }
}
