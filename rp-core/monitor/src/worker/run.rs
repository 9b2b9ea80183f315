//! Runs the workers: one scheduler task, and one task for each look while it runs.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use rp_base::SharedClock;
use rp_metrics::{Counter, Family, Gauge, Histogram, buckets, labels, metrics};
use rp_net::Source;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use super::plan::{Action, LookStart, Plan, Tenancy};
use super::{Look, LookOutcome};
use crate::feed::{Event, Subscriptions};
use crate::looks::PendingLooks;
use crate::names::own;
use crate::service::Emit;
use crate::view::ClusterView;
use rp_pool::{Assignment, Buckets};

/// Wait when nothing is due; events wake the scheduler earlier.
const IDLE: Duration = Duration::from_secs(60);
/// Maximum number of rounds begun before other events are handled.
const BATCH: usize = 64;

labels! {
    /// How a look ended.
    pub struct LookLabels { result: &'static str }
}
metrics! {
    /// What the scheduler counts.
    pub struct WorkerMetrics("aro_monitor") {
        /// Rounds that ended: ok, failed (a part of the look did), panicked, abandoned (it did not end by itself),
        /// skipped (the cluster's subscription is not in force).
        pub looks: Family<LookLabels, Counter> = "looks_total";
        /// Ticks of clusters that were dropped, for the look before took too long or the process could not keep up.
        pub missed: Counter = "looks_missed_total";
        /// How long after its instant a look began.
        pub late: Histogram = "look_late_seconds", buckets::REQUESTS;
        /// Clusters that this process looks at.
        pub clusters: Gauge = "clusters";
    }
}

/// The scheduler and its dependencies.
pub(crate) struct Scheduler {
    pub(crate) plan: Plan,
    pub(crate) look: Arc<dyn Look>,
    pub(crate) subscriptions: Subscriptions,
    pub(crate) book: PendingLooks,
    pub(crate) clock: SharedClock,
    pub(crate) emit: Emit,
    pub(crate) metrics: WorkerMetrics,
    pub(crate) events: mpsc::Receiver<Vec<Event>>,
    pub(crate) assignment: watch::Receiver<Assignment>,
    /// A look that has not ended after this time is abandoned.
    pub(crate) abandon: Duration,
    pub(crate) drain: Duration,
    /// Cancelled to end the drain.
    pub(crate) cut: CancellationToken,
    /// Clusters in the cache.
    pub(crate) watched: watch::Sender<usize>,
}

/// A look that ended.
struct FinishedLook {
    key: Arc<str>,
    view: Arc<ClusterView>,
    outcome: Outcome,
}

enum Outcome {
    Done(LookOutcome),
    Panicked(String),
    Abandoned,
}

impl Scheduler {
    /// Runs until cancelled; then waits for running looks, and cancels them when they take longer than the drain.
    pub(crate) async fn run(mut self, stop: CancellationToken) {
        let mut looks = JoinSet::new();
        while !stop.is_cancelled() {
            let owned = self.refresh_owned();
            self.begin(&mut looks);
            let wake = self.plan.wake();
            let wake = wake.unwrap_or_else(|| Instant::now() + IDLE);
            // Wake up at the latest when the assignment expires.
            let wake = if owned.is_empty() { wake } else { wake.min(self.assignment.borrow().until()) };
            tokio::select! {
                () = stop.cancelled() => {}
                changed = self.assignment.changed() => if changed.is_err() { break },
                events = self.events.recv() => match events {
                    Some(events) => self.apply(events),
                    None => break,
                },
                Some(ended) = looks.join_next(), if !looks.is_empty() => self.on_finished(ended),
                () = sleep_until(wake) => {}
            }
        }
        self.finish(looks).await;
    }

    fn refresh_owned(&mut self) -> Buckets {
        let now = Instant::now();
        let owned = self.assignment.borrow_and_update().buckets(now);
        let mut actions = Vec::new();
        self.plan.set_owned(owned, now, &mut actions);
        self.perform(actions, None);
        owned
    }

    fn apply(&mut self, events: Vec<Event>) {
        let (now, mut actions) = (Instant::now(), Vec::new());
        for event in events {
            self.plan.apply(event, now, &mut actions);
        }
        self.perform(actions, None);
        let watched = self.plan.watched();
        self.watched.send_if_modified(|held| std::mem::replace(held, watched) != watched);
    }

    fn begin(&mut self, looks: &mut JoinSet<FinishedLook>) {
        let (now, mut actions) = (Instant::now(), Vec::new());
        let hour = self.clock.now().seconds().div_euclid(3600);
        let subscriptions = &self.subscriptions;
        for _ in 0..BATCH {
            if !self.plan.start(now, hour, |view| tenancy(view, subscriptions), &mut actions) {
                break;
            }
        }
        self.perform(actions, Some(looks));
        self.metrics.clusters.set_count(self.plan.workers());
    }

    fn perform(&self, actions: Vec<Action>, mut looks: Option<&mut JoinSet<FinishedLook>>) {
        let mut running = self.plan.running();
        for action in actions {
            match action {
                Action::Look(start) => {
                    self.emit.count(&own::WORKERS_ACTIVE, running, &[]);
                    self.metrics.late.observe_duration(start.late);
                    if let Some(looks) = looks.as_deref_mut() {
                        looks.spawn(look_once(Arc::clone(&self.look), *start, self.abandon));
                    }
                }
                Action::Skipped { id, warn } => {
                    // A skipped round also counts as a round.
                    running += 1;
                    self.emit.count(&own::WORKERS_ACTIVE, running, &[]);
                    running -= 1;
                    self.emit.count(&own::WORKERS_ACTIVE, running, &[]);
                    self.metrics.looks.with(&LookLabels { result: "skipped" }).inc();
                    if warn {
                        tracing::warn!(
                            resource_id = id.key(),
                            "Skipped monitoring cluster {id} because its subscription is in an invalid state"
                        );
                    }
                }
                Action::Forget(id) => self.look.forget(&id),
                Action::Remove { document, bucket } => self.book.remove(bucket, document),
            }
        }
    }

    fn on_finished(&mut self, ended: Result<FinishedLook, tokio::task::JoinError>) {
        // A panic of a look is caught inside its task: an error here is a task that was aborted at the end.
        let Ok(FinishedLook { key, view, outcome }) = ended else { return };
        let word = match &outcome {
            Outcome::Done(done) if done.failed.is_empty() => "ok",
            Outcome::Done(_) => "failed",
            Outcome::Panicked(text) => {
                tracing::error!(resource_id = view.id.key(), "monitor panic: '{text}'");
                "panicked"
            }
            Outcome::Abandoned => {
                tracing::error!(resource_id = view.id.key(), "a look did not end and was abandoned");
                "abandoned"
            }
        };
        self.metrics.looks.with(&LookLabels { result: word }).inc();
        if let Outcome::Done(done) = outcome {
            self.book.note(view.bucket, &view.document, done.started, done.took);
        }
        let mut actions = Vec::new();
        self.plan.done(&key, Instant::now(), &mut actions);
        self.metrics.missed.add(self.plan.take_missed());
        self.emit.count(&own::WORKERS_ACTIVE, self.plan.running(), &[]);
        self.perform(actions, None);
    }

    /// Drains: no new look begins.
    async fn finish(mut self, mut looks: JoinSet<FinishedLook>) {
        let running = looks.len();
        if running > 0 {
            tracing::info!(running, "waiting for the looks that run");
        }
        let deadline = Instant::now() + self.drain;
        let cut = self.cut.clone();
        loop {
            let next = tokio::select! {
                next = timeout_at(deadline, looks.join_next()) => next,
                () = cut.cancelled() => break,
            };
            let Ok(Some(ended)) = next else { break };
            self.on_finished(ended);
        }
        if looks.is_empty() {
            return;
        }
        tracing::warn!(running = looks.len(), "looks took longer than the drain and are cut");
        self.plan.cancel_all();
        let last = Instant::now() + Duration::from_secs(1);
        while let Ok(Some(ended)) = timeout_at(last, looks.join_next()).await {
            self.on_finished(ended);
        }
        looks.shutdown().await;
    }
}

fn tenancy(view: &ClusterView, subscriptions: &Subscriptions) -> Tenancy {
    if view.source == Source::Imported {
        return Tenancy::NotNeeded;
    }
    if !subscriptions.is_primed() {
        return Tenancy::NotReady;
    }
    subscriptions.tenant(view.id.subscription()).map_or(Tenancy::Invalid, Tenancy::Of)
}

async fn look_once(look: Arc<dyn Look>, start: LookStart, abandon: Duration) -> FinishedLook {
    let LookStart { key, view, round, cancel, .. } = start;
    let asked = AssertUnwindSafe(look.look(Arc::clone(&view), round, cancel)).catch_unwind();
    let outcome = match timeout(abandon, asked).await {
        Ok(Ok(done)) => Outcome::Done(done),
        Ok(Err(panic)) => Outcome::Panicked(panic_text(panic.as_ref())),
        Err(_) => Outcome::Abandoned,
    };
    FinishedLook { key, view, outcome }
}

/// The message of a panic.
fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "unknown".to_owned())
}
