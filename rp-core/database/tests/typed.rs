//! Typed documents: what `Typed` and `update` add to the store.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::sync::Arc;
use std::time::Duration;

use rp_base::{Clock as _, ManualClock, Timestamp};
use rp_database::{Draft, Expect, SharedStore, StoreError, Typed, in_memory, update};
use rp_documents::{ClusterHealth, Collection};

fn store() -> (SharedStore, ManualClock) {
    let clock = ManualClock::at(Timestamp::from_seconds(1_795_230_720));
    (in_memory(Arc::new(clock.clone())), clock)
}

fn health(id: &str) -> ClusterHealth {
    serde_json::from_value(serde_json::json!({ "id": id, "looked_at": "2026-11-21T03:12:00Z" })).unwrap()
}

fn raw(id: &str, body: &str) -> Draft {
    Draft {
        id: id.to_owned(),
        partition: id.to_owned(),
        unique_key: None,
        body: body.to_owned(),
        expires_at: None,
    }
}

#[tokio::test]
async fn reads_what_it_wrote() {
    let (store, _) = store();
    let typed = Typed::<ClusterHealth>::new(store);
    let made = typed.create(health("a")).await.unwrap();
    assert_eq!(typed.get("a").await.unwrap(), Some(made.clone()));
    assert_eq!(typed.get("b").await.unwrap(), None);
    let mut changed = made.clone();
    changed.value.nodes = 5;
    let changed = typed.replace(changed).await.unwrap();
    assert!(matches!(typed.replace(made).await, Err(StoreError::Stale { .. })));
    typed.delete("a", Expect::Version(changed.version)).await.unwrap();
    assert_eq!(typed.count().await.unwrap(), 0);
}

#[tokio::test]
async fn all_goes_over_pages() {
    let (store, _) = store();
    let typed = Typed::<ClusterHealth>::new(Arc::clone(&store));
    for part in 0..3 {
        let body = |id: &str| serde_json::to_string(&health(id)).unwrap();
        let ids = (0..900).map(|n| format!("doc-{part}-{n}"));
        let drafts = ids.map(|id| raw(&id, &body(&id))).collect();
        store.create_all(Collection::ClusterHealth, drafts).await.unwrap();
    }
    assert_eq!(typed.all().await.unwrap().len(), 2700);
}

#[tokio::test]
async fn puts_whether_or_not_there_is_one() {
    let (store, _) = store();
    let typed = Typed::<ClusterHealth>::new(store);
    let first = typed.put(health("a"), Expect::Any).await.unwrap();
    let second = typed.put(health("a"), Expect::Any).await.unwrap();
    assert!(second.version > first.version);
    let stale = typed.put(health("a"), Expect::Version(first.version)).await;
    assert!(matches!(stale, Err(StoreError::Stale { .. })));
}

#[tokio::test]
async fn an_update_keeps_the_expiry() {
    let (store, clock) = store();
    let typed = Typed::<ClusterHealth>::new(store);
    let end = clock.now() + Duration::from_secs(60);
    typed.create_until(health("a"), Some(end)).await.unwrap();
    let updated = update(&typed, "a", |health| health.nodes = 1).await.unwrap();
    assert_eq!(updated.expires_at, Some(end));
    clock.advance(Duration::from_secs(60));
    let gone = update(&typed, "a", |health| health.nodes = 2).await;
    assert!(matches!(gone, Err(StoreError::Gone { .. })));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_update_gives_up_after_five_tries() {
    let (store, _) = store();
    let typed = Typed::<ClusterHealth>::new(Arc::clone(&store));
    typed.create(health("a")).await.unwrap();
    let meddle = |n: u32| {
        let body = serde_json::to_string(&health("a")).unwrap();
        let write = store.replace(Collection::ClusterHealth, raw("a", &body), Expect::Any);
        tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(write)).unwrap();
        n
    };
    let mut tries = 0;
    let lost = update(&typed, "a", |_| tries += meddle(1)).await;
    assert!(matches!(lost, Err(StoreError::Stale { .. })), "{lost:?}");
    assert_eq!(tries, 5);

    let mut tries = 0;
    let won = update(&typed, "a", |health| {
        tries += 1;
        health.nodes = if tries < 5 { meddle(0) } else { 9 };
    });
    assert_eq!(won.await.unwrap().value.nodes, 9);
}

#[tokio::test]
async fn a_damaged_document_is_named_and_does_not_stop_a_follower() {
    let (store, _) = store();
    let typed = Typed::<ClusterHealth>::new(Arc::clone(&store));
    typed.create(health("a")).await.unwrap();
    store.create(Collection::ClusterHealth, raw("b", "{]")).await.unwrap();
    typed.create(health("c")).await.unwrap();
    let named = typed.get("b").await;
    assert!(matches!(named, Err(StoreError::Malformed { ref id, .. }) if id == "b"), "{named:?}");
    assert!(matches!(typed.all().await, Err(StoreError::Malformed { .. })));
    let changes = typed.changes(0, 10).await.unwrap();
    let seen: Vec<_> = changes.items.iter().map(|each| (each.id.as_str(), each.document.is_some())).collect();
    assert_eq!(seen, [("a", true), ("b", false), ("c", true)]);
}
