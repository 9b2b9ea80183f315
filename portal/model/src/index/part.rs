//! Parts of the fleet: each cluster is in exactly one, so that the parts add up to the whole. The strip above the list,
//! the tabs and the filter by view count with this.

use rp_base::Timestamp;
use web::{ListView, State};

use super::Entry;

/// A certificate ends soon, in seconds: 30 days.
const CERTIFICATE_SOON: i64 = 30 * 24 * 3600;
/// A check is late, in seconds: 15 minutes.
const CHECK_LATE: i64 = 15 * 60;

/// The part of the fleet that a cluster is in: the first that applies, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Failed,
    NoAnswer,
    Degraded,
    Canceled,
    /// Created, updated or deleted now; it is not checked meanwhile.
    InProgress,
    /// Well, but a certificate ends within 30 days.
    Certificate,
    /// Not checked for 15 minutes, or never.
    Unchecked,
    Healthy,
    /// Maintenance, or a state that says nothing of its health.
    Other,
}

impl Part {
    /// The part of a cluster at an instant of the server's clock.
    pub(super) fn find(entry: &Entry, now: Timestamp) -> Self {
        match entry.state_shown() {
            State::Failed(_) => Self::Failed,
            State::NoAnswer => Self::NoAnswer,
            State::Degraded => Self::Degraded,
            State::Canceled => Self::Canceled,
            State::Creating | State::Updating(_) | State::AdminUpdate | State::Deleting => Self::InProgress,
            _ if certificate_soon(entry, now) => Self::Certificate,
            _ if unchecked(entry, now) => Self::Unchecked,
            State::Healthy => Self::Healthy,
            State::Succeeded | State::Maintenance | State::Imported | State::Unknown => Self::Other,
        }
    }

    /// Whether somebody should look at such a cluster.
    pub(super) const fn needs_attention(self) -> bool {
        match self {
            Self::Failed
            | Self::NoAnswer
            | Self::Degraded
            | Self::Canceled
            | Self::Certificate
            | Self::Unchecked => true,
            Self::InProgress | Self::Healthy | Self::Other => false,
        }
    }
}

/// Whether a view that everybody has shows the cluster.
pub(super) fn in_view(entry: &Entry, view: ListView, now: Timestamp) -> bool {
    let part = || Part::find(entry, now);
    match view {
        ListView::All => true,
        ListView::Imported => entry.imported.is_some(),
        ListView::Attention => part().needs_attention(),
        ListView::NotHealthy => {
            matches!(part(), Part::Failed | Part::NoAnswer | Part::Degraded | Part::Canceled)
        }
        ListView::InProgress => part() == Part::InProgress,
        ListView::Failed => part() == Part::Failed,
        ListView::Certificates => part() == Part::Certificate,
        ListView::Unchecked => part() == Part::Unchecked,
        ListView::Healthy => part() == Part::Healthy,
        ListView::Other => part() == Part::Other,
    }
}

fn certificate_soon(entry: &Entry, now: Timestamp) -> bool {
    let end = entry.health.as_ref().and_then(|health| health.certificate);
    end.is_some_and(|end| end.seconds() < now.seconds() + CERTIFICATE_SOON)
}

fn unchecked(entry: &Entry, now: Timestamp) -> bool {
    entry.looked_at().is_none_or(|at| now.seconds() - at.seconds() > CHECK_LATE)
}
