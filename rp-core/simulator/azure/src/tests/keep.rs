//! What is kept in a file is there at the next start.

use std::io::Write as _;
use std::path::Path;

use super::*;

const GROUP: &str = "/subscriptions/00000000-0000-0000-0000-000000000009/resourceGroups/kept";

async fn started(file: &Path) -> LocalArm {
    LocalArm::start_with(&[], Arc::new(EmptyContents), Arc::new(SystemClock), Some(file.to_owned()))
        .await
        .unwrap()
}

fn network(name: &str) -> String {
    format!("{GROUP}/providers/Microsoft.Network/virtualNetworks/{name}")
}

#[tokio::test]
async fn what_is_put_changed_and_deleted_is_so_at_the_next_start() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("azure.jsonl");
    let group = json!({"location": "eastus", "managedBy": "/a/cluster"});
    {
        let first = started(&file).await;
        assert!(first.arm.put(GROUP, group));
        for name in ["stays", "goes"] {
            let subnets =
                json!([{"name": "s", "properties": {"addressPrefix": "10.0.0.0/24", "word": name}}]);
            assert!(first.arm.put(&network(name), json!({"properties": {"subnets": subnets}})));
        }
        first.arm.control().remove(&network("goes"));
        let account = format!("{GROUP}/providers/Microsoft.Storage/storageAccounts/acc");
        assert!(first.arm.put(&account, json!({})));
        assert!(first.arm.put(&format!("{account}/blobServices/default/containers/box"), json!({})));
    }
    // The process was killed in the middle of a line.
    std::fs::OpenOptions::new().append(true).open(&file).unwrap().write_all(b"{\"put\":{\"id").unwrap();
    for _ in 0..2 {
        let again = started(&file).await;
        let control = again.arm.control();
        let kept = control.get(GROUP).unwrap();
        assert_eq!(kept["managedBy"], "/a/cluster");
        assert_eq!(control.get(&network("stays")).unwrap()["name"], "stays");
        assert_eq!(control.get(&format!("{}/subnets/s", network("stays"))).unwrap()["name"], "s");
        assert_eq!(control.get(&network("goes")), None);
        assert_eq!(control.get(&format!("{}/subnets/s", network("goes"))), None);
        assert_eq!(control.ids(GROUP).len(), 2, "{:?}", control.ids(GROUP));
        let before = control.get(&network("stays")).unwrap()["etag"].clone();
        assert!(control.put(&network("stays"), json!({"properties": {}})));
        assert_ne!(control.get(&network("stays")).unwrap()["etag"], before);
        assert!(control.put(
            &network("stays"),
            json!({"properties": {"subnets": [{"name": "s", "properties": {"addressPrefix": "10.0.0.0/24"}}]}})
        ));
    }
    std::fs::write(&file, "no line\n").unwrap();
    let refused = LocalArm::start_with(&[], Arc::new(EmptyContents), Arc::new(SystemClock), Some(file)).await;
    assert!(refused.unwrap_err().to_string().contains("line 1"));
}
