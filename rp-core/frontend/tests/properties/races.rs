//! Concurrent requests: one succeeds, the others are refused.

use futures_util::future::join_all;
use rp_documents::Collection;
use serde_json::json;

use crate::world::{NEWEST, World, path, wanted};

#[tokio::test]
async fn of_changes_at_once_one_is_accepted() {
    let world = World::with_cluster().await;
    let writes = (0..12).map(|n| {
        let world = &world;
        async move { world.patch("c", NEWEST, &json!({"tags": {"writer": n.to_string()}})).await }
    });
    let told = join_all(writes).await;
    let accepted: Vec<usize> = (0..told.len()).filter(|n| told[*n].status == 200).collect();
    assert_eq!(accepted.len(), 1, "{told:?}");
    for refused in told.iter().filter(|told| told.status != 200) {
        assert_eq!(refused.code(), "RequestNotAllowed", "{refused:?}");
    }
    let stored = world.stored("c").await;
    assert_eq!(stored["openShiftCluster"]["tags"]["writer"], accepted[0].to_string());
    let operation = stored["asyncOperationId"].as_str().unwrap();
    assert!(world.store.get(Collection::AsyncOperations, operation).await.unwrap().is_some());
}

#[tokio::test]
async fn of_creates_of_one_name_at_once_one_is_accepted() {
    let world = World::new().await;
    let creates = (0..8).map(|n| {
        let world = &world;
        async move { world.put("c", NEWEST, &wanted(n)).await }
    });
    let told = join_all(creates).await;
    assert_eq!(told.iter().filter(|told| told.status == 201).count(), 1, "{told:?}");
    assert!(told.iter().all(|told| told.status == 201 || told.code() == "RequestNotAllowed"), "{told:?}");
    assert_eq!(world.store.count(Collection::OpenShiftClusters).await.unwrap(), 1);
}

#[tokio::test]
async fn who_a_cluster_is_and_its_group_are_used_once() {
    for (what, code) in [("client", "DuplicateClientID"), ("group", "DuplicateResourceGroup")] {
        let world = World::new().await;
        let creates = (0..8u32).map(|n| {
            let mut body = wanted(n);
            let properties = &mut body["properties"];
            if what == "client" {
                properties["servicePrincipalProfile"]["clientId"] =
                    json!("22222222-2222-2222-2222-222222222222");
            } else {
                properties["clusterProfile"]["resourceGroupId"] =
                    json!(format!("/subscriptions/{}/resourceGroups/One", crate::world::SUB));
            }
            let world = &world;
            async move { world.put(&format!("c{n}"), NEWEST, &body).await }
        });
        let told = join_all(creates).await;
        assert_eq!(told.iter().filter(|told| told.status == 201).count(), 1, "{what}: {told:?}");
        assert!(told.iter().all(|told| told.status == 201 || told.code() == code), "{what}: {told:?}");
        // Refused requests reserve no name: the same client ids can be used by other clusters.
        if what == "group" {
            for n in 0..8u32 {
                let refused = told[n as usize].status != 201;
                let again = world.put(&format!("d{n}"), NEWEST, &wanted(n)).await;
                assert_eq!(again.status == 201, refused, "{n}: {again:?}");
            }
        }
    }
}

#[tokio::test]
async fn a_cluster_cannot_become_who_another_is() {
    let world = World::with_cluster().await;
    assert_eq!(world.put("other", NEWEST, &wanted(2)).await.status, 201);
    let become_other = json!({"properties": {"servicePrincipalProfile": {
        "clientId": "11111111-1111-1111-1111-000000000002", "clientSecret": "s"}}});
    let told = world.patch("c", NEWEST, &become_other).await;
    assert_eq!(told.code(), "DuplicateClientID", "{told:?}");
    let mut third = become_other.clone();
    third["properties"]["servicePrincipalProfile"]["clientId"] =
        json!("11111111-1111-1111-1111-000000000003");
    assert_eq!(world.patch("c", NEWEST, &third).await.status, 200);
    assert_eq!(world.stored("c").await["clientIdKey"], "11111111-1111-1111-1111-000000000003");
    // The old one is free, the new one is not.
    let mut again = wanted(1);
    again["properties"]["clusterProfile"]["resourceGroupId"] =
        wanted(9)["properties"]["clusterProfile"]["resourceGroupId"].clone();
    assert_eq!(world.put("again", NEWEST, &again).await.status, 201);
    assert_eq!(world.put("late", NEWEST, &wanted(3)).await.code(), "DuplicateClientID");
}

/// Another writer writes between reading and writing: the request is processed again over the new state.
#[tokio::test]
async fn whoever_writes_in_between_is_not_undone() {
    let world = World::with_cluster().await;
    let background = async {
        for n in 0..40 {
            world.change("c", |body| body["openShiftCluster"]["properties"]["seen"] = json!(n)).await;
            tokio::task::yield_now().await;
        }
    };
    let tags = json!({"tags": {"x": "y"}});
    let change = world.patch("c", NEWEST, &tags);
    let (told, ()) = futures_util::future::join(change, background).await;
    let stored = world.stored("c").await;
    assert_eq!(stored["openShiftCluster"]["properties"]["seen"], 39);
    match told.status {
        200 => assert_eq!(stored["openShiftCluster"]["tags"], json!({"x": "y"})),
        // Five concurrent writes in a row.
        503 => assert_eq!(stored["openShiftCluster"]["tags"], json!({"team": "one"})),
        other => panic!("{other}: {told:?}"),
    }
}

#[tokio::test]
async fn reading_never_writes() {
    let world = World::with_cluster().await;
    let before = world.written().await;
    for version in crate::world::versions() {
        world.call("GET", &path("c", version)).await;
        world.call("GET", &path("", version).replace("/?", "?")).await;
        world.call("GET", &format!("/admin/clusters?name={version}")).await;
    }
    assert_eq!(world.written().await, before);
}
