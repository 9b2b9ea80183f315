//! Refusals of unauthenticated peers. Anybody can cause any number of them, so they are summed: of each network the
//! first is written at once, and at the end of the minute one entry has the number of the others.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use rp_documents::Entry;
use tokio::sync::watch;

use crate::{Audit, AuditError, Inner};

/// Between two sums.
const PERIOD: Duration = Duration::from_secs(60);
/// Networks that are told apart in a period; of all others there is one sum.
const NETWORKS: usize = 256;

/// What was refused in this period.
#[derive(Debug, Default)]
pub(crate) struct Refusals(Mutex<HashMap<Option<IpAddr>, RefusalSum>>);

#[derive(Debug, Default)]
struct RefusalSum {
    more: u64,
    last: Option<Box<Entry>>,
}

impl Refusals {
    /// Gives the entry back when it is the first of its network.
    fn add(&self, network: IpAddr, entry: Entry) -> Option<Entry> {
        let mut sums = self.0.lock();
        let known = sums.contains_key(&Some(network));
        if !known && sums.len() < NETWORKS {
            sums.insert(Some(network), RefusalSum::default());
            return Some(entry);
        }
        let sum = sums.entry(known.then_some(network)).or_default();
        sum.more += 1;
        sum.last = Some(Box::new(entry));
        None
    }

    /// The sums of the period that ends.
    fn take(&self) -> Vec<Entry> {
        let sums = std::mem::take(&mut *self.0.lock());
        let told = |(network, sum): (Option<IpAddr>, RefusalSum)| {
            let mut entry = *sum.last?;
            let whose = if network.is_some() { "from this network" } else { "from further networks" };
            entry.query = format!("{} more were refused {whose}; the last: {}", sum.more, entry.query);
            Some(entry)
        };
        sums.into_iter().filter_map(told).collect()
    }
}

impl Audit {
    /// Takes in that somebody unknown of this network was refused: at most two entries a minute and network, however
    /// often it happens.
    ///
    /// # Errors
    /// As [`Audit::queue`].
    pub async fn refused(&self, network: IpAddr, entry: Entry) -> Result<(), AuditError> {
        match self.0.refusals.add(network, entry) {
            Some(first) => self.queue(first).await,
            None => {
                self.0.metrics.summed.inc();
                Ok(())
            }
        }
    }

    /// Writes what was summed.
    pub(crate) async fn sum_refusals(&self) {
        for entry in self.0.refusals.take() {
            if let Err(error) = self.queue(entry).await {
                tracing::error!(%error, "a sum of refusals is not in the audit log");
            }
        }
    }
}

/// Writes the sums while the log is open.
pub(crate) async fn run(log: Weak<Inner>, mut closed: watch::Receiver<bool>) {
    loop {
        tokio::select! {
            () = tokio::time::sleep(PERIOD) => {}
            _ = closed.wait_for(|closed| *closed) => return,
        }
        let Some(log) = Weak::upgrade(&log) else { return };
        Audit(Arc::clone(&log)).sum_refusals().await;
    }
}
