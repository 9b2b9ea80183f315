//! `/notifications`: who outside is told, and what was sent.
//!
//! A test posts the CSRF token to `/notifications/{name}/test`.

use crate::filters;
use crate::frame::Frame;
use crate::parts::{Badge, Failure, Link, Tone};

/// Destinations of notifications.
#[derive(Clone, Debug, Default, askama::Template)]
#[template(path = "notifications.html", blocks = ["list"])]
pub struct NotificationsPage {
    /// What is around it.
    pub frame: Frame,
    /// In the order of the settings.
    pub destinations: Vec<DestinationPart>,
    /// In place of the destinations.
    pub failure: Option<Failure>,
}

/// One destination with what was sent to it.
#[derive(Clone, Debug, Default)]
pub struct DestinationPart {
    /// Its name in the settings.
    pub name: String,
    /// `webhook`, `slack`, `teams`, `pagerduty`.
    pub kind: String,
    /// Scheme, host and port.
    pub address: String,
    /// Groups of events that it is told.
    pub events: Vec<String>,
    /// Azure regions; none: all.
    pub regions: Vec<String>,
    /// How many wait.
    pub waiting: u64,
    /// Since when the oldest waits.
    pub oldest: Option<i64>,
    /// Why the last attempt of what waits failed; empty: none failed.
    pub error: String,
    /// When the receiver last took one.
    pub last_delivered: Option<i64>,
    /// What waits, then what is over.
    pub rows: Vec<NotificationRow>,
}

/// How far a notification is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NotificationProgress {
    #[default]
    Waiting,
    Delivered,
    Failed,
    /// Too many waited already.
    Dropped,
}

/// One event for the destination.
#[derive(Clone, Debug, Default)]
pub struct NotificationRow {
    /// What happened.
    pub title: String,
    /// Its name, e.g. `operation.failed`.
    pub event: String,
    /// Its cluster; an empty text: about none, or about all.
    pub cluster: Link,
    pub progress: NotificationProgress,
    /// How often it was sent.
    pub attempts: u64,
    /// Why the last attempt failed.
    pub error: String,
    /// When it was recorded, or when it ended.
    pub at: i64,
    /// When it is sent again.
    pub retry_at: Option<i64>,
}

impl DestinationPart {
    /// How it is.
    #[must_use]
    pub fn badge(&self) -> Badge {
        let (tone, icon, word) = if !self.error.is_empty() {
            (Tone::Bad, "failed", "Failing")
        } else if self.waiting > 0 {
            (Tone::Busy, "busy", "Sending")
        } else if self.last_delivered.is_some() {
            (Tone::Ok, "ok", "Delivering")
        } else {
            (Tone::Mute, "wait", "Nothing sent")
        };
        Badge::quiet(tone, icon, word)
    }

    /// Where a test is posted.
    #[must_use]
    pub fn test_path(&self) -> String {
        format!("/notifications/{}/test", crate::text::encode(&self.name))
    }

    /// What it is told, in one line.
    #[must_use]
    pub fn told(&self) -> String {
        let events = self.events.join(", ");
        if self.regions.is_empty() { events } else { format!("{events}; in {}", self.regions.join(", ")) }
    }
}

impl NotificationRow {
    /// How far it is.
    #[must_use]
    pub fn badge(&self) -> Badge {
        let (tone, icon, word) = match self.progress {
            NotificationProgress::Waiting if self.error.is_empty() => (Tone::Busy, "wait", "Waiting"),
            NotificationProgress::Waiting => (Tone::Warn, "refresh", "Trying again"),
            NotificationProgress::Delivered => (Tone::Ok, "ok", "Delivered"),
            NotificationProgress::Failed => (Tone::Bad, "failed", "Not delivered"),
            NotificationProgress::Dropped => (Tone::Bad, "failed", "Dropped"),
        };
        Badge::quiet(tone, icon, word)
    }

    /// Attempts in words.
    #[must_use]
    pub fn tries(&self) -> String {
        crate::text::plural(self.attempts, "attempt", "attempts")
    }
}
