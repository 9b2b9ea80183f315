use std::time::Duration;

use rp_base::SystemClock;
use rp_database::{Expect, Typed, in_memory};
use rp_documents::SubscriptionDocument;
use serde_json::json;
use tokio::sync::mpsc;

use super::*;
use crate::service::Emit;

fn subscription(id: &str, state: &str) -> SubscriptionDocument {
    let tenant = json!({"tenantId": "TENANT-A"});
    serde_json::from_value(json!({"id": id, "subscription": {"state": state, "properties": tenant}})).unwrap()
}

const TIMES: FeedTimes =
    FeedTimes { poll: Duration::from_secs(10), page: 2, verify: Duration::from_secs(300) };

fn feed(store: &SharedStore, collection: Collection, sink: Sink) -> Feed {
    let clock: SharedClock = Arc::new(SystemClock);
    Feed::new(store, collection, TIMES, sink, &clock, &Registry::new())
}

#[tokio::test]
async fn subscriptions_in_force_are_kept_with_their_tenant() {
    let store = in_memory(Arc::new(SystemClock));
    let typed: Typed<SubscriptionDocument> = Typed::new(Arc::clone(&store));
    let states = ["Registered", "Unregistered", "Warned", "Suspended", "Deleted"];
    for state in states {
        typed.create(subscription(&state.to_lowercase(), state)).await.unwrap();
    }
    let cache = Subscriptions::default();
    let sink = Sink::Subscriptions { cache: cache.clone(), emit: Emit::none() };
    let mut feed = feed(&store, Collection::Subscriptions, sink);
    assert!(!cache.is_primed());
    feed.poll().await.unwrap();
    assert!(cache.is_primed());
    assert_eq!(cache.tenant("registered").as_deref(), Some("tenant-a"));
    let kept: Vec<bool> = states.iter().map(|state| cache.tenant(&state.to_lowercase()).is_some()).collect();
    assert_eq!(kept, [true, true, false, false, false]);
    // A state that changes, and one that is gone.
    typed.put(subscription("registered", "Suspended"), Expect::Any).await.unwrap();
    typed.put(subscription("warned", "Registered"), Expect::Any).await.unwrap();
    typed.delete("unregistered", Expect::Any).await.unwrap();
    feed.poll().await.unwrap();
    let kept: Vec<bool> = states.iter().map(|state| cache.tenant(&state.to_lowercase()).is_some()).collect();
    assert_eq!(kept, [false, false, true, false, false]);
}

async fn told(events: &mut mpsc::Receiver<Vec<Event>>) -> Vec<String> {
    let mut told = Vec::new();
    while let Ok(page) = events.try_recv() {
        told.extend(page.into_iter().map(|event| match event {
            Event::Seen(view) => format!("seen {}", view.document),
            Event::Unreadable(key) => format!("unreadable {}", key.id),
            Event::Gone(key) => format!("gone {}", key.id),
            Event::Living { ids, .. } => format!("living {}", ids.len()),
        }));
    }
    told
}

fn raw(id: &str, body: String) -> rp_database::Draft {
    rp_database::Draft {
        id: id.to_owned(),
        partition: "p".to_owned(),
        unique_key: None,
        body,
        expires_at: None,
    }
}

fn cluster(id: &str) -> rp_database::Draft {
    let of = rp_documents::ResourceId::from_parts("00000000-0000-0000-0000-000000000001", "g", id).unwrap();
    raw(
        id,
        json!({"id": id, "key": of.key(), "partitionKey": of.subscription(),
            "openShiftCluster": {"id": of, "properties": {"provisioningState": "Succeeded"}}})
        .to_string(),
    )
}

#[tokio::test]
async fn deletions_are_told_and_a_damaged_document_stops_nothing() {
    const CLUSTERS: Collection = Collection::OpenShiftClusters;
    let store = in_memory(Arc::new(SystemClock));
    let (to, mut events) = mpsc::channel(100);
    let mut feed = feed(&store, CLUSTERS, Sink::Clusters { to, imported: false });
    store.create(CLUSTERS, cluster("a")).await.unwrap();
    store.create(CLUSTERS, raw("b", "{]".to_owned())).await.unwrap();
    store.create(CLUSTERS, cluster("c")).await.unwrap();
    feed.poll().await.unwrap();
    assert_eq!(told(&mut events).await, ["seen a", "unreadable b", "seen c"]);
    store.delete(CLUSTERS, "a", Expect::Any).await.unwrap();
    feed.poll().await.unwrap();
    assert_eq!(told(&mut events).await, ["gone a"]);
    assert!(feed.polled().at().is_some());
    // The known ids agree with the store.
    feed.verify().await.unwrap();
    assert!(told(&mut events).await.is_empty());
    // A follower with a different history reads everything again.
    feed.ids.insert("ghost".into());
    feed.verify().await.unwrap();
    assert_eq!(told(&mut events).await, ["unreadable b", "seen c", "living 2"]);
    feed.cursor += 1000;
    feed.verify().await.unwrap();
    assert_eq!(told(&mut events).await.last().map(String::as_str), Some("living 2"));
}

#[tokio::test]
async fn a_store_that_is_away_leaves_the_time_of_the_last_poll() {
    let store = in_memory(Arc::new(SystemClock));
    let (to, _events) = mpsc::channel(100);
    let mut feed = feed(&store, Collection::OpenShiftClusters, Sink::Clusters { to, imported: false });
    feed.poll().await.unwrap();
    let before = feed.polled().at();
    store.close().await;
    feed.poll().await.unwrap_err();
    assert_eq!(feed.polled().at(), before);
}
