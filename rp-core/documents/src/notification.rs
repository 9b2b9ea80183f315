//! Notifications: what is told to receivers outside, one document for each event and destination, and what was told
//! already. Writer: the sender of notifications (`rp-core/notify`); the portal creates test notifications.

use std::borrow::Cow;
use std::time::Duration;

use rp_base::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Collection, Document, Unknown};

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum NotificationKind {
    /// Somebody requested an elevation that another person decides on.
    #[serde(rename = "elevation.requested")]
    ElevationRequested,
    #[serde(rename = "elevation.approved")]
    ElevationApproved,
    #[serde(rename = "elevation.refused")]
    ElevationRefused,
    /// The request was taken back before a decision.
    #[serde(rename = "elevation.withdrawn")]
    ElevationWithdrawn,
    #[serde(rename = "elevation.break_glass")]
    BreakGlass,
    /// A break-glass elevation was reviewed.
    #[serde(rename = "elevation.reviewed")]
    BreakGlassReviewed,
    #[serde(rename = "operation.failed")]
    OperationFailed,
    #[serde(rename = "maintenance.failed")]
    MaintenanceFailed,
    #[serde(rename = "certificate.expiring")]
    CertificateExpiring,
    #[serde(rename = "certificate.renewed")]
    CertificateRenewed,
    /// The API server of a cluster does not answer.
    #[serde(rename = "cluster.silent")]
    ClusterSilent,
    #[serde(rename = "cluster.answers")]
    ClusterAnswers,
    /// An administrator requested it, to try a destination.
    #[serde(rename = "test")]
    Test,
}

/// How urgent it is. The names are those of PagerDuty's Events API v2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    Info,
    Warning,
    Critical,
}

impl Severity {
    /// The name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Critical => "critical",
        }
    }
}

impl NotificationKind {
    /// The name on the wire and on pages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ElevationRequested => "elevation.requested",
            Self::ElevationApproved => "elevation.approved",
            Self::ElevationRefused => "elevation.refused",
            Self::ElevationWithdrawn => "elevation.withdrawn",
            Self::BreakGlass => "elevation.break_glass",
            Self::BreakGlassReviewed => "elevation.reviewed",
            Self::OperationFailed => "operation.failed",
            Self::MaintenanceFailed => "maintenance.failed",
            Self::CertificateExpiring => "certificate.expiring",
            Self::CertificateRenewed => "certificate.renewed",
            Self::ClusterSilent => "cluster.silent",
            Self::ClusterAnswers => "cluster.answers",
            Self::Test => "test",
        }
    }

    /// How urgent it is.
    pub const fn severity(self) -> Severity {
        match self {
            Self::ClusterSilent | Self::BreakGlass => Severity::Critical,
            Self::ElevationRequested
            | Self::OperationFailed
            | Self::MaintenanceFailed
            | Self::CertificateExpiring => Severity::Warning,
            Self::ElevationApproved
            | Self::ElevationRefused
            | Self::ElevationWithdrawn
            | Self::BreakGlassReviewed
            | Self::CertificateRenewed
            | Self::ClusterAnswers
            | Self::Test => Severity::Info,
        }
    }

    /// Whether it ends what an earlier notification of the same subject told.
    pub const fn resolves(self) -> bool {
        matches!(
            self,
            Self::ElevationApproved
                | Self::ElevationRefused
                | Self::ElevationWithdrawn
                | Self::BreakGlassReviewed
                | Self::CertificateRenewed
                | Self::ClusterAnswers
        )
    }
}

/// A named value of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotificationFact {
    pub name: String,
    /// On one line, bounded, without characters that cannot be seen.
    pub value: String,
}

/// What is told: the same for every destination. It holds no secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotificationEvent {
    /// Made of what happened, so that an event that is found twice is one.
    pub id: String,
    pub kind: NotificationKind,
    /// What it is about; an event that resolves has the subject of the one that it resolves.
    pub subject: String,
    pub at: Timestamp,
    /// A sentence without its full stop.
    pub title: String,
    pub facts: Vec<NotificationFact>,
    /// What to do.
    pub advice: String,
    /// Path of a page of the portal.
    pub page: String,
    /// What that page is, for the link: `Decide on the request`.
    pub page_name: String,
    /// Lower-cased resource id of the cluster; empty: about none, or about all.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub cluster: String,
    /// Azure region of the cluster; empty: not known, or about none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub region: String,
}

/// How far a notification is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum NotificationState {
    Waiting,
    /// The receiver took it.
    Delivered,
    /// It was refused, or not taken in time.
    Failed,
    /// Too many waited for this destination already.
    Dropped,
}

impl NotificationState {
    /// The name on the wire and on pages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Delivered => "delivered",
            Self::Failed => "failed",
            Self::Dropped => "dropped",
        }
    }
}

/// One event for one destination.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notification {
    /// Made of the event's id and the destination. Receivers recognise repetitions by it.
    pub id: String,
    /// Name in the settings.
    pub destination: String,
    pub event: NotificationEvent,
    pub state: NotificationState,
    pub created: Timestamp,
    /// How often it was sent.
    #[serde(default)]
    pub attempts: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_attempt: Option<Timestamp>,
    /// It is not sent again before this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Timestamp>,
    /// Why the last attempt failed; bounded, without secrets.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub error: String,
    #[serde(flatten)]
    pub unknown: Unknown,
}

impl Notification {
    /// The store deletes a notification that nobody sends this long after its creation.
    pub const WAITS: Duration = Duration::from_hours(30 * 24);

    /// Start of the unique keys of what waits for a destination, the oldest first.
    pub fn waiting_keys(destination: &str) -> String {
        format!("waiting|{destination}|")
    }

    /// Start of the unique keys of what is over for a destination, the newest first.
    pub fn over_keys(destination: &str) -> String {
        format!("over|{destination}|")
    }
}

impl Document for Notification {
    const COLLECTION: Collection = Collection::Notifications;

    fn id(&self) -> &str {
        &self.id
    }

    /// A destination's notifications share a partition.
    fn partition(&self) -> &str {
        &self.destination
    }

    /// Lists what waits, and what is over, in order, whatever their number.
    fn unique_key(&self) -> Option<Cow<'_, str>> {
        let (start, at) = match self.state {
            NotificationState::Waiting => (Self::waiting_keys(&self.destination), self.created.millis()),
            _ => {
                let ended = self.ended.unwrap_or(self.created).millis();
                (Self::over_keys(&self.destination), i64::MAX.saturating_sub(ended.max(0)))
            }
        };
        Some(format!("{start}{:020}|{}", at.max(0), self.id).into())
    }
}

/// What was told of a cluster's health, so that it is told once. The id is that of the cluster's document.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotificationMark {
    pub id: String,
    /// Since when the cluster does not answer, as it was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub silent_since: Option<Timestamp>,
    /// The end of the certificate that was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate: Option<Timestamp>,
    #[serde(flatten)]
    pub unknown: Unknown,
}

impl NotificationMark {
    /// Whether nothing was told.
    pub const fn is_empty(&self) -> bool {
        self.silent_since.is_none() && self.certificate.is_none()
    }
}

impl Document for NotificationMark {
    const COLLECTION: Collection = Collection::NotificationMarks;

    fn id(&self) -> &str {
        &self.id
    }
}

/// How far the change feeds were read, and which process reads and sends. There is one, [`Self::ID`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotificationCursor {
    pub id: String,
    /// Names a process's hold; empty: free.
    pub owner: String,
    pub until: Timestamp,
    /// What happened before this is not told.
    pub begun: Timestamp,
    /// Positions in the change feeds of elevations, operation logs, manifests and schedules.
    pub elevations: i64,
    pub operations: i64,
    pub manifests: i64,
    /// Absent in what an earlier version wrote: read from the beginning.
    #[serde(default)]
    pub schedules: i64,
    #[serde(flatten)]
    pub unknown: Unknown,
}

impl NotificationCursor {
    /// The id of the only one.
    pub const ID: &'static str = "sender";
}

impl Document for NotificationCursor {
    const COLLECTION: Collection = Collection::NotificationCursors;

    fn id(&self) -> &str {
        &self.id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notification(state: NotificationState, created: i64, ended: Option<i64>) -> Notification {
        let event = NotificationEvent {
            id: "e".into(),
            kind: NotificationKind::Test,
            subject: "s".into(),
            at: Timestamp::from_millis(created),
            title: "t".into(),
            facts: vec![],
            advice: "a".into(),
            page: "/".into(),
            page_name: "p".into(),
            cluster: String::new(),
            region: String::new(),
        };
        Notification {
            id: format!("n-{created}"),
            destination: "hub".into(),
            event,
            state,
            created: Timestamp::from_millis(created),
            attempts: 0,
            last_attempt: None,
            retry_after: None,
            ended: ended.map(Timestamp::from_millis),
            error: String::new(),
            unknown: Unknown::new(),
        }
    }

    #[test]
    fn the_oldest_waits_first_and_the_newest_is_over_first() {
        let key = |n: &Notification| n.unique_key().unwrap().into_owned();
        let (old, new) = (
            notification(NotificationState::Waiting, 9_999, None),
            notification(NotificationState::Waiting, 10_000, None),
        );
        assert!(key(&old) < key(&new) && key(&old).starts_with(&Notification::waiting_keys("hub")));
        let (old, new) = (
            notification(NotificationState::Delivered, 1, Some(9_999)),
            notification(NotificationState::Failed, 1, Some(10_000)),
        );
        assert!(key(&new) < key(&old) && key(&old).starts_with(&Notification::over_keys("hub")));
    }

    #[test]
    fn what_newer_versions_add_stays() {
        let mut stored = serde_json::to_value(notification(NotificationState::Waiting, 5, None)).unwrap();
        stored["future"] = serde_json::json!([1]);
        let read: Notification = serde_json::from_value(stored.clone()).unwrap();
        assert_eq!(serde_json::to_value(read).unwrap(), stored);
    }
}
