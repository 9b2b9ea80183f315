//! The ends of all chains, as the feed shows them: for proofs, and for checkpoints over all of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use rp_base::{Digest, Timestamp};
use rp_database::{SharedStore, Span, StoreError};
use rp_documents::{Collection, Entry};

use crate::batch::{BatchView, Head};

/// Chains that are remembered: the newest.
const MOST: usize = 32;

/// Shared by the index, which reads the feed, the writer and proofs.
#[derive(Debug, Clone, Default)]
pub(crate) struct Heads(Arc<Mutex<KnownHeads>>);

#[derive(Debug, Default)]
struct KnownHeads {
    /// By writer; newer ones sort first.
    heads: BTreeMap<String, (Head, Option<Timestamp>)>,
    /// Seen in the feed since this process runs, and not signed by it yet.
    unsigned: BTreeMap<String, Head>,
    writers: u64,
    loaded: bool,
}

impl Heads {
    /// A batch in the feed.
    pub(super) fn saw(&self, writer: &str, seq: u64, digest: Digest, at: Option<Timestamp>) {
        let mut known = self.0.lock();
        let newer = known.heads.get(writer).is_none_or(|(head, _)| head.seq < seq);
        if !newer {
            return;
        }
        if known.loaded && !known.heads.contains_key(writer) {
            known.writers += 1;
        }
        let head = Head { writer: writer.to_owned(), seq, digest };
        if known.loaded {
            known.unsigned.insert(writer.to_owned(), head.clone());
        }
        known.heads.insert(writer.to_owned(), (head, at));
        while known.heads.len() > MOST {
            known.heads.pop_last();
        }
        while known.unsigned.len() > MOST {
            known.unsigned.pop_last();
        }
    }

    /// Reads the ends of the newest chains, once: one batch of each.
    pub(super) async fn load(&self, store: &SharedStore) -> Result<(), StoreError> {
        if self.0.lock().loaded {
            return Ok(());
        }
        let (mut after, mut found) = (None, Vec::new());
        while found.len() < MOST {
            let next = store.scan(Collection::AuditBatches, Span::All, after.as_deref(), 1).await?;
            let Some(stored) = next.into_iter().next() else { break };
            // Batches of a writer count down in their ids: this is after its first.
            after = Some(format!("{}-g", stored.partition));
            let Ok(view) = serde_json::from_str::<BatchView<'_>>(&stored.body) else { continue };
            let last = view.entries.last().and_then(|text| serde_json::from_str::<Entry>(text.get()).ok());
            found.push((view.writer.to_string(), view.last_seq(), view.head, last.map(|entry| entry.at)));
        }
        let writers = u64::try_from(found.len()).unwrap_or(0);
        for (writer, seq, digest, at) in found {
            self.saw(&writer, seq, digest, at);
        }
        let mut known = self.0.lock();
        known.loaded = true;
        known.writers = writers.max(u64::try_from(known.heads.len()).unwrap_or(0));
        // The first checkpoint of this process covers them all.
        known.unsigned =
            known.heads.iter().map(|(writer, (head, _))| (writer.clone(), head.clone())).collect();
        Ok(())
    }

    /// The ends of chains of others that this process has not signed yet.
    pub(crate) fn unsigned(&self, own: &str) -> Vec<Head> {
        self.0.lock().unsigned.values().filter(|head| head.writer != own).cloned().collect()
    }

    /// After a checkpoint over them was stored.
    pub(crate) fn signed(&self, own: &str, heads: &[Head]) {
        let mut known = self.0.lock();
        known.unsigned.remove(own);
        known.unsigned.retain(|writer, head| {
            !heads.iter().any(|signed| signed.writer == *writer && signed.seq >= head.seq)
        });
    }

    /// The newest chains with the times of their last entries, newest first, and how many chains are known of.
    pub(crate) fn all(&self) -> (Vec<(Head, Option<Timestamp>)>, u64) {
        let known = self.0.lock();
        (known.heads.values().cloned().collect(), known.writers)
    }
}
