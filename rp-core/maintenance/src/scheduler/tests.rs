use std::collections::BTreeSet;

use rp_base::{ManualClock, SystemRandom};
use rp_database::{Draft, Expect, in_memory};
use rp_documents::Collection;
use rp_documents::maintenance::{Manifest, ManifestState, Rollout, Schedule, ScheduleState, Selector, Task};
use rp_metrics::Registry;
use serde_json::json;
use tokio::task::JoinSet;

use super::*;

const SUBSCRIPTION: &str = "00000000-0000-0000-0000-000000000001";
const DAY: Duration = Duration::from_hours(24);

fn key(name: &str) -> String {
    format!(
        "/subscriptions/{SUBSCRIPTION}/resourcegroups/g/providers/microsoft.redhatopenshift/openshiftclusters/{name}"
    )
}

struct World {
    clock: ManualClock,
    scheduler: Scheduler,
    passes: HashMap<String, LastPass>,
    stop: CancellationToken,
    assignment: watch::Sender<Assignment>,
    buckets: Buckets,
    _tasks: JoinSet<()>,
}

impl World {
    /// Midday of 27 November 2026, with that many clusters.
    async fn new(clusters: usize) -> Self {
        let clock = ManualClock::at(Timestamp::parse("2026-11-27T12:00:00Z").unwrap());
        let store: SharedStore = in_memory(Arc::new(clock.clone()));
        let subscription = json!({"id": SUBSCRIPTION, "subscription": {"state": "Registered"}});
        put(&store, Collection::Subscriptions, SUBSCRIPTION, None, &subscription).await;
        for n in 0..clusters {
            cluster(&store, &format!("c{n}"), n, "Succeeded").await;
        }
        let (stop, mut tasks, caches) = (CancellationToken::new(), JoinSet::new(), Caches::default());
        caches.start(&store, DAY, "example", &stop, &mut tasks).await.unwrap();
        let scheduler = Scheduler {
            manifests: Typed::new(SharedStore::clone(&store)),
            schedules: Typed::new(SharedStore::clone(&store)),
            store,
            caches,
            settings: rp_config::Maintenance::default(),
            metrics: MaintenanceMetrics::register(&Registry::new()),
            statsd: Statsd::none(),
            random: Arc::new(SystemRandom),
        };
        let assignment = watch::channel(Assignment::none()).0;
        let buckets = Buckets::all();
        Self { clock, scheduler, passes: HashMap::new(), stop, assignment, buckets, _tasks: tasks }
    }

    async fn schedule(&self, id: &str, change: impl FnOnce(&mut Schedule)) {
        let mut schedule = Schedule {
            state: ScheduleState::Enabled,
            maintenance_task_id: Task::FixSsh.id().into(),
            schedule: "*-*-* 4:00".into(),
            look_forward_count: 2,
            schedule_across: "1h".into(),
            selectors: vec![Selector {
                key: "subscriptionState".into(),
                operator: "eq".into(),
                value: "Registered".into(),
                ..Selector::default()
            }],
            ..Schedule::default()
        };
        change(&mut schedule);
        let document =
            ScheduleDocument { id: id.into(), maintenance_schedule: schedule, ..ScheduleDocument::default() };
        let written = self.scheduler.schedules.put(document, Expect::Any).await.unwrap();
        let seen = || self.scheduler.caches.schedules.read().all();
        settled(|| seen().iter().any(|(version, _)| *version == written.version)).await;
    }

    /// One look with all buckets: as a scheduler by itself.
    async fn look(&mut self) {
        let now = self.scheduler.store.now().await.unwrap();
        self.scheduler.take_back_orphans(self.buckets, now).await.unwrap();
        let schedules = self.scheduler.caches.schedules.read().all();
        for (version, schedule) in schedules {
            let last = self.passes.get(&schedule.id);
            if schedule.is_active() && last.is_none_or(|last| last.is_over(version, self.buckets, now)) {
                self.scheduler.pass(&schedule, self.buckets, now).await.unwrap();
                let pass =
                    LastPass { version, buckets: self.buckets, at: now, again: Duration::from_hours(1) };
                self.passes.insert(schedule.id.clone(), pass);
            }
        }
    }

    /// Writes how the latest window of a schedule goes.
    async fn rollout(&self, id: &str, change: impl FnOnce(&mut Rollout)) {
        let mut found = self.scheduler.schedules.get(id).await.unwrap().unwrap();
        change(&mut found.value.rollout);
        let written = self.scheduler.schedules.replace(found).await.unwrap();
        let seen = || self.scheduler.caches.schedules.read().all();
        settled(|| seen().iter().any(|(version, _)| *version == written.version)).await;
    }

    async fn manifests(&self) -> Vec<ManifestDocument> {
        let all = self.scheduler.manifests.all().await.unwrap();
        all.into_iter().map(|found| found.value).collect()
    }

    async fn pending(&self) -> Vec<ManifestDocument> {
        let mut all = self.manifests().await;
        all.retain(|manifest| manifest.maintenance_manifest.state == ManifestState::Pending);
        all
    }

    async fn cancel_by_hand(&self, id: &str) {
        let found = self.scheduler.manifests.get(id).await.unwrap().unwrap();
        let now = self.scheduler.store.now().await.unwrap();
        let cancelled = found.try_map(|one| one.with_state(ManifestState::Cancelled, "", now)).unwrap();
        self.scheduler.manifests.replace(cancelled).await.unwrap();
        settled(|| self.scheduler.caches.open.read().future(now).all(|open| open.id != id)).await;
    }
}

/// Waits until a follower has seen what was written.
async fn settled(seen: impl Fn() -> bool) {
    for _ in 0..10_000 {
        if seen() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    panic!("the cache did not follow");
}

async fn put(store: &SharedStore, of: Collection, id: &str, key: Option<&str>, body: &serde_json::Value) {
    let draft = Draft {
        id: id.into(),
        partition: SUBSCRIPTION.into(),
        unique_key: key.map(Into::into),
        body: body.to_string(),
        expires_at: None,
    };
    store.create(of, draft).await.unwrap();
}

async fn cluster(store: &SharedStore, name: &str, bucket: usize, state: &str) {
    let key = key(name);
    let body = json!({"id": name, "key": key, "partitionKey": SUBSCRIPTION, "bucket": bucket % 256,
        "openShiftCluster": {"id": key, "properties": {"provisioningState": state}}});
    put(store, Collection::OpenShiftClusters, name, Some(&key), &body).await;
}

#[tokio::test]
async fn each_cluster_gets_its_turns_once() {
    let mut world = World::new(20).await;
    world.schedule("s", |_| {}).await;
    for _ in 0..3 {
        world.passes.clear();
        world.look().await;
    }
    let manifests = world.manifests().await;
    assert_eq!(manifests.len(), 40);
    let turns: BTreeSet<_> = manifests
        .iter()
        .map(|one| (one.cluster_resource_id.clone(), one.maintenance_manifest.run_after))
        .collect();
    assert_eq!(turns.len(), 40, "no turn twice");
    for one in &manifests {
        let manifest = &one.maintenance_manifest;
        assert_eq!(manifest.run_before, manifest.run_after + 3600);
        assert_eq!((manifest.state, manifest.created_by_schedule.as_str()), (ManifestState::Pending, "s"));
        let of_day = manifest.run_after.rem_euclid(86_400);
        assert!((4 * 3600..5 * 3600).contains(&of_day), "{of_day}");
    }
}

#[tokio::test]
async fn a_change_cancels_what_no_longer_fits_and_back_again_makes_it_anew() {
    let mut world = World::new(3).await;
    world.schedule("s", |_| {}).await;
    world.look().await;
    world.schedule("s", |schedule| schedule.schedule = "*-*-* 5:00".into()).await;
    world.look().await;
    let states = |all: &[ManifestDocument], state| {
        all.iter().filter(|one| one.maintenance_manifest.state == state).count()
    };
    let all = world.manifests().await;
    assert_eq!((states(&all, ManifestState::Cancelled), states(&all, ManifestState::Pending)), (6, 6));
    let text = "Cancelled by Scheduler as did not match current schedule settings";
    let cancelled =
        all.iter().find(|one| one.maintenance_manifest.state == ManifestState::Cancelled).unwrap();
    assert_eq!(cancelled.maintenance_manifest.status_text, text);
    world.schedule("s", |_| {}).await;
    world.look().await;
    assert_eq!(world.pending().await.len(), 6);
}

#[tokio::test]
async fn what_a_person_cancelled_is_not_made_again() {
    let mut world = World::new(1).await;
    world.schedule("s", |_| {}).await;
    world.look().await;
    let id = world.pending().await[0].id.clone();
    world.cancel_by_hand(&id).await;
    world.passes.clear();
    world.look().await;
    let pending = world.pending().await;
    assert!(pending.len() == 1 && pending[0].id != id);
    assert_eq!(world.manifests().await.len(), 2);
}

#[tokio::test]
async fn disabled_and_deleted_schedules_take_back_what_they_planned() {
    let mut world = World::new(4).await;
    world.schedule("s", |_| {}).await;
    world.schedule("t", |_| {}).await;
    world.look().await;
    assert_eq!(world.pending().await.len(), 16, "schedules that overlap plan each for itself");
    world.schedule("s", |schedule| schedule.state = ScheduleState::Disabled).await;
    world.look().await;
    assert_eq!(world.pending().await.len(), 8);
    world.scheduler.schedules.delete("t", Expect::Any).await.unwrap();
    settled(|| world.scheduler.caches.schedules.read().get("t").is_none()).await;
    world.look().await;
    assert_eq!(world.pending().await.len(), 0);
}

#[tokio::test]
async fn clusters_that_no_longer_match_or_are_deleted_lose_their_turns() {
    let mut world = World::new(2).await;
    world.schedule("s", |_| {}).await;
    world.look().await;
    let store = SharedStore::clone(&world.scheduler.store);
    let deleting = store.get(Collection::OpenShiftClusters, "c0").await.unwrap().unwrap();
    let body = deleting.body.replace("Succeeded", "Deleting");
    store.replace(Collection::OpenShiftClusters, deleting.with_body(body), Expect::Any).await.unwrap();
    settled(|| world.scheduler.caches.clusters.read().get(&key("c0")).is_some_and(|found| found.dropped))
        .await;
    world.passes.clear();
    world.look().await;
    let pending = world.pending().await;
    assert!(pending.len() == 2 && pending.iter().all(|one| one.cluster_resource_id == key("c1")));
    // The state of the subscription counts as it is now, not as it was when the cluster changed.
    let found = store.get(Collection::Subscriptions, SUBSCRIPTION).await.unwrap().unwrap();
    let body = found.body.replace("Registered", "Suspended");
    store.replace(Collection::Subscriptions, found.with_body(body), Expect::Any).await.unwrap();
    let state = || world.scheduler.caches.subscriptions.read().get(SUBSCRIPTION).copied();
    settled(|| state() == Some(rp_documents::SubscriptionState::Suspended)).await;
    world.passes.clear();
    world.look().await;
    assert_eq!(world.pending().await.len(), 0);
}

#[tokio::test]
async fn only_own_clusters_are_planned_for() {
    let mut world = World::new(8).await;
    world.buckets = Buckets::none();
    world.buckets.insert(3);
    world.schedule("s", |_| {}).await;
    world.look().await;
    let pending = world.pending().await;
    assert!(pending.len() == 2 && pending.iter().all(|one| one.cluster_resource_id == key("c3")));
    // A bucket that comes is worked through at once.
    world.buckets.insert(4);
    world.look().await;
    assert_eq!(world.pending().await.len(), 4);
}

#[tokio::test]
async fn a_clock_that_jumps_makes_no_turn_twice() {
    let mut world = World::new(5).await;
    world.schedule("s", |_| {}).await;
    let start = Timestamp::parse("2026-11-27T12:00:00Z").unwrap();
    for hours in [0, 30, 2, 48, 1, 49, 0] {
        world.clock.set(start + Duration::from_hours(hours));
        world.look().await;
    }
    let all = world.manifests().await;
    let turns: BTreeSet<_> = all
        .iter()
        .filter(|one| one.maintenance_manifest.status_text.is_empty())
        .map(|one| (one.cluster_resource_id.clone(), one.maintenance_manifest.run_after))
        .collect();
    let living = all.iter().filter(|one| one.maintenance_manifest.status_text.is_empty()).count();
    assert_eq!(turns.len(), living, "a turn has one manifest that is not taken back");
}

#[tokio::test]
async fn nothing_grows_with_what_is_done() {
    let mut world = World::new(2).await;
    let now = world.scheduler.store.now().await.unwrap();
    for n in 0..300 {
        let document = ManifestDocument::new(format!("old-{n}"), key("c0"), Manifest::default());
        let (document, until) = document.with_state(ManifestState::Cancelled, "", now).unwrap();
        world.scheduler.manifests.create_until(document, until).await.unwrap();
    }
    world.schedule("s", |_| {}).await;
    world.look().await;
    let (mut tasks, caches) = (JoinSet::new(), Caches::default());
    caches.start(&world.scheduler.store, DAY, "example", &world.stop, &mut tasks).await.unwrap();
    assert_eq!(caches.open.read().len(), 4, "only what is open is read");
    world.stop.cancel();
    assert!(world.assignment.subscribe().borrow().buckets(Instant::now()).is_empty());
}

#[tokio::test]
async fn a_schedule_that_stopped_takes_its_waves_back_and_makes_them_again_when_it_goes_on() {
    let mut world = World::new(20).await;
    let window = Timestamp::parse("2026-11-27T13:00:00Z").unwrap();
    let in_waves = |schedule: &mut Schedule| {
        schedule.schedule = "2026-11-27 13:00".into();
        schedule.waves = vec![50, 100];
        schedule.wave_every = "24h".into();
        schedule.stop_at_percent = 10;
    };
    world.schedule("s", in_waves).await;
    world.look().await;
    let second_wave = |all: &[ManifestDocument]| {
        let day = window.seconds() + 86_400;
        all.iter().filter(|one| one.maintenance_manifest.run_after >= day).count()
    };
    let all = world.pending().await;
    let second = second_wave(&all);
    assert_eq!(all.len(), 20);
    assert!((1..20).contains(&second), "{second}");
    let by_hand = all.iter().max_by_key(|one| one.maintenance_manifest.run_after).unwrap().id.clone();
    world.cancel_by_hand(&by_hand).await;

    world.clock.set(window + Duration::from_hours(1));
    world.rollout("s", |rollout| (rollout.window, rollout.stopped) = (window.seconds(), 1)).await;
    world.look().await;
    let all = world.manifests().await;
    let stopped = all.iter().filter(|one| one.maintenance_manifest.status_text == STOPPED).count();
    assert_eq!((stopped, second_wave(&world.pending().await)), (second - 1, 0));
    world.look().await;
    assert_eq!(second_wave(&world.pending().await), 0, "it stays stopped");

    for again in 1..3 {
        world.rollout("s", Rollout::resume).await;
        world.look().await;
        let pending = world.pending().await;
        assert_eq!(second_wave(&pending), second - 1, "what a person cancelled stays cancelled");
        world.rollout("s", |rollout| rollout.stopped = again).await;
        world.look().await;
        assert_eq!(second_wave(&world.pending().await), 0);
    }
}
