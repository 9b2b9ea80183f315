//! Which clusters, in which order, from where on.

use std::sync::Arc;

use rp_base::Timestamp;
use rp_documents::ResourceId;
use url::Url;
use web::{ListQuery, State};

use super::filter::{BadFilter, Filter};
use super::order::{Cursor, SortKey};
use super::{Entry, Snapshot};

/// A list query, made ready.
#[derive(Debug)]
pub struct Selection<'a> {
    query: &'a ListQuery,
    filter: Filter<'a>,
}

/// Rows of a page, and their position in the list.
#[derive(Debug)]
pub struct Page {
    pub rows: Vec<Arc<Entry>>,
    /// How many match in all.
    pub matched: usize,
    /// How many of them come before these rows.
    pub before: usize,
    /// Cursors of the first and of the last row, where there are more before and after them.
    pub previous: Option<String>,
    pub next: Option<String>,
}

/// `after` or `before` is no cursor of this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BadCursor;

enum PageStart {
    First,
    After(Cursor),
    Before(Cursor),
}

type Keyed<'s> = (SortKey<'s>, &'s Arc<Entry>);

impl<'a> Selection<'a> {
    /// # Errors
    /// A filter cannot be read.
    pub fn new(query: &'a ListQuery, now: Timestamp) -> Result<Self, BadFilter> {
        Ok(Self { query, filter: Filter::read(query, now)? })
    }

    /// The clusters that match, in the query's order.
    pub fn matching(&self, snapshot: &Snapshot) -> Vec<Arc<Entry>> {
        let mut keyed = self.keyed(snapshot);
        keyed.sort_unstable_by(|a, b| a.0.cmp(&b.0, self.query.reverse));
        keyed.into_iter().map(|(_, entry)| Arc::clone(entry)).collect()
    }

    /// The clusters of one page. Costs one pass over all, and sorts no more than the page.
    ///
    /// # Errors
    /// [`BadCursor`].
    pub fn page(&self, snapshot: &Snapshot, limit: usize) -> Result<Page, BadCursor> {
        let (by, reverse) = (self.query.sort, self.query.reverse);
        let ask = self.ask()?;
        let mut keyed = self.keyed(snapshot);
        let matched = keyed.len();
        let order = |a: &Keyed<'_>, b: &Keyed<'_>| a.0.cmp(&b.0, reverse);
        let before = match &ask {
            PageStart::First => 0,
            PageStart::After(place) => {
                let key = place.key();
                keyed.retain(|(one, _)| one.cmp(&key, reverse).is_gt());
                matched - keyed.len()
            }
            PageStart::Before(place) => {
                let key = place.key();
                keyed.retain(|(one, _)| one.cmp(&key, reverse).is_lt());
                let over = keyed.len().saturating_sub(limit);
                if over > 0 {
                    keyed.select_nth_unstable_by(over, order);
                    keyed.drain(..over);
                }
                over
            }
        };
        if keyed.len() > limit {
            keyed.select_nth_unstable_by(limit, order);
            keyed.truncate(limit);
        }
        keyed.sort_unstable_by(order);
        let place = |one: Option<&Keyed<'_>>| one.map(|(key, _)| key.place(by, reverse));
        let after = before + keyed.len() < matched;
        Ok(Page {
            matched,
            before,
            previous: if before > 0 { place(keyed.first()) } else { None },
            next: if after { place(keyed.last()) } else { None },
            rows: keyed.iter().map(|(_, entry)| Arc::clone(entry)).collect(),
        })
    }

    fn ask(&self) -> Result<PageStart, BadCursor> {
        let q = self.query;
        let place = |text: &str| Cursor::read(text, q.sort, q.reverse).ok_or(BadCursor);
        match (q.after.as_str(), q.before.as_str()) {
            ("", "") => Ok(PageStart::First),
            (after, "") => place(after).map(PageStart::After),
            ("", before) => place(before).map(PageStart::Before),
            _ => Err(BadCursor),
        }
    }

    fn keyed<'s>(&self, snapshot: &'s Snapshot) -> Vec<Keyed<'s>> {
        let matching = snapshot.entries.iter().filter(|entry| self.filter.matches(entry));
        matching.map(|entry| (SortKey::new(entry, self.query.sort), entry)).collect()
    }
}

/// The value of the state filter.
pub fn state_word(state: &State) -> &'static str {
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

/// A whole resource id, a URL of this or the Azure portal, of an API server or a console: straight to the
/// cluster.
pub fn jump(text: &str, snapshot: &Snapshot) -> Option<Arc<Entry>> {
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

/// The page that a whole name leads to: what [`jump`] finds, the one cluster of this name or infrastructure id, or a node
/// of a cluster, whose name begins with the infrastructure id.
pub fn open(text: &str, snapshot: &Snapshot) -> Option<String> {
    let text = text.trim();
    if let Some(found) = jump(text, snapshot) {
        return Some(found.path());
    }
    let is_whole = |entry: &Entry| {
        let id = &entry.infra_id;
        entry.id.name().eq_ignore_ascii_case(text) || (!id.is_empty() && id.eq_ignore_ascii_case(text))
    };
    if let Some(found) = only(snapshot, is_whole) {
        return Some(found.path());
    }
    let has_node = |entry: &Entry| {
        let rest = text.strip_prefix(entry.infra_id.as_str()).filter(|_| !entry.infra_id.is_empty());
        rest.and_then(|rest| rest.strip_prefix('-')).is_some_and(|rest| !rest.is_empty())
    };
    only(snapshot, has_node).map(|found| format!("{}/nodes/{}", found.path(), web::text::encode(text)))
}

/// The one cluster that fits; none where several do.
fn only(snapshot: &Snapshot, fits: impl Fn(&Entry) -> bool) -> Option<&Arc<Entry>> {
    let mut found = snapshot.entries.iter().filter(|entry| fits(entry));
    let first = found.next()?;
    found.next().is_none().then_some(first)
}

fn by_resource_id(text: &str, snapshot: &Snapshot) -> Option<Arc<Entry>> {
    let at = text.to_ascii_lowercase().find("/subscriptions/")?;
    let (id, _) = ResourceId::parse_prefix(text.get(at..)?.split(['?', '#']).next()?).ok()?;
    snapshot.get(&id).cloned()
}
