//! How many pages are followed at once.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rp_metrics::{Counter, Family, Gauge, Histogram, buckets, labels, metrics};

/// Bounds on pages that follow a cluster.
#[derive(Debug, Clone, Copy)]
pub struct LiveLimits {
    /// Of one person.
    pub per_person: usize,
    /// Of this process.
    pub pages: usize,
    /// A stream ends after this time, and a page in use reconnects: so that an unused session can end.
    pub longest: Duration,
    /// Interval of heartbeats.
    pub heartbeat: Duration,
}

impl LiveLimits {
    /// Bounds on exports of the audit log: each may read the whole log. They are no pages, and end by themselves.
    pub const EXPORTS: Self =
        Self { per_person: 2, pages: 8, longest: Duration::MAX, heartbeat: Duration::from_secs(15) };
}

impl Default for LiveLimits {
    fn default() -> Self {
        Self {
            per_person: 20,
            pages: 2_000,
            longest: Duration::from_secs(600),
            heartbeat: Duration::from_secs(15),
        }
    }
}

labels! {
    /// Why a page is followed no more.
    pub struct EndLabels { reason: &'static str }
}

metrics! {
    /// Pages that follow a cluster.
    pub struct LiveMetrics("aro_live") {
        /// Pages that are followed now.
        pub pages: Gauge = "pages";
        /// Pages that were followed, by why it ended.
        pub ended: Family<EndLabels, Counter> = "ended_total";
        /// Parts of pages that were sent because they changed.
        pub fragments: Counter = "fragments_total";
        /// Bytes of events sent, before encryption.
        pub bytes: Counter = "bytes_total";
        /// Seconds to render all parts of one page.
        pub render: Histogram = "render_seconds", buckets::REQUESTS;
        /// Pages that were refused because too many are followed.
        pub refused: Counter = "refused_total";
    }
}

/// Counts live pages per person and in total.
#[derive(Debug, Clone)]
pub struct PageLimiter {
    limits: LiveLimits,
    taken: Arc<Mutex<PageCounts>>,
}

#[derive(Debug, Default)]
struct PageCounts {
    all: usize,
    of: HashMap<String, usize>,
}

/// Which limit is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitReached {
    Person,
    Process,
}

/// Permit for one live page; dropping it frees the slot.
#[derive(Debug)]
pub struct PagePermit {
    sub: String,
    taken: Arc<Mutex<PageCounts>>,
}

impl PageLimiter {
    pub fn new(limits: LiveLimits) -> Self {
        Self { limits, taken: Arc::default() }
    }

    pub const fn limits(&self) -> &LiveLimits {
        &self.limits
    }

    /// Takes a permit for this person.
    ///
    /// # Errors
    /// A limit is reached.
    pub fn take(&self, sub: &str) -> Result<PagePermit, LimitReached> {
        let mut taken = self.taken.lock();
        if taken.all >= self.limits.pages {
            return Err(LimitReached::Process);
        }
        let own = taken.of.entry(sub.to_owned()).or_default();
        if *own >= self.limits.per_person {
            return Err(LimitReached::Person);
        }
        *own += 1;
        taken.all += 1;
        Ok(PagePermit { sub: sub.to_owned(), taken: Arc::clone(&self.taken) })
    }
}

impl Drop for PagePermit {
    fn drop(&mut self) {
        let mut taken = self.taken.lock();
        taken.all = taken.all.saturating_sub(1);
        if let Some(own) = taken.of.get_mut(&self.sub) {
            *own -= 1;
            if *own == 0 {
                taken.of.remove(&self.sub);
            }
        }
    }
}
