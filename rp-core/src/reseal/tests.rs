use std::sync::Arc;

use rp_base::{SharedClock, SystemClock, SystemRandom};
use rp_database::{Draft, in_memory};

use super::*;

fn keyring(folder: &tempfile::TempDir, legacy: bool) -> Keyring {
    use base64::Engine as _;
    use std::os::unix::fs::PermissionsExt as _;
    let encode = |bytes: &[u8]| base64::engine::general_purpose::STANDARD.encode(bytes);
    let counting: Vec<u8> = (0..64).collect();
    let more =
        if legacy { format!(r#","legacy":{{"v2":["{}"]}}"#, encode(&counting)) } else { String::new() };
    let text = format!(r#"{{"current":"k1","keys":{{"k1":"{}"}}{more}}}"#, encode(&[7; 32]));
    let path = folder.path().join("keyring.json");
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    Keyring::open_file(&path).unwrap()
}

fn store() -> SharedStore {
    let clock: SharedClock = Arc::new(SystemClock);
    in_memory(clock)
}

async fn put(store: &SharedStore, collection: Collection, id: &str, body: String) {
    let draft =
        Draft { id: id.to_owned(), partition: "p".to_owned(), unique_key: None, body, expires_at: None };
    store.create(collection, draft).await.unwrap();
}

async fn body(store: &SharedStore, collection: Collection, id: &str) -> String {
    store.get(collection, id).await.unwrap().unwrap().body
}

#[tokio::test]
async fn everything_is_sealed_with_the_new_key_and_nothing_else_changes() {
    let (folder, store) = (tempfile::tempdir().unwrap(), store());
    let keyring = keyring(&folder, true);
    let seal = |place: &str, text: &str| keyring.seal(text.as_bytes(), place).unwrap().0;
    for n in 0..250 {
        let sealed = seal(&format!("ImportedClusters/c{n}/sealed"), "secret");
        // Order, blanks, long numbers and unknown members stay.
        let text = format!(
            r#"{{"zeta": 1.00, "id":"c{n}",  "sealed":"{sealed}","n":123456789012345678901234567890}}"#
        );
        put(&store, Collection::ImportedClusters, &format!("c{n}"), text).await;
    }
    // `contract/database.md` §11.3: "test" in the contract's form.
    let old = "AAECAwQFBgcICQoLDA0OD0RqzgelPXexsvzJd2Xg+/5HdVXAq8Tlu5zGNxyTKIChab0FViHwiWe8cclNoVxF1Q==";
    let text = format!(
        r#"{{"id":"a","properties":{{"clusterProfile":{{"pullSecret":"{old}"}},"name":"v3.k1.no"}}}}"#
    );
    put(&store, Collection::OpenShiftClusters, "a", text).await;
    // Copied from elsewhere: no key opens it here.
    let moved = seal("Sessions/other/sealed", "x");
    put(&store, Collection::Sessions, "mine", format!(r#"{{"sealed":"{moved}"}}"#)).await;
    let before = body(&store, Collection::ImportedClusters, "c7").await;
    keyring.rotate(true, &SystemRandom).unwrap();

    let tell = watch::Sender::new(Progress::default());
    let done = reseal(&store, &keyring, &tell).await.unwrap();
    assert_eq!((done.key.as_str(), done.documents, done.values, done.resealed), ("k2", 252, 253, 251));
    assert_eq!(done.left, BTreeMap::from([("k1".to_owned(), 2)]));
    assert!(done.done && *tell.borrow() == done);

    let after = body(&store, Collection::ImportedClusters, "c7").await;
    let value = |text: &str| text.split('"').find(|part| part.starts_with("v3.")).unwrap().to_owned();
    assert_eq!(before.replace(&value(&before), &value(&after)), after);
    let plain = keyring.open(&Sealed(value(&after)), "ImportedClusters/c7/sealed").unwrap();
    assert_eq!(plain.expose(), b"secret");
    let cluster = body(&store, Collection::OpenShiftClusters, "a").await;
    let plain = keyring.open(&Sealed(value(&cluster)), "OpenShiftClusters/a/pullSecret").unwrap();
    assert_eq!(plain.expose(), b"test");
    assert!(body(&store, Collection::Sessions, "mine").await.contains(&moved), "what does not open stays");

    // Again: nothing is left to do.
    let again = reseal(&store, &keyring, &tell).await.unwrap();
    assert_eq!((again.values, again.resealed), (253, 0));
    // The old key opens nothing any more but what was damaged, so it may go.
    keyring.forget("k1", &SystemRandom).unwrap();
    let after = body(&store, Collection::ImportedClusters, "c249").await;
    keyring.open(&Sealed(value(&after)), "ImportedClusters/c249/sealed").unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writers_lose_nothing_to_it() {
    let (folder, store) = (tempfile::tempdir().unwrap(), store());
    let keyring = keyring(&folder, false);
    let sealed = keyring.seal(b"secret", "Sessions/s/sealed").unwrap().0;
    put(&store, Collection::Sessions, "s", format!(r#"{{"n":0,"sealed":"{sealed}"}}"#)).await;
    let writer = tokio::spawn({
        let store = Arc::clone(&store);
        async move {
            let mut written = 0;
            while written < 200 {
                let now = store.get(Collection::Sessions, "s").await.unwrap().unwrap();
                let next =
                    now.body.replacen(&format!("\"n\":{written}"), &format!("\"n\":{}", written + 1), 1);
                assert_ne!(next, now.body, "a write was lost");
                let draft = Draft {
                    id: "s".to_owned(),
                    partition: "p".to_owned(),
                    unique_key: None,
                    body: next,
                    expires_at: None,
                };
                match store.replace(Collection::Sessions, draft, Expect::Version(now.version)).await {
                    Ok(_) => written += 1,
                    Err(StoreError::Stale { .. }) => {}
                    Err(error) => panic!("{error}"),
                }
            }
        }
    });
    let tell = watch::Sender::new(Progress::default());
    while !writer.is_finished() {
        keyring.rotate(true, &SystemRandom).unwrap();
        reseal(&store, &keyring, &tell).await.unwrap();
    }
    writer.await.unwrap();
    let last = reseal(&store, &keyring, &tell).await.unwrap();
    assert_eq!(last.left, BTreeMap::new());
    assert!(body(&store, Collection::Sessions, "s").await.contains("\"n\":200"));
}
