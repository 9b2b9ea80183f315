//! Which documents wait for a worker: pure, in memory, as the change feed tells it.
//!
//! Only documents with work are kept, so that its size follows the operations under way, not the fleet. When a document
//! is due is settled when a version of it is first seen, by our own steady clock: a clock of the store that jumps
//! neither frees a lease nor keeps one.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use rp_database::Version;
use tokio::time::Instant;

use crate::claim_cache::CachedClaim;

/// The state of a document with work, as of one version.
#[derive(Debug, Clone)]
pub(crate) struct Observation {
    pub(crate) version: Version,
    pub(crate) subscription: Arc<str>,
    pub(crate) deleting: bool,
    /// A worker holds its lease.
    pub(crate) owned: bool,
    /// When it may be claimed.
    pub(crate) due: Instant,
    /// The document, when it was kept.
    pub(crate) cached: Option<Arc<CachedClaim>>,
}

/// Limits of concurrent work in this process.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// Operations other than deletions.
    pub(crate) others: usize,
    /// Of deletions, and of all others.
    pub(crate) per_subscription: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EntryState {
    Waiting,
    /// With the number under which it stands in its ring.
    Ready(u64),
    /// At work in this process; whether it has work still, as far as was seen.
    /// `other`: it is no deletion. `nudged`: the turn goes by a nudge that came before it.
    Held {
        queued: bool,
        other: bool,
        nudged: bool,
    },
}

#[derive(Debug)]
struct Entry {
    seen: Observation,
    state: EntryState,
    /// The event that it waits for happened after its last turn began: the next pause that is read ends at once.
    nudged: bool,
}

/// What is ready, subscription by subscription in turn.
#[derive(Debug, Default)]
struct Ring {
    turns: VecDeque<Arc<str>>,
    ready: HashMap<Arc<str>, VecDeque<(Box<str>, u64)>>,
    /// With those that are not ready any more.
    length: usize,
}

/// A document to be claimed, and the version that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct QueuedDocument {
    pub(crate) id: Box<str>,
    pub(crate) version: Version,
}

#[derive(Debug)]
pub(crate) struct Queue {
    bounds: Bounds,
    known: HashMap<Box<str>, Entry>,
    waiting: BTreeSet<(Instant, Box<str>)>,
    /// Deletions, then all others.
    rings: [Ring; 2],
    /// At work here, by subscription: deletions, then all others. Neither keeps the other waiting.
    busy: [HashMap<Arc<str>, usize>; 2],
    others: usize,
    deletes_next: bool,
    ticket: u64,
}

impl Queue {
    pub(crate) fn new(bounds: Bounds) -> Self {
        Self {
            bounds,
            known: HashMap::new(),
            waiting: BTreeSet::new(),
            rings: [Ring::default(), Ring::default()],
            busy: [HashMap::new(), HashMap::new()],
            others: 0,
            deletes_next: true,
            ticket: 0,
        }
    }

    /// A version of a document that has work. Older ones than is known, and the same again, change nothing.
    pub(crate) fn observe(&mut self, id: &str, seen: Observation, now: Instant) {
        if let Some(entry) = self.known.get_mut(id) {
            if seen.version <= entry.seen.version {
                return;
            }
            if let EntryState::Held { queued, .. } = &mut entry.state {
                *queued = true;
                entry.seen = seen;
                return;
            }
            if let EntryState::Ready(_) = entry.state
                && seen.due <= now
                && seen.deleting == entry.seen.deleting
            {
                entry.seen = seen;
                return;
            }
            let due = entry.seen.due;
            self.waiting.remove(&(due, Box::from(id)));
            entry.seen = seen;
            entry.end_pause(now);
        } else {
            self.known.insert(id.into(), Entry { seen, state: EntryState::Waiting, nudged: false });
        }
        self.update_entry(id, now);
    }

    /// Whether it was seen before.
    pub(crate) fn contains(&self, id: &str) -> bool {
        self.known.contains_key(id)
    }

    /// The document has no work (any more), as of that version; `None`: it is gone.
    pub(crate) fn forget(&mut self, id: &str, version: Option<Version>) -> Option<Arc<str>> {
        let entry = self.known.get_mut(id)?;
        if version.is_some_and(|version| version <= entry.seen.version) {
            return None;
        }
        if let EntryState::Held { queued, .. } = &mut entry.state {
            *queued = false;
            if let Some(version) = version {
                entry.seen.version = version;
            }
            return Some(Arc::clone(&entry.seen.subscription));
        }
        self.remove(id)
    }

    /// Something happened that a pausing document waits for.
    pub(crate) fn nudge(&mut self, id: &str, now: Instant) {
        let Some(entry) = self.known.get_mut(id) else { return };
        entry.nudged = true;
        if !entry.seen.owned && entry.state == EntryState::Waiting {
            self.waiting.remove(&(entry.seen.due, Box::from(id)));
            entry.seen.due = now;
            self.update_entry(id, now);
        }
    }

    /// The next document to take, fair among subscriptions; deletions have every other turn.
    pub(crate) fn pick(&mut self, now: Instant) -> Option<QueuedDocument> {
        self.promote_due(now);
        let order = if self.deletes_next { [0, 1] } else { [1, 0] };
        for ring in order {
            if ring == 1 && self.others >= self.bounds.others {
                continue;
            }
            if let Some(picked) = self.pick_from(ring) {
                self.deletes_next = ring == 1;
                return Some(picked);
            }
        }
        None
    }

    /// The worker that picked it is done with it. Until something newer is seen it rests for `pause`: what the worker
    /// wrote, or who was faster, is told soon. `worked`: it had the document; else a nudge before the turn counts still,
    /// since what was picked may be older than a pause that was not read yet.
    pub(crate) fn release(&mut self, picked: &QueuedDocument, worked: bool, pause: Duration, now: Instant) {
        let id = &*picked.id;
        let Some(entry) = self.known.get_mut(id) else { return };
        let EntryState::Held { queued, other, nudged } = entry.state else { return };
        entry.nudged |= nudged && !worked;
        if entry.seen.version <= picked.version {
            entry.seen.due = entry.seen.due.max(now + pause);
        } else {
            entry.end_pause(now);
        }
        let subscription = Arc::clone(&entry.seen.subscription);
        let of = &mut self.busy[usize::from(other)];
        if let Some(busy) = of.get_mut(&subscription) {
            *busy -= 1;
            if *busy == 0 {
                of.remove(&subscription);
            }
        }
        if other {
            self.others = self.others.saturating_sub(1);
        }
        if queued {
            self.update_entry(id, now);
        } else {
            self.remove(id);
        }
    }

    /// The document of what was picked, when it was kept; it is not kept any longer.
    pub(crate) fn cached(&mut self, picked: &QueuedDocument) -> Option<Arc<CachedClaim>> {
        let entry = self.known.get_mut(&picked.id)?;
        if entry.seen.version == picked.version { entry.seen.cached.take() } else { None }
    }

    /// The store's past is another one than was read: what is read anew counts, whatever its version.
    pub(crate) fn reset_versions(&mut self) {
        for entry in self.known.values_mut() {
            entry.seen.version = Version(0);
            entry.seen.cached = None;
        }
    }

    /// When the next one becomes ready by itself.
    pub(crate) fn next_due(&self) -> Option<Instant> {
        self.waiting.first().map(|(due, _)| *due)
    }

    /// Documents that could be claimed now.
    pub(crate) fn length(&self, now: Instant) -> usize {
        let ready = |entry: &&Entry| match entry.state {
            EntryState::Ready(_) => true,
            EntryState::Waiting => entry.seen.due <= now,
            EntryState::Held { .. } => false,
        };
        self.known.values().filter(ready).count()
    }

    /// Documents that have work.
    pub(crate) fn known(&self) -> usize {
        self.known.len()
    }

    /// Only these have work: everything was read anew.
    pub(crate) fn retain(&mut self, living: &std::collections::HashSet<Box<str>>) {
        let gone: Vec<Box<str>> = self.known.keys().filter(|id| !living.contains(*id)).cloned().collect();
        for id in gone {
            self.forget(&id, None);
        }
    }

    fn remove(&mut self, id: &str) -> Option<Arc<str>> {
        let entry = self.known.remove(id)?;
        self.waiting.remove(&(entry.seen.due, Box::from(id)));
        Some(entry.seen.subscription)
    }

    fn promote_due(&mut self, now: Instant) {
        while let Some((due, _)) = self.waiting.first()
            && *due <= now
        {
            let Some((_, id)) = self.waiting.pop_first() else { return };
            self.update_entry(&id, now);
        }
    }

    /// Moves the document to the ready or to the waiting ones, by its due time.
    fn update_entry(&mut self, id: &str, now: Instant) {
        let Some(entry) = self.known.get_mut(id) else { return };
        if entry.seen.due > now {
            entry.state = EntryState::Waiting;
            self.waiting.insert((entry.seen.due, id.into()));
            return;
        }
        self.ticket += 1;
        entry.state = EntryState::Ready(self.ticket);
        let ring = &mut self.rings[usize::from(!entry.seen.deleting)];
        let subscription = Arc::clone(&entry.seen.subscription);
        if !ring.ready.contains_key(&subscription) {
            ring.turns.push_back(Arc::clone(&subscription));
        }
        ring.ready.entry(subscription).or_default().push_back((id.into(), self.ticket));
        ring.length += 1;
        self.sweep();
    }

    /// Removes entries of a ring that are not ready any more, before they outnumber the others.
    fn sweep(&mut self) {
        let most = 2 * self.known.len() + 1000;
        for ring in &mut self.rings {
            if ring.length <= most {
                continue;
            }
            ring.ready.retain(|_, ids| {
                ids.retain(|(id, ticket)| is_ready(&self.known, id, *ticket));
                !ids.is_empty()
            });
            ring.turns.retain(|subscription| ring.ready.contains_key(subscription));
            ring.length = ring.ready.values().map(VecDeque::len).sum();
        }
    }

    fn pick_from(&mut self, at: usize) -> Option<QueuedDocument> {
        let ring = &mut self.rings[at];
        for _ in 0..ring.turns.len() {
            let subscription = ring.turns.pop_front()?;
            let busy = self.busy[at].get(&subscription).copied().unwrap_or_default();
            if busy >= self.bounds.per_subscription {
                ring.turns.push_back(subscription);
                continue;
            }
            let ids = ring.ready.get_mut(&subscription)?;
            let mut found = None;
            while let Some((id, ticket)) = ids.pop_front() {
                ring.length -= 1;
                if is_ready(&self.known, &id, ticket) {
                    found = Some(id);
                    break;
                }
            }
            if ids.is_empty() {
                ring.ready.remove(&subscription);
            } else {
                ring.turns.push_back(Arc::clone(&subscription));
            }
            let Some(id) = found else { continue };
            let entry = self.known.get_mut(&id)?;
            let other = !entry.seen.deleting;
            entry.state = EntryState::Held { queued: true, other, nudged: entry.nudged };
            entry.nudged = false;
            *self.busy[at].entry(subscription).or_default() += 1;
            self.others += usize::from(other);
            return Some(QueuedDocument { id, version: entry.seen.version });
        }
        None
    }
}

impl Entry {
    /// What its worker wrote at the end has been seen, and with it the pause that is not needed any more.
    fn end_pause(&mut self, now: Instant) {
        if self.nudged && !self.seen.owned {
            self.seen.due = self.seen.due.min(now);
        }
    }
}

fn is_ready(known: &HashMap<Box<str>, Entry>, id: &str, ticket: u64) -> bool {
    known.get(id).is_some_and(|entry| entry.state == EntryState::Ready(ticket))
}

#[cfg(test)]
mod tests;
