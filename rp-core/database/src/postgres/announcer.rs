//! Tells other processes what changed, after the commit: `NOTIFY` within a write would hold a lock of the whole
//! database until that write is on the disk. What piles up while one notification is sent goes with the next.

use std::sync::Arc;

use parking_lot::Mutex;
use rp_base::chain;
use rp_documents::Collection;
use tokio::sync::{Notify, watch};

use super::link::Link;
use crate::notify::Notifiers;

/// The payload is the sender, a space, the collection's name.
pub(super) const CHANNEL: &str = "aro_documents";

/// Collections that changed and are not announced yet.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    changed: Mutex<Vec<Collection>>,
    wake: Notify,
}

impl Outbox {
    pub(super) fn put(&self, collection: Collection) {
        let mut changed = self.changed.lock();
        if !changed.contains(&collection) {
            changed.push(collection);
        }
        drop(changed);
        self.wake.notify_one();
    }

    fn take(&self) -> Vec<Collection> {
        std::mem::take(&mut self.changed.lock())
    }
}

/// Sends until `end`, and then what is left.
pub(super) async fn run(link: Link, outbox: Arc<Outbox>, sender: String, mut end: watch::Receiver<bool>) {
    let mut ending = false;
    while !ending {
        tokio::select! {
            () = outbox.wake.notified() => {}
            _ = end.wait_for(|end| *end) => ending = true,
        }
        let names: Vec<&str> = outbox.take().into_iter().map(Collection::name).collect();
        if names.is_empty() {
            continue;
        }
        // A notification needs no place on the disk.
        const SQL: &str =
            "SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, $2 || ' ' || name)
            FROM unnest($3::text[]) AS name";
        let make = |_| sqlx::query(SQL).bind(CHANNEL).bind(sender.as_str()).bind(names.clone());
        if let Err(fault) = link.rows(make).await {
            // Followers poll.
            tracing::debug!(error = %chain(&fault), "changes are not announced to other processes");
        }
    }
}

/// Wakes the followers of the collection that another process names.
pub(super) fn hear(payload: &str, own: &str, notifiers: &Notifiers) {
    if let Some((sender, name)) = payload.split_once(' ')
        && sender != own
        && let Some(collection) = Collection::from_name(name)
    {
        notifiers.bump(collection);
    }
}
