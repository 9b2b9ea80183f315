//! The shown cluster can be sent back, and members that a version does not show are kept.

use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use crate::world::{NEWEST, World, block_on, path, versions, wanted, wanted_with_identities};

/// The stored cluster without what every accepted request writes.
fn lasting(mut document: Value) -> Value {
    let cluster = &mut document["openShiftCluster"];
    for name in ["provisioningState", "lastProvisioningState", "failedProvisioningState"] {
        cluster["properties"].as_object_mut().unwrap().remove(name);
    }
    cluster.take()
}

/// The body that clients send back: all shown members except those that only we write.
fn sendable(version: &str, shown: &Value) -> Value {
    let mut sent = shown.clone();
    let version = rp_api::find(version).unwrap();
    rp_api::convert::without_read_only(version, &mut sent);
    sent
}

#[tokio::test]
async fn what_a_version_shows_is_what_it_takes() {
    for version in versions() {
        let world = World::with_cluster().await;
        let was = lasting(world.stored("c").await);
        let shown = world.call("GET", &path("c", version)).await.json();
        let told = world.put("c", version, &sendable(version, &shown)).await;
        assert_eq!(told.status, 200, "{version}: {}", told.text);
        assert_eq!(lasting(world.stored("c").await), was, "{version}");
        world.settle("c", "Succeeded", "").await;
        assert_eq!(world.call("GET", &path("c", version)).await.json(), shown, "{version}");
    }
}

#[tokio::test]
async fn every_version_makes_clusters_that_every_version_reads() {
    for made in versions() {
        let world = World::new().await;
        // Members that the version does not know are passed over.
        let told = world.put("c", made, &wanted(1)).await;
        assert_eq!(told.status, 201, "{made}: {}", told.text);
        world.settle("c", "Succeeded", "").await;
        for read in versions() {
            let told = world.call("GET", &path("c", read)).await;
            assert_eq!(told.status, 200, "{made} {read}");
            let shown = told.json();
            assert_eq!(shown["properties"]["clusterProfile"]["domain"], "abc1", "{made} {read}");
            assert!(!told.text.contains("hush") && !told.text.contains("clientSecret"), "{made} {read}");
        }
    }
}

#[tokio::test]
async fn an_older_clients_change_keeps_what_is_newer() {
    for version in versions() {
        let world = World::with_cluster().await;
        world
            .change("c", |body| {
                let properties = &mut body["openShiftCluster"]["properties"];
                properties["networkProfile"]["loadBalancerProfile"] = json!({"managedOutboundIps": {"count": 3},
                    "effectiveOutboundIps": [{"id": "/ip"}]});
                properties["networkProfile"]["outboundType"] = json!("Loadbalancer");
                properties["networkProfile"]["preconfiguredNSG"] = json!("Enabled");
                properties["apiserverProfile"]["intIp"] = json!("10.0.0.4");
                properties["ingressProfiles"][0]["ip"] = json!("10.0.0.5");
            })
            .await;
        let was = lasting(world.stored("c").await);
        let told = world.patch("c", version, &json!({"tags": {"team": "two"}})).await;
        assert_eq!(told.status, 200, "{version}: {}", told.text);
        let mut is = lasting(world.stored("c").await);
        assert_eq!(is["tags"], json!({"team": "two"}), "{version}");
        is["tags"] = was["tags"].clone();
        assert_eq!(is, was, "{version}");
    }
}

#[tokio::test]
async fn clusters_with_identities_survive_their_own_form() {
    let world = World::new().await;
    let told = world.put("w", NEWEST, &wanted_with_identities(1)).await;
    assert_eq!(told.status, 201, "{}", told.text);
    world.settle("w", "Succeeded", "").await;
    world
        .change("w", |body| {
            let operators = &mut body["openShiftCluster"]["properties"]["platformWorkloadIdentityProfile"];
            operators["platformWorkloadIdentities"]["disk"]["clientId"] = json!("cid");
            operators["platformWorkloadIdentities"]["disk"]["objectId"] = json!("oid");
        })
        .await;
    let was = lasting(world.stored("w").await);
    for version in ["2024-08-12-preview", NEWEST] {
        let shown = world.call("GET", &path("w", version)).await.json();
        let told = world.put("w", version, &sendable(version, &shown)).await;
        assert_eq!(told.status, 200, "{version}: {}", told.text);
        assert_eq!(lasting(world.stored("w").await), was, "{version}");
        world.settle("w", "Succeeded", "").await;
    }
    for version in versions() {
        assert_eq!(world.call("GET", &path("w", version)).await.status, 200, "{version}");
    }
}

proptest! {
    /// A tag of any name and value that was sent by one version is shown by every other.
    #[test]
    fn tags_pass_through_all_versions(
        sent in select(versions()),
        read in select(versions()),
        tags in proptest::collection::btree_map("[^\\x00]{0,20}", "[^\\x00]{0,20}", 1..5),
    ) {
        block_on(async {
            let world = World::with_cluster().await;
            let told = world.patch("c", sent, &json!({"tags": tags})).await;
            prop_assert_eq!(told.status, 200, "{}", told.text);
            let shown = world.call("GET", &path("c", read)).await.json();
            prop_assert_eq!(&shown["tags"], &json!(tags));
            Ok(())
        })?;
    }
}
