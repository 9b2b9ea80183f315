//! How many requests one process sends to one cluster: pages, fleet queries and the monitor share it
//! (`contract/rules.md` §3.14), so that we never are the load that hurts.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rp_documents::ResourceId;
use rp_metrics::{Counter, Gauge, Registry, metrics};
use tokio::time::Instant;

/// What a request costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cost(u32);

impl Cost {
    /// One object, or a watch.
    pub const REQUEST: Self = Self(1);
    /// A page of a list.
    pub const LIST: Self = Self(2);
}

/// The rate, per cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BudgetLimits {
    /// Requests a second in the long run; `0`: no limit.
    pub per_second: u32,
    /// Requests at once after a rest.
    pub burst: u32,
    /// Who would wait longer is refused.
    pub longest_wait: Duration,
}

impl Default for BudgetLimits {
    fn default() -> Self {
        Self { per_second: 50, burst: 100, longest_wait: Duration::from_secs(30) }
    }
}

/// Too many wait for this cluster already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("too many requests wait for this cluster; it would take {} s", .0.as_secs().max(1))]
pub struct BudgetExceeded(pub Duration);

metrics! {
    /// What the budgets of clusters do.
    pub(crate) struct BudgetMetrics("aro_cluster_budget") {
        /// Requests towards clusters that were let through.
        pub(crate) taken: Counter = "taken_total";
        /// Requests that had to wait for their turn.
        pub(crate) waited: Counter = "waited_total";
        /// Requests that were refused because too many waited.
        pub(crate) refused: Counter = "refused_total";
        /// Clusters whose budget is in use.
        pub(crate) clusters: Gauge = "clusters";
    }
}

/// Registers what is counted here.
pub fn register_metrics(registry: &Registry) {
    BudgetMetrics::register(registry);
}

/// One token bucket for each cluster. First come, first served, for all parts of the product.
#[derive(Debug, Clone)]
pub struct Budget(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    limits: BudgetLimits,
    /// When each cluster's bucket is full again.
    full: Mutex<HashMap<ResourceId, Instant>>,
    metrics: BudgetMetrics,
}

/// Clusters that are remembered before those at rest are forgotten.
const SWEEP_AT: usize = 1_024;

impl Budget {
    /// One for a process.
    pub fn new(limits: BudgetLimits, registry: &Registry) -> Self {
        Self(Arc::new(Inner { limits, full: Mutex::default(), metrics: BudgetMetrics::register(registry) }))
    }

    /// Without a limit: of tests.
    pub fn unlimited() -> Self {
        let limits = BudgetLimits { per_second: 0, ..BudgetLimits::default() };
        Self::new(limits, &Registry::new())
    }

    /// Waits for the request's turn. A caller that stops waiting releases its reservation.
    ///
    /// # Errors
    /// [`BudgetExceeded`]: the wait would be longer than allowed; nothing was taken.
    pub async fn take(&self, cluster: &ResourceId, cost: Cost) -> Result<(), BudgetExceeded> {
        let Some(wait) = self.book(cluster, cost)? else { return Ok(()) };
        self.0.metrics.waited.inc();
        let mut place = Reservation { budget: self, cluster, cost, kept: false };
        tokio::time::sleep(wait).await;
        place.kept = true;
        Ok(())
    }

    /// Reserves a place in the queue; returns how long to wait, `None`: not at all.
    fn book(&self, cluster: &ResourceId, cost: Cost) -> Result<Option<Duration>, BudgetExceeded> {
        let inner = &self.0;
        let Some(each) = self.each() else {
            inner.metrics.taken.inc();
            return Ok(None);
        };
        let now = Instant::now();
        let mut full = inner.full.lock();
        if full.len() >= SWEEP_AT && !full.contains_key(cluster) {
            full.retain(|_, at| *at > now);
        }
        let at = full.get(cluster).copied().unwrap_or(now).max(now) + each * cost.0;
        let wait = at.saturating_duration_since(now).saturating_sub(each * inner.limits.burst.max(cost.0));
        if wait > inner.limits.longest_wait {
            inner.metrics.refused.inc();
            return Err(BudgetExceeded(wait));
        }
        full.insert(cluster.clone(), at);
        inner.metrics.clusters.set_count(full.len());
        inner.metrics.taken.inc();
        Ok((!wait.is_zero()).then_some(wait))
    }

    fn each(&self) -> Option<Duration> {
        let per_second = self.0.limits.per_second;
        (per_second > 0).then(|| Duration::from_secs(1) / per_second)
    }
}

/// A place in the queue of one cluster.
struct Reservation<'a> {
    budget: &'a Budget,
    cluster: &'a ResourceId,
    cost: Cost,
    kept: bool,
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        let (false, Some(each)) = (self.kept, self.budget.each()) else { return };
        if let Some(at) = self.budget.0.full.lock().get_mut(self.cluster)
            && let Some(earlier) = at.checked_sub(each * self.cost.0)
        {
            *at = earlier;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget(per_second: u32, burst: u32) -> Budget {
        let limits = BudgetLimits { per_second, burst, longest_wait: Duration::from_secs(5) };
        Budget::new(limits, &Registry::new())
    }

    fn id(name: &str) -> ResourceId {
        ResourceId::imported(name).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn a_burst_passes_and_then_the_rate_holds_for_each_cluster_alone() {
        let (budget, a, b) = (budget(10, 5), id("a"), id("b"));
        let began = Instant::now();
        for _ in 0..5 {
            budget.take(&a, Cost::REQUEST).await.unwrap();
        }
        assert_eq!(began.elapsed(), Duration::ZERO);
        for _ in 0..10 {
            budget.take(&a, Cost::REQUEST).await.unwrap();
        }
        assert!((950..1_050).contains(&began.elapsed().as_millis()), "{:?}", began.elapsed());
        let other = Instant::now();
        budget.take(&b, Cost::LIST).await.unwrap();
        assert_eq!(other.elapsed(), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn a_queue_that_is_too_long_refuses_and_who_gives_up_gives_back() {
        let (budget, a) = (budget(1, 1), id("a"));
        budget.take(&a, Cost::REQUEST).await.unwrap();
        let waiting: Vec<_> = (0..5)
            .map(|_| {
                tokio::spawn({
                    let (budget, a) = (budget.clone(), a.clone());
                    async move { budget.take(&a, Cost::REQUEST).await }
                })
            })
            .collect();
        tokio::task::yield_now().await;
        let refused = budget.take(&a, Cost::REQUEST).await.unwrap_err();
        assert!(refused.0 > Duration::from_secs(5), "{refused}");
        for waiting in &waiting {
            waiting.abort();
        }
        for waiting in waiting {
            assert!(waiting.await.is_err_and(|error| error.is_cancelled()));
        }
        let again = Instant::now();
        budget.take(&a, Cost::REQUEST).await.unwrap();
        assert!(again.elapsed() <= Duration::from_secs(1), "{:?}", again.elapsed());
    }

    #[tokio::test(start_paused = true)]
    async fn no_limit_is_none() {
        let (budget, a) = (Budget::unlimited(), id("a"));
        let began = Instant::now();
        for _ in 0..10_000 {
            budget.take(&a, Cost::LIST).await.unwrap();
        }
        assert_eq!(began.elapsed(), Duration::ZERO);
    }
}
