//! Expiry, lists, paging, the end.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use rp_base::{Clock as _, ManualClock};
use rp_documents::Collection;

use super::{ANY, Checked, draft, ensure, in_partition, until, with_key};
use crate::{Expect, SharedStore, Span, StoreError};

/// `contract/database.md` §13.7 item 8.
pub(super) async fn expired_is_gone_at_once(store: SharedStore, clock: ManualClock) -> Checked {
    let end = clock.now() + Duration::from_secs(60);
    store.create_all(ANY, vec![until(with_key("a", "k"), end), until(with_key("b", "l"), end)]).await?;
    let cursor = store.head(ANY).await?;
    clock.advance(Duration::from_millis(59_999));
    ensure!(store.get(ANY, "a").await?.is_some(), "gone a millisecond early");
    ensure!(store.get_by_key(ANY, "k").await?.is_some(), "gone by key a millisecond early");

    clock.advance(Duration::from_millis(1));
    ensure!(store.get(ANY, "a").await?.is_none(), "get still has it");
    ensure!(store.get_by_key(ANY, "k").await?.is_none(), "get_by_key still has it");
    ensure!(store.list(ANY, None, None, 10).await?.items.is_empty(), "the list still has it");
    ensure!(store.list(ANY, Some("p"), None, 10).await?.items.is_empty(), "the partition still has it");
    ensure!(store.count(ANY).await? == 0, "it is still counted");
    let fresh = store.changes(ANY, 0, 10).await?;
    ensure!(fresh.items.is_empty(), "a new follower sees {:?}", fresh.items);
    let replaced = store.replace(ANY, draft("a"), Expect::Any).await;
    ensure!(matches!(replaced, Err(StoreError::Gone { .. })), "replace gave {replaced:?}");
    let deleted = store.delete(ANY, "a", Expect::Any).await;
    ensure!(matches!(deleted, Err(StoreError::Gone { .. })), "delete gave {deleted:?}");

    // Id and key are free, also for different documents.
    let again = store.create(ANY, with_key("a", "l")).await?;
    ensure!(store.get_by_key(ANY, "l").await? == Some(again), "the new document is not there");
    store.create(ANY, with_key("b", "k")).await?;
    let changes = store.changes(ANY, cursor, 10).await?;
    let last: BTreeMap<_, _> = changes.items.iter().map(|each| (each.id.as_str(), &each.document)).collect();
    ensure!(last.values().all(|each| each.is_some()), "the feed ends with {last:?}");
    Ok(())
}

pub(super) async fn lists_are_ordered_and_partitioned(store: SharedStore, _clock: ManualClock) -> Checked {
    for (id, partition) in [("c", "p1"), ("a", "p2"), ("b", "p1"), ("d", "p2"), ("e", "P1")] {
        store.create(ANY, in_partition(id, partition)).await?;
    }
    store.create(Collection::Grants, in_partition("x", "p1")).await?;
    store.delete(ANY, "d", Expect::Any).await?;
    let ids = |page: crate::Page| page.items.into_iter().map(|each| each.id).collect::<Vec<_>>();
    let all = ids(store.list(ANY, None, None, 10).await?);
    ensure!(all == ["e", "b", "c", "a"], "the list is {all:?}");
    let one = ids(store.list(ANY, Some("p1"), None, 10).await?);
    ensure!(one == ["b", "c"], "the partition is {one:?}");
    ensure!(ids(store.list(ANY, Some("none"), None, 10).await?).is_empty(), "an empty partition is not");
    ensure!(store.count(ANY).await? == 4, "the count is wrong");

    let exact = store.list(ANY, Some("p1"), None, 2).await?;
    ensure!(exact.continuation.is_none(), "a full last page goes on");
    Ok(())
}

pub(super) async fn scans_are_ordered_and_bounded(store: SharedStore, clock: ManualClock) -> Checked {
    for (id, partition, key) in
        [("d", "p1", "k/2"), ("a", "p2", "k/4"), ("c", "p1", "k/1"), ("b", "p2", "k"), ("e", "p1", "l/0")]
    {
        store.create(ANY, crate::Draft { partition: partition.to_owned(), ..with_key(id, key) }).await?;
    }
    store.create(ANY, until(with_key("f", "k/0"), clock.now() + Duration::from_secs(1))).await?;
    store.create(Collection::Grants, with_key("x", "k/3")).await?;
    store.create(ANY, with_key("g", "k/9")).await?;
    store.delete(ANY, "g", Expect::Any).await?;
    clock.advance(Duration::from_secs(1));
    let ids = async |span, after, limit| -> Result<Vec<String>, StoreError> {
        let found = store.scan(ANY, span, after, limit).await?;
        Ok(found.into_iter().map(|each| each.id).collect())
    };
    for (span, after, limit, expected) in [
        (Span::All, None, 10, &["a", "b", "c", "d", "e"][..]),
        (Span::All, Some("b"), 2, &["c", "d"]),
        (Span::Partition("p1"), None, 10, &["c", "d", "e"]),
        (Span::Partition("p1"), Some("c"), 1, &["d"]),
        (Span::Partition("none"), None, 10, &[]),
        (Span::Keys("k/"), None, 10, &["c", "d", "a"]),
        (Span::Keys("k/"), Some("k/1"), 1, &["d"]),
        (Span::Keys("k/"), Some("k/4"), 10, &[]),
        (Span::Keys("k/"), Some("a"), 10, &["c", "d", "a"]),
        (Span::Keys("m"), None, 10, &[]),
    ] {
        let found = ids(span, after, limit).await?;
        ensure!(found == expected, "{span:?} after {after:?}: {found:?}");
    }
    let none = store.scan(ANY, Span::All, None, 0).await;
    ensure!(matches!(none, Err(StoreError::BadCall(_))), "a limit of 0 gave {none:?}");
    Ok(())
}

/// `contract/database.md` §13.7 item 9.
pub(super) async fn paging_misses_and_repeats_nothing(store: SharedStore, _clock: ManualClock) -> Checked {
    const STAY: usize = 60;
    let stay = (0..STAY).map(|n| in_partition(&format!("stay-{n:03}"), &format!("p{}", n % 3)));
    store.create_all(ANY, stay.collect()).await?;
    for partition in [None, Some("p1")] {
        let mut seen: BTreeMap<String, usize> = BTreeMap::new();
        let mut from = None;
        let mut round = 0;
        loop {
            let page = store.list(ANY, partition, from.as_deref(), 7).await?;
            ensure!(page.items.len() <= 7, "a page of {}", page.items.len());
            for item in page.items {
                *seen.entry(item.id).or_default() += 1;
            }
            from = page.continuation;
            if from.is_none() {
                break;
            }
            // Before, at and behind where the list stands.
            for n in [0, round * 5, STAY] {
                let id = format!("stay-{n:03}-{round}");
                store.create(ANY, in_partition(&id, &format!("p{}", n % 3))).await?;
                if round % 2 == 0 {
                    store.delete(ANY, &id, Expect::Any).await?;
                }
            }
            round += 1;
            ensure!(round < 1000, "the list has no end");
        }
        let missed = (0..STAY)
            .filter(|n| partition.is_none() || n % 3 == 1)
            .filter(|n| !seen.contains_key(&format!("stay-{n:03}")))
            .collect::<Vec<_>>();
        ensure!(missed.is_empty(), "missed {missed:?}");
        let twice: Vec<_> = seen.iter().filter(|(_, times)| **times > 1).collect();
        ensure!(twice.is_empty(), "repeated {twice:?}");
        for round in 0..round {
            for n in [0, round * 5, STAY] {
                // Every second round deleted its own; the others go here.
                let _ = store.delete(ANY, &format!("stay-{n:03}-{round}"), Expect::Any).await;
            }
        }
    }
    Ok(())
}

pub(super) async fn continuations_belong_to_one_list(store: SharedStore, _clock: ManualClock) -> Checked {
    store.create_all(ANY, ["a", "b", "c"].map(draft).into()).await?;
    let next = store.list(ANY, None, None, 1).await?.continuation.unwrap_or_default();
    let cut = next.get(1..).unwrap_or_default();
    let foreign = [
        store.list(Collection::Grants, None, Some(&next), 1).await,
        store.list(ANY, Some("p"), Some(&next), 1).await,
        store.list(ANY, None, Some(cut), 1).await,
        store.list(ANY, None, Some(""), 1).await,
        store.list(ANY, None, Some("' OR 1=1 --"), 1).await,
    ];
    for (n, outcome) in foreign.iter().enumerate() {
        ensure!(matches!(outcome, Err(StoreError::BadCall(_))), "list {n} gave {outcome:?}");
    }
    let page = store.list(ANY, None, Some(&next), 1).await?;
    ensure!(page.items.first().is_some_and(|item| item.id == "b"), "its own list gave {page:?}");
    Ok(())
}

pub(super) async fn a_closed_store_says_so(store: SharedStore, _clock: ManualClock) -> Checked {
    store.ready().await?;
    let accepted = (0..50).map(|n| {
        let store = Arc::clone(&store);
        tokio::spawn(async move { store.create(ANY, draft(&format!("a-{n}"))).await })
    });
    let accepted: Vec<_> = accepted.collect();
    tokio::task::yield_now().await;
    store.close().await;
    for outcome in futures_util::future::join_all(accepted).await {
        let outcome = outcome?;
        ensure!(matches!(outcome, Ok(_) | Err(StoreError::Closed)), "during the close: {outcome:?}");
    }
    let after = [
        store.create(ANY, draft("b")).await.map(drop),
        store.get(ANY, "a-0").await.map(drop),
        store.list(ANY, None, None, 1).await.map(drop),
        store.ready().await,
    ];
    for outcome in after {
        ensure!(matches!(outcome, Err(StoreError::Closed)), "after the close: {outcome:?}");
    }
    // Closing twice is no mistake.
    store.close().await;
    Ok(())
}
