//! Which clusters, in which order.

use std::cmp::{Ordering, Reverse};
use std::sync::Arc;

use rp_base::Timestamp;
use rp_documents::ResourceId;
use url::Url;
use web::{ListQuery, ListView, Sort, State};

use super::{Entry, Snapshot};

/// A query of text is cut here, in characters.
const MOST_TEXT: usize = 500;
/// A certificate ends soon, in seconds.
const CERTIFICATE_SOON: i64 = 30 * 24 * 3600;

/// A list query, made ready.
#[derive(Debug)]
pub(crate) struct Selection<'a> {
    query: &'a ListQuery,
    words: Vec<String>,
    now: Timestamp,
}

impl<'a> Selection<'a> {
    pub(crate) fn new(query: &'a ListQuery, now: Timestamp) -> Self {
        let text: String = query.q.chars().take(MOST_TEXT).collect();
        Self { query, words: text.to_lowercase().split_whitespace().map(str::to_owned).collect(), now }
    }

    /// The clusters that match, in the query's order.
    pub(crate) fn of(&self, snapshot: &Snapshot) -> Vec<Arc<Entry>> {
        let mut found: Vec<Arc<Entry>> =
            snapshot.entries.iter().filter(|entry| self.matches(entry)).cloned().collect();
        sort(&mut found, self.query.sort);
        if self.query.reverse {
            found.reverse();
        }
        found
    }

    fn matches(&self, entry: &Entry) -> bool {
        let q = self.query;
        let same = |wanted: &str, is: &str| wanted.is_empty() || is.eq_ignore_ascii_case(wanted);
        entry.has_words(&self.words)
            && in_view(entry, q.view)
            && (q.state.is_empty() || in_state(entry, &q.state, self.now))
            && (q.version.is_empty() || has_version(&entry.version, &q.version))
            && same(&q.source, if entry.imported.is_some() { "imported" } else { "aro" })
            && same(&q.subscription, entry.id.subscription())
            && same(&q.group, entry.id.resource_group())
            && same(&q.api, &entry.visibility)
    }
}

/// Whether a saved view shows the cluster.
pub(super) fn in_view(entry: &Entry, view: ListView) -> bool {
    let state = entry.shown_state();
    match view {
        ListView::All => true,
        ListView::Failed => matches!(state, State::Failed(_)),
        ListView::Imported => entry.imported.is_some(),
        ListView::NotHealthy => {
            matches!(state, State::Failed(_) | State::Degraded | State::NoAnswer | State::Canceled)
        }
        ListView::InProgress => {
            matches!(state, State::Creating | State::Updating(_) | State::AdminUpdate | State::Deleting)
        }
    }
}

fn in_state(entry: &Entry, wanted: &str, now: Timestamp) -> bool {
    if wanted == "certificate" {
        return certificate_soon(entry, now);
    }
    state_word(&entry.shown_state()) == wanted || entry.state_name().eq_ignore_ascii_case(wanted)
}

/// Whether a certificate of the cluster ends within 30 days.
pub(super) fn certificate_soon(entry: &Entry, now: Timestamp) -> bool {
    let end = entry.health.as_ref().and_then(|health| health.certificate);
    end.is_some_and(|end| end.seconds() < now.seconds() + CERTIFICATE_SOON)
}

/// The value of the state filter.
pub(crate) fn state_word(state: &State) -> &'static str {
    match state {
        State::Healthy => "healthy",
        State::Succeeded => "succeeded",
        State::Degraded => "degraded",
        State::Failed(_) => "failed",
        State::NoAnswer => "noanswer",
        State::Creating => "creating",
        State::Updating(_) => "updating",
        State::AdminUpdate => "adminupdating",
        State::Deleting => "deleting",
        State::Canceled => "canceled",
        State::Maintenance => "maintenance",
        State::Imported => "imported",
        State::Unknown => "unknown",
    }
}

/// Numbers of a version; what is no number counts as zero.
pub(super) fn numbers(version: &str) -> Vec<u64> {
    let plain = version.trim_start_matches('v');
    plain.split(['.', '-', '+']).map(|part| part.parse().unwrap_or(0)).collect()
}

/// `4.18` matches `4.18` and `4.18.3`, not `4.180`; `<4.16` is older.
fn has_version(version: &str, wanted: &str) -> bool {
    if version.is_empty() {
        return false;
    }
    match wanted.strip_prefix('<') {
        Some(bound) => numbers(version) < numbers(bound),
        None => version.strip_prefix(wanted).is_some_and(|rest| rest.is_empty() || rest.starts_with('.')),
    }
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

fn sort(found: &mut [Arc<Entry>], by: Sort) {
    let name = |a: &Entry, b: &Entry| {
        let lower = |entry: &Entry| entry.id.name().to_ascii_lowercase();
        lower(a).cmp(&lower(b)).then_with(|| a.id.cmp(&b.id))
    };
    match by {
        Sort::Name => found.sort_by(|a, b| name(a, b)),
        Sort::Version => {
            found.sort_by_cached_key(|entry| (Reverse(numbers(&entry.version)), entry.id.clone()));
        }
        Sort::Created => found.sort_by(|a, b| newest(a.created, b.created).then_with(|| name(a, b))),
        Sort::Modified => found.sort_by(|a, b| newest(a.modified, b.modified).then_with(|| name(a, b))),
        Sort::Source => {
            found.sort_by(|a, b| a.imported.is_some().cmp(&b.imported.is_some()).then_with(|| name(a, b)));
        }
        Sort::State => found.sort_by_cached_key(|entry| {
            // Within a state, the longest first.
            (rank(&entry.shown_state()), entry.modified, entry.id.clone())
        }),
    }
}

/// Newest first; unknown last.
fn newest(a: Option<Timestamp>, b: Option<Timestamp>) -> Ordering {
    b.cmp(&a)
}

/// A whole resource id, a URL of this or the Azure portal, of an API server or a console: straight to the
/// cluster.
pub(crate) fn jump(text: &str, snapshot: &Snapshot) -> Option<Arc<Entry>> {
    let text = text.trim();
    if text.len() < 8 || text.len() > 2000 {
        return None;
    }
    if let Some(found) = by_resource_id(text, snapshot) {
        return Some(found);
    }
    let url = Url::parse(text).ok()?;
    let host = url.host_str()?;
    let same_host = |address: &str| {
        Url::parse(address).is_ok_and(|known| {
            known.host_str() == Some(host) && known.port_or_known_default() == url.port_or_known_default()
        })
    };
    let mut found =
        snapshot.entries.iter().filter(|entry| same_host(&entry.api_url) || same_host(&entry.console_url));
    let first = found.next()?;
    // Two clusters behind one address: search shows both.
    found.next().is_none().then(|| Arc::clone(first))
}

fn by_resource_id(text: &str, snapshot: &Snapshot) -> Option<Arc<Entry>> {
    let at = text.to_ascii_lowercase().find("/subscriptions/")?;
    let (id, _) = ResourceId::parse_prefix(text.get(at..)?.split(['?', '#']).next()?).ok()?;
    snapshot.get(&id).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_match_by_whole_parts() {
        assert!(has_version("4.18.3", "4.18") && has_version("4.18", "4.18"));
        assert!(!has_version("4.180.1", "4.18") && !has_version("", "4"));
        assert!(has_version("4.9.1", "<4.16") && !has_version("4.16.0", "<4.16"));
        assert!(numbers("v1.36.3") > numbers("v1.9.9"));
    }
}
