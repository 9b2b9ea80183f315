use rp_base::{Clock as _, ManualClock, SharedClock, Timestamp};
use rp_database::in_memory;
use rp_documents::maintenance::{Manifest, Times};

use super::*;
use crate::fleet_maintenance::{FleetMaintenance, LATELY};

const START: Timestamp = Timestamp::from_seconds(1_800_000_000);

struct World {
    clock: ManualClock,
    store: SharedStore,
}

impl World {
    fn new() -> Self {
        let clock = ManualClock::at(START);
        let store: SharedStore = in_memory(Arc::new(clock.clone()));
        Self { clock, store }
    }

    /// A manifest that may start so many seconds after the beginning.
    async fn plan(&self, id: &str, cluster: &str, after: i64) {
        let times = Times { run_after: START.seconds() + after, run_before: 0 };
        let manifest = Manifest::ordered(Task::FixSsh.id(), 0, times, START);
        let document = ManifestDocument::new(id, cluster, manifest);
        manifests(&self.store).create(document).await.unwrap();
    }

    async fn becomes(&self, id: &str, states: &[ManifestState]) {
        for state in states {
            let found = manifests(&self.store).get(id).await.unwrap().unwrap();
            let changed = found.try_map(|one| one.with_state(*state, "", self.clock.now())).unwrap();
            manifests(&self.store).replace(changed).await.unwrap();
        }
    }
}

fn ids<'a>(all: impl IntoIterator<Item = &'a ManifestDocument>) -> Vec<&'a str> {
    all.into_iter().map(|one| one.id.as_str()).collect()
}

#[test]
fn a_task_is_found_by_id_and_by_name() {
    assert_eq!(task_named(" fix ssh "), Some(Task::FixSsh));
    assert_eq!(task_named(Task::FixSsh.id()), Some(Task::FixSsh));
    assert_eq!(task_named(""), None);
    assert_eq!(task_name("unknown-id"), "unknown-id");
}

#[tokio::test]
async fn a_cluster_has_what_runs_what_waits_and_the_newest_of_what_is_over() {
    use ManifestState::{Cancelled, Completed, InProgress};
    let world = World::new();
    for (id, after) in [("late", 900), ("soon", 60), ("runs", 0), ("old", 0), ("new", 0)] {
        world.plan(id, "/c", after).await;
    }
    world.plan("other", "/c2", 0).await;
    world.becomes("runs", &[InProgress]).await;
    world.becomes("old", &[Cancelled]).await;
    world.clock.advance(std::time::Duration::from_secs(5));
    world.becomes("new", &[InProgress, Completed]).await;
    let found = of_cluster(&world.store, "/c").await.unwrap();
    assert_eq!(ids(&found), ["runs", "soon", "late", "new", "old"]);
}

#[tokio::test]
async fn open_manifests_come_in_parts_until_the_end() {
    let world = World::new();
    for n in 0..5 {
        world.plan(&format!("m{n}"), &format!("/c{}", n % 2), 60).await;
    }
    world.becomes("m3", &[ManifestState::Cancelled]).await;
    let (mut seen, mut next) = (Vec::new(), None::<String>);
    loop {
        let page = open_page(&world.store, next.as_deref(), 3).await.unwrap();
        assert!(page.items.len() <= 3);
        seen.extend(page.items.into_iter().map(|one| one.id));
        next = page.next;
        if next.is_none() {
            break;
        }
    }
    assert_eq!(seen, ["m0", "m2", "m4", "m1"], "by the cluster");
    for bad in ["", "x", "open/c", "/c\n", "/c\0", &format!("/{}", "c".repeat(1_000))] {
        let refused = open_page(&world.store, Some(bad), 3).await.unwrap_err();
        assert_eq!((refused.status.as_u16(), refused.code), (400, "bad_request"), "{bad:?}");
    }
}

#[tokio::test]
async fn the_fleet_shows_what_is_open_and_what_failed_lately() {
    use ManifestState::{Completed, Failed, InProgress, TimedOut};
    let world = World::new();
    for (id, after) in [("late", 900), ("soon", 60), ("runs", 0), ("done", 0), ("failed", 0), ("missed", 0)] {
        world.plan(id, "/c", after).await;
    }
    world.becomes("runs", &[InProgress]).await;
    world.becomes("done", &[InProgress, Completed]).await;
    world.becomes("failed", &[InProgress, Failed]).await;
    world.clock.advance(std::time::Duration::from_secs(5));
    world.becomes("missed", &[TimedOut]).await;
    let clock: SharedClock = Arc::new(world.clock.clone());
    let fleet = FleetMaintenance::start(&world.store, &clock);
    until(|| fleet.select(|_| true).complete).await;
    let all = fleet.select(|_| true);
    assert_eq!(ids(all.running.iter().map(AsRef::as_ref)), ["runs"]);
    assert_eq!(ids(all.waiting.iter().map(AsRef::as_ref)), ["soon", "late"]);
    assert_eq!(ids(all.failed.iter().map(AsRef::as_ref)), ["missed", "failed"]);
    let none = fleet.select(|one| one.cluster_resource_id == "/other");
    assert!(none.running.is_empty() && none.waiting.is_empty() && none.failed.is_empty());
    world.becomes("soon", &[ManifestState::Cancelled]).await;
    until(|| fleet.select(|_| true).waiting.len() == 1).await;
    world.clock.advance(LATELY);
    assert!(fleet.select(|_| true).failed.is_empty(), "what failed a week ago is not shown");
}

/// Waits until a follower has seen what was written.
async fn until(seen: impl Fn() -> bool) {
    let waited = async {
        while !seen() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(60), waited).await.unwrap();
}
