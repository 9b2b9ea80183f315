//! Tests of watches against an in-process API server with injected faults.

mod server;

use std::sync::Arc;
use std::time::Duration;

use rp_base::{SystemClock, SystemRandom};
use rp_documents::ResourceId;
use rp_metrics::Registry;
use rp_net::{Budget, Dialer, DialerOptions, Networks, PrivateWay};
use rp_rows::Status;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::{ClusterSnapshot, Kind, ObserveLimits, Observer, ObserverParts, SliceState, WatchGuard};
use server::{Api, ServerMode, SingleTarget};

const NODES: &str = "/api/v1/nodes";
const PODS: &str = "/api/v1/pods";
const EVENTS: &str = "/api/v1/events";
const OPERATORS: &str = "/apis/config.openshift.io/v1/clusteroperators";
const GENEROUS: Duration = Duration::from_secs(60);

fn id() -> ResourceId {
    ResourceId::imported("c").unwrap()
}

fn quick() -> ObserveLimits {
    ObserveLimits {
        linger: Duration::from_millis(200),
        every: Duration::from_millis(50),
        head: GENEROUS,
        silence: GENEROUS,
        ask_again: Duration::from_millis(200),
        longest_back_off: Duration::from_millis(500),
        ..ObserveLimits::default()
    }
}

fn observer(api: &Arc<Api>, limits: ObserveLimits) -> Observer {
    observer_with(api, limits, &Registry::new())
}

fn observer_with(api: &Arc<Api>, limits: ObserveLimits, registry: &Registry) -> Observer {
    let options = DialerOptions {
        private: PrivateWay::Direct,
        networks: Networks::new(vec!["127.0.0.0/8".parse().unwrap()], Vec::new()),
        keepalive: Duration::from_secs(30),
    };
    Observer::new(ObserverParts {
        dialer: Dialer::new(options),
        directory: Arc::new(SingleTarget(Arc::clone(api))),
        clock: Arc::new(SystemClock),
        random: Arc::new(SystemRandom),
        registry: registry.clone(),
        budget: Budget::unlimited(),
        limits,
    })
}

fn node(name: &str, ready: &str) -> Value {
    json!({"metadata": {"name": name}, "status": {"conditions": [{"type": "Ready", "status": ready}]}})
}

fn pod(namespace: &str, name: &str) -> Value {
    json!({"metadata": {"namespace": namespace, "name": name}, "status": {"phase": "Running"}})
}

/// Waits until the snapshot fulfils `is_it`.
async fn until(
    viewing: &WatchGuard,
    what: &str,
    is_it: impl Fn(&ClusterSnapshot) -> bool,
) -> Arc<ClusterSnapshot> {
    let mut changed = viewing.changed();
    let found = timeout(GENEROUS, async {
        loop {
            let snapshot = viewing.snapshot();
            if is_it(&snapshot) {
                return snapshot;
            }
            changed.changed().await.unwrap();
        }
    });
    match found.await {
        Ok(snapshot) => snapshot,
        Err(_) => {
            let seen = viewing.snapshot();
            let seen: Vec<_> = viewing.kinds().iter().map(|kind| seen.summary(*kind)).collect();
            panic!("{what}; last seen: {seen:?}")
        }
    }
}

/// Waits for a condition on the server.
async fn eventually(what: &str, is_it: impl Fn() -> bool) {
    let wait = async {
        while !is_it() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    assert!(timeout(GENEROUS, wait).await.is_ok(), "{what}");
}

#[tokio::test]
async fn what_changes_is_seen_and_the_version_moves_with_bookmarks() {
    let api = Api::start().await;
    api.put(NODES, node("a", "True"));
    let observer = observer(&api, quick());
    let viewing = observer.watch(&id(), &[Kind::Nodes]);
    let first = viewing.settled(GENEROUS).await;
    assert_eq!((first.nodes.items.len(), &first.nodes.state), (1, &SliceState::Live));
    api.put(NODES, node("b", "False"));
    api.put(NODES, node("a", "Unknown"));
    let both = until(&viewing, "two nodes", |all| all.nodes.items.len() == 2).await;
    assert_eq!(both.nodes.items[1].ready, Status::False);
    until(&viewing, "a is unknown", |all| all.nodes.items[0].ready == Status::Unknown).await;
    api.remove(NODES, "a");
    until(&viewing, "one node", |all| all.nodes.items.len() == 1).await;
    // The next watch begins at the bookmark, and a watch that ends normally needs no new list.
    api.bookmark();
    let heard = || viewing.snapshot().nodes.as_of;
    let before = heard();
    eventually("the bookmark is heard", || heard() > before).await;
    api.cut();
    eventually("another watch is open", || api.watches(NODES) == 2 && api.open(NODES) == 1).await;
    assert_eq!(api.began().last(), Some(&105));
    assert_eq!(api.lists(NODES), 1);
    api.stop();
}

#[tokio::test]
async fn fifty_viewers_share_one_watch_which_ends_a_while_after_the_last() {
    let api = Api::start().await;
    api.put(NODES, node("a", "True"));
    let registry = Registry::new();
    let observer = observer_with(&api, quick(), &registry);
    let viewers: Vec<_> = (0..50).map(|_| observer.watch(&id(), &[Kind::Nodes, Kind::Operators])).collect();
    for viewing in &viewers {
        assert_eq!(viewing.settled(GENEROUS).await.nodes.items.len(), 1);
    }
    assert_eq!((api.lists(NODES), api.watches(NODES), api.lists(OPERATORS)), (1, 1, 1));
    let text = registry.render();
    assert!(text.contains("aro_observe_viewers{kind=\"nodes\"} 50"), "{text}");
    assert!(text.contains("aro_observe_watches{kind=\"nodes\"} 1"), "{text}");
    drop(viewers);
    // A viewer that returns in time finds the watch still open.
    let again = observer.watch(&id(), &[Kind::Nodes]);
    eventually("nobody watches operators", || api.open(OPERATORS) == 0).await;
    assert_eq!(api.open(NODES), 1);
    drop(again);
    eventually("nobody watches nodes", || api.open(NODES) == 0).await;
    // The last known state stays, with its age.
    let known = observer.last_known(&id()).unwrap();
    assert_eq!(known.nodes.items.len(), 1);
    assert!(matches!(&known.nodes.state, SliceState::Stale { why, .. } if why.as_str() == "Nobody looked."));
    let later = observer.watch(&id(), &[Kind::Nodes]);
    assert_eq!(later.snapshot().nodes.items.len(), 1, "shown at once");
    until(&later, "live again", |all| all.nodes.state == SliceState::Live).await;
    assert_eq!(api.lists(NODES), 2);
    api.stop();
}

#[tokio::test]
async fn an_expired_version_is_listed_again() {
    let api = Api::start().await;
    api.put(NODES, node("a", "True"));
    let observer = observer(&api, quick());
    let viewing = observer.watch(&id(), &[Kind::Nodes]);
    viewing.settled(GENEROUS).await;
    eventually("a watch is open", || api.open(NODES) == 1).await;
    // What changed while the version expired comes with the list.
    api.put(NODES, node("b", "True"));
    api.compact();
    until(&viewing, "two nodes, live", |all| {
        all.nodes.items.len() == 2 && all.nodes.state == SliceState::Live
    })
    .await;
    eventually("a watch is open again", || api.open(NODES) == 1).await;
    api.put(NODES, node("c", "True"));
    until(&viewing, "three nodes", |all| all.nodes.items.len() == 3).await;
    api.stop();
}

#[tokio::test]
async fn a_refused_kind_says_so_and_the_others_live() {
    let api = Api::start().await;
    api.put(NODES, node("a", "True"));
    api.mood(PODS, ServerMode::Forbidden);
    api.mood(OPERATORS, ServerMode::Missing);
    let observer = observer(&api, quick());
    let viewing = observer.watch(&id(), &[Kind::Nodes, Kind::Pods, Kind::Operators]);
    let all = viewing.settled(GENEROUS).await;
    assert_eq!(all.nodes.state, SliceState::Live);
    assert_eq!(all.operators.state, SliceState::Missing);
    let SliceState::Forbidden(why) = &all.pods.state else { panic!("{:?}", all.pods.state) };
    assert!(
        why.as_str().contains("does not let us read pods") && why.as_str().contains("cannot list"),
        "{why}"
    );
    // When permissions and kinds are added later, the list is retried.
    api.put(PODS, pod("openshift-dns", "p"));
    api.mood(PODS, ServerMode::Well);
    api.mood(OPERATORS, ServerMode::Well);
    until(&viewing, "pods and operators", |all| {
        all.pods.items.len() == 1 && all.operators.state == SliceState::Live
    })
    .await;
    api.stop();
}

#[tokio::test]
async fn a_cluster_that_goes_away_leaves_what_was_seen() {
    let api = Api::start().await;
    api.put(NODES, node("a", "True"));
    // A cluster that is not in the list any more is noticed when its watch is opened anew.
    let limits = ObserveLimits { head: Duration::from_secs(2), silence: Duration::from_secs(2), ..quick() };
    let observer = observer(&api, limits);
    let viewing = observer.watch(&id(), &[Kind::Nodes]);
    viewing.settled(GENEROUS).await;
    for (mood, says) in [(ServerMode::Silent, "in time"), (ServerMode::Broken, "leader changed")] {
        api.mood(NODES, mood);
        let stale = until(
            &viewing,
            "stale",
            |all| matches!(&all.nodes.state, SliceState::Stale { why, .. } if why.as_str().contains(says)),
        );
        assert_eq!(stale.await.nodes.items.len(), 1);
    }
    api.mood(NODES, ServerMode::Well);
    until(&viewing, "live again", |all| all.nodes.state == SliceState::Live).await;
    api.forget();
    until(&viewing, "not in the list", |all| {
        all.nodes.state.why().is_some_and(|why| why.contains("not in the list any more"))
    })
    .await;
    api.stop();
}

#[tokio::test]
async fn a_cluster_that_never_answered_fails_with_a_reason() {
    let api = Api::start().await;
    api.stop();
    let observer = observer(&api, quick());
    let viewing = observer.watch(&id(), &[Kind::Nodes]);
    let all = viewing.settled(GENEROUS).await;
    assert!(matches!(all.nodes.state, SliceState::Failed(_)), "{:?}", all.nodes.state);
    assert!(all.nodes.as_of.is_none());
}

#[tokio::test]
async fn a_watch_that_falls_silent_is_opened_anew() {
    let api = Api::start().await;
    api.put(NODES, node("a", "True"));
    let limits = ObserveLimits { silence: Duration::from_secs(1), ..quick() };
    let observer = observer(&api, limits);
    let viewing = observer.watch(&id(), &[Kind::Nodes]);
    viewing.settled(GENEROUS).await;
    eventually("a third watch", || api.watches(NODES) >= 3).await;
    assert_eq!(api.lists(NODES), 1);
    assert_eq!(viewing.snapshot().nodes.state, SliceState::Live);
    api.stop();
}

#[tokio::test]
async fn three_hundred_nodes_and_twenty_thousand_pods_come_in_pages_and_are_bounded() {
    let api = Api::start().await;
    for n in 0..300 {
        let annotations = if n == 0 { json!({"big": "x".repeat(1_000_000)}) } else { json!({}) };
        let conditions: Vec<_> = (0..if n == 1 { 5_000 } else { 5 })
            .map(|c| json!({"type": format!("C{c}"), "status": "True", "message": "m"}))
            .collect();
        api.put(
            NODES,
            json!({"metadata": {"name": format!("n{n:03}"), "annotations": annotations},
            "status": {"conditions": conditions}}),
        );
    }
    for n in 0..20_500 {
        let namespace = if n % 41 == 0 { "shop" } else { "openshift-dns" };
        api.put(PODS, pod(namespace, &format!("p{n:05}")));
    }
    for n in 0..4_000 {
        let at = rp_base::Timestamp::from_seconds(1_700_000_000 + n);
        api.put(
            EVENTS,
            json!({"metadata": {"namespace": "openshift-dns", "name": format!("e{n}")}, "lastTimestamp": at}),
        );
    }
    let observer = observer(&api, ObserveLimits { head: GENEROUS, ..quick() });
    let viewing = observer.watch(&id(), &[Kind::Nodes, Kind::Pods, Kind::Events]);
    // The continue token expires in the middle of the list: the list starts again.
    api.expire_token();
    let all = until(&viewing, "all are live", |all| {
        [&all.nodes.state, &all.pods.state, &all.events.state]
            .into_iter()
            .all(|state| *state == SliceState::Live)
    })
    .await;
    assert_eq!(all.nodes.items.len(), 300);
    assert!(all.nodes.items[1].conditions.len() <= 200);
    // Of 20,500 pods 500 are the customer's.
    assert_eq!((all.pods.items.len(), all.pods.left_out), (20_000, 0));
    assert!(all.events.items.len() <= 3_000 && all.events.items.len() > 2_000);
    assert_eq!(all.events.items[0].meta.name, "e3999", "the newest first");
    api.put(PODS, pod("openshift-dns", "one-more"));
    until(&viewing, "one is left out", |all| all.pods.left_out == 1).await;
    api.stop();
}

#[tokio::test]
async fn clusters_that_nobody_looks_at_are_forgotten_beyond_a_number() {
    let api = Api::start().await;
    api.put(NODES, node("a", "True"));
    let observer = observer(&api, ObserveLimits { kept: 2, clusters: 3, ..quick() });
    let cluster = |n: usize| ResourceId::imported(&format!("c{n}")).unwrap();
    let held: Vec<_> = (0..3).map(|n| observer.watch(&cluster(n), &[Kind::Nodes])).collect();
    for viewing in &held {
        viewing.settled(GENEROUS).await;
    }
    let fourth = observer.watch(&cluster(3), &[Kind::Nodes]);
    let refused = fourth.settled(GENEROUS).await;
    assert!(
        refused.nodes.state.why().is_some_and(|why| why.contains("Too many clusters")),
        "{:?}",
        refused.nodes
    );
    drop(fourth);
    drop(held);
    let known = || (0..4).filter(|n| observer.last_known(&cluster(*n)).is_some()).collect::<Vec<_>>();
    eventually("two are kept", || known().len() == 2).await;
    api.stop();
}

#[tokio::test]
async fn changes_are_told_a_few_times_a_second_however_many_there_are() {
    let api = Api::start().await;
    api.put(NODES, node("n", "True"));
    let observer = observer(&api, ObserveLimits { every: Duration::from_millis(500), ..quick() });
    let viewing = observer.watch(&id(), &[Kind::Nodes]);
    viewing.settled(GENEROUS).await;
    eventually("a watch is open", || api.open(NODES) == 1).await;
    let mut changed = viewing.changed();
    let began = std::time::Instant::now();
    let told = tokio::spawn(async move {
        let mut told = 0;
        while changed.changed().await.is_ok() {
            told += 1;
            if told > 10_000 {
                break;
            }
        }
        told
    });
    for n in 0..2_000 {
        api.put(NODES, node(&format!("n{n}"), "True"));
    }
    until(&viewing, "all nodes", |all| all.nodes.items.len() >= 2_000).await;
    let took = began.elapsed();
    drop(viewing);
    drop(observer);
    api.stop();
    let told = timeout(GENEROUS, told).await.unwrap().unwrap();
    let most = took.as_millis() / 500 + 4;
    assert!(u128::from(told as u32) <= most, "{told} in {took:?}");
}
