//! Which clusters have a worker: those that exist, are watched, and whose bucket is ours.

use std::sync::Arc;

use rp_documents::ResourceId;
use rp_net::Source;
use tokio::time::Instant;

use super::Plan;
use super::action::Action;
use super::state::{Cluster, State, Worker};
use crate::feed::{ClusterEntry, DocumentKey, Event};
use crate::view::ClusterView;
use rp_pool::Buckets;

impl Plan {
    /// Applies an event of a feed.
    pub(crate) fn apply(&mut self, event: Event, now: Instant, actions: &mut Vec<Action>) {
        match event {
            Event::Seen(view) => self.upsert_cluster(view, now, actions),
            Event::Unreadable(key) => {
                if let Some(place) = self.known.get(&key) {
                    self.drop_view(&place.key, &key.id, now, actions);
                }
            }
            Event::Gone(key) => self.remove_document(&key, now, actions),
            Event::Living { imported, ids } => {
                for key in self.known.missing(imported, |id| ids.contains(id)) {
                    self.remove_document(&key, now, actions);
                }
            }
        }
    }

    /// Applies the current assignment.
    pub(crate) fn set_owned(&mut self, owned: Buckets, now: Instant, actions: &mut Vec<Action>) {
        if owned == self.owned {
            return;
        }
        self.owned = owned;
        let keys: Vec<Arc<str>> = self.clusters.keys().cloned().collect();
        for key in keys {
            self.reconcile(&key, now, actions);
        }
    }

    fn upsert_cluster(&mut self, mut view: Arc<ClusterView>, now: Instant, actions: &mut Vec<Action>) {
        let imported = view.source == Source::Imported;
        let document = DocumentKey::new(imported, &view.document);
        let key: Arc<str> = match self.clusters.get_key_value(view.id.key()) {
            Some((key, _)) => Arc::clone(key),
            None => view.id.key().into(),
        };
        if let Some(place) = self.known.get(&document).filter(|place| place.bucket != view.bucket) {
            tracing::error!(
                document = view.document,
                was = place.bucket,
                is = view.bucket,
                "the bucket of a cluster never changes: the first one stays"
            );
            Arc::make_mut(&mut view).bucket = place.bucket;
        }
        self.known.insert(document, ClusterEntry { key: Arc::clone(&key), bucket: view.bucket });
        if !view.is_watched() || imported && !self.settings.imported {
            return self.drop_view(&key, &view.document, now, actions);
        }
        let fresh = || Cluster { view: None, state: State::Rest, serial: 0 };
        let cluster = self.clusters.entry(Arc::clone(&key)).or_insert_with(fresh);
        self.watched += usize::from(cluster.view.is_none());
        // The tenant is kept when nothing else changed, so that most rounds need no copy.
        if cluster.view.as_ref().is_none_or(|held| !same(held, &view)) {
            cluster.view = Some(view);
        }
        self.reconcile(&key, now, actions);
    }

    /// Stops monitoring the cluster, if it belongs to that document.
    fn drop_view(&mut self, key: &Arc<str>, document: &str, now: Instant, actions: &mut Vec<Action>) {
        let Some(cluster) = self.clusters.get_mut(key) else { return };
        if cluster.view.as_ref().is_none_or(|view| view.document != document) {
            return;
        }
        cluster.view = None;
        self.watched -= 1;
        if let State::Looking { cancel, .. } = &cluster.state {
            cancel.cancel();
        }
        self.reconcile(key, now, actions);
    }

    fn remove_document(&mut self, document: &DocumentKey, now: Instant, actions: &mut Vec<Action>) {
        let Some(place) = self.known.remove(document) else { return };
        let ours = self.owned.contains(place.bucket);
        if ours
            && let Some(cluster) = self.clusters.get_mut(&place.key)
            && let State::Looking { removed, .. } = &mut cluster.state
            && cluster.view.as_ref().is_none_or(|view| *view.document == *document.id)
        {
            // A running look could write it again, so removal waits for its end.
            *removed = Some((document.id.clone(), place.bucket));
        } else if ours {
            actions.push(Action::Remove { document: document.id.clone(), bucket: place.bucket });
        }
        self.drop_view(&place.key, &document.id, now, actions);
    }

    /// Starts or ends the worker of a cluster. A running look continues; its worker is reconciled when it ends.
    fn reconcile(&mut self, key: &Arc<str>, now: Instant, actions: &mut Vec<Action>) {
        let Some(cluster) = self.clusters.get_mut(key) else { return };
        let wanted = cluster.view.as_ref().is_some_and(|view| self.owned.contains(view.bucket));
        match (&cluster.state, wanted) {
            (State::Rest, true) => {
                let slot = now + self.settings.start_delay.mul_f64(self.random.unit());
                let worker = Worker { slot, number: 0, hour: None, nsg: None, warned: None };
                cluster.state = State::Waiting(Box::new(worker));
                self.workers += 1;
                self.queue(key, slot);
            }
            (State::Waiting(_), false) => {
                cluster.state = State::Rest;
                cluster.serial = 0;
                self.workers -= 1;
                if let Ok(id) = ResourceId::parse(key) {
                    actions.push(Action::Forget(id));
                }
                self.remove_if_unused(key);
            }
            (State::Rest, false) => self.remove_if_unused(key),
            (State::Waiting(_), true) | (State::Looking { .. }, _) => {}
        }
    }

    /// Removes a cluster that is neither running a look nor existing.
    pub(super) fn remove_if_unused(&mut self, key: &Arc<str>) {
        let idle = |cluster: &Cluster| cluster.view.is_none() && matches!(cluster.state, State::Rest);
        if self.clusters.get(key).is_some_and(idle) {
            self.clusters.remove(key);
        }
    }
}

/// Whether two views are equal except for the tenant, which is set here.
fn same(held: &ClusterView, seen: &ClusterView) -> bool {
    let mut seen = seen.clone();
    seen.tenant.clone_from(&held.tenant);
    *held == seen
}
