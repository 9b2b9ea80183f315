//! From the embedded store to PostgreSQL and back.

use std::sync::Arc;
use std::time::Duration;

use rp_base::SystemClock;
use rp_database::{CopyError, CopyReport, Draft, Expect, SharedStore, Store as _, copy, in_memory};
use rp_documents::Collection;

use crate::draft;
use crate::server::database;

/// Documents of the n-th collection: as many as can be created at once, at most.
fn size(n: usize) -> usize {
    (n * 60).min(1000)
}

async fn filled() -> SharedStore {
    let store = in_memory(Arc::new(SystemClock));
    let now = store.now().await.unwrap();
    for (n, collection) in Collection::ALL.into_iter().enumerate().skip(1) {
        let many = (0..size(n)).map(|each| Draft {
            unique_key: (each % 2 == 0).then(|| format!("key {each}")),
            partition: format!("p{}", each % 3),
            body: format!("{{ \"é\\u0000\":{each}.50 , \"filling\":\"{}\"}}", "x".repeat(each)),
            expires_at: (each % 5 == 0)
                .then(|| now + Duration::from_secs(if each % 2 == 0 { 300 } else { 7200 })),
            ..draft(&format!("doc-{each}"))
        });
        store.create_all(collection, many.collect()).await.unwrap();
        store.delete(collection, "doc-1", Expect::Any).await.unwrap();
    }
    store
}

fn contents(copied: &[CopyReport]) -> Vec<(Collection, u64, rp_base::Digest)> {
    copied.iter().map(|each| (each.collection, each.compared, each.digest)).collect()
}

#[tokio::test]
async fn everything_arrives_and_comes_back() {
    let database = database().await;
    let (from, to) = (filled().await, database.store().await);
    let there = copy(from.as_ref(), &to).await.unwrap();
    assert_eq!(there.len(), Collection::ALL.len());
    for (n, copied) in there.iter().enumerate() {
        assert_eq!(copied.documents, (size(n) as u64).saturating_sub(1), "{copied:?}");
        assert!(copied.compared <= copied.documents && (copied.documents == 0 || copied.compared > 0));
    }
    let body = |stored: Option<rp_database::Stored>| {
        stored.map(|each| (each.body, each.expires_at, each.unique_key))
    };
    let last = Collection::ALL[Collection::ALL.len() - 1];
    for id in ["doc-0", "doc-5", "doc-17"] {
        assert_eq!(body(to.get(last, id).await.unwrap()), body(from.get(last, id).await.unwrap()));
    }
    let again = copy(from.as_ref(), &to).await;
    assert!(matches!(again, Err(CopyError::NotEmpty { .. })), "{again:?}");
    let home = in_memory(Arc::new(SystemClock));
    assert_eq!(contents(&copy(&to, home.as_ref()).await.unwrap()), contents(&there));
    to.close().await;
}

/// A store that changes what it keeps is found out.
#[tokio::test]
async fn a_changed_body_is_noticed() {
    let database = database().await;
    let to = database.store().await;
    let spoil = "CREATE FUNCTION spoil() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            IF NEW.id = 'doc-7' THEN NEW.body = replace(NEW.body, 'x', 'y'); END IF; RETURN NEW; END $$;
        CREATE TRIGGER spoil BEFORE INSERT ON documents FOR EACH ROW EXECUTE FUNCTION spoil()";
    sqlx::raw_sql(spoil).execute(&mut database.sql().await).await.unwrap();
    let outcome = copy(filled().await.as_ref(), &to).await;
    assert!(matches!(outcome, Err(CopyError::Differs { .. })), "{outcome:?}");
    to.close().await;
}
