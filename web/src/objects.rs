//! The objects of a cluster as pages show them: plain rows, and the panels, tables and verdict made from them.
//! Rows (`rp_rows`) are plain values; this crate does not read them from the cluster.

mod aro;
mod conditions;
mod events;
mod list;
mod machines;
mod maintenance;
mod nodes;
mod operations;
mod operator_flags;
mod operators;
mod order;
mod overview;
mod runs;
mod schedule;
mod sets;
mod verdict;
mod version;

use std::collections::BTreeMap;
use std::sync::Arc;

use rp_base::Timestamp;

use crate::components::{Condition, EmptyState, Skeleton, Slot};
use crate::panel::{Block, Panel};
use crate::parts::{Badge, Failure, Link, Notice, Tone};
use crate::text::encode;

pub use aro::{AroOperator, ConditionHealth, OperatorCondition, aro_panel};
pub use events::{event_items, events_panel};
pub use list::Row;
pub use machines::{MachineRow, Vm, machine_board, machines_panel};
pub use maintenance::{ManifestProgress, ManifestRow};
pub use nodes::{node_board, nodes_panel};
pub use operations::{ActionRow, Operations, followed, operations_board, run_board};
pub use operator_flags::{OperatorFlag, flags_panel};
pub use operators::{OperatorRow, operator_board, operators_panel};
pub use order::{OrderBox, OrderErrors, OrderForm, OrderPart, TaskChoice};
pub use overview::{FiringAlert, MonitorFindings, Overview, alerts_panel, control_panel, overview_board};
pub use runs::{Run, RunLine, RunStep, lasted, run_notice};
pub use schedule::{ScheduleProgress, ScheduleRow};
pub use sets::{control_plane_panels, machine_set_board, machine_sets_panel, pools_panel};
pub use verdict::{ClusterObjects, Problem, looks, problems};
pub use version::version_panel;

/// The layout of a page's panels.
#[derive(Clone, Debug, Default)]
pub struct Board {
    /// Over the whole width.
    pub top: Vec<Panel>,
    /// The wide column.
    pub main: Vec<Panel>,
    /// The narrow column; empty: the page has no such column.
    pub side: Vec<Panel>,
}

impl Board {
    /// Panels over the whole width.
    #[must_use]
    pub fn full_width(top: Vec<Panel>) -> Self {
        Self { top, ..Self::default() }
    }

    /// Every panel, in order of reading.
    pub fn panels(&self) -> impl Iterator<Item = &Panel> {
        self.top.iter().chain(&self.main).chain(&self.side)
    }

    /// Whether it has no panels.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.panels().next().is_none()
    }
}

/// The rows of one kind, and whether they are current.
#[derive(Clone, Debug)]
pub struct ObservedRows<T> {
    /// The rows, shared with the snapshot: a page is made of them many times a minute for each viewer.
    pub rows: Vec<Arc<T>>,
    /// Whether they are current.
    pub state: ObservationState,
    /// How many more exist than are kept.
    pub left_out: u64,
}

impl<T> Default for ObservedRows<T> {
    fn default() -> Self {
        Self { rows: Vec::new(), state: ObservationState::Loading, left_out: 0 }
    }
}

/// Whether rows are current, out of date or unavailable.
#[derive(Clone, Debug, Default)]
pub enum ObservationState {
    /// No answer has arrived yet.
    #[default]
    Loading,
    /// The rows are current.
    Live,
    /// The rows are the last known ones.
    Stale {
        /// When they were last updated.
        since: i64,
        /// Why they have not been updated since.
        why: String,
    },
    /// The cluster refuses to let this service read them; holds the cluster's message.
    Forbidden(String),
    /// The cluster does not serve this kind.
    Missing,
    /// They could not be read.
    Failed(Failure),
}

impl<T> ObservedRows<T> {
    /// Current rows.
    #[must_use]
    pub fn live(rows: Vec<T>) -> Self {
        let rows = rows.into_iter().map(Arc::new).collect();
        Self { rows, state: ObservationState::Live, left_out: 0 }
    }

    /// The rows.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.rows.iter().map(AsRef::as_ref)
    }

    /// Whether the rows hold data: current or last known.
    #[must_use]
    pub fn known(&self) -> bool {
        matches!(self.state, ObservationState::Live | ObservationState::Stale { .. })
    }

    /// Whether the rows may be out of date.
    #[must_use]
    pub fn stale(&self) -> bool {
        matches!(self.state, ObservationState::Stale { .. })
    }

    /// What is shown above the rows or instead of them.
    pub(crate) fn slot(&self, what: &str, heads: &[&str], missing: &str) -> Slot {
        match &self.state {
            ObservationState::Loading => Slot::Loading(Skeleton::table(what, heads, 4)),
            ObservationState::Live => Slot::Ready,
            ObservationState::Stale { since, why } => Slot::LastKnown { since: *since, why: why.clone() },
            ObservationState::Forbidden(why) => Slot::Empty(forbidden(what, why)),
            ObservationState::Missing => Slot::Empty(EmptyState {
                hook: "missing",
                ..EmptyState::nothing("unknown", "Not there").text(missing)
            }),
            ObservationState::Failed(failure) => Slot::Failed(failure.clone()),
        }
    }

    /// Adds a notice about rows that are left out.
    pub(crate) fn cut(&self, panel: Panel) -> Panel {
        if self.left_out == 0 || !self.known() {
            return panel;
        }
        let lead = format!("{} more are not kept.", crate::text::number(self.left_out));
        let text = "There are more of them than this page holds.".to_owned();
        panel.with(Block::Notice(Notice { tone: Tone::Warn, lead, text, action: None }))
    }
}

fn forbidden(what: &str, why: &str) -> EmptyState {
    let text = format!("The cluster does not let this service read them. Others are not affected. {why}");
    EmptyState { hook: "forbidden", ..EmptyState::nothing("lock", format!("{what}: not allowed")).text(text) }
}

/// The page of an object of a cluster; without a name no link.
pub(crate) fn page_of(base: &str, tab: &str, name: &str) -> Link {
    if name.is_empty() {
        return Link::default();
    }
    Link::new(name, format!("{base}/{tab}/{}", encode(name)))
}

/// `MemoryPressure` as "Memory pressure"; text that is not camel case is returned unchanged.
#[must_use]
pub fn words_of(camel: &str) -> String {
    if camel.len() > 60 || !camel.is_ascii() {
        return camel.to_owned();
    }
    let bytes = camel.as_bytes();
    let mut out = String::with_capacity(camel.len() + 4);
    for (i, c) in camel.char_indices() {
        let before = i.checked_sub(1).and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_lowercase);
        let after = bytes.get(i + 1).is_some_and(u8::is_ascii_lowercase);
        if before && c.is_ascii_uppercase() {
            out.push(' ');
            out.push(if after { c.to_ascii_lowercase() } else { c });
        } else {
            out.push(c);
        }
    }
    out
}

/// The badge of a last known state ("Was …") when the row is stale.
pub(crate) fn was(badge: Badge, stale: bool) -> Badge {
    if !stale {
        return badge;
    }
    let mut letters = badge.word.chars();
    let first: String = letters.next().map(|c| c.to_lowercase().collect()).unwrap_or_default();
    Badge {
        tone: Tone::Mute,
        quiet: true,
        word: format!("Was {first}{}", letters.as_str()),
        icon: badge.icon,
    }
}

/// As templates take instants: seconds since 1970.
pub(crate) fn seconds(at: Option<Timestamp>) -> Option<i64> {
    at.map(Timestamp::seconds)
}

/// A panel of conditions, or a message that there are none.
pub(crate) fn conditions_panel(rows: &[Condition]) -> Panel {
    let panel = Panel::new("conditions", "Conditions");
    if rows.is_empty() {
        return panel.nothing("list", "No conditions", "It reports none.");
    }
    panel.fact(rows.len().to_string()).with(Block::Conditions(rows.to_vec()))
}

/// A panel of labels or annotations.
pub(crate) fn tags_panel(id: &'static str, title: &str, tags: &BTreeMap<String, String>) -> Panel {
    let panel = Panel::new(id, title);
    if tags.is_empty() {
        return panel.nothing("list", "None", "");
    }
    panel.fact(tags.len().to_string()).with(Block::Tags(tags.clone().into_iter().collect()))
}

/// The panel shown instead of an object that does not exist (any more).
pub(crate) fn no_such<T>(kind: &str, name: &str, list: &Link, seen: &ObservedRows<T>) -> Board {
    let panel = Panel::new("object", kind);
    let slot = seen.slot(kind, &[], &format!("The cluster has no {}s.", kind.to_lowercase()));
    if !seen.known() {
        return Board::full_width(vec![panel.slot(slot)]);
    }
    let blank = EmptyState {
        hook: "gone",
        ..EmptyState::nothing("search", format!("No {} has this name", kind.to_lowercase()))
            .text(format!("{name} is not there. It may have been deleted or replaced."))
            .action(list.clone())
    };
    Board::full_width(vec![panel.slot(Slot::Empty(blank))])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_where_they_begin() {
        for (camel, words) in [
            ("MemoryPressure", "Memory pressure"),
            ("PIDPressure", "PIDPressure"),
            ("DiskPressure", "Disk pressure"),
            ("NetworkUnavailable", "Network unavailable"),
            ("", ""),
            ("größe", "größe"),
        ] {
            assert_eq!(words_of(camel), words);
        }
    }

    #[test]
    fn what_was_is_not_passed_off_as_new() {
        let badge = was(Badge::filled(Tone::Bad, "failed", "Not ready"), true);
        assert_eq!((badge.word.as_str(), badge.tone, badge.quiet), ("Was not ready", Tone::Mute, true));
    }
}
