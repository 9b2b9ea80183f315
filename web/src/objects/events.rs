//! Events: the newest first, warnings by their colour.

use rp_rows::Event;

use super::{ObservedRows, page_of, seconds, words_of};
use crate::panel::{Block, DisplayTime, Item, Panel};
use crate::parts::{Link, Tone};
use crate::text::encode;

/// Warnings of the overview.
const SHORT: usize = 8;
/// Events of one object.
const OF_ONE: usize = 20;
const MISSING: &str = "The cluster serves no events.";

fn link(event: &Event, base: &str) -> Link {
    let (namespace, name) = (event.object_namespace.as_str(), event.object_name.as_str());
    match event.object_kind.as_str() {
        "Node" => page_of(base, "nodes", name),
        "Machine" => page_of(base, "machines", name),
        "MachineSet" => page_of(base, "machinesets", name),
        "ClusterOperator" => page_of(base, "operators", name),
        "Pod" if !namespace.is_empty() => {
            Link::new(name, format!("{base}/pods/{}/{}", encode(namespace), encode(name)))
        }
        _ => Link::new(name, ""),
    }
}

fn item(event: &Event, base: &str) -> Item {
    let warning = event.is_warning();
    Item {
        tone: if warning { Tone::Warn } else { Tone::Mute },
        icon: if warning { "degraded" } else { "info" },
        name: link(event, base),
        kind: format!("{} {}", words_of(&event.object_kind).to_lowercase(), event.reason),
        badges: Vec::new(),
        quote: event.message.clone(),
        advice: String::new(),
        at: seconds(event.last).map(DisplayTime::Ago),
        aside: if event.count > 1 { format!("×{}", event.count) } else { String::new() },
        acts: Vec::new(),
    }
}

/// Events as a list, as they come.
pub fn event_items<'a>(base: &str, events: impl IntoIterator<Item = &'a Event>) -> Vec<Item> {
    events.into_iter().map(|event| item(event, base)).collect()
}

fn newest<'a>(events: impl Iterator<Item = &'a Event>, most: usize) -> Vec<&'a Event> {
    let mut found: Vec<&Event> = events.collect();
    found.sort_by_key(|event| std::cmp::Reverse(event.last));
    found.truncate(most);
    found
}

/// Warnings of the overview.
#[must_use]
pub fn events_panel(base: &str, events: &ObservedRows<Event>) -> Panel {
    let panel = Panel::new("events", "Warnings")
        .slot(events.slot("Events", &[], MISSING))
        .link("All events", format!("{base}/events"));
    if !events.known() {
        return panel;
    }
    let found = newest(events.iter().filter(|event| event.is_warning()), SHORT);
    if found.is_empty() {
        return panel.well("No warnings", "No event of the last hour is a warning.");
    }
    let all = events.iter().filter(|event| event.is_warning()).count();
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
    events: &ObservedRows<Event>,
) -> Panel {
    let panel = Panel::new("events", "Events").slot(events.slot("Events", &[], MISSING));
    if !events.known() {
        return panel;
    }
    let its = |event: &&Event| {
        event.object_kind == kind
            && event.object_name == name
            && (namespace.is_empty() || event.object_namespace == namespace)
    };
    let found = newest(events.iter().filter(its), OF_ONE);
    if found.is_empty() {
        return panel.nothing("list", "No events", "None that the cluster still keeps is about it.");
    }
    panel.with(Block::Events(event_items(base, found)))
}
