//! One pass: everything that is due on one cluster, one after the other.

use std::sync::Arc;

use rp_base::{Timestamp, chain};
use rp_database::{StoreError, Versioned};
use rp_documents::maintenance::{Build, ManifestState, Task};
use rp_documents::{ClusterDocument, Leased as _, ManifestDocument, ProvisioningState, SubscriptionDocument};
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep};
use tokio_util::sync::CancellationToken;

use super::Shared;
use super::outcome::{Outcome, Retries};
use super::rollout;
use crate::ending::{self, STOPPED};
use crate::lease::{LeaseError, LeasedDocument};
use crate::run::Run;
use crate::task::{TaskError, TaskJob};

/// Why nothing runs on a cluster now.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Obstacle {
    /// Another process works on it. It says so itself.
    Held,
    /// For people.
    Reason(String),
}

/// Works on the manifests of a cluster that are due.
///
/// # Errors
/// The store's.
pub(super) async fn maintain(shared: &Arc<Shared>, cluster: &str) -> Result<(), StoreError> {
    let now = shared.store.now().await?;
    let due = due(shared, cluster, now).await?;
    if due.is_empty() {
        return Ok(());
    }
    let Some(document) = shared.clusters.get_by_key(cluster).await? else {
        for manifest in due {
            end_without_cluster(shared, manifest).await?;
        }
        return Ok(());
    };
    let subscription = shared.subscriptions.get(&document.value.partition_key).await?;
    let due = match is_held(&document.value, now) {
        false => due,
        true => {
            let (own, others) =
                due.into_iter().partition(|found| found.value.maintenance_manifest.must_end());
            explain(shared, others, "waits: a task takes machines of the cluster away and has not ended")
                .await?;
            own
        }
    };
    if due.is_empty() {
        return Ok(());
    }
    let obstacle = obstacle(&document.value, now).or_else(|| {
        let missing = "waits: the subscription of the cluster is not known".to_owned();
        subscription.is_none().then_some(Obstacle::Reason(missing))
    });
    match (obstacle, subscription) {
        (Some(Obstacle::Reason(reason)), _) => explain(shared, due, &reason).await,
        (None, Some(subscription)) => {
            let claimed = LeasedDocument::claim(&shared.clusters, document, &shared.holder, |_| {}).await?;
            let Some(held) = claimed.map(Arc::new) else { return Ok(()) };
            let ended = run_all(shared, &held, &subscription.value, due).await;
            release(&held).await;
            ended
        }
        (Some(Obstacle::Held), _) | (None, None) => Ok(()),
    }
}

/// Reads the manifests that are due, first those that run first; those whose time is over are ended.
async fn due(
    shared: &Shared,
    cluster: &str,
    now: Timestamp,
) -> Result<Vec<Versioned<ManifestDocument>>, StoreError> {
    let ids = shared.caches.open.read().of_cluster(cluster, now);
    let mut due = Vec::with_capacity(ids.len());
    for id in ids {
        let Some(found) = shared.manifests.get(&id).await? else { continue };
        let manifest = &found.value.maintenance_manifest;
        if manifest.started != 0 && Task::with_id(&manifest.maintenance_task_id).is_none() {
            // A newer version began it and goes on with it.
            continue;
        }
        if found.value.is_late(now) && found.value.lease_expires < now.seconds() {
            time_out(shared, found, now).await?;
        } else if rollout::is_held_back(shared, &found.value) {
            ending::end(&shared.manifests, found, ManifestState::Cancelled, STOPPED, now).await?;
        } else if found.value.is_due(now) {
            due.push(found);
        }
    }
    Ok(due)
}

/// Ends a manifest whose cluster is not there.
async fn end_without_cluster(shared: &Shared, found: Versioned<ManifestDocument>) -> Result<(), StoreError> {
    let task = Task::with_id(&found.value.maintenance_manifest.maintenance_task_id);
    let now = shared.store.now().await?;
    let Some(manifest) = claim(shared, found, now).await? else { return Ok(()) };
    let outcome = Outcome::failed("cluster not found");
    match manifest.end(|found| outcome.write(found, &[], now)).await {
        Ok(document) => {
            shared.metrics.ended(task, outcome.state);
            log_end(task, &document);
        }
        Err(error) => tracing::warn!(error = %chain(&error), "a manifest without a cluster was not ended"),
    }
    Ok(())
}

async fn time_out(
    shared: &Shared,
    found: Versioned<ManifestDocument>,
    now: Timestamp,
) -> Result<(), StoreError> {
    let task = Task::with_id(&found.value.maintenance_manifest.maintenance_task_id);
    let text = format!("timed out at {}", Timestamp::from_seconds(now.seconds()));
    let late = ending::end(&shared.manifests, found, ManifestState::TimedOut, &text, now).await?;
    if let Some(late) = late {
        tracing::warn!(
            document = late.id,
            resource_id = late.cluster_resource_id,
            "a manifest did not start in its time"
        );
        shared.metrics.ended(task, ManifestState::TimedOut);
    }
    Ok(())
}

/// Writes why the manifests wait, where they do not say so yet.
async fn explain(
    shared: &Shared,
    due: Vec<Versioned<ManifestDocument>>,
    reason: &str,
) -> Result<(), StoreError> {
    for mut found in due {
        let manifest = &mut found.value.maintenance_manifest;
        if manifest.state != ManifestState::Pending || manifest.status_text == reason {
            continue;
        }
        reason.clone_into(&mut manifest.status_text);
        match shared.manifests.replace(found).await {
            Ok(_) | Err(StoreError::Stale { .. } | StoreError::Gone { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Why nothing may run on the cluster at that time of the store.
fn obstacle(document: &ClusterDocument, now: Timestamp) -> Option<Obstacle> {
    let properties = &document.cluster.properties;
    let state = properties.provisioning_state.get().copied();
    // What holds the cluster goes on; the operation waits for it.
    if let Some(state) = state.filter(|state| state.is_queued() && !is_held(document, now)) {
        return Some(Obstacle::Reason(format!("waits: the cluster is {}", state.name())));
    }
    let failed = properties.failed_provisioning_state.get();
    let unusable = matches!(failed, Some(ProvisioningState::Creating | ProvisioningState::Deleting));
    if state == Some(ProvisioningState::Failed) && unusable {
        return Some(Obstacle::Reason("waits: the creation or deletion of the cluster failed".to_owned()));
    }
    if state.is_none() {
        return Some(Obstacle::Reason("waits: the cluster has no provisioning state".to_owned()));
    }
    (document.lease().expires >= now.seconds()).then_some(Obstacle::Held)
}

/// Whether a task that must come to its end was begun on the cluster.
fn is_held(document: &ClusterDocument, now: Timestamp) -> bool {
    *document.maintenance_hold_until >= now.seconds()
}

async fn run_all(
    shared: &Arc<Shared>,
    held: &Arc<LeasedDocument<ClusterDocument>>,
    subscription: &SubscriptionDocument,
    due: Vec<Versioned<ManifestDocument>>,
) -> Result<(), StoreError> {
    for manifest in due {
        let must_end = manifest.value.maintenance_manifest.must_end();
        let gives_way = is_wanted(&held.cached().await) && !must_end;
        if shared.stopping.is_cancelled() || held.lost().is_cancelled() || gives_way {
            break;
        }
        // The first ones may have taken long.
        let now = shared.store.now().await?;
        let Some(found) = shared.manifests.get(&manifest.value.id).await? else { continue };
        if found.value.is_late(now) || !found.value.is_due(now) {
            continue;
        }
        run_manifest(shared, held, subscription, found, now).await?;
    }
    Ok(())
}

/// Whether an operation waits for the cluster.
fn is_wanted(document: &ClusterDocument) -> bool {
    let state = document.cluster.properties.provisioning_state.get();
    state.is_some_and(|state| state.is_queued())
}

/// Gives the cluster's lease back.
async fn release(held: &LeasedDocument<ClusterDocument>) {
    match held.end(Some).await {
        Ok(_) | Err(LeaseError::Lost) => {}
        Err(error @ LeaseError::Store(_)) => {
            tracing::warn!(error = %chain(&error), "the lease of a cluster was not given back: it runs out");
        }
    }
}

async fn claim(
    shared: &Shared,
    found: Versioned<ManifestDocument>,
    now: Timestamp,
) -> Result<Option<LeasedDocument<ManifestDocument>>, StoreError> {
    LeasedDocument::claim(&shared.manifests, found, &shared.holder, |document| {
        document.dequeues = document.dequeues.saturating_add(1);
        let manifest = &mut document.maintenance_manifest;
        manifest.state = ManifestState::InProgress;
        manifest.status_text.clear();
        manifest.retry_after = 0;
        if manifest.started == 0 {
            manifest.started = now.seconds();
        }
    })
    .await
}

async fn run_manifest(
    shared: &Arc<Shared>,
    held: &Arc<LeasedDocument<ClusterDocument>>,
    subscription: &SubscriptionDocument,
    found: Versioned<ManifestDocument>,
    now: Timestamp,
) -> Result<(), StoreError> {
    let first = found.value.maintenance_manifest.started == 0;
    let waited = now.since(Timestamp::from_seconds(found.value.maintenance_manifest.run_after));
    let Some(manifest) = claim(shared, found, now).await? else { return Ok(()) };
    if first {
        shared.metrics.delay.observe_duration(waited);
    }
    let document = manifest.cached().await;
    let task_id = &document.maintenance_manifest.maintenance_task_id;
    let task = Task::with_id(task_id);
    let dequeues = document.lease().dequeues;
    let run = Arc::new(Run::new(Arc::clone(held), manifest));
    let outcome = match task.map(|task| (task, task.build())) {
        None => Some(Outcome::failed("task ID not registered")),
        Some((task, Build::Missing(why))) => {
            Some(Outcome::failed(format!("task '{}' is not available: {why}", task.name())))
        }
        Some(_) if dequeues > shared.settings.attempts => Some(Outcome::worn_out(dequeues.saturating_sub(1))),
        Some((task, Build::Ready | Build::Ordered(_))) => {
            tracing::info!(
                document = document.id,
                resource_id = document.cluster_resource_id,
                attempt = dequeues,
                "starting task {}",
                task.name()
            );
            let began = Instant::now();
            let ended = match task.gives_way() {
                true => run_task(shared, task, subscription, &run).await,
                false => run_holding(shared, task, subscription, &run).await,
            };
            let took = began.elapsed();
            shared
                .metrics
                .duration
                .with(&crate::metrics::TaskLabels { task: task.name() })
                .observe_duration(took);
            Outcome::of(ended, &run.result(), run.dequeues().await, retries(shared))
        }
    };
    finish(shared, task, &run, outcome, now).await;
    Ok(())
}

fn retries(shared: &Shared) -> Retries {
    let settings = &shared.settings;
    Retries { attempts: settings.attempts, first: settings.retry, most: settings.retry_most }
}

async fn finish(shared: &Shared, task: Option<Task>, run: &Run, outcome: Option<Outcome>, began: Timestamp) {
    let Some(outcome) = outcome else {
        shared.metrics.leases_lost.inc();
        tracing::warn!(
            task = task.map_or("unknown", Task::name),
            "a task was stopped: its lease was lost or its manifest deleted"
        );
        return;
    };
    // Before the end is written: a process that dies between the two runs the last step again.
    if outcome.state.is_terminal()
        && task.is_some_and(|task| !task.gives_way())
        && let Err(error) = run.hold_cluster(None).await
    {
        tracing::warn!(error = %chain(&error), "the hold of a cluster was not given up: it runs out");
    }
    // Before the end is written, too: a process that dies between the two adds it again, and it is there already.
    if matches!(outcome.state, ManifestState::Failed | ManifestState::RetriesExceeded)
        && let Err(error) = rollout::add_failure(shared, &run.manifest().cached().await).await
    {
        tracing::warn!(error = %chain(&error), "a failure was not added to its schedule");
    }
    let now = shared.store.now().await.unwrap_or_else(|_| began.max(shared.clock.now()));
    let steps = run.unwritten_steps();
    match run.manifest().end(|found| outcome.write(found, &steps, now)).await {
        Ok(document) => {
            shared.metrics.ended(task, outcome.state);
            shared.caches.open.write().put(&document);
            log_end(task, &document);
        }
        Err(error) => {
            shared.metrics.leases_lost.inc();
            tracing::error!(error = %chain(&error), "the result of a task could not be written");
        }
    }
}

fn log_end(task: Option<Task>, document: &ManifestDocument) {
    let manifest = &document.maintenance_manifest;
    let (name, state) = (task.map_or("unknown", Task::name), manifest.state.name());
    let (id, cluster) = (document.id.as_str(), document.cluster_resource_id.as_str());
    match manifest.state {
        ManifestState::Failed | ManifestState::RetriesExceeded => {
            tracing::error!(
                document = id,
                resource_id = cluster,
                reason = manifest.status_text,
                "task {name}: {state}"
            );
        }
        _ => {
            tracing::info!(
                document = id,
                resource_id = cluster,
                reason = manifest.status_text,
                "task {name}: {state}"
            );
        }
    }
}

/// Runs a task that must come to its end: nothing else takes the cluster before, also while no process works on it.
async fn run_holding(
    shared: &Arc<Shared>,
    task: Task,
    subscription: &SubscriptionDocument,
    run: &Arc<Run>,
) -> Result<(), TaskError> {
    let now = shared.store.now().await.map_err(|error| TaskError::Transient(chain(&error).to_string()))?;
    run.hold_cluster(Some(now + task.least_limit())).await?;
    run_task(shared, task, subscription, run).await
}

/// Runs the task within its time, while both leases are renewed.
async fn run_task(
    shared: &Arc<Shared>,
    task: Task,
    subscription: &SubscriptionDocument,
    run: &Arc<Run>,
) -> Result<(), TaskError> {
    let job = TaskJob {
        task,
        document: Arc::new(run.held_cluster().cached().await),
        subscription: subscription.clone(),
        run: Arc::clone(run),
        lost: CancellationToken::new(),
        stopping: shared.stopping.child_token(),
    };
    let _stop = job.lost.clone().drop_guard();
    // Ends with this function, also when the task panics.
    let mut beat = JoinSet::new();
    let stop_for_others = task.gives_way().then(|| job.stopping.clone());
    beat.spawn(renew(Arc::clone(run), shared.holder.lease / 3, stop_for_others));
    let limit = shared.settings.timeout.max(task.least_limit());
    tokio::select! {
        biased;
        () = run.held_cluster().lost().cancelled() => Err(TaskError::Lost),
        () = run.manifest().lost().cancelled() => Err(TaskError::Lost),
        ended = shared.runner.run(job) => ended,
        () = shared.cut.cancelled() => Err(TaskError::HandedOver),
        () = sleep(limit) => {
            Err(TaskError::Terminal(format!("timed out: the task did not end within {} s", limit.as_secs())))
        }
    }
}

/// Renews both leases until it is aborted; asks a task that gives way to hand over when an operation waits for the cluster.
async fn renew(run: Arc<Run>, period: std::time::Duration, stop_for_others: Option<CancellationToken>) {
    let mut tick = interval_at(Instant::now() + period, period);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tick.tick().await;
        run.held_cluster().renew().await;
        run.manifest().renew().await;
        if let Some(stopping) = &stop_for_others
            && is_wanted(&run.held_cluster().cached().await)
        {
            stopping.cancel();
        }
    }
}
