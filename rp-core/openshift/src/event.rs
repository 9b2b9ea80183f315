//! Events.

use rp_base::Timestamp;
use serde::Deserialize;

use crate::lenient::{Int, Time, member, object};
use crate::meta::Meta;
use crate::reader::{Reader, TextValue as _, Whole};

/// `events`.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "", rename_all = "camelCase")]
pub struct Event<R: Reader> {
    #[serde(deserialize_with = "object")]
    pub metadata: Meta<R>,
    /// `Warning` or `Normal`.
    #[serde(rename = "type")]
    pub kind: R::Text<64>,
    pub reason: R::Text<253>,
    pub message: R::Text<1024>,
    #[serde(deserialize_with = "object")]
    pub involved_object: InvolvedObject<R>,
    #[serde(deserialize_with = "member")]
    pub first_timestamp: Time,
    #[serde(deserialize_with = "member")]
    pub last_timestamp: Time,
    #[serde(deserialize_with = "member")]
    pub event_time: Time,
    pub count: Int,
    #[serde(deserialize_with = "object")]
    pub series: EventSeries,
    #[serde(deserialize_with = "object")]
    pub source: EventSource<R>,
    pub reporting_component: R::Text<253>,
}

/// What an event is about.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "")]
pub struct InvolvedObject<R: Reader> {
    pub kind: R::Text<253>,
    pub namespace: R::Text<253>,
    pub name: R::Text<253>,
}

/// An event that repeats.
#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct EventSeries {
    #[serde(deserialize_with = "member")]
    pub last_observed_time: Time,
    pub count: Int,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "")]
pub struct EventSource<R: Reader> {
    pub component: R::Text<253>,
    pub host: R::Text<253>,
}

impl<R: Reader> Event<R> {
    /// How often it happened, at least once.
    pub fn times(&self) -> i64 {
        self.series.count.0.or(self.count.0).unwrap_or(1).max(1)
    }

    /// Who says so.
    pub fn reporter(&self) -> &str {
        let component = &self.source.component;
        if component.is_empty() { self.reporting_component.as_str() } else { component.as_str() }
    }
}

impl Event<Whole> {
    fn instant(&self) -> Option<Timestamp> {
        self.event_time.0.or(self.metadata.creation_timestamp.0)
    }

    /// When it happened first.
    pub fn first(&self) -> Option<Timestamp> {
        self.first_timestamp.0.or_else(|| self.instant())
    }

    /// When it happened last.
    pub fn last(&self) -> Option<Timestamp> {
        self.series.last_observed_time.0.or(self.last_timestamp.0).or_else(|| self.instant())
    }
}
