//! Bodies of all kinds.

use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use crate::json::{any_json, changed, changes};
use crate::world::{NEWEST, SUB, World, block_on, path, versions, wanted, wanted_with_identities};

fn all_versions() -> Vec<&'static str> {
    let mut all = versions();
    all.push("admin");
    all
}

proptest! {
    /// A create with anything anywhere is done, or refused and nothing is written.
    #[test]
    fn a_create_is_done_or_changes_nothing(
        version in select(all_versions()),
        identities in any::<bool>(),
        method in select(vec!["PUT", "PATCH"]),
        changes in changes(),
    ) {
        let base = if identities { wanted_with_identities(1) } else { wanted(1) };
        let body = changed(base, &changes);
        block_on(async {
            let world = World::new().await;
            let before = world.written().await;
            let told = world.send(method, &path("c", version), body.to_string().into_bytes()).await;
            prop_assert!(told.is_documented(), "{body}: {told:?}");
            if told.status >= 300 {
                prop_assert_eq!(world.written().await, before, "{}: {:?}", body, told);
            }
            Ok(())
        })?;
    }

    /// A random change is applied and keeps members that the caller does not own, or nothing is written.
    #[test]
    fn an_update_is_done_or_changes_nothing(
        version in select(all_versions()),
        method in select(vec!["PUT", "PATCH"]),
        changes in changes(),
    ) {
        block_on(async {
            let world = World::with_cluster().await;
            world.change("c", |body| {
                body["future"] = json!({"a": [1]});
                body["openShiftCluster"]["future"] = json!("kept");
                body["openShiftCluster"]["properties"]["masterProfile"]["future"] = json!(7);
                body["openShiftCluster"]["properties"]["infraId"] = json!("abc-x1");
            }).await;
            let shown = world.call("GET", &path("c", version)).await.json();
            let body = changed(shown, &changes);
            let (before, was) = (world.written().await, world.stored("c").await);
            let told = world.send(method, &path("c", version), body.to_string().into_bytes()).await;
            prop_assert!(told.is_documented(), "{body}: {told:?}");
            let is = world.stored("c").await;
            if told.status >= 300 {
                prop_assert_eq!(world.written().await, before, "{}: {:?}", body, told);
                prop_assert_eq!(is, was);
            } else {
                for place in ["/future", "/openShiftCluster/future", "/openShiftCluster/id", "/openShiftCluster/location",
                    "/openShiftCluster/properties/masterProfile/future", "/openShiftCluster/properties/infraId",
                    "/openShiftCluster/properties/networkProfile/podCidr", "/bucket", "/key"] {
                    prop_assert_eq!(is.pointer(place), was.pointer(place), "{}", place);
                }
            }
            Ok(())
        })?;
    }

    /// Bytes that are no body of the API are refused wherever a body is read.
    #[test]
    fn no_bytes_break_anything(bytes in proptest::collection::vec(any::<u8>(), 0..300), version in select(all_versions())) {
        block_on(async {
            let world = World::with_cluster().await;
            let before = world.written().await;
            let group = format!("/subscriptions/{SUB}/resourceGroups/Group");
            let preflight = format!("{group}/providers/Microsoft.RedHatOpenShift/deployments/d/preflight");
            let paths = [
                ("PUT", path("new", version)),
                ("PUT", path("c", version)),
                ("PATCH", path("c", version)),
                ("PUT", format!("/subscriptions/{SUB}?api-version=2.0")),
                ("POST", format!("{preflight}?api-version={version}")),
                ("PUT", "/admin/versions".to_owned()),
                ("PUT", "/admin/platformworkloadidentityrolesets".to_owned()),
            ];
            for (method, path) in paths {
                let told = world.send(method, &path, bytes.clone()).await;
                prop_assert!(told.is_documented(), "{method} {path}: {told:?}");
            }
            prop_assert_eq!(world.written().await, before);
            Ok(())
        })?;
    }

    /// Any JSON to routes of all kinds.
    #[test]
    fn any_json_is_answered(json in any_json(), state in any_json()) {
        block_on(async {
            let world = World::with_cluster().await;
            let group = format!("/subscriptions/{SUB}/resourceGroups/Group");
            let resource = json!({"id": crate::world::id("x"), "type": "Microsoft.RedHatOpenShift/openShiftClusters",
                "apiVersion": NEWEST, "properties": json});
            let bodies: [(&str, String, Value); 6] = [
                ("PUT", format!("/subscriptions/{SUB}?api-version=2.0"), json!({"state": state, "properties": json})),
                ("PUT", format!("/subscriptions/{SUB}?api-version=2.0"), json!({"state": "Warned", "properties": json})),
                ("POST", format!("{group}/providers/Microsoft.RedHatOpenShift/deployments/d/preflight?api-version={NEWEST}"),
                    json!({"resources": [resource, json]})),
                ("PUT", "/admin/versions".to_owned(), json!({"properties": {"version": json, "installerPullspec": "i",
                    "openShiftPullspec": state, "enabled": true}, "name": state})),
                ("PUT", "/admin/platformworkloadidentityrolesets".to_owned(), json!({"properties": {"openShiftVersion": "4.19",
                    "platformWorkloadIdentityRoles": json}})),
                ("POST", format!("{}/listcredentials?api-version={NEWEST}", crate::world::id("c")), json.clone()),
            ];
            for (method, path, body) in bodies {
                let told = world.send(method, &path, body.to_string().into_bytes()).await;
                prop_assert!(told.is_documented(), "{method} {path} {body}: {told:?}");
            }
            Ok(())
        })?;
    }
}

#[tokio::test]
async fn deep_nesting_and_members_given_twice_are_answered() {
    let world = World::with_cluster().await;
    let before = world.written().await;
    for open in ["[", "{\"properties\":", "{\"a\":["] {
        let body = open.repeat(20_000).into_bytes();
        let told = world.send("PUT", &path("new", NEWEST), body).await;
        assert_eq!(told.code(), "InvalidRequestContent", "{told:?}");
    }
    let twice = br#"{"location": "mars", "location": "eastus", "location": 5}"#.to_vec();
    assert_eq!(world.send("PUT", &path("new", NEWEST), twice).await.code(), "InvalidRequestContent");
    for text in ["null", "\"x\"", "[]", "5", "", "\u{feff}{}"] {
        let told = world.send("PATCH", &path("c", NEWEST), text.as_bytes().to_vec()).await;
        assert_eq!(told.code(), "InvalidRequestContent", "{text:?}: {told:?}");
    }
    assert_eq!(world.written().await, before);
}
