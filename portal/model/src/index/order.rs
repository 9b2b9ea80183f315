//! Orders of the list, and cursors in them: a cursor is the sort key of a row and its id, so that the next page begins
//! after that row even when it has moved or gone.

use std::cmp::Ordering;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rp_base::Timestamp;
use web::{Column, State};

use super::Entry;
use super::filter::numbers;

/// Maximum length of a cursor.
const MOST_PLACE: usize = 2048;
/// Bytes of a text that are compared.
const MOST_KEY: usize = 100;

/// The sort key of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SortKey<'a> {
    number: i64,
    text: &'a str,
    id: &'a str,
}

impl<'a> SortKey<'a> {
    pub(super) fn new(entry: &'a Entry, by: Column) -> Self {
        let (number, text) = key(entry, by);
        Self { number, text, id: entry.id.key() }
    }

    pub(super) fn cmp(&self, other: &Self, reverse: bool) -> Ordering {
        let order = self
            .number
            .cmp(&other.number)
            .then_with(|| self.text.cmp(other.text))
            .then_with(|| self.id.cmp(other.id));
        if reverse { order.reverse() } else { order }
    }

    pub(super) fn place(&self, by: Column, reverse: bool) -> String {
        let place = (by.name(), reverse, self.number, self.text, self.id);
        URL_SAFE_NO_PAD.encode(serde_json::to_vec(&place).unwrap_or_default())
    }
}

/// A position in the list, as given to clients.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cursor {
    number: i64,
    text: String,
    id: String,
}

impl Cursor {
    /// `None`: it is invalid or belongs to another order.
    pub(super) fn read(text: &str, by: Column, reverse: bool) -> Option<Self> {
        if text.len() > MOST_PLACE {
            return None;
        }
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        let (order, turned, number, text, id): (String, bool, i64, String, String) =
            serde_json::from_slice(&bytes).ok()?;
        (order == by.name() && turned == reverse).then_some(Self { number, text, id })
    }

    pub(super) fn key(&self) -> SortKey<'_> {
        SortKey { number: self.number, text: &self.text, id: &self.id }
    }
}

/// Small comes first.
fn key(entry: &Entry, by: Column) -> (i64, &str) {
    let health = entry.health.as_deref();
    let most = |count: Option<usize>| count.map_or(1, |count| -i64::try_from(count).unwrap_or(i64::MAX));
    match by {
        Column::State => (
            i64::from(rank(entry.state_shown())) << 40 | soonest(entry.since).clamp(0, (1 << 40) - 1),
            entry.lower_name(),
        ),
        Column::Name => (0, entry.lower_name()),
        // Clusters with problems come first.
        Column::Wrong => (i64::from(entry.wrong_words().is_empty()), truncated(entry.wrong_words())),
        Column::Version => (-packed(&entry.version), entry.lower_name()),
        Column::Created => (newest(entry.created), entry.lower_name()),
        Column::Modified => (newest(entry.modified), entry.lower_name()),
        Column::Age => (soonest(entry.since), entry.lower_name()),
        Column::Source => (i64::from(entry.imported.is_some()), entry.lower_name()),
        Column::Looked => (entry.looked_at().map_or(i64::MIN, Timestamp::seconds), entry.lower_name()),
        Column::Certificate => (soonest(health.and_then(|h| h.certificate)), entry.lower_name()),
        Column::Operators => (most(health.map(|h| h.operators.len())), entry.lower_name()),
        Column::Nodes => (health.map_or(1, |h| -i64::from(h.nodes_not_ready)), entry.lower_name()),
        Column::Alerts => (most(health.map(|h| h.alerts)), entry.lower_name()),
        Column::Collectors => (most(health.map(|h| h.failed.len())), entry.lower_name()),
        Column::Architecture => (-i64::from(entry.architecture), entry.lower_name()),
        Column::Region => (empty_last(&entry.location), truncated(&entry.location)),
        Column::Group => (0, segment(entry.id.key(), 4)),
        Column::Subscription => (0, segment(entry.id.key(), 2)),
        Column::Api => (empty_last(&entry.visibility), truncated(&entry.visibility)),
        Column::Maintenance => (empty_last(&entry.maintenance), truncated(&entry.maintenance)),
        Column::Phase => {
            let phase = entry.install.as_deref().unwrap_or_default();
            (empty_last(phase), truncated(phase))
        }
        Column::Infra => (empty_last(&entry.infra_id), truncated(&entry.infra_id)),
        Column::Provisioned => (empty_last(&entry.provisioned_by), truncated(&entry.provisioned_by)),
    }
}

fn empty_last(text: &str) -> i64 {
    i64::from(text.is_empty())
}

/// Newest first; unknown last.
fn newest(at: Option<Timestamp>) -> i64 {
    at.map_or(i64::MAX, |at| -at.seconds())
}

/// Oldest first; unknown last.
fn soonest(at: Option<Timestamp>) -> i64 {
    at.map_or(i64::MAX, Timestamp::seconds)
}

/// A segment of a key, from 1.
fn segment(key: &str, at: usize) -> &str {
    key.split('/').nth(at).unwrap_or_default()
}

fn truncated(text: &str) -> &str {
    let mut end = text.len().min(MOST_KEY);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

/// Major, minor and patch in one number.
fn packed(version: &str) -> i64 {
    if version.is_empty() {
        return -1;
    }
    let numbers = numbers(version);
    let part = |at: usize| i64::try_from(numbers.get(at).copied().unwrap_or(0).min(0xf_ffff)).unwrap_or(0);
    part(0) << 40 | part(1) << 20 | part(2)
}

/// Worst first.
fn rank(state: &State) -> u8 {
    match state {
        State::Failed(_) => 0,
        State::NoAnswer => 1,
        State::Degraded => 2,
        State::Canceled => 3,
        State::Creating => 4,
        State::Updating(_) => 5,
        State::AdminUpdate => 6,
        State::Deleting => 7,
        State::Maintenance => 8,
        State::Unknown => 9,
        State::Succeeded => 10,
        State::Imported => 11,
        State::Healthy => 12,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_read_in_its_own_order_only() {
        let key = SortKey { number: -7, text: "größe\u{1f}", id: "/subscriptions/x" };
        let place = key.place(Column::Version, true);
        let read = Cursor::read(&place, Column::Version, true).unwrap();
        assert_eq!(read.key(), key);
        assert!(Cursor::read(&place, Column::Version, false).is_none());
        assert!(Cursor::read(&place, Column::Name, true).is_none());
        for bad in ["", "50", "!!", "bnVsbA", &place[1..], &"A".repeat(5000)] {
            assert!(Cursor::read(bad, Column::Version, true).is_none(), "{bad}");
        }
    }

    #[test]
    fn newer_versions_pack_higher() {
        assert!(
            packed("4.18.3") > packed("4.9.40")
                && packed("4.18.10") > packed("4.18.9")
                && packed("") < packed("0")
        );
    }

    #[test]
    fn keys_are_cut_between_characters() {
        assert_eq!(truncated(&"ß".repeat(80)).len(), 100);
        assert_eq!(truncated(&format!("a{}", "ß".repeat(80))).len(), 99);
    }
}
