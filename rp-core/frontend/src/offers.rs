//! What can be installed, as the store has it (`contract/frontend.md` §12.1): read whole once, then followed
//! by the change feed, woken by the store and by a clock.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use arc_swap::ArcSwap;
use rp_api::text;
use rp_base::chain;
use rp_database::{SharedStore, StoreError, Typed};
use rp_documents::{Collection, Document, OpenShiftVersionDocument, RoleSetDocument};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::dependencies::{Offers, OperatorRole, RoleSet};

/// Poll interval, in case a notification is lost.
const POLL: Duration = Duration::from_secs(2);
/// Time limit for reading the feeds once.
const WITHIN: Duration = Duration::from_secs(10);
/// Data older than this makes the process not ready (`contract/frontend.md` "Do better" 33).
const FRESH: Duration = Duration::from_secs(120);
/// Changes read at once.
const PAGE: u32 = 200;

/// [`Offers`] over the collections of versions and role sets. Shared; reading costs no query.
#[derive(Debug)]
pub struct StoreOffers {
    known: ArcSwap<OfferSnapshot>,
    began: Instant,
    /// Milliseconds after `began` at which both feeds were last read to their ends, plus one; 0: never.
    fresh: AtomicU64,
}

/// A snapshot for responses; computed from all documents, so that their order does not matter
/// (`contract/frontend.md` "Do better" 11).
#[derive(Debug, Default)]
struct OfferSnapshot {
    versions: Vec<String>,
    default: Option<String>,
    sets: Vec<RoleSet>,
}

impl StoreOffers {
    /// Reads both collections and then follows them, until the last handle is dropped. A store that does not respond
    /// is retried: until then nothing is offered, and [`Offers::age`] is `None`.
    pub async fn start(store: SharedStore) -> Arc<Self> {
        let offers =
            Arc::new(Self { known: ArcSwap::default(), began: Instant::now(), fresh: AtomicU64::new(0) });
        let mut feeds = Feeds::new(&store);
        let wakes = [Collection::OpenShiftVersions, Collection::RoleSets].map(|one| store.subscribe(one));
        poll_feeds(&offers, &mut feeds).await;
        tokio::spawn(follow_feeds(Arc::downgrade(&offers), feeds, wakes));
        offers
    }

    fn set(&self, feeds: &Feeds, began: Instant) {
        self.known.store(Arc::new(feeds.known()));
        self.mark_fresh(began);
    }

    fn mark_fresh(&self, at: Instant) {
        let age = at.saturating_duration_since(self.began).as_millis();
        self.fresh.store(u64::try_from(age).unwrap_or(u64::MAX - 1) + 1, Ordering::Release);
    }
}

impl Offers for StoreOffers {
    fn versions(&self) -> Vec<String> {
        self.known.load().versions.clone()
    }

    fn default_version(&self) -> Option<String> {
        self.known.load().default.clone()
    }

    fn role_sets(&self) -> Vec<RoleSet> {
        self.known.load().sets.clone()
    }

    fn age(&self) -> Option<Duration> {
        let at = self.fresh.load(Ordering::Acquire).checked_sub(1)?;
        Some(self.began.elapsed().saturating_sub(Duration::from_millis(at)))
    }

    fn ready(&self) -> bool {
        self.age().is_some_and(|age| age < FRESH)
    }
}

/// One collection, followed.
#[derive(Debug)]
struct Feed<T> {
    typed: Typed<T>,
    cursor: i64,
    /// By id, with the sequence number of the last write.
    documents: BTreeMap<String, (i64, T)>,
}

impl<T: Document> Feed<T> {
    fn new(store: &SharedStore) -> Self {
        Self { typed: Typed::new(Arc::clone(store)), cursor: 0, documents: BTreeMap::new() }
    }

    /// Reads to the end of the feed; gives whether anything changed.
    async fn read(&mut self) -> Result<bool, StoreError> {
        let mut changed = false;
        loop {
            let changes = self.typed.changes(self.cursor, PAGE).await?;
            for change in changes.items {
                changed = true;
                match change.document {
                    Some(read) => self.documents.insert(change.id, (change.seq, read.value)),
                    None => self.documents.remove(&change.id),
                };
            }
            self.cursor = changes.cursor;
            if !changes.more {
                return Ok(changed);
            }
        }
    }
}

#[derive(Debug)]
struct Feeds {
    versions: Feed<OpenShiftVersionDocument>,
    sets: Feed<RoleSetDocument>,
}

impl Feeds {
    fn new(store: &SharedStore) -> Self {
        Self { versions: Feed::new(store), sets: Feed::new(store) }
    }

    async fn read(&mut self) -> Result<bool, StoreError> {
        let versions = self.versions.read().await?;
        Ok(self.sets.read().await? || versions)
    }

    fn known(&self) -> OfferSnapshot {
        let mut versions = Vec::new();
        let mut default: Option<(i64, &str)> = None;
        for (seq, document) in self.versions.documents.values() {
            let version = &document.open_shift_version;
            let properties = &version.properties;
            if version.deleting || !properties.enabled {
                continue;
            }
            versions.push(properties.version.clone());
            // Of several the one that was written last: a change of the default writes the new one first.
            if properties.default && default.is_none_or(|(before, _)| before < *seq) {
                default = Some((*seq, &properties.version));
            }
        }
        versions.sort_by_cached_key(|version| text::version(version));
        versions.dedup();
        OfferSnapshot {
            versions,
            default: default.map(|(_, version)| version.to_owned()),
            sets: self.role_sets(),
        }
    }

    fn role_sets(&self) -> Vec<RoleSet> {
        let mut sets: BTreeMap<&str, (i64, RoleSet)> = BTreeMap::new();
        for (seq, document) in self.sets.documents.values() {
            let set = &document.platform_workload_identity_role_set;
            let minor = set.properties.open_shift_version.as_str();
            if set.deleting || sets.get(minor).is_some_and(|(before, _)| before > seq) {
                continue;
            }
            let roles = set.properties.platform_workload_identity_roles.iter().map(|role| OperatorRole {
                operator_name: role.operator_name.clone(),
                role_definition_name: role.role_definition_name.clone(),
                role_definition_id: role.role_definition_id.clone(),
            });
            let shown = RoleSet {
                open_shift_version: minor.to_owned(),
                platform_workload_identity_roles: roles.collect(),
            };
            sets.insert(minor, (*seq, shown));
        }
        let mut sets: Vec<RoleSet> = sets.into_values().map(|(_, set)| set).collect();
        sets.sort_by_cached_key(|set| text::version(&format!("{}.0", set.open_shift_version)));
        sets
    }
}

/// Reads both feeds to their ends.
async fn poll_feeds(offers: &StoreOffers, feeds: &mut Feeds) {
    let began = Instant::now();
    match tokio::time::timeout(WITHIN, feeds.read()).await {
        Ok(Ok(true)) => offers.set(feeds, began),
        Ok(Ok(false)) => offers.mark_fresh(began),
        Ok(Err(error)) => {
            // Use what was read before the failure.
            offers.known.store(Arc::new(feeds.known()));
            tracing::warn!(error = %chain(&error), "cannot follow what can be installed");
        }
        Err(_) => {
            offers.known.store(Arc::new(feeds.known()));
            tracing::warn!("cannot follow what can be installed: the store takes long to answer");
        }
    }
}

async fn follow_feeds(offers: Weak<StoreOffers>, mut feeds: Feeds, wakes: [watch::Receiver<u64>; 2]) {
    let [mut versions, mut sets] = wakes;
    let mut open = true;
    loop {
        tokio::select! {
            changed = versions.changed(), if open => open = changed.is_ok(),
            changed = sets.changed(), if open => open = changed.is_ok(),
            () = tokio::time::sleep(POLL) => {}
        }
        let Some(offers) = offers.upgrade() else { return };
        poll_feeds(&offers, &mut feeds).await;
    }
}
