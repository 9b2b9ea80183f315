//! Receivers of feed changes.

use std::collections::HashSet;
use std::sync::Arc;

use rp_database::{Change, Stored};
use rp_documents::{ImportedCluster, SubscriptionDocument};
use serde::de::DeserializeOwned;
use tokio::sync::mpsc;

use super::{DocumentKey, Subscriptions};
use crate::names::own;
use crate::service::Emit;
use crate::view::ClusterView;

/// A change of a cluster for the scheduler.
#[derive(Debug, Clone)]
pub(crate) enum Event {
    /// The cluster exists; [`ClusterView::is_watched`] decides whether it is monitored.
    Seen(Arc<ClusterView>),
    /// The document exists, but it cannot be read.
    Unreadable(DocumentKey),
    /// The document is gone.
    Gone(DocumentKey),
    /// Exactly these documents of that kind exist.
    Living { imported: bool, ids: HashSet<Box<str>> },
}

/// Where changes go.
#[derive(Clone)]
pub(crate) enum Sink {
    Clusters { to: mpsc::Sender<Vec<Event>>, imported: bool },
    Subscriptions { cache: Subscriptions, emit: Emit },
}

impl std::fmt::Debug for Sink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Clusters { imported: false, .. } => "Clusters",
            Self::Clusters { imported: true, .. } => "Imported",
            Self::Subscriptions { .. } => "Subscriptions",
        })
    }
}

impl Sink {
    /// Applies a page. It is no error if the scheduler has ended: the feed ends soon, too.
    pub(super) async fn page(&self, changes: &[Change]) {
        match self {
            Self::Clusters { to, imported } => {
                let events: Vec<Event> = changes.iter().map(|change| event(change, *imported)).collect();
                if !events.is_empty() {
                    let _ = to.send(events).await;
                }
            }
            Self::Subscriptions { cache, .. } => {
                for change in changes {
                    let document = change.document.as_ref().and_then(read::<SubscriptionDocument>);
                    cache.apply(&change.id, document.as_ref());
                }
            }
        }
    }

    /// All pages were read; `changed`: they had changes.
    pub(super) fn complete(&self, changed: bool) {
        if let Self::Subscriptions { cache, emit } = self {
            cache.prime();
            if changed {
                emit.count(&own::FEED_CACHE_SIZE, cache.len(), &[("name", "SubscriptionDocument")]);
            }
        }
    }

    /// Everything was read again: documents that are not in `living` are gone.
    pub(super) async fn living(&self, living: &HashSet<Box<str>>) {
        match self {
            Self::Clusters { to, imported } => {
                let _ = to.send(vec![Event::Living { imported: *imported, ids: living.clone() }]).await;
            }
            Self::Subscriptions { cache, .. } => cache.retain(living),
        }
    }
}

fn event(change: &Change, imported: bool) -> Event {
    let key = DocumentKey::new(imported, &change.id);
    let Some(stored) = &change.document else { return Event::Gone(key) };
    let view = if imported {
        read::<ImportedCluster>(stored).map(|import| ClusterView::from_imported(&import))
    } else {
        let told = |error: &serde_json::Error| {
            tracing::error!(document = stored.id, %error, "a cluster's document cannot be read: it is not looked at");
        };
        ClusterView::from_body(&stored.body).inspect_err(told).ok()
    };
    view.map_or(Event::Unreadable(key), |view| Event::Seen(Arc::new(view)))
}

fn read<T: DeserializeOwned>(stored: &Stored) -> Option<T> {
    let told = |error: &serde_json::Error| tracing::error!(document = stored.id, %error, "a document cannot be read");
    serde_json::from_str(&stored.body).inspect_err(told).ok()
}
