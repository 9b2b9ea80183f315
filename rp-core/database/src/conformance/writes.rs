//! Creating, replacing, deleting.

use std::sync::Arc;

use futures_util::FutureExt as _;
use rp_base::{Clock as _, ManualClock, Timestamp};
use rp_documents::{ClusterHealth, Collection, Unknown};

use super::{ANY, Checked, draft, ensure, with_key};
use crate::{Draft, Expect, SharedStore, StoreError, Typed, Version, update};

/// `contract/database.md` §13.7 item 6: what the store does not know, it does not touch.
pub(super) async fn bodies_are_kept_byte_for_byte(store: SharedStore, clock: ManualClock) -> Checked {
    let body = "{ \"b\" : 1.50, \"a\":[ ],\n\"\\u00e9\": \"é\u{1F980}\" }".to_owned();
    let draft = Draft { body: body.clone(), ..with_key("a", "key of a") };
    let stored = store.create(ANY, draft.clone()).await?;
    let read = store.get(ANY, "a").await?;
    ensure!(read.as_ref() == Some(&stored), "get gave {read:?}, create {stored:?}");
    ensure!(stored.body == body, "the body became {:?}", stored.body);
    ensure!(stored.written == clock.now(), "written at {}", stored.written);
    let by_key = store.get_by_key(ANY, "key of a").await?;
    ensure!(by_key == read, "get_by_key gave {by_key:?}");
    ensure!(store.get(Collection::Grants, "a").await?.is_none(), "another collection has it");
    Ok(())
}

pub(super) async fn one_of_two_creators_wins(store: SharedStore, _clock: ManualClock) -> Checked {
    for round in 0..20 {
        let id = format!("doc-{round}");
        let race = (0..8).map(|n| {
            let (store, id) = (Arc::clone(&store), id.clone());
            let body = format!(r#"{{"by":{n}}}"#);
            tokio::spawn(async move { store.create(ANY, Draft { body, ..draft(&id) }).await })
        });
        let mut winner = None;
        for outcome in futures_util::future::join_all(race).await {
            match outcome? {
                Ok(stored) => {
                    ensure!(winner.is_none(), "two creators of {id} won");
                    winner = Some(stored);
                }
                Err(StoreError::Exists { which: "id", .. }) => {}
                Err(other) => return Err(other.into()),
            }
        }
        ensure!(winner.is_some(), "no creator of {id} won");
        let read = store.get(ANY, &id).await?;
        ensure!(read == winner, "the store has {read:?}, the winner wrote {winner:?}");
    }
    Ok(())
}

/// `contract/database.md` §13.7 item 11, and over partitions (`contract/database.md` "Do better" 3).
pub(super) async fn a_taken_key_is_named(store: SharedStore, _clock: ManualClock) -> Checked {
    store.create(ANY, with_key("a", "k")).await?;
    let other = Draft { partition: "other".to_owned(), ..with_key("b", "k") };
    let refused = store.create(ANY, other).await;
    ensure!(matches!(refused, Err(StoreError::Exists { which: "key", .. })), "create gave {refused:?}");
    ensure!(store.get(ANY, "b").await?.is_none(), "the refused document is there");

    store.create(ANY, with_key("b", "l")).await?;
    let refused = store.replace(ANY, with_key("b", "k"), Expect::Any).await;
    ensure!(matches!(refused, Err(StoreError::Exists { which: "key", .. })), "replace gave {refused:?}");

    // The same key in another collection, and after its holder let go.
    store.create(Collection::Grants, with_key("b", "k")).await?;
    store.replace(ANY, with_key("a", "m"), Expect::Any).await?;
    store.replace(ANY, with_key("b", "k"), Expect::Any).await?;
    store.delete(ANY, "b", Expect::Any).await?;
    store.create(ANY, with_key("c", "k")).await?;
    Ok(())
}

pub(super) async fn create_all_is_all_or_nothing(store: SharedStore, _clock: ManualClock) -> Checked {
    store.create(ANY, draft("c")).await?;
    let refused = store.create_all(ANY, ["a", "b", "c", "d"].map(draft).into()).await;
    ensure!(matches!(refused, Err(StoreError::Exists { which: "id", .. })), "gave {refused:?}");
    let twice = store.create_all(ANY, vec![with_key("a", "k"), with_key("b", "k")]).await;
    ensure!(matches!(twice, Err(StoreError::Exists { which: "key", .. })), "gave {twice:?}");
    ensure!(store.count(ANY).await? == 1, "some of them were written");
    let stored = store.create_all(ANY, ["a", "b"].map(draft).into()).await?;
    let ids: Vec<_> = stored.iter().map(|each| each.id.as_str()).collect();
    ensure!(ids == ["a", "b"], "gave {ids:?}");
    ensure!(store.create_all(ANY, Vec::new()).await?.is_empty(), "nothing gave something");
    ensure!(store.count(ANY).await? == 3, "not all of them were written");
    Ok(())
}

/// `contract/database.md` §13.7 item 3.
pub(super) async fn a_stale_version_is_refused(store: SharedStore, _clock: ManualClock) -> Checked {
    let first = store.create(ANY, draft("a")).await?;
    let second = store.replace(ANY, draft("a"), Expect::Version(first.version)).await?;
    ensure!(second.version > first.version, "the version did not grow");
    for expect in [Expect::Version(first.version), Expect::Version(Version(0))] {
        let refused = store.replace(ANY, draft("a"), expect).await;
        ensure!(matches!(refused, Err(StoreError::Stale { .. })), "replace gave {refused:?}");
        let refused = store.delete(ANY, "a", expect).await;
        ensure!(matches!(refused, Err(StoreError::Stale { .. })), "delete gave {refused:?}");
    }
    ensure!(store.get(ANY, "a").await? == Some(second.clone()), "a refused write changed it");
    store.delete(ANY, "a", Expect::Version(second.version)).await?;
    for gone in [
        store.delete(ANY, "a", Expect::Any).await,
        store.replace(ANY, draft("a"), Expect::Any).await.map(drop),
        store.replace(ANY, draft("a"), Expect::Version(second.version)).await.map(drop),
    ] {
        ensure!(matches!(gone, Err(StoreError::Gone { .. })), "after the delete: {gone:?}");
    }
    Ok(())
}

pub(super) async fn versions_are_never_used_twice(store: SharedStore, _clock: ManualClock) -> Checked {
    let first = store.create(ANY, draft("a")).await?;
    store.delete(ANY, "a", Expect::Any).await?;
    store.create(ANY, draft("a")).await?;
    let refused = store.replace(ANY, draft("a"), Expect::Version(first.version)).await;
    ensure!(matches!(refused, Err(StoreError::Stale { .. })), "the old document's version fits: {refused:?}");
    Ok(())
}

fn health(id: &str) -> ClusterHealth {
    ClusterHealth {
        id: id.to_owned(),
        looked_at: Timestamp::default(),
        took_ms: 0,
        collectors: Vec::new(),
        operators_degraded: Vec::new(),
        nodes_not_ready: 0,
        nodes: 0,
        alerts: Vec::new(),
        certificate_expiry: None,
        version: String::new(),
        updating_to: String::new(),
        healthz: None,
        since: None,
        unknown: Unknown::new(),
    }
}

/// `contract/database.md` §13.7 item 3, second half.
pub(super) async fn two_writers_lose_no_update(store: SharedStore, _clock: ManualClock) -> Checked {
    const EACH: u64 = 10;
    let typed = Typed::<ClusterHealth>::new(store);
    typed.create(health("a")).await?;
    let writers = (0..2).map(|_| {
        let typed = typed.clone();
        tokio::spawn(async move {
            let mut done = 0;
            while done < EACH {
                match update(&typed, "a", |health| health.took_ms += 1).await {
                    Ok(_) => done += 1,
                    // Five times unlucky: said so, and nothing written.
                    Err(StoreError::Stale { .. }) => {}
                    Err(other) => return Err(other),
                }
            }
            Ok(())
        })
    });
    for outcome in futures_util::future::join_all(writers).await {
        outcome??;
    }
    let counted = typed.get("a").await?.map(|health| health.value.took_ms);
    ensure!(counted == Some(2 * EACH), "{counted:?} updates of {} are there", 2 * EACH);
    Ok(())
}

/// `contract/database.md` §13.7 item 6, through a type that does not know them.
pub(super) async fn unknown_members_survive(store: SharedStore, _clock: ManualClock) -> Checked {
    let body = r#"{"id":"a","looked_at":"2026-11-21T03:12:00Z","newer":{"deep":[1,{"x":null}]}}"#;
    let draft = Draft { body: body.to_owned(), partition: "a".to_owned(), ..draft("a") };
    store.create(Collection::ClusterHealth, draft).await?;
    let typed = Typed::<ClusterHealth>::new(Arc::clone(&store));
    update(&typed, "a", |health| health.nodes = 3).await?;
    let read = store.get(Collection::ClusterHealth, "a").await?.map(|stored| stored.body).unwrap_or_default();
    ensure!(read.contains(r#""newer":{"deep":[1,{"x":null}]}"#), "the body became {read}");
    ensure!(read.contains(r#""nodes":3"#), "the change is not in {read}");
    Ok(())
}

/// A caller may go away at any await: its write is whole or absent, and nobody else is harmed.
pub(super) async fn a_cancelled_caller_leaves_nothing_half_done(
    store: SharedStore,
    _clock: ManualClock,
) -> Checked {
    for round in 0..50 {
        let ids = [format!("a-{round}"), format!("b-{round}")];
        let pair = ids.iter().map(|id| draft(id)).collect();
        let mut call = Box::pin(store.create_all(ANY, pair));
        // Polled a few times, then dropped wherever it stands.
        for _ in 0..round % 5 {
            if call.as_mut().now_or_never().is_some() {
                break;
            }
            tokio::task::yield_now().await;
        }
        drop(call);
        let mut read = Box::pin(store.list(ANY, None, None, 1000));
        for _ in 0..round % 3 {
            if read.as_mut().now_or_never().is_some() {
                break;
            }
            tokio::task::yield_now().await;
        }
    }
    store.create(ANY, draft("last")).await?;
    for round in 0..50 {
        let a = store.get(ANY, &format!("a-{round}")).await?.is_some();
        let b = store.get(ANY, &format!("b-{round}")).await?.is_some();
        ensure!(a == b, "half of round {round} was written");
    }
    Ok(())
}

pub(super) async fn bad_calls_are_refused(store: SharedStore, _clock: ManualClock) -> Checked {
    let long = "x".repeat(2000);
    for id in ["", "Upper", "É", long.as_str()] {
        let refused = [
            store.create(ANY, draft(id)).await.map(drop),
            store.create_all(ANY, vec![draft("a"), draft(id)]).await.map(drop),
            store.create(ANY, with_key("a", id)).await.map(drop),
            store.replace(ANY, draft(id), Expect::Any).await.map(drop),
            store.delete(ANY, id, Expect::Any).await,
            store.get(ANY, id).await.map(drop),
            store.get_by_key(ANY, id).await.map(drop),
        ];
        for (n, outcome) in refused.iter().enumerate() {
            ensure!(matches!(outcome, Err(StoreError::BadCall(_))), "call {n} with {id:?} gave {outcome:?}");
        }
    }
    for limit in [0, 1001, u32::MAX] {
        let list = store.list(ANY, None, None, limit).await;
        ensure!(matches!(list, Err(StoreError::BadCall(_))), "list of {limit} gave {list:?}");
        let changes = store.changes(ANY, 0, limit).await;
        ensure!(matches!(changes, Err(StoreError::BadCall(_))), "{limit} changes gave {changes:?}");
    }
    let changes = store.changes(ANY, -1, 1).await;
    ensure!(matches!(changes, Err(StoreError::BadCall(_))), "cursor -1 gave {changes:?}");
    ensure!(store.count(ANY).await? == 0, "something was written");
    Ok(())
}
