//! Events: the newest first, warnings by their colour.

use super::{ObservedRows, page_of, words_of};
use crate::panel::{Block, DisplayTime, Item, Panel};
use crate::parts::{Link, Tone};
use crate::text::encode;

/// An event.
#[derive(Clone, Debug, Default)]
pub struct EventRow {
    /// Last seen.
    pub at: Option<i64>,
    /// `Warning`.
    pub warning: bool,
    /// Kind of what it is about.
    pub kind: String,
    /// Its namespace, or empty.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Reason.
    pub reason: String,
    /// Message.
    pub message: String,
    /// How often.
    pub count: u64,
}

/// Warnings of the overview.
const SHORT: usize = 8;
/// Events of one object.
const OF_ONE: usize = 20;
const MISSING: &str = "The cluster serves no events.";

impl EventRow {
    fn link(&self, base: &str) -> Link {
        match self.kind.as_str() {
            "Node" => page_of(base, "nodes", &self.name),
            "Machine" => page_of(base, "machines", &self.name),
            "MachineSet" => page_of(base, "machinesets", &self.name),
            "ClusterOperator" => page_of(base, "operators", &self.name),
            "Pod" if !self.namespace.is_empty() => Link::new(
                &*self.name,
                format!("{base}/pods/{}/{}", encode(&self.namespace), encode(&self.name)),
            ),
            _ => Link::new(&*self.name, ""),
        }
    }

    fn item(&self, base: &str) -> Item {
        let many = if self.count > 1 { format!("×{}", self.count) } else { String::new() };
        Item {
            tone: if self.warning { Tone::Warn } else { Tone::Mute },
            icon: if self.warning { "degraded" } else { "info" },
            name: self.link(base),
            kind: format!("{} {}", words_of(&self.kind).to_lowercase(), self.reason),
            badges: Vec::new(),
            quote: self.message.clone(),
            at: self.at.map(DisplayTime::Ago),
            aside: many,
            acts: Vec::new(),
        }
    }
}

/// Events as a list, as they come.
pub fn event_items<'a>(base: &str, events: impl IntoIterator<Item = &'a EventRow>) -> Vec<Item> {
    events.into_iter().map(|event| event.item(base)).collect()
}

fn newest<'a>(events: impl Iterator<Item = &'a EventRow>, most: usize) -> Vec<&'a EventRow> {
    let mut found: Vec<&EventRow> = events.collect();
    found.sort_by_key(|event| std::cmp::Reverse(event.at));
    found.truncate(most);
    found
}

/// Warnings of the overview.
#[must_use]
pub fn events_panel(base: &str, events: &ObservedRows<EventRow>) -> Panel {
    let panel = Panel::new("events", "Warnings")
        .slot(events.slot("Events", &[], MISSING))
        .link("All events", format!("{base}/events"));
    if !events.known() {
        return panel;
    }
    let found = newest(events.rows.iter().filter(|event| event.warning), SHORT);
    if found.is_empty() {
        return panel.well("No warnings", "No event of the last hour is a warning.");
    }
    let all = events.rows.iter().filter(|event| event.warning).count();
    panel
        .fact(format!("{} of {all}, newest first", found.len()))
        .with(Block::Events(event_items(base, found)))
}

/// Events of one object.
pub(super) fn about(
    base: &str,
    kind: &str,
    namespace: &str,
    name: &str,
    events: &ObservedRows<EventRow>,
) -> Panel {
    let panel = Panel::new("events", "Events").slot(events.slot("Events", &[], MISSING));
    if !events.known() {
        return panel;
    }
    let its = |event: &&EventRow| {
        event.kind == kind && event.name == name && (namespace.is_empty() || event.namespace == namespace)
    };
    let found = newest(events.rows.iter().filter(its), OF_ONE);
    if found.is_empty() {
        return panel.nothing("list", "No events", "None that the cluster still keeps is about it.");
    }
    panel.with(Block::Events(event_items(base, found)))
}
