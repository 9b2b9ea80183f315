//! Entries on their way to the writer, and into one batch.

use rp_documents::Entry;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, sleep_until};

use super::Status;
use crate::{AuditError, Receipt, bound};

/// Most entries of a batch.
const MOST: usize = 512;
/// Most bytes of texts in a batch, unless the last entry has more: as JSON at most six times as long, and the store
/// takes 16 MiB.
const MOST_BYTES: usize = 2 << 20;

/// An entry whose caller waits.
#[derive(Debug)]
pub(crate) struct Promise {
    pub(crate) entry: Entry,
    pub(crate) reply: oneshot::Sender<Result<Receipt, AuditError>>,
}

/// The ends of the channels that lead here.
pub(super) struct Inbox {
    pub(super) queued: mpsc::Receiver<Entry>,
    pub(super) promised: mpsc::Receiver<Promise>,
    pub(super) closing: watch::Receiver<bool>,
    pub(super) told: watch::Sender<Status>,
}

/// Entries on their way into one batch.
#[derive(Default)]
pub(super) struct Group {
    pub(super) entries: Vec<Entry>,
    /// Of the entries' texts.
    bytes: usize,
    /// Place in `entries`, and who waits.
    pub(super) replies: Vec<(usize, oneshot::Sender<Result<Receipt, AuditError>>)>,
}

impl Group {
    /// Takes a promise in, after what was queued before it.
    pub(super) fn promise(&mut self, promise: Promise, inbox: &mut Inbox) {
        // Half of the room stays for other promises.
        while self.entries.len() < MOST / 2
            && self.bytes < MOST_BYTES / 2
            && let Ok(entry) = inbox.queued.try_recv()
        {
            self.push(entry);
        }
        self.replies.push((self.entries.len(), promise.reply));
        self.push(promise.entry);
    }

    pub(super) fn push(&mut self, entry: Entry) {
        self.bytes += bound::weight(&entry);
        self.entries.push(entry);
    }

    pub(super) fn is_full(&self) -> bool {
        self.entries.len() >= MOST || self.bytes >= MOST_BYTES
    }

    /// Takes what is there without waiting.
    pub(super) fn fill(&mut self, inbox: &mut Inbox) {
        while !self.is_full()
            && let Ok(promise) = inbox.promised.try_recv()
        {
            self.promise(promise, inbox);
        }
        while !self.is_full()
            && let Ok(entry) = inbox.queued.try_recv()
        {
            self.push(entry);
        }
    }
}

/// Waits until the log is to close. An error means that every handle is gone, which is closing too.
pub(super) async fn closed(closing: &mut watch::Receiver<bool>) {
    let _ = closing.wait_for(|closing| *closing).await;
}

pub(super) fn refuse(group: &mut Group) {
    for (_, reply) in group.replies.drain(..) {
        let _ = reply.send(Err(AuditError::Unavailable));
    }
}

/// While the store fails, promises are answered at once; queued entries wait, and so do their callers.
pub(super) async fn refuse_until(inbox: &mut Inbox, until: Instant) {
    let was_closing = *inbox.closing.borrow();
    loop {
        tokio::select! {
            () = sleep_until(until) => return,
            () = closed(&mut inbox.closing), if !was_closing => return,
            promise = inbox.promised.recv() => match promise {
                Some(promise) => { let _ = promise.reply.send(Err(AuditError::Unavailable)); }
                None => return sleep_until(until).await,
            },
        }
    }
}
