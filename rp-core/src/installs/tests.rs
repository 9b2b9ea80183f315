use std::fs;
use std::path::Path;
use std::sync::Arc;

use rp_base::{SharedClock, SystemClock, SystemRandom};
use rp_database::{Draft, SharedStore, in_memory};
use rp_documents::Collection;
use rp_install::runner::LocalProcess;
use serde_json::json;

use super::*;

const CREATING: &str = "aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa";
const FAILED: &str = "bbbbbbbb-bbbb-4bbb-8bbb-bbbbbbbbbbbb";
const GONE: &str = "cccccccc-cccc-4ccc-8ccc-cccccccccccc";
const DAMAGED: &str = "dddddddd-dddd-4ddd-8ddd-dddddddddddd";
const RUNNING: &str = "eeeeeeee-eeee-4eee-8eee-eeeeeeeeeeee";

async fn put(store: &SharedStore, id: &str, body: String) {
    let draft =
        Draft { id: id.to_owned(), partition: "p".to_owned(), unique_key: None, body, expires_at: None };
    store.create(Collection::OpenShiftClusters, draft).await.unwrap();
}

fn document(id: &str, state: &str) -> String {
    let resource = "/subscriptions/00000000-0000-0000-0000-00000000abcd/resourceGroups/g/providers/Microsoft.RedHatOpenShift/openShiftClusters/c";
    json!({"id": id, "key": resource.to_lowercase(), "partitionKey": "p", "openShiftCluster": {
        "id": resource, "name": "c", "location": "eastus", "properties": {"provisioningState": state}}})
    .to_string()
}

fn files(root: &Path) -> Vec<String> {
    let names = fs::read_dir(root).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

#[tokio::test]
async fn only_what_is_created_or_in_use_is_kept() {
    let root = tempfile::tempdir().unwrap();
    for id in [CREATING, FAILED, GONE, DAMAGED, RUNNING, "notes"] {
        fs::create_dir_all(root.path().join(id).join("1-inputs")).unwrap();
    }
    let clock: SharedClock = Arc::new(SystemClock);
    let store = in_memory(Arc::clone(&clock));
    put(&store, CREATING, document(CREATING, "Creating")).await;
    put(&store, FAILED, document(FAILED, "Failed")).await;
    put(&store, DAMAGED, "{}".to_owned()).await;
    let lock = fs::File::create(root.path().join(RUNNING).join("lock")).unwrap();
    lock.try_lock().unwrap();
    let runner = LocalProcess::new(
        "openshift-install".into(),
        root.path().to_owned(),
        Duration::from_secs(1),
        clock,
        Arc::new(SystemRandom),
    );
    check(&runner, &Typed::new(Arc::clone(&store))).await;
    assert_eq!(files(root.path()), [CREATING, DAMAGED, RUNNING, "notes"]);
    lock.unlock().unwrap();
    check(&runner, &Typed::new(store)).await;
    assert_eq!(files(root.path()), [CREATING, DAMAGED, "notes"]);
}
