//! One worker for each controller (`contract/operator.md` §7): takes keys from its queue, reads the `Cluster`, resolves the
//! flags, calls the controller, writes its conditions, and repeats what failed.

use std::time::Duration;

use rp_base::chain;
use rp_operator_api::conditions::{self, State};
use rp_operator_api::{Cluster, Condition, Flags};
use tokio::time::Instant;

use crate::controller::{Context, Controller, Off, Outcome, Reconciled, Run};
use crate::metrics::{ControllerLabels, Metrics, QueueLabels, ReconcileResult, ResultLabels};
use crate::queue::Queue;
use crate::status::read_cluster;

/// Everything is looked at again after this time at the latest.
const RESYNC: Duration = Duration::from_secs(10 * 3600);
/// Part of a period by which it may be longer.
const JITTER: f64 = 0.1;
/// The longest reconciliation: one that takes longer is given up and repeated.
const LONGEST: Duration = Duration::from_secs(15 * 60);

/// The worker of one controller.
#[derive(Debug)]
pub struct Worker {
    pub controller: &'static Controller,
    pub context: Context,
    pub queue: Queue,
    pub metrics: Metrics,
}

impl Worker {
    /// Works for ever; dropping it ends it between two requests.
    pub async fn run(self) {
        let labels = ControllerLabels { controller: self.controller.name };
        self.metrics.reconcile.most_at_once.with(&labels).set(1.0);
        self.metrics.reconcile.terminal_errors.with(&labels).add(0);
        loop {
            let key = self.queue.next().await;
            let _active = self.metrics.reconcile.active.with(&labels).track();
            self.work(&key, &labels).await;
        }
    }

    async fn work(&self, key: &str, labels: &ControllerLabels) {
        let began = Instant::now();
        let done = tokio::time::timeout(LONGEST, Box::pin(self.reconcile(key))).await;
        let failure = match done {
            Ok(Ok(requeue)) => {
                self.queue.succeeded(key);
                if let Some(wait) = requeue {
                    self.queue.add_after(key, wait);
                }
                None
            }
            Ok(Err(error)) => Some(error),
            Err(_) => Some(format!("no end after {} s", LONGEST.as_secs())),
        };
        let took = began.elapsed();
        let result = if failure.is_some() { ReconcileResult::Error } else { ReconcileResult::Success };
        let controller = self.controller.name;
        self.metrics.reconcile.total.with(&ResultLabels { controller, result }).inc();
        self.metrics.reconcile.seconds.with(labels).observe_duration(took);
        self.metrics.queue.worked.with(&QueueLabels { name: controller }).observe_duration(took);
        let duration_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        match failure {
            Some(error) => {
                self.metrics.reconcile.errors.with(labels).inc();
                tracing::warn!(controller, key, duration_ms, error, "reconciliation failed; it is repeated");
                self.queue.failed(key, &*self.context.random);
            }
            None => tracing::info!(controller, key, duration_ms, "reconciled"),
        }
    }

    fn after(&self, requeue: Option<Duration>) -> Duration {
        let period = self.controller.period.unwrap_or(RESYNC);
        requeue.unwrap_or_else(|| period.mul_f64(1.0 + JITTER * self.context.random.unit()))
    }

    /// Gives when the key is worked on again (`None`: never, its object is gone), or why it failed.
    async fn reconcile(&self, key: &str) -> Result<Option<Duration>, String> {
        let cluster = read_cluster(&self.context.api).await.map_err(|error| chain(&error).to_string())?;
        let cluster = cluster.ok_or("Cluster cluster is not there")?;
        let flags = Flags::resolve(&cluster.spec.operator_flags);
        let enabled = self.controller.flag.is_none_or(|flag| flags.on(flag));
        if !enabled && self.controller.off == Off::Leave {
            tracing::debug!(controller = self.controller.name, "controller is disabled");
            return Ok(Some(self.after(None)));
        }
        let run = Run { context: &self.context, cluster: &cluster, flags: &flags, enabled, key };
        let reconciled = (self.controller.reconcile)(&run).await;
        self.conclude(&cluster, &flags, reconciled).await
    }

    /// Writes the conditions of what happened.
    async fn conclude(
        &self,
        cluster: &Cluster,
        flags: &Flags,
        reconciled: Reconciled,
    ) -> Result<Option<Duration>, String> {
        let (outcome, failure) = match reconciled {
            Ok(outcome) => (outcome, None),
            Err(error) => {
                let text = chain(&error).to_string();
                let state = Some(State::Degraded(text.clone()));
                (Outcome { state, ..Outcome::default() }, Some(text))
            }
        };
        let set = self.conditions(&outcome);
        let written = self.context.status.write(cluster, flags, &set).await;
        let failure = failure.or(outcome.retry).or(written.err().map(|error| chain(&error).to_string()));
        let again = (!outcome.gone).then(|| self.after(outcome.requeue));
        failure.map_or(Ok(again), Err)
    }

    fn conditions(&self, outcome: &Outcome) -> Vec<Condition> {
        let mut set = outcome.conditions.clone();
        if let (Some(name), Some(state)) = (self.controller.state, &outcome.state) {
            set.extend(conditions::of_controller(name, state));
        }
        set
    }
}
