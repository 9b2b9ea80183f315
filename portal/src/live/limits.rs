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
    /// A page asks anew after so long, if somebody is there: so that a session can end unused.
    pub longest: Duration,
    /// Between two signs of life.
    pub heartbeat: Duration,
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
    pub(crate) struct EndLabels { reason: &'static str }
}

metrics! {
    /// Pages that follow a cluster.
    pub(crate) struct LiveMetrics("aro_live") {
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

/// Who follows how many pages.
#[derive(Debug, Clone)]
pub(crate) struct Places {
    limits: LiveLimits,
    taken: Arc<Mutex<Taken>>,
}

#[derive(Debug, Default)]
struct Taken {
    all: usize,
    of: HashMap<String, usize>,
}

/// Why there is no place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Full {
    Person,
    Process,
}

/// One page that is followed; dropped, its place is free.
#[derive(Debug)]
pub(crate) struct Place {
    sub: String,
    taken: Arc<Mutex<Taken>>,
}

impl Places {
    pub(crate) fn new(limits: LiveLimits) -> Self {
        Self { limits, taken: Arc::default() }
    }

    pub(crate) const fn limits(&self) -> &LiveLimits {
        &self.limits
    }

    /// A place for this person.
    ///
    /// # Errors
    /// There is none.
    pub(crate) fn take(&self, sub: &str) -> Result<Place, Full> {
        let mut taken = self.taken.lock();
        if taken.all >= self.limits.pages {
            return Err(Full::Process);
        }
        let own = taken.of.entry(sub.to_owned()).or_default();
        if *own >= self.limits.per_person {
            return Err(Full::Person);
        }
        *own += 1;
        taken.all += 1;
        Ok(Place { sub: sub.to_owned(), taken: Arc::clone(&self.taken) })
    }
}

impl Drop for Place {
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
