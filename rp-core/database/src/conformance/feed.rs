//! The change feed (`contract/database.md` §13.4, §13.7 item 7).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use rp_base::{Clock as _, ManualClock};
use rp_documents::Collection;

use super::{ANY, Checked, draft, ensure, until};
use crate::{Changes, Draft, Expect, SharedStore};

/// Long enough for any machine; the items wait on conditions, not on time.
const DEADLINE: Duration = Duration::from_secs(60);

fn ids(changes: &Changes) -> Vec<(&str, bool)> {
    changes.items.iter().map(|each| (each.id.as_str(), each.document.is_some())).collect()
}

pub(super) async fn starts_with_what_lives_then_tells_everything(
    store: SharedStore,
    clock: ManualClock,
) -> Checked {
    store.create_all(ANY, ["a", "b", "c"].map(draft).into()).await?;
    store.delete(ANY, "b", Expect::Any).await?;
    store.replace(ANY, draft("a"), Expect::Any).await?;
    store.create(Collection::Grants, draft("x")).await?;

    let first = store.changes(ANY, 0, 10).await?;
    ensure!(ids(&first) == [("c", true), ("a", true)], "from nothing: {:?}", ids(&first));
    ensure!(!first.more, "there is no more");
    let again = store.changes(ANY, first.cursor, 10).await?;
    ensure!(again.items.is_empty() && again.cursor == first.cursor, "without a write: {again:?}");

    let end = clock.now() + Duration::from_secs(1);
    store.create(ANY, until(draft("d"), end)).await?;
    store.delete(ANY, "c", Expect::Any).await?;
    store.create(ANY, draft("e")).await?;
    let page = store.changes(ANY, first.cursor, 2).await?;
    ensure!(ids(&page) == [("d", true), ("c", false)], "the first two: {:?}", ids(&page));
    ensure!(page.more, "there is more");
    let page = store.changes(ANY, page.cursor, 2).await?;
    ensure!(ids(&page) == [("e", true)] && !page.more, "the rest: {:?}", ids(&page));

    // Expired, perhaps not swept yet: the next reader sees it gone.
    clock.advance(Duration::from_secs(2));
    let page = store.changes(ANY, first.cursor, 10).await?;
    let expired = page.items.iter().find(|each| each.id == "d");
    ensure!(expired.is_some_and(|each| each.document.is_none()), "the expired one: {expired:?}");
    Ok(())
}

pub(super) async fn has_no_gaps_under_concurrent_writers(store: SharedStore, _clock: ManualClock) -> Checked {
    const WRITERS: usize = 6;
    const EACH: usize = 20;
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let store = Arc::clone(&store);
            tokio::spawn(async move {
                for n in 0..EACH {
                    let id = format!("doc-{writer}-{n}");
                    let made = store.create(ANY, draft(&id)).await?;
                    let body = r#"{"second":true}"#.to_owned();
                    store.replace(ANY, Draft { body, ..draft(&id) }, Expect::Version(made.version)).await?;
                    if n % 4 == 0 {
                        store.delete(ANY, &id, Expect::Any).await?;
                    }
                }
                Ok::<_, crate::StoreError>(())
            })
        })
        .collect();

    // A cursor that is not 0, so that every tombstone is told.
    store.create(ANY, draft("first")).await?;
    let mut cursor = 1;
    let mut wake = store.subscribe(ANY);
    let mut seen: BTreeMap<String, bool> = BTreeMap::new();
    let mut positions = BTreeSet::new();
    let complete = |seen: &BTreeMap<String, bool>| {
        (0..WRITERS)
            .all(|writer| (0..EACH).all(|n| seen.get(&format!("doc-{writer}-{n}")) == Some(&(n % 4 != 0))))
    };
    let follow = async {
        loop {
            let changes = store.changes(ANY, cursor, 7).await?;
            for change in changes.items {
                if !positions.insert(change.seq) || positions.last() != Some(&change.seq) {
                    return Err(super::ItemFailure(format!("position {} is not after the last", change.seq)));
                }
                let second = change.document.is_some_and(|stored| stored.body.contains("second"));
                seen.insert(change.id, second);
            }
            cursor = changes.cursor;
            if complete(&seen) {
                return Ok(());
            }
            if !changes.more {
                // The store outlives the loop.
                let _ = wake.changed().await;
            }
        }
    };
    let followed = tokio::time::timeout(DEADLINE, follow).await;
    for writer in futures_util::future::join_all(writers).await {
        writer??;
    }
    match followed {
        Ok(outcome) => outcome,
        Err(_) => {
            Err(super::ItemFailure(format!("the follower saw {} documents only: {seen:?}", seen.len())))
        }
    }
}

pub(super) async fn wakes_its_followers(store: SharedStore, _clock: ManualClock) -> Checked {
    let mut wake = store.subscribe(ANY);
    let other = store.subscribe(Collection::Grants);
    store.create(ANY, draft("a")).await?;
    ensure!(tokio::time::timeout(DEADLINE, wake.changed()).await.is_ok(), "a create wakes nobody");
    store.delete(ANY, "a", Expect::Any).await?;
    ensure!(tokio::time::timeout(DEADLINE, wake.changed()).await.is_ok(), "a delete wakes nobody");
    ensure!(!other.has_changed().unwrap_or(true), "another collection's follower was woken");
    Ok(())
}

pub(super) async fn head_is_after_everything(store: SharedStore, _clock: ManualClock) -> Checked {
    store.create_all(ANY, ["a", "b"].map(draft).into()).await?;
    store.delete(ANY, "a", Expect::Any).await?;
    let head = store.head(ANY).await?;
    let old = store.changes(ANY, head, 10).await?;
    ensure!(old.items.is_empty(), "behind the head is {old:?}");
    store.delete(ANY, "b", Expect::Any).await?;
    let new = store.changes(ANY, head, 10).await?;
    ensure!(ids(&new) == [("b", false)], "after the head came {:?}", ids(&new));
    Ok(())
}
