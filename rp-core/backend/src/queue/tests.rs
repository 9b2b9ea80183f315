use std::collections::HashSet;

use proptest::prelude::*;

use super::*;

const BOUNDS: Bounds = Bounds { others: 9, per_subscription: 5 };

fn seen(version: i64, subscription: &str, deleting: bool, due: Instant) -> Observation {
    let subscription = subscription.into();
    Observation { version: Version(version), subscription, deleting, owned: false, due, cached: None }
}

fn ids(queue: &mut Queue, now: Instant, most: usize) -> Vec<String> {
    (0..most).map_while(|_| queue.pick(now).map(|picked| picked.id.into())).collect()
}

#[tokio::test]
async fn subscriptions_take_turns_and_none_has_all() {
    let (mut queue, now) = (Queue::new(BOUNDS), Instant::now());
    for n in 0..20 {
        queue.observe(&format!("many-{n:02}"), seen(1, "many", false, now), now);
    }
    queue.observe("few-0", seen(1, "few", false, now), now);
    queue.observe("few-1", seen(1, "few", false, now), now);
    let picked = ids(&mut queue, now, 100);
    assert_eq!(picked, ["many-00", "few-0", "many-01", "few-1", "many-02", "many-03", "many-04"]);
    // A place that becomes free goes to who waits longest.
    queue.release(
        &QueuedDocument { id: "many-00".into(), version: Version(1) },
        true,
        Duration::from_secs(1),
        now,
    );
    assert_eq!(ids(&mut queue, now, 100), ["many-05"]);
}

#[tokio::test]
async fn deletions_have_every_other_turn_and_places_of_their_own() {
    let bounds = Bounds { others: 3, per_subscription: 100 };
    let (mut queue, now) = (Queue::new(bounds), Instant::now());
    for n in 0..5 {
        queue.observe(&format!("create-{n}"), seen(1, "s", false, now), now);
    }
    assert_eq!(ids(&mut queue, now, 100), ["create-0", "create-1", "create-2"]);
    for n in 0..2 {
        queue.observe(&format!("delete-{n}"), seen(1, "s", true, now), now);
    }
    assert_eq!(ids(&mut queue, now, 100), ["delete-0", "delete-1"]);
    queue.release(
        &QueuedDocument { id: "create-0".into(), version: Version(1) },
        true,
        Duration::from_secs(1),
        now,
    );
    queue.observe("delete-2", seen(1, "s", true, now), now);
    assert_eq!(ids(&mut queue, now, 100), ["create-3", "delete-2"]);
}

#[tokio::test]
async fn what_is_told_of_while_it_is_at_work_has_no_pause_afterwards() {
    let later = Duration::from_secs(600);
    for seen_first in [true, false] {
        let (mut queue, now) = (Queue::new(BOUNDS), Instant::now());
        queue.observe("s", seen(1, "s", false, now), now);
        let picked = queue.pick(now).unwrap();
        queue.observe("s", Observation { owned: true, ..seen(2, "s", false, now + later) }, now);
        queue.nudge("s", now);
        // The worker found something left to wait for, and wrote a long pause.
        if seen_first {
            queue.observe("s", seen(3, "s", false, now + later), now);
            queue.release(&picked, true, Duration::from_secs(2), now);
        } else {
            queue.release(&picked, true, Duration::from_secs(2), now);
            assert_eq!(queue.pick(now), None, "its worker's last write is not seen yet");
            queue.observe("s", seen(3, "s", false, now + later), now);
        }
        let again = queue.pick(now).unwrap();
        assert_eq!(again.version, Version(3));
        // Once.
        queue.observe("s", seen(4, "s", false, now + later), now);
        queue.release(&again, true, Duration::from_secs(2), now);
        assert_eq!((queue.pick(now), queue.next_due()), (None, Some(now + later)));
    }
}

#[tokio::test]
async fn what_is_told_of_before_the_workers_last_write_is_seen_has_no_pause_either() {
    let later = Duration::from_secs(600);
    let (mut queue, now) = (Queue::new(BOUNDS), Instant::now());
    queue.observe("s", seen(1, "s", false, now), now);
    let picked = queue.pick(now).unwrap();
    queue.observe("s", Observation { owned: true, ..seen(2, "s", false, now + later) }, now);
    queue.release(&picked, true, Duration::from_secs(2), now);
    queue.nudge("s", now);
    assert_eq!(queue.pick(now), None, "as far as is known it is at work");
    queue.observe("s", seen(3, "s", false, now + later), now);
    assert_eq!(queue.pick(now).unwrap().version, Version(3));
}

/// What it picked was older than the pause that its own last turn had written, so somebody else seemed to be faster.
#[tokio::test]
async fn what_was_told_of_before_a_turn_that_was_beaten_is_not_lost() {
    let (later, rest) = (Duration::from_secs(600), Duration::from_secs(2));
    for seen_first in [true, false] {
        let (mut queue, now) = (Queue::new(BOUNDS), Instant::now());
        queue.observe("s", seen(1, "s", false, now), now);
        let picked = queue.pick(now).unwrap();
        // It wrote a pause, of which nothing was read yet.
        queue.release(&picked, true, rest, now);
        queue.nudge("s", now);
        let beaten = queue.pick(now).unwrap();
        assert_eq!(beaten.version, Version(1));
        if seen_first {
            queue.observe("s", seen(3, "s", false, now + later), now);
            queue.release(&beaten, false, rest, now);
        } else {
            queue.release(&beaten, false, rest, now);
            queue.observe("s", seen(3, "s", false, now + later), now);
        }
        assert_eq!(queue.pick(now).map(|picked| picked.version), Some(Version(3)));
    }
}

#[tokio::test]
async fn a_subscription_with_all_its_places_taken_still_deletes() {
    let (mut queue, now) = (Queue::new(BOUNDS), Instant::now());
    for n in 0..9 {
        queue.observe(&format!("create-{n}"), seen(1, "s", false, now), now);
    }
    assert_eq!(ids(&mut queue, now, 100).len(), BOUNDS.per_subscription);
    queue.observe("delete", seen(1, "s", true, now), now);
    assert_eq!(ids(&mut queue, now, 100), ["delete"]);
}

#[tokio::test]
async fn a_lease_is_waited_for_and_its_renewal_too() {
    let (mut queue, now) = (Queue::new(BOUNDS), Instant::now());
    let second = Duration::from_secs(1);
    queue.observe("a", Observation { owned: true, ..seen(1, "s", false, now + 5 * second) }, now);
    assert_eq!(queue.pick(now), None);
    assert_eq!(queue.next_due(), Some(now + 5 * second));
    queue.observe("a", Observation { owned: true, ..seen(2, "s", false, now + 9 * second) }, now);
    assert_eq!(queue.pick(now + 6 * second), None);
    // What comes late says nothing.
    queue.observe("a", seen(1, "s", false, now), now);
    assert_eq!(queue.pick(now + 6 * second), None);
    queue.nudge("a", now);
    assert_eq!(queue.pick(now + 6 * second), None, "a lease is not nudged away");
    let picked = queue.pick(now + 9 * second).unwrap();
    assert_eq!(picked, QueuedDocument { id: "a".into(), version: Version(2) });
    // Its end is heard of while it is at work here.
    assert!(queue.forget("a", Some(Version(3))).is_some());
    assert_eq!(queue.known(), 1);
    queue.release(&picked, true, second, now + 9 * second);
    assert_eq!(queue.known(), 0);
}

#[tokio::test]
async fn who_was_beaten_rests_until_something_newer_is_seen() {
    let (mut queue, now) = (Queue::new(BOUNDS), Instant::now());
    let second = Duration::from_secs(1);
    queue.observe("a", seen(1, "s", false, now), now);
    let picked = queue.pick(now).unwrap();
    queue.release(&picked, true, second, now);
    assert_eq!(queue.pick(now), None);
    queue.observe("a", seen(2, "s", false, now), now);
    assert!(queue.pick(now).is_some());
}

#[tokio::test]
async fn a_store_that_went_back_is_believed() {
    let (mut queue, now) = (Queue::new(BOUNDS), Instant::now());
    let second = Duration::from_secs(1);
    for id in ["owned", "gone", "held"] {
        queue.observe(id, seen(100, "s", false, now), now);
    }
    let held = ids(&mut queue, now, 3);
    assert_eq!(held, ["owned", "gone", "held"]);
    let picked = |id: &str| QueuedDocument { id: id.into(), version: Version(100) };
    queue.release(&picked("owned"), true, second, now);
    queue.release(&picked("gone"), true, second, now);
    queue.reset_versions();
    // Of an earlier version: somebody had it then, and renews it or not.
    let lease = Observation { owned: true, ..seen(90, "s", false, now + 5 * second) };
    queue.observe("owned", lease, now);
    queue.observe("held", seen(90, "s", false, now), now);
    queue.retain(&["owned".into(), "held".into()].into());
    queue.release(&picked("held"), true, second, now);
    assert_eq!(queue.known(), 2);
    assert_eq!(ids(&mut queue, now + 2 * second, 3), ["held"]);
    assert_eq!(ids(&mut queue, now + 6 * second, 3), ["owned"]);
}

#[derive(Debug, Clone)]
enum QueueAction {
    See(u8, bool, i8),
    Forget(u8),
    Pick,
    Release(u8),
    Wait(u8),
    Nudge(u8),
}

fn queue_action() -> impl Strategy<Value = QueueAction> {
    prop_oneof![
        (0..12u8, any::<bool>(), -2..5i8).prop_map(|(id, deleting, due)| QueueAction::See(id, deleting, due)),
        (0..12u8).prop_map(QueueAction::Forget),
        Just(QueueAction::Pick),
        (0..12u8).prop_map(QueueAction::Release),
        (0..4u8).prop_map(QueueAction::Wait),
        (0..12u8).prop_map(QueueAction::Nudge),
    ]
}

proptest! {
    /// Whatever comes in whatever order: nothing is at work twice, bounds hold, and what has work is handed out at
    /// last.
    #[test]
    fn nothing_is_handed_out_twice_and_nothing_is_forgotten(acts in prop::collection::vec(queue_action(), 1..300)) {
        let bounds = Bounds { others: 3, per_subscription: 2 };
        let mut queue = Queue::new(bounds);
        let mut now = Instant::now();
        let (mut version, mut work, mut held) = (0i64, HashSet::<u8>::new(), Vec::<(u8, QueuedDocument)>::new());
        let name = |id: u8| format!("{id}");
        for act in acts {
            match act {
                QueueAction::See(id, deleting, due) => {
                    version += 1;
                    let due = if due < 0 { now } else { now + Duration::from_secs(due.unsigned_abs().into()) };
                    queue.observe(&name(id), seen(version, &format!("s{}", id % 3), deleting, due), now);
                    work.insert(id);
                }
                QueueAction::Forget(id) => {
                    version += 1;
                    queue.forget(&name(id), Some(Version(version)));
                    work.remove(&id);
                }
                QueueAction::Pick => {
                    if let Some(picked) = queue.pick(now) {
                        let id: u8 = picked.id.parse().unwrap();
                        prop_assert!(held.iter().all(|(other, _)| *other != id), "{id} twice");
                        prop_assert!(work.contains(&id), "{id} has no work");
                        held.push((id, picked));
                        for of in 0..3 {
                            // Two deletions and two others.
                            prop_assert!(held.iter().filter(|(id, _)| id % 3 == of).count() <= 4);
                        }
                        prop_assert!(queue.others <= 3);
                    }
                }
                QueueAction::Release(id) => {
                    if let Some(at) = held.iter().position(|(other, _)| *other == id) {
                        let (_, picked) = held.remove(at);
                        queue.release(&picked, true, Duration::from_secs(1), now);
                    }
                }
                QueueAction::Wait(seconds) => now += Duration::from_secs(seconds.into()),
                QueueAction::Nudge(id) => queue.nudge(&name(id), now),
            }
        }
        for (_, picked) in held.drain(..) {
            queue.release(&picked, true, Duration::ZERO, now);
        }
        now += Duration::from_secs(60);
        let mut left = HashSet::new();
        while let Some(picked) = queue.pick(now) {
            left.insert(picked.id.parse::<u8>().unwrap());
            queue.forget(&picked.id, None);
            queue.release(&picked, true, Duration::ZERO, now);
        }
        prop_assert_eq!(left, work);
        prop_assert_eq!(queue.known(), 0);
        prop_assert_eq!((queue.others, queue.waiting.len()), (0, 0));
        prop_assert!(queue.busy.iter().all(HashMap::is_empty));
    }
}
