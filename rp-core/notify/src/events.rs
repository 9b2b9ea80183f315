//! What happened, in words, out of the documents that say so. Pure: the same document gives the same events with the same
//! ids, so that an event that is found twice is one.

mod elevation;
mod health;
mod manifest;
mod operation;
mod schedule;

pub(crate) use elevation::{elevation, is_elevation_told};
pub(crate) use health::{answers, expiring, renewed, silent};
pub(crate) use manifest::{is_manifest_told, manifest};
pub(crate) use operation::{is_operation_told, operation};
pub(crate) use schedule::{is_schedule_told, schedule};

use rp_base::{Timestamp, text};
use rp_documents::{NotificationEvent, NotificationFact, NotificationKind, ResourceId};

/// Bytes of one value.
const MOST_VALUE: usize = 500;

/// What is known of the cluster that an event is about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ClusterPlace {
    /// Lower-cased resource id.
    pub(crate) key: String,
    /// Azure region; empty: not known.
    pub(crate) region: String,
}

impl ClusterPlace {
    /// The name in the resource id.
    pub(crate) fn name(&self) -> String {
        ResourceId::parse(&self.key).map_or_else(|_| line(&self.key), |id| line(id.name()))
    }
}

/// Text from outside on one line: bounded, with escapes for what cannot be seen.
fn line(value: &str) -> String {
    text::visible(value.trim().as_bytes(), MOST_VALUE)
}

/// An event with what every event has.
struct Draft {
    event: NotificationEvent,
}

impl Draft {
    fn new(kind: NotificationKind, subject: String, at: Timestamp, title: String) -> Self {
        let event = NotificationEvent {
            id: format!("{subject}/{}", kind.name()),
            kind,
            subject,
            at,
            title,
            facts: Vec::new(),
            advice: String::new(),
            page: "/".to_owned(),
            page_name: "Open the portal".to_owned(),
            cluster: String::new(),
            region: String::new(),
        };
        Self { event }
    }

    /// A value; an empty one is left out.
    fn fact(mut self, name: &str, value: &str) -> Self {
        let value = line(value);
        if !value.is_empty() {
            self.event.facts.push(NotificationFact { name: name.to_owned(), value });
        }
        self
    }

    fn cluster(mut self, place: &ClusterPlace) -> Self {
        self.event.cluster.clone_from(&place.key);
        self.event.region.clone_from(&place.region);
        self.fact("Cluster", &place.name()).fact("Region", &place.region)
    }

    fn advice(mut self, advice: &str) -> Self {
        advice.clone_into(&mut self.event.advice);
        self
    }

    fn page(mut self, page: String, name: &str) -> NotificationEvent {
        self.event.page = page;
        name.clone_into(&mut self.event.page_name);
        self.event
    }
}

/// A test that a person requested. `id` tells it from others.
pub(crate) fn test(id: &str, by: &str, at: Timestamp) -> NotificationEvent {
    let title = "Test notification".to_owned();
    Draft::new(NotificationKind::Test, format!("test/{id}"), at, title)
        .fact("Requested by", by)
        .advice("Nothing is to be done: this shows that notifications arrive.")
        .page("/notifications".to_owned(), "Open the page of notifications")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_from_outside_stays_on_its_line() {
        let event = test("1", "ada\nSeverity: none\u{202e}", Timestamp::from_seconds(5));
        assert_eq!(event.facts[0].value, "ada\\nSeverity: none\\u{202e}");
        let long = "x".repeat(5000);
        assert!(line(&long).len() < 600);
    }
}
