//! Retention: entries beyond a certain age are removed, whole batches from the beginning of each chain, after every
//! sink has taken them. First a signed tombstone is stored that says what will be missing; then it goes.

use std::sync::Arc;
use std::time::Duration;

use rp_base::{Digest, SharedClock, Timestamp, chain};
use rp_database::{Draft, Expect, SharedStore, Span, StoreError, Stored};
use rp_documents::{Actor, Collection, Entry, Phase};
use tokio::sync::watch;
use tokio::time::sleep;

use crate::batch::{Batch, Head};
use crate::checkpoint::SignedCheckpoint;
use crate::metrics::RetentionMetrics;
use crate::tombstone::{Removal, Removed, SignedTombstone};
use crate::{Audit, AuditError, CheckpointKey, CopiedTo, Copies, WRITER_STARTED};

/// Documents that are read, or removed, at once.
const PAGE: u32 = 64;
/// Batches of one chain that one tombstone takes further; then the next one follows.
const MOST_BATCHES: usize = 4096;

/// The verb of the entry that says what retention did.
pub const RETENTION: &str = "audit.retention";

/// What a round removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RetentionSummary {
    pub entries: u64,
    pub batches: u64,
    pub chains: u64,
}

pub(crate) struct Retention {
    pub(crate) store: SharedStore,
    pub(crate) clock: SharedClock,
    pub(crate) key: CheckpointKey,
    /// They must have what is removed.
    pub(crate) copies: Option<Arc<dyn Copies>>,
    pub(crate) metrics: RetentionMetrics,
}

/// Removes old entries from time to time.
pub(crate) async fn run(
    audit: Audit,
    retention: Retention,
    limit: Duration,
    every: Duration,
    mut closing: watch::Receiver<bool>,
) {
    loop {
        match retention.round(retention.clock.now() - limit).await {
            Ok(retired) if retired.entries > 0 => retention.record(&audit, retired).await,
            Ok(_) => {}
            Err(error) => {
                retention.metrics.failures.inc();
                tracing::warn!(error = %chain(&error), "old audit entries could not be removed; trying again later");
            }
        }
        tokio::select! {
            () = sleep(every.max(Duration::from_millis(10))) => {}
            _ = closing.wait_for(|closing| *closing) => return,
        }
    }
}

/// The beginning of a chain that may go.
#[derive(Default)]
struct RemovablePrefix {
    batches: Vec<RemovableBatch>,
    predecessor: Option<Head>,
}

/// One batch of it.
struct RemovableBatch {
    id: String,
    count: u64,
    last: u64,
    digest: Digest,
    until: Timestamp,
}

/// What may go.
#[derive(Debug, Clone, Copy)]
struct Limits {
    before: Timestamp,
    /// What every sink has taken.
    copied: CopiedTo,
    /// The newest chain: its last batch stays, for the next chain names it.
    newest: bool,
}

impl Retention {
    async fn record(&self, audit: &Audit, retired: RetentionSummary) {
        let RetentionSummary { entries, batches, chains } = retired;
        tracing::info!(entries, batches, chains, "old audit entries were removed");
        let actor = Actor { name: "aro".to_owned(), ..Actor::default() };
        let mut entry = Entry::new(self.clock.now(), Phase::Single, audit.new_id(), actor, RETENTION);
        entry.query = format!("entries={entries} batches={batches} chains={chains}");
        // The tombstones say it as well.
        let _ = audit.queue(entry).await;
    }

    /// Removes what was made before `before` and taken by every sink.
    pub(crate) async fn round(&self, before: Timestamp) -> Result<RetentionSummary, AuditError> {
        let copied = match &self.copies {
            Some(copies) => copies.copied_to().await?,
            None => CopiedTo::ALL,
        };
        let mut done = RetentionSummary::default();
        let mut after: Option<String> = None;
        let mut limits = Limits { before, copied, newest: true };
        loop {
            // One batch of each chain is enough to know the chain.
            let next = self.store.scan(Collection::AuditBatches, Span::All, after.as_deref(), 1).await?;
            let Some(stored) = next.into_iter().next() else { return Ok(done) };
            after = Some(format!("{}-g", stored.partition));
            let mut removed = false;
            loop {
                let retired = self.chain(&stored.partition, limits).await?;
                done.entries += retired.entries;
                done.batches += retired.batches;
                removed |= retired.batches > 0;
                if usize::try_from(retired.batches).unwrap_or(usize::MAX) < MOST_BATCHES {
                    break;
                }
            }
            done.chains += u64::from(removed);
            limits.newest = false;
        }
    }

    /// Removes the old beginning of one chain.
    async fn chain(&self, writer: &str, limits: Limits) -> Result<RetentionSummary, AuditError> {
        let tombstone = self.store.get(Collection::AuditTombstones, writer).await?;
        let former = tombstone.as_ref().and_then(|stored| self.believed(stored));
        if let Some(former) = &former {
            // A round that was cut short left these.
            self.finish(writer, former).await?;
        }
        let RemovablePrefix { batches, predecessor } = self.prefix(writer, former.as_ref(), limits).await?;
        let Some(end) = batches.last() else { return Ok(RetentionSummary::default()) };
        let last = (end.last, limits.copied.checkpoints);
        let (checkpoints, checkpoint) = self.last_checkpoint(writer, last, former.as_ref()).await?;
        let removed = Removed {
            first: 1,
            last: end.last,
            count: end.last,
            digest: end.digest,
            until: end.until,
            predecessor: predecessor.or_else(|| former.and_then(|former| former.predecessor)),
            checkpoints,
            checkpoint,
        };
        let removal = Removal { v: 1, writer: writer.to_owned(), removed, at: self.clock.now() };
        let draft = SignedTombstone::sign(&removal, &self.key)?.draft(writer)?;
        self.put(tombstone.as_ref(), draft).await?;
        let ids: Vec<String> = batches.iter().map(|old| old.id.clone()).collect();
        self.remove(Collection::AuditBatches, &ids).await?;
        self.finish(writer, &removal.removed).await?;
        let entries = batches.iter().map(|old| old.count).sum();
        self.metrics.removed.add(entries);
        Ok(RetentionSummary { entries, batches: u64::try_from(ids.len()).unwrap_or(u64::MAX), chains: 1 })
    }

    fn believed(&self, stored: &Stored) -> Option<Removed> {
        let signed: SignedTombstone = serde_json::from_str(&stored.body).ok()?;
        let good = self.key.check(&signed.key, &signed.statement, &signed.signature) == Some(true);
        signed.read().filter(|_| good).map(|removal| removal.removed)
    }

    /// One that another process put there meanwhile is left alone: `Stale` or `Exists` end the round.
    async fn put(&self, before: Option<&Stored>, draft: Draft) -> Result<(), StoreError> {
        match before {
            Some(stored) => {
                let expect = Expect::Version(stored.version);
                self.store.replace(Collection::AuditTombstones, draft, expect).await.map(drop)
            }
            None => self.store.create(Collection::AuditTombstones, draft).await.map(drop),
        }
    }

    /// The batches at a chain's beginning that are old, taken, and chained as they should be: what was tampered with
    /// is kept for the investigation.
    async fn prefix(
        &self,
        writer: &str,
        former: Option<&Removed>,
        limits: Limits,
    ) -> Result<RemovablePrefix, AuditError> {
        let mut prefix = RemovablePrefix::default();
        let (mut next, mut prev) = former.map_or((1, Digest::default()), |gone| (gone.last + 1, gone.digest));
        while prefix.batches.len() < MOST_BATCHES {
            let id = crate::batch::id(writer, next);
            let Some(stored) = self.store.get(Collection::AuditBatches, &id).await? else {
                if limits.newest {
                    prefix.batches.pop();
                }
                break;
            };
            let Ok(batch) = serde_json::from_str::<Batch>(&stored.body) else { break };
            let last = batch.entries.last().and_then(|text| serde_json::from_str::<Entry>(text.get()).ok());
            let Some(last) = last else { break };
            let old = stored.written < limits.before
                && last.at < limits.before
                && stored.seq <= limits.copied.batches;
            let fits = batch.first_prev == prev
                && last.seq == batch.first_seq + batch.count.saturating_sub(1)
                && batch.first_seq == next;
            if !old || !fits {
                break;
            }
            if next == 1 {
                let first =
                    batch.entries.first().and_then(|text| serde_json::from_str::<Entry>(text.get()).ok());
                prefix.predecessor = first
                    .filter(|entry| entry.verb == WRITER_STARTED)
                    .and_then(|entry| Head::from_named(&entry.query));
            }
            (next, prev) = (last.seq + 1, batch.head);
            let (count, digest) = (batch.count, batch.head);
            prefix.batches.push(RemovableBatch { id, count, last: last.seq, digest, until: last.at });
        }
        Ok(prefix)
    }

    /// The newest checkpoint over entries up to `last` that every sink has taken.
    async fn last_checkpoint(
        &self,
        writer: &str,
        (last, copied): (u64, i64),
        former: Option<&Removed>,
    ) -> Result<(u64, Digest), AuditError> {
        let mut found = former.map_or((0, Digest::default()), |gone| (gone.checkpoints, gone.checkpoint));
        loop {
            let id = crate::batch::id(writer, found.0 + 1);
            let stored = self.store.get(Collection::Checkpoints, &id).await?;
            let Some(stored) = stored.filter(|stored| stored.seq <= copied) else { return Ok(found) };
            let Ok(signed) = serde_json::from_str::<SignedCheckpoint>(&stored.body) else { return Ok(found) };
            match signed.read() {
                Some(statement) if statement.seq <= last => found = (statement.number, signed.digest()),
                _ => return Ok(found),
            }
        }
    }

    /// Removes what a tombstone says is gone: checkpoints, and batches that a round cut short left behind.
    async fn finish(&self, writer: &str, removed: &Removed) -> Result<(), AuditError> {
        for (collection, last) in
            [(Collection::AuditBatches, removed.last), (Collection::Checkpoints, removed.checkpoints)]
        {
            // Numbers count down in ids: older ones come after.
            let mut after = crate::batch::id(writer, last + 1);
            loop {
                let span = Span::Partition(writer);
                let found = self.store.scan(collection, span, Some(&after), PAGE).await?;
                let Some(end) = found.last().map(|stored| stored.id.clone()) else { break };
                let ids: Vec<String> = found.into_iter().map(|stored| stored.id).collect();
                self.remove(collection, &ids).await?;
                after = end;
            }
        }
        Ok(())
    }

    async fn remove(&self, collection: Collection, ids: &[String]) -> Result<(), StoreError> {
        for some in ids.chunks(PAGE as usize) {
            let removals = some.iter().map(|id| self.store.delete(collection, id, Expect::Any));
            for outcome in futures_util::future::join_all(removals).await {
                match outcome {
                    Ok(()) | Err(StoreError::Gone { .. }) => {}
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(())
    }
}
