//! Writes that wait in one process go to the server together.

use rp_database::{Draft, Expect, Store as _, StoreError};
use tokio::join;

use crate::server::database;
use crate::{ANY, draft};

fn with_key(id: &str, key: &str) -> Draft {
    Draft { unique_key: Some(key.to_owned()), ..draft(id) }
}

#[tokio::test]
async fn what_waits_is_written_by_one_statement_and_each_has_its_own_answer() {
    let database = database().await;
    let store = database.store().await;
    let old = store.create(ANY, with_key("changed", "k")).await.unwrap();
    let stale = store.create(ANY, draft("stale")).await.unwrap();
    store.replace(ANY, draft("stale"), Expect::Any).await.unwrap();
    store.create(ANY, draft("deleted")).await.unwrap();
    let cursor = store.head(ANY).await.unwrap();
    let count = "CREATE TABLE told (n bigint);
        CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            INSERT INTO told VALUES (1); RETURN NULL; END $$;
        CREATE TRIGGER tell AFTER INSERT ON documents FOR EACH STATEMENT EXECUTE FUNCTION tell()";
    sqlx::raw_sql(count).execute(&mut database.sql().await).await.unwrap();

    let expires_at = Some(store.now().await.unwrap() + std::time::Duration::from_hours(1));
    let new =
        Draft { partition: "q".to_owned(), expires_at, body: "[\"ü\"]".to_owned(), ..with_key("new", "l") };
    // Polled once each before anything else runs, they are in the lane at once.
    let (changed, made, refused, twice, deleted, gone) = join!(
        store.replace(
            ANY,
            Draft { body: "{}".to_owned(), ..with_key("changed", "m") },
            Expect::Version(old.version)
        ),
        store.create(ANY, new.clone()),
        store.replace(ANY, draft("stale"), Expect::Version(stale.version)),
        store.create(ANY, draft("never")),
        store.delete(ANY, "deleted", Expect::Any),
        store.delete(ANY, "gone", Expect::Any),
    );
    let (changed, made, twice) = (changed.unwrap(), made.unwrap(), twice.unwrap());
    assert!(matches!(refused, Err(StoreError::Stale { .. })), "{refused:?}");
    deleted.unwrap();
    assert!(matches!(gone, Err(StoreError::Gone { .. })), "{gone:?}");
    let told: i64 =
        sqlx::query_scalar("SELECT count(*) FROM told").fetch_one(&mut database.sql().await).await.unwrap();
    assert_eq!(told, 1);

    for stored in [&changed, &made, &twice] {
        assert_eq!(store.get(ANY, &stored.id).await.unwrap().as_ref(), Some(stored));
    }
    assert_eq!((made.expires_at, made.partition.as_str(), &made.body), (expires_at, "q", &new.body));
    assert_eq!(store.get_by_key(ANY, "m").await.unwrap().as_ref(), Some(&changed));
    assert!(store.get_by_key(ANY, "k").await.unwrap().is_none());
    let changes = store.changes(ANY, cursor, 10).await.unwrap().items;
    let seen: Vec<(&str, bool)> =
        changes.iter().map(|change| (change.id.as_str(), change.document.is_some())).collect();
    assert_eq!(seen, [("changed", true), ("new", true), ("never", true), ("deleted", false)]);
    store.close().await;
}

#[tokio::test]
async fn what_waits_for_one_document_or_key_goes_one_after_the_other() {
    let database = database().await;
    let store = database.store().await;
    let a = store.create(ANY, with_key("a", "k")).await.unwrap();
    let b = store.create(ANY, with_key("b", "l")).await.unwrap();
    let (lets_go, takes, refused) = join!(
        store.replace(ANY, draft("a"), Expect::Version(a.version)),
        store.create(ANY, with_key("c", "k")),
        store.create(ANY, with_key("d", "l")),
    );
    let (lets_go, takes) = (lets_go.unwrap(), takes.unwrap());
    assert!(lets_go.seq < takes.seq);
    assert!(matches!(refused, Err(StoreError::Exists { which: "key", .. })), "{refused:?}");
    // The same document three times: one after the other, and only one by that version.
    let (first, second, third) = join!(
        store.replace(ANY, with_key("b", "l"), Expect::Version(b.version)),
        store.replace(ANY, with_key("b", "l"), Expect::Version(b.version)),
        store.replace(ANY, with_key("b", "n"), Expect::Any),
    );
    let (first, third) = (first.unwrap(), third.unwrap());
    assert!(matches!(second, Err(StoreError::Stale { .. })), "{second:?}");
    assert!(first.version < third.version);
    assert_eq!(store.get(ANY, "b").await.unwrap().unwrap().version, third.version);
    // What is refused needs no position, and no disk.
    let head = store.head(ANY).await.unwrap();
    let (one, two) = join!(store.create(ANY, draft("a")), store.delete(ANY, "none", Expect::Any));
    assert!(one.is_err() && two.is_err());
    assert_eq!(store.head(ANY).await.unwrap(), head);
    // A text that no database takes fails alone.
    let bad = Draft { body: "a\0b".to_owned(), ..draft("bad") };
    let (good, bad) = join!(store.create(ANY, draft("good")), store.create(ANY, bad));
    good.unwrap();
    assert!(matches!(bad, Err(StoreError::BadCall(_))), "{bad:?}");
    store.close().await;
}
