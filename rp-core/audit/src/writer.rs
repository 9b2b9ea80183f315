//! The one task that writes. It groups entries, commits them, and when the store fails keeps that one batch,
//! byte for byte, and tries until it is in: so an answer that was lost after the commit does no harm.

mod group;
mod signing;
mod spooling;

use std::time::Duration;

use rp_base::{Backoff, Digest, Id, SharedClock, Timestamp, chain};
use rp_database::{Draft, SharedStore, StoreError};
use rp_documents::{Actor, Collection, Entry, Phase};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at, sleep_until, timeout};

use crate::batch::{self, Batch, Head};
use crate::checkpoint::Checkpoints;
use crate::index::heads::Heads;
use crate::metrics::AuditMetrics;
use crate::proof::ProofCheckpoint;
use crate::spool::Spool;
use crate::{AuditError, AuditOptions, Receipt, WRITER_STARTED};
use group::{Group, Inbox, closed, refuse, refuse_until};
use spooling::{DRAIN, inherit};

pub(crate) use group::Promise;

/// Entries that are put into a batch by the worker that has them.
const FEW: usize = 16;
/// A commit that takes longer has failed, with an unknown outcome.
const COMMIT: Duration = Duration::from_secs(10);

/// The state of the writer that other tasks may read.
#[derive(Debug, Clone, Default)]
pub(crate) struct Status {
    /// The last entry that is certainly stored.
    pub(crate) head: Head,
    /// When that was written.
    pub(crate) at: Timestamp,
    pub(crate) stuck: bool,
    /// Entries go to the local disk, for the store is away.
    pub(crate) spooling: bool,
    pub(crate) checkpoint: Option<ProofCheckpoint>,
    /// Entries after it.
    pub(crate) unsigned: u64,
}

#[derive(Debug)]
pub(crate) struct Writer {
    store: SharedStore,
    clock: SharedClock,
    options: AuditOptions,
    metrics: AuditMetrics,
    head: Head,
    checkpoints: Checkpoints,
    /// The ends of the chains of others.
    heads: Heads,
    /// `None`: without the store nothing is promised.
    spool: Option<Spool>,
    /// When the spool is tried next: entries that keep coming must not put it off.
    drain_at: Instant,
}

impl Writer {
    /// Starts a chain: its first entry is durable when this returns.
    pub(crate) async fn open(
        store: SharedStore,
        clock: SharedClock,
        options: AuditOptions,
        metrics: AuditMetrics,
        heads: Heads,
    ) -> Result<Self, AuditError> {
        if let Some(base) = &options.spool {
            inherit(&store, base).await?;
        }
        let last = store.list(Collection::AuditBatches, None, None, 1).await?.items.into_iter().next();
        // A last batch that cannot be read is told by verify; the new chain then names no predecessor.
        let last = last.and_then(|stored| serde_json::from_str::<Batch>(&stored.body).ok());
        let last = last.map(|b| Head {
            seq: b.first_seq + b.count.saturating_sub(1),
            digest: b.head,
            writer: b.writer,
        });
        let now = clock.now();
        let writer = batch::new_writer(now, last.as_ref().map(|head| head.writer.as_str()), &*options.random);
        let mut head = Head { writer, ..Head::default() };
        let actor = Actor { name: "aro".to_owned(), ..Actor::default() };
        let mut first = Entry::new(now, Phase::Single, Id::random(&*options.random), actor, WRITER_STARTED);
        first.query = last.map_or_else(|| "predecessor=none".to_owned(), |last| last.named());
        let (batch, _) = head.append(&mut [first])?;
        store.create(Collection::AuditBatches, batch.draft()?).await?;
        metrics.entries.inc();
        let spool = options.spool.as_deref().map(|base| Spool::new(base, &head.writer));
        let (checkpoints, drain_at) = (Checkpoints::default(), Instant::now());
        Ok(Self { store, clock, options, metrics, head, checkpoints, heads, spool, drain_at })
    }

    pub(crate) fn status(&self) -> Status {
        let unsigned = self.checkpoints.behind(&self.head);
        let (head, at) = (self.head.clone(), self.clock.now());
        Status { head, at, stuck: false, spooling: false, checkpoint: None, unsigned }
    }

    /// Writes until it is told to close; then writes what was taken in, and a last checkpoint.
    pub(crate) async fn run(
        mut self,
        queued: mpsc::Receiver<Entry>,
        promised: mpsc::Receiver<Promise>,
        closing: watch::Receiver<bool>,
        told: watch::Sender<Status>,
    ) {
        let mut inbox = Inbox { queued, promised, closing, told };
        let period = self.options.checkpoint_period.max(Duration::from_millis(1));
        let mut checkpoint = interval_at(Instant::now() + period, period);
        checkpoint.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while let Some(group) = self.next_group(&mut inbox, &mut checkpoint).await {
            if !self.write(group, &mut inbox, None).await && *inbox.closing.borrow() {
                // What comes after a batch that could not be written must not be written either.
                return tracing::error!(
                    lost = inbox.queued.len(),
                    "audit log closed while the store takes no entries"
                );
            }
        }
        self.finish(&mut inbox).await;
    }

    /// Waits for entries; `None` when the log closes.
    async fn next_group(&mut self, inbox: &mut Inbox, checkpoint: &mut Interval) -> Option<Group> {
        let mut group = Group::default();
        loop {
            tokio::select! {
                biased;
                () = closed(&mut inbox.closing) => return None,
                _ = checkpoint.tick() => {
                    self.checkpoint(&inbox.told).await;
                    continue;
                }
                () = sleep_until(self.drain_at), if self.is_spooling() => {
                    if self.drain().await {
                        self.stuck(inbox, false);
                    }
                    self.drain_at = Instant::now() + DRAIN;
                    continue;
                }
                promise = inbox.promised.recv() => group.promise(promise?, inbox),
                entry = inbox.queued.recv() => group.push(entry?),
            }
            break;
        }
        let due = Instant::now() + self.options.group;
        loop {
            group.fill(inbox);
            if !group.replies.is_empty() || group.is_full() || *inbox.closing.borrow() {
                return Some(group);
            }
            tokio::select! {
                biased;
                () = sleep_until(due) => return Some(group),
                promise = inbox.promised.recv() => match promise {
                    Some(promise) => group.promise(promise, inbox),
                    None => return Some(group),
                },
                entry = inbox.queued.recv() => match entry {
                    Some(entry) => group.push(entry),
                    None => return Some(group),
                },
                () = closed(&mut inbox.closing) => return Some(group),
            }
        }
    }

    /// Commits a group, however long that takes (or until `give_up`). After the first failure its promises
    /// are refused, and so are those that come while it is tried again.
    async fn write(&mut self, mut group: Group, inbox: &mut Inbox, mut give_up: Option<Instant>) -> bool {
        let (draft, digests) = match self.batch(&mut group).await {
            Ok(made) => made,
            Err(error) => {
                // Entries are plain data; JSON cannot fail. Were it to, the callers must not go on.
                tracing::error!(error = %chain(&error), "audit entries cannot be written");
                refuse(&mut group);
                return false;
            }
        };
        let mut backoff = Backoff::new(Duration::from_millis(50), Duration::from_secs(5));
        loop {
            // What is spooled comes before what is newer; it is tried again beside the entries.
            if self.is_spooling() && self.put_aside(&draft).await {
                break;
            }
            let started = Instant::now();
            match commit(&self.store, &draft).await {
                Ok(()) => break self.metrics.commit.observe_duration(started.elapsed()),
                Err(error) => {
                    self.metrics.failures.inc();
                    if !matches!(error, StoreError::Exists { .. }) && self.put_aside(&draft).await {
                        tracing::error!(error = %chain(&error), "the store takes no audit entries; they are written to the local disk");
                        break;
                    }
                    self.stuck(inbox, true);
                    tracing::error!(error = %chain(&error), entries = group.entries.len(), "audit commit failed; trying again");
                }
            }
            refuse(&mut group);
            if *inbox.closing.borrow() {
                give_up.get_or_insert_with(|| Instant::now() + self.options.close_within);
            }
            let next = Instant::now() + backoff.step(&*self.options.random);
            if give_up.is_some_and(|at| next > at) {
                return false;
            }
            refuse_until(inbox, next).await;
        }
        let written = u64::try_from(group.entries.len()).unwrap_or(0);
        self.metrics.entries.add(written);
        #[expect(clippy::cast_precision_loss, reason = "at most 512")]
        self.metrics.size.observe(written as f64);
        self.metrics.waiting.set_count(inbox.queued.len());
        self.stuck(inbox, false);
        for (at, reply) in group.replies {
            let receipt = digests.get(at).zip(group.entries.get(at)).map(|(digest, entry)| Receipt {
                writer: self.head.writer.clone(),
                seq: entry.seq,
                digest: *digest,
            });
            // A caller that left needs no answer.
            let _ = reply.send(receipt.ok_or(AuditError::Unavailable));
        }
        true
    }

    /// Puts the group at the end of the chain. Writing and hashing hundreds of entries takes milliseconds, which a worker
    /// owes to requests; a few are faster here.
    async fn batch(&mut self, group: &mut Group) -> Result<(Draft, Vec<Digest>), AuditError> {
        let made = |head: &mut Head, entries: &mut [Entry]| {
            let (batch, digests) = head.append(entries)?;
            Ok((batch.draft()?, digests))
        };
        if group.entries.len() <= FEW {
            return made(&mut self.head, &mut group.entries);
        }
        let (mut head, mut entries) = (self.head.clone(), std::mem::take(&mut group.entries));
        let work = tokio::task::spawn_blocking(move || {
            let made = made(&mut head, &mut entries);
            (head, entries, made)
        });
        let (head, entries, made) = work.await.map_err(|_| AuditError::Closed)?;
        (self.head, group.entries) = (head, entries);
        made
    }

    fn stuck(&self, inbox: &Inbox, stuck: bool) {
        let spooling = self.is_spooling();
        self.metrics.stuck.set(f64::from(u8::from(stuck)));
        self.metrics.spooling.set(f64::from(u8::from(spooling)));
        inbox.told.send_modify(|status| {
            status.stuck = stuck;
            status.spooling = spooling;
            // What is on the local disk is not in the store yet.
            if !stuck && !spooling {
                status.head = self.head.clone();
                status.at = self.clock.now();
                status.unsigned = self.checkpoints.behind(&self.head);
            }
        });
    }

    /// Takes nothing new, writes the rest.
    async fn finish(&mut self, inbox: &mut Inbox) {
        inbox.queued.close();
        inbox.promised.close();
        if self.is_spooling() {
            self.drain().await;
        }
        let give_up = Instant::now() + self.options.close_within;
        loop {
            let mut group = Group::default();
            group.fill(inbox);
            if group.entries.is_empty() {
                break;
            }
            let entries = group.entries.len();
            if !self.write(group, inbox, Some(give_up)).await {
                let lost = entries + inbox.queued.len();
                tracing::error!(lost, "audit log closed with entries that could not be written");
                return;
            }
        }
        if let Some(spool) = &mut self.spool {
            spool.remove().await;
        }
        self.checkpoint(&inbox.told).await;
    }
}

/// One try. A batch that stands there already, the same, was committed by a try whose answer got lost.
async fn commit(store: &SharedStore, draft: &Draft) -> Result<(), StoreError> {
    let late = |_| StoreError::Unavailable("the store took too long".into());
    let create = store.create(Collection::AuditBatches, draft.clone());
    match timeout(COMMIT, create).await.map_err(late)? {
        Ok(_) => Ok(()),
        Err(exists @ StoreError::Exists { .. }) => {
            let get = store.get(Collection::AuditBatches, &draft.id);
            let stored = timeout(COMMIT, get).await.map_err(late)??;
            if stored.is_some_and(|stored| stored.body == draft.body) { Ok(()) } else { Err(exists) }
        }
        Err(error) => Err(error),
    }
}
