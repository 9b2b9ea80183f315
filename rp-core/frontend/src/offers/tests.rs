use std::sync::Arc;
use std::time::Duration;

use rp_base::{ManualClock, Timestamp};
use rp_database::{Expect, SharedStore, Typed, in_memory};
use rp_documents::{OpenShiftVersionDocument, RoleSetDocument};
use serde_json::json;

use super::*;

fn store() -> SharedStore {
    in_memory(Arc::new(ManualClock::at(Timestamp::from_seconds(1_795_230_720))))
}

fn version(id: &str, name: &str, enabled: bool, default: bool) -> OpenShiftVersionDocument {
    let document = json!({"id": id, "openShiftVersion": {"properties": {"version": name, "enabled": enabled,
        "default": default}}});
    serde_json::from_value(document).unwrap()
}

fn set(minor: &str) -> RoleSetDocument {
    let document = json!({"id": minor, "platformWorkloadIdentityRoleSet": {"properties": {"openShiftVersion": minor,
        "platformWorkloadIdentityRoles": [{"operatorName": "ingress", "roleDefinitionName": "n",
            "roleDefinitionId": "i", "serviceAccounts": ["hidden"]}]}}});
    serde_json::from_value(document).unwrap()
}

async fn until(what: &str, holds: impl Fn() -> bool) {
    let done = async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), done).await.unwrap_or_else(|_| panic!("never: {what}"));
}

#[tokio::test]
async fn offers_are_what_the_store_enables_and_follow_it() {
    let store = store();
    let versions = Typed::<OpenShiftVersionDocument>::new(store.clone());
    for (id, name, enabled) in [("a", "4.10.1", true), ("b", "4.9.20", true), ("c", "4.11.0", false)] {
        versions.create(version(id, name, enabled, id == "b")).await.unwrap();
    }
    let offers = StoreOffers::start(store.clone()).await;
    assert!(offers.ready());
    assert_eq!(offers.versions(), ["4.9.20", "4.10.1"]);
    assert_eq!(offers.default_version().as_deref(), Some("4.9.20"));
    assert!(offers.role_sets().is_empty());

    // The default moves: the new one is written first, and holds at once.
    versions.put(version("a", "4.10.1", true, true), Expect::Any).await.unwrap();
    until("the new default", || offers.default_version().as_deref() == Some("4.10.1")).await;
    versions.put(version("b", "4.9.20", false, false), Expect::Any).await.unwrap();
    until("a version is disabled", || offers.versions() == ["4.10.1"]).await;
    assert_eq!(offers.default_version().as_deref(), Some("4.10.1"));
    let sets = Typed::<RoleSetDocument>::new(store.clone());
    sets.create(set("4.10")).await.unwrap();
    sets.create(set("4.9")).await.unwrap();
    until("role sets", || offers.role_sets().len() == 2).await;
    assert_eq!(offers.role_sets()[0].open_shift_version, "4.9");
    let mut ending = set("4.9");
    ending.platform_workload_identity_role_set.deleting = true;
    sets.put(ending, Expect::Any).await.unwrap();
    until("a role set ends", || offers.role_sets().len() == 1).await;
    store.delete(Collection::OpenShiftVersions, "a", Expect::Any).await.unwrap();
    until("a version is gone", || offers.versions().is_empty()).await;
    assert_eq!(offers.default_version(), None);
}

#[tokio::test]
async fn what_was_never_read_is_not_ready() {
    let store = store();
    store.close().await;
    let offers = StoreOffers::start(store.clone()).await;
    assert!(!offers.ready() && offers.age().is_none());
    assert!(offers.versions().is_empty() && offers.default_version().is_none());
}
