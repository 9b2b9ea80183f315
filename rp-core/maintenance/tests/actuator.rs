//! The actuator over a store: what runs, when, and what people read of it.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use rp_base::{ManualClock, SystemRandom, Timestamp};
use rp_database::{Draft, Expect, SharedStore, Typed, in_memory};
use rp_documents::maintenance::{
    Manifest, ManifestState, Resize, Schedule, ScheduleState, Selector, Spread, Task,
};
use rp_documents::{Collection, ManifestDocument, ScheduleDocument};
use rp_maintenance::{MaintenanceParts, MaintenanceService, TaskError, TaskJob, TaskRunner};
use rp_metrics::{Registry, Statsd};
use serde_json::{Value, json};
use tests_kit::until;
use tokio::sync::Notify;

const SUBSCRIPTION: &str = "00000000-0000-0000-0000-000000000001";
const START: i64 = 1_800_000_000;
const GENEROUS: Duration = Duration::from_secs(120);

fn key(name: &str) -> String {
    format!(
        "/subscriptions/{SUBSCRIPTION}/resourcegroups/g/providers/microsoft.redhatopenshift/openshiftclusters/{name}"
    )
}

/// What a task does, by the priority of its manifest.
const SUCCEEDS: i64 = 0;
const TRANSIENT: i64 = 1;
const WAITS: i64 = 2;
const PANICS: i64 = 3;
const TERMINAL: i64 = 4;

/// Notes the order of runs; tasks that wait do so until they are told to go on, in three steps.
#[derive(Debug, Default)]
struct Tasks {
    begun: parking_lot::Mutex<Vec<String>>,
    running: parking_lot::Mutex<HashMap<String, usize>>,
    steps: AtomicUsize,
    go: Notify,
    dropped: AtomicUsize,
}

#[async_trait]
impl TaskRunner for Tasks {
    async fn run(&self, job: TaskJob) -> Result<(), TaskError> {
        let cluster = job.document.key.clone();
        let kind = job.document.cluster.location.parse().unwrap_or(SUCCEEDS);
        self.begun.lock().push(cluster.clone());
        {
            let mut running = self.running.lock();
            let count = running.entry(cluster.clone()).or_default();
            *count += 1;
            assert_eq!(*count, 1, "two tasks on one cluster");
        }
        let _guard = Guard { tasks: self, cluster, done: false };
        match kind {
            TRANSIENT => Err(TaskError::Transient("no answer".into())),
            TERMINAL => Err(TaskError::Terminal("no such object".into())),
            PANICS => panic!("a defect"),
            WAITS => {
                let first = job.run.position().await.map_or(0, |name| name.parse().unwrap());
                for step in first..3usize {
                    if job.stopping.is_cancelled() {
                        return Err(TaskError::HandedOver);
                    }
                    tokio::select! {
                        () = self.go.notified() => {}
                        () = job.stopping.cancelled() => return Err(TaskError::HandedOver),
                    }
                    self.steps.fetch_add(1, Ordering::SeqCst);
                    job.run.save(&(step + 1).to_string()).await?;
                }
                job.run.record_line("three steps");
                Ok(())
            }
            _ => {
                job.run.record_line("done");
                Ok(())
            }
        }
    }
}

struct Guard<'a> {
    tasks: &'a Tasks,
    cluster: String,
    done: bool,
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        self.tasks.running.lock().remove(&self.cluster);
        if !self.done {
            self.tasks.dropped.fetch_add(1, Ordering::SeqCst);
        }
    }
}

struct World {
    clock: ManualClock,
    store: SharedStore,
    manifests: Typed<ManifestDocument>,
    tasks: Arc<Tasks>,
}

impl World {
    async fn new() -> Self {
        let clock = ManualClock::at(Timestamp::from_seconds(START));
        let store: SharedStore = in_memory(Arc::new(clock.clone()));
        let manifests = Typed::new(SharedStore::clone(&store));
        let world = Self { clock, store, manifests, tasks: Arc::default() };
        let subscription = json!({"id": SUBSCRIPTION, "subscription": {"state": "Registered"}});
        world.put(Collection::Subscriptions, SUBSCRIPTION, None, &subscription).await;
        world
    }

    async fn put(&self, of: Collection, id: &str, key: Option<&str>, body: &Value) {
        let draft = Draft {
            id: id.into(),
            partition: SUBSCRIPTION.into(),
            unique_key: key.map(Into::into),
            body: body.to_string(),
            expires_at: None,
        };
        self.store.create(of, draft).await.unwrap();
    }

    /// A cluster whose tasks behave as `kind` says.
    async fn cluster(&self, name: &str, kind: i64) {
        let key = key(name);
        let body = json!({"id": name, "key": key, "partitionKey": SUBSCRIPTION, "bucket": 7,
            "openShiftCluster": {"id": key, "location": kind.to_string(),
                "properties": {"provisioningState": "Succeeded"}}});
        self.put(Collection::OpenShiftClusters, name, Some(&key), &body).await;
    }

    async fn set_state(&self, name: &str, from: &str, to: &str) {
        for _ in 0..50 {
            let found = self.store.get(Collection::OpenShiftClusters, name).await.unwrap().unwrap();
            let expect = Expect::Version(found.version);
            let body = found.body.replace(from, to);
            let written =
                self.store.replace(Collection::OpenShiftClusters, found.with_body(body), expect).await;
            if written.is_ok() {
                return;
            }
        }
        panic!("others write all the time");
    }

    async fn order(&self, id: &str, cluster: &str, change: impl FnOnce(&mut Manifest)) {
        let mut manifest = Manifest {
            maintenance_task_id: Task::FixSsh.id().into(),
            run_after: START - 10,
            run_before: START + 100_000,
            ..Manifest::default()
        };
        change(&mut manifest);
        self.manifests.create(ManifestDocument::new(id, key(cluster), manifest)).await.unwrap();
    }

    async fn get(&self, id: &str) -> ManifestDocument {
        self.manifests.get(id).await.unwrap().unwrap().value
    }

    async fn start(&self) -> MaintenanceService {
        let settings = rp_config::Maintenance {
            poll: Duration::from_millis(20),
            lease: Duration::from_secs(3),
            retry: Duration::from_secs(90),
            bucket_interval: Duration::from_millis(50),
            feed_poll: Duration::from_millis(50),
            drain: Duration::from_secs(20),
            ..rp_config::Maintenance::default()
        };
        let parts = MaintenanceParts {
            store: SharedStore::clone(&self.store),
            clock: Arc::new(self.clock.clone()),
            random: Arc::new(SystemRandom),
            runner: Some(Arc::clone(&self.tasks) as _),
            settings,
            registry: Registry::new(),
            actuator: Statsd::none(),
            scheduler: Statsd::none(),
            domain: "example".into(),
            version: "test".into(),
        };
        MaintenanceService::start(parts).await.unwrap()
    }

    async fn becomes(&self, id: &str, state: ManifestState) -> Manifest {
        until(&format!("{id} is {}", state.name()), GENEROUS, || async {
            let found = self.get(id).await.maintenance_manifest;
            anyhow::ensure!(found.state == state, "{found:?}");
            Ok(())
        })
        .await
        .unwrap();
        self.get(id).await.maintenance_manifest
    }

    /// Lets the running task do its first step, and waits until that is stored.
    async fn saves_first_step(&self, id: &str) {
        self.tasks.go.notify_one();
        until("the first step is saved", GENEROUS, || async {
            anyhow::ensure!(self.get(id).await.maintenance_manifest.position == "1");
            Ok(())
        })
        .await
        .unwrap();
    }

    /// Lets the running task do one step more.
    async fn does_a_step(&self) {
        let done = self.tasks.steps.load(Ordering::SeqCst);
        self.tasks.go.notify_one();
        until("one more step is done", GENEROUS, || async {
            anyhow::ensure!(self.tasks.steps.load(Ordering::SeqCst) > done);
            Ok(())
        })
        .await
        .unwrap();
    }

    /// Waits until so many runs have begun.
    async fn begun(&self, count: usize) {
        until(&format!("{count} runs have begun"), GENEROUS, || async {
            let begun = self.tasks.begun.lock().len();
            anyhow::ensure!(begun >= count, "{begun}");
            Ok(())
        })
        .await
        .unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_manifest_runs_once_and_tells_its_result() {
    let world = World::new().await;
    world.cluster("c", SUCCEEDS).await;
    world.order("m", "c", |_| {}).await;
    let service = world.start().await;
    let manifest = world.becomes("m", ManifestState::Completed).await;
    assert_eq!((manifest.status_text.as_str(), manifest.started, manifest.ended), ("done", START, START));
    let document = world.get("m").await;
    assert_eq!((document.dequeues, document.lease_token, document.lease_owner.as_str()), (1, 1, ""));
    until("the cluster is free", GENEROUS, || async {
        let cluster = world.store.get(Collection::OpenShiftClusters, "c").await?.unwrap();
        anyhow::ensure!(!cluster.body.contains("leaseOwner"), "{}", cluster.body);
        Ok(())
    })
    .await
    .unwrap();
    service.stop().await;
    assert_eq!(world.tasks.begun.lock().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_waits_on_one_cluster_runs_in_turn() {
    let world = World::new().await;
    world.cluster("c", SUCCEEDS).await;
    for (id, after, priority) in [("late", START - 1, 0), ("second", START - 5, 2), ("first", START - 5, 1)] {
        world.order(id, "c", |manifest| (manifest.run_after, manifest.priority) = (after, priority)).await;
    }
    world.order("future", "c", |manifest| manifest.run_after = START + 50).await;
    let (one, two) = (world.start().await, world.start().await);
    for id in ["late", "second", "first"] {
        world.becomes(id, ManifestState::Completed).await;
    }
    assert_eq!(world.get("future").await.maintenance_manifest.state, ManifestState::Pending);
    one.stop().await;
    two.stop().await;
    assert_eq!(world.tasks.begun.lock().len(), 3, "of two processes none ran one again");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_manifest_of_the_past_times_out() {
    let world = World::new().await;
    world.cluster("c", SUCCEEDS).await;
    world.order("m", "c", |manifest| manifest.run_before = START - 5).await;
    let service = world.start().await;
    let manifest = world.becomes("m", ManifestState::TimedOut).await;
    assert_eq!(manifest.status_text, "timed out at 2027-01-15T08:00:00Z");
    service.stop().await;
    assert_eq!(world.tasks.begun.lock().len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn failures_that_may_pass_wait_longer_each_time() {
    let world = World::new().await;
    world.cluster("c", TRANSIENT).await;
    world.cluster("d", TERMINAL).await;
    world.order("m", "c", |_| {}).await;
    world.order("n", "d", |_| {}).await;
    let service = world.start().await;
    let manifest = world.becomes("n", ManifestState::Failed).await;
    assert_eq!(manifest.status_text, "TerminalError: no such object");
    let mut at = START;
    for wait in [90, 180, 360, 720] {
        until(&format!("it waits {wait} s"), GENEROUS, || async {
            let manifest = world.get("m").await.maintenance_manifest;
            anyhow::ensure!(manifest.retry_after == at + wait, "{manifest:?}");
            anyhow::ensure!(manifest.status_text == "TransientError: no answer", "{manifest:?}");
            Ok(())
        })
        .await
        .unwrap();
        at += wait + 1;
        world.clock.set(Timestamp::from_seconds(at));
    }
    let manifest = world.becomes("m", ManifestState::RetriesExceeded).await;
    let text = "did not succeed after 5 times, failing -- TransientError: no answer";
    assert_eq!(manifest.status_text, text);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operation_goes_first_and_the_task_goes_on_after_it() {
    let world = World::new().await;
    world.cluster("c", WAITS).await;
    world.order("m", "c", |_| {}).await;
    let service = world.start().await;
    world.begun(1).await;
    world.saves_first_step("m").await;
    world.set_state("c", "Succeeded", "Updating").await;
    until("the cluster is free for the operation", GENEROUS, || async {
        let cluster = world.store.get(Collection::OpenShiftClusters, "c").await?.unwrap();
        anyhow::ensure!(!cluster.body.contains("leaseOwner"), "{}", cluster.body);
        let document = world.get("m").await;
        anyhow::ensure!(
            document.maintenance_manifest.status_text == "waits: the cluster is Updating",
            "{document:?}"
        );
        Ok(())
    })
    .await
    .unwrap();
    let document = world.get("m").await;
    assert_eq!((document.dequeues, document.maintenance_manifest.state), (0, ManifestState::Pending));
    world.set_state("c", "Updating", "Succeeded").await;
    world.begun(2).await;
    world.tasks.go.notify_one();
    until("the second step is done", GENEROUS, || async {
        anyhow::ensure!(world.tasks.steps.load(Ordering::SeqCst) == 2);
        Ok(())
    })
    .await
    .unwrap();
    world.tasks.go.notify_one();
    let manifest = world.becomes("m", ManifestState::Completed).await;
    assert_eq!((manifest.status_text.as_str(), manifest.position.as_str()), ("three steps", ""));
    assert_eq!(world.tasks.steps.load(Ordering::SeqCst), 3, "no step ran twice");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn deleting_a_manifest_stops_its_task() {
    let world = World::new().await;
    world.cluster("c", WAITS).await;
    world.order("m", "c", |_| {}).await;
    let service = world.start().await;
    world.begun(1).await;
    world.manifests.delete("m", Expect::Any).await.unwrap();
    until("the task was stopped", GENEROUS, || async {
        anyhow::ensure!(world.tasks.dropped.load(Ordering::SeqCst) == 1);
        Ok(())
    })
    .await
    .unwrap();
    service.stop().await;
    assert!(world.manifests.get("m").await.unwrap().is_none(), "nothing was written back");
    assert_eq!(world.tasks.steps.load(Ordering::SeqCst), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_run_says_so() {
    let world = World::new().await;
    world.cluster("c", SUCCEEDS).await;
    world.order("unknown", "c", |manifest| manifest.maintenance_task_id = "x".into()).await;
    world
        .order("missing", "c", |manifest| {
            manifest.maintenance_task_id = Task::IdentityCertificate.id().into();
        })
        .await;
    world.order("gone", "nowhere", |_| {}).await;
    let service = world.start().await;
    let text = |id: &'static str| async { world.becomes(id, ManifestState::Failed).await.status_text };
    assert_eq!(text("unknown").await, "task ID not registered");
    assert!(text("missing").await.starts_with("task 'MSI certificate renewal' is not available: "));
    assert_eq!(text("gone").await, "cluster not found");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_hands_over_and_another_process_goes_on() {
    let world = World::new().await;
    world.cluster("c", WAITS).await;
    world.order("m", "c", |_| {}).await;
    let first = world.start().await;
    world.begun(1).await;
    world.saves_first_step("m").await;
    first.stop().await;
    let document = world.get("m").await;
    assert_eq!((document.lease_owner.as_str(), document.maintenance_manifest.position.as_str()), ("", "1"));
    let second = world.start().await;
    world.begun(2).await;
    for _ in 0..2 {
        world.does_a_step().await;
    }
    world.becomes("m", ManifestState::Completed).await;
    second.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resize_that_was_begun_holds_its_cluster_until_its_end() {
    let world = World::new().await;
    world.cluster("c", WAITS).await;
    let resize = |manifest: &mut Manifest| {
        manifest.maintenance_task_id = Task::ResizeControlPlane.id().into();
        manifest.resize = Some(Resize::default());
    };
    world.order("m", "c", resize).await;
    let first = world.start().await;
    world.begun(1).await;
    world.saves_first_step("m").await;
    // An operation and another task want the cluster, and the process stops.
    world.set_state("c", "Succeeded", "Updating").await;
    world.order("n", "c", |_| {}).await;
    first.stop().await;
    let cluster =
        || async { world.store.get(Collection::OpenShiftClusters, "c").await.unwrap().unwrap().body };
    let left = cluster().await;
    assert!(left.contains("maintenanceHoldUntil") && !left.contains("leaseOwner"), "{left}");
    assert_eq!(world.get("m").await.maintenance_manifest.state, ManifestState::Pending);
    let second = world.start().await;
    world.begun(2).await;
    assert_eq!(world.get("n").await.maintenance_manifest.started, 0);
    for _ in 0..2 {
        world.does_a_step().await;
    }
    world.becomes("m", ManifestState::Completed).await;
    let left = cluster().await;
    assert!(!left.contains("maintenanceHoldUntil"), "{left}");
    until("the other task waits for the operation now", GENEROUS, || async {
        let other = world.get("n").await.maintenance_manifest;
        anyhow::ensure!(other.status_text == "waits: the cluster is Updating", "{other:?}");
        Ok(())
    })
    .await
    .unwrap();
    second.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_defect_costs_tries_and_then_the_manifest() {
    let world = World::new().await;
    world.cluster("c", PANICS).await;
    world.order("m", "c", |_| {}).await;
    let service = world.start().await;
    for attempt in 1..=5 {
        world.begun(attempt).await;
        // The leases that nobody gave back run out.
        world.clock.advance(Duration::from_secs(5));
    }
    let manifest = world.becomes("m", ManifestState::RetriesExceeded).await;
    let text = "did not succeed after 5 times, failing -- the process that ran it ended each time";
    assert_eq!(manifest.status_text, text);
    service.stop().await;
}

/// An hour of which the window began at [`START`], and which stops when more than a quarter fail.
fn schedule_that_stops() -> ScheduleDocument {
    let registered = Selector {
        key: "subscriptionState".into(),
        operator: "eq".into(),
        value: "Registered".into(),
        ..Selector::default()
    };
    let schedule = Schedule {
        state: ScheduleState::Enabled,
        maintenance_task_id: Task::FixSsh.id().into(),
        schedule: "2027-01-15 8:00".into(),
        look_forward_count: 1,
        schedule_across: "1h".into(),
        start_within: "4h".into(),
        stop_at_percent: 25,
        selectors: vec![registered],
        ..Schedule::default()
    };
    ScheduleDocument { id: "s".into(), maintenance_schedule: schedule, ..ScheduleDocument::default() }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schedule_stops_when_too_many_fail_and_nothing_more_of_it_begins() {
    let world = World::new().await;
    let schedules = Typed::<ScheduleDocument>::new(SharedStore::clone(&world.store));
    schedules.create(schedule_that_stops()).await.unwrap();
    let spread = Spread::of_one_wave(Duration::from_hours(1));
    let mut turns: Vec<(i64, String)> = Vec::new();
    for n in 0..4 {
        let name = format!("c{n}");
        world.cluster(&name, TERMINAL).await;
        let turn = (Timestamp::from_seconds(START) + spread.offset(&key(&name))).seconds();
        let of_schedule = |manifest: &mut Manifest| {
            manifest.created_by_schedule = "s".into();
            manifest.run_after = turn;
        };
        world.order(&format!("m{n}"), &name, of_schedule).await;
        turns.push((turn, format!("m{n}")));
    }
    // One that a person ordered runs whatever the schedule does.
    world.cluster("other", SUCCEEDS).await;
    turns.sort();
    let service = world.start().await;
    let rollout = || async { schedules.get("s").await.unwrap().unwrap().value.rollout };
    for (nth, (turn, id)) in turns.iter().enumerate() {
        world.clock.set(Timestamp::from_seconds(turn + 1));
        if nth < 2 {
            world.becomes(id, ManifestState::Failed).await;
            let rollout = rollout().await;
            assert_eq!((rollout.failed.len(), rollout.of, rollout.has_stopped()), (nth + 1, 5, nth == 1));
            assert_eq!(rollout.window, START);
        } else {
            let held = world.becomes(id, ManifestState::Cancelled).await;
            assert!(held.status_text.starts_with("Cancelled: its schedule stopped"), "{held:?}");
        }
    }
    world.order("by-hand", "other", |_| {}).await;
    world.becomes("by-hand", ManifestState::Completed).await;
    service.stop().await;
    assert_eq!(world.tasks.begun.lock().len(), 3, "two of the schedule, and the one by hand");
}
