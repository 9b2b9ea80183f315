//! Wakes the followers of a collection.

use rp_documents::Collection;
use tokio::sync::watch;

#[derive(Debug)]
pub(crate) struct Notifiers(Vec<(Collection, watch::Sender<u64>)>);

impl Notifiers {
    pub(crate) fn new() -> Self {
        Self(Collection::ALL.into_iter().map(|collection| (collection, watch::Sender::new(0))).collect())
    }

    pub(crate) fn bump(&self, collection: Collection) {
        if let Some((_, sender)) = self.0.iter().find(|(each, _)| *each == collection) {
            sender.send_modify(|count| *count = count.wrapping_add(1));
        }
    }

    pub(crate) fn subscribe(&self, collection: Collection) -> watch::Receiver<u64> {
        match self.0.iter().find(|(each, _)| *each == collection) {
            Some((_, sender)) => sender.subscribe(),
            // Every collection is in the list.
            None => watch::Sender::new(0).subscribe(),
        }
    }
}
