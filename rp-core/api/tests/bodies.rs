//! Bodies over clusters, clusters into answers, and back (`contract/api.md` §8.3, §9, §10.1).

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use proptest::prelude::*;
use rp_api::response::ClusterResponse;
use rp_api::{Version, convert, decode, render};
use serde_json::{Value, json};

fn version(name: &str) -> &'static Version {
    rp_api::find(name).unwrap()
}

/// `over` after the body was decoded over it.
fn laid(name: &str, over: Value, body: &str) -> Value {
    let mut over = over;
    decode::decode_into(version(name), &mut over, body.as_bytes()).unwrap();
    over
}

fn refused(name: &str, body: &str) -> String {
    let error = decode::decode_into(version(name), &mut json!({}), body.as_bytes()).unwrap_err();
    assert_eq!((error.status, error.body.code), (400, "InvalidRequestContent"));
    assert!(
        error.body.message.starts_with("The request content was invalid and could not be deserialized: \"")
    );
    error.body.message
}

#[test]
fn objects_merge_lists_by_place_maps_by_key_and_tags_whole() {
    let is = json!({"tags": {"a": "1"}, "properties": {"workerProfiles": [{"name": "w", "count": 3}, {"name": "x"}],
        "clusterProfile": {"domain": "d"}}});
    let body = r#"{"tags": {"b": "2"}, "properties": {"workerProfiles": [{"count": 4}], "clusterProfile": {"version": "v"}}}"#;
    let want = json!({"tags": {"b": "2"}, "properties": {"workerProfiles": [{"name": "w", "count": 4}],
        "clusterProfile": {"domain": "d", "version": "v"}}});
    assert_eq!(laid("2025-07-25", is, body), want);
    let platform = json!({"properties": {"platformWorkloadIdentityProfile": {"platformWorkloadIdentities":
        {"a": {"resourceId": "1", "clientId": "c"}, "b": {"resourceId": "2"}}}}});
    let body = r#"{"properties": {"platformWorkloadIdentityProfile": {"platformWorkloadIdentities": {"a": {"resourceId": "3"}}}}}"#;
    let want = json!({"properties": {"platformWorkloadIdentityProfile": {"platformWorkloadIdentities":
        {"a": {"resourceId": "3"}, "b": {"resourceId": "2"}}}}});
    assert_eq!(laid("2025-07-25", platform, body), want);
}

#[test]
fn null_clears_what_it_may_clear() {
    let is = json!({"location": "l", "tags": {"a": "1"}, "properties": {"workerProfiles": [{"name": "w"}],
        "consoleProfile": {"url": "u"}, "servicePrincipalProfile": {"clientId": "c"}}});
    let body = r#"{"location": null, "tags": null, "properties": {"workerProfiles": null, "consoleProfile": null, "servicePrincipalProfile": null}}"#;
    let want = json!({"location": "l", "properties": {"consoleProfile": {"url": "u"}}});
    assert_eq!(laid("2023-11-22", is.clone(), body), want);
    let mut want = is.clone();
    want.as_object_mut().unwrap().remove("tags");
    assert_eq!(laid("2025-07-25", is, body), want);
}

#[test]
fn names_in_any_case_but_for_the_newest_version() {
    let body = r#"{"LOCATION": "l", "Properties": {"ClusterProfile": {"DOMAIN": "d"}}}"#;
    let want = json!({"location": "l", "properties": {"clusterProfile": {"domain": "d"}}});
    assert_eq!(laid("2023-11-22", json!({}), body), want);
    assert_eq!(laid("2025-07-25", json!({}), body), json!({}));
}

#[test]
fn a_member_given_twice_merges_twice() {
    let body = r#"{"location": "a", "properties": {"clusterProfile": {"domain": "d"}}, "location": "b",
        "properties": {"clusterProfile": {"version": "v"}}}"#;
    let want = json!({"location": "b", "properties": {"clusterProfile": {"domain": "d", "version": "v"}}});
    assert_eq!(laid("2023-11-22", json!({}), body), want);
}

#[test]
fn what_is_no_cluster_is_refused_in_words() {
    for body in [
        "",
        "null",
        "[]",
        "7",
        "\"x\"",
        "{",
        "{} x",
        "{\"location\": 7}",
        "{\"tags\": [1]}",
        "{\"tags\": {\"a\": 1}}",
        "{\"properties\": {\"workerProfiles\": [{\"count\": 1.5}]}}",
        "{\"properties\": {\"workerProfiles\": {}}}",
        "{\"location\": \"\\ud800\"}",
    ] {
        for name in ["2019-12-31-preview", "2025-07-25", "admin"] {
            refused(name, body);
        }
    }
    refused("2025-07-25", "{\"properties\": {\"workerProfiles\": [{\"count\": 2147483648}]}}");
    refused("2023-11-22", &"[".repeat(100_000));
    refused("2023-11-22", &format!("{{\"what\": {}", "{\"a\":".repeat(100_000)));
    let secret = refused("2023-11-22", r#"{"properties": {"workerProfiles": "a secret in a wrong place"}}"#);
    assert!(!secret.contains("a secret"), "{secret}");
}

/// A stored cluster with all that the newest version shows, and more.
fn stored() -> Value {
    json!({
        "id": "/ID", "name": "c", "type": "t", "location": "l", "tags": {"b": "2", "a": "<1>"},
        "systemData": {"createdBy": "me"},
        "managedServiceIdentity": {"type": "UserAssigned", "tenantId": "t", "identityURL": "secret-url",
            "userAssignedIdentities": {"/i": {"clientId": "ci"}}},
        "properties": {
            "provisioningState": "Succeeded", "architectureVersion": 1, "infraId": "infra", "unknown": {"x": 1},
            "clusterProfile": {"pullSecret": "ps", "domain": "d", "version": "4.19.1", "boundServiceAccountSigningKey": "key"},
            "consoleProfile": {"url": "https://c"},
            "servicePrincipalProfile": {"clientId": "cid", "clientSecret": "cs", "spObjectId": "oid"},
            "networkProfile": {"podCidr": "p", "mtuSize": 1500, "loadBalancerProfile":
                {"managedOutboundIps": {"count": 1}, "effectiveOutboundIps": [{"id": "e"}]}},
            "masterProfile": {"vmSize": "v"},
            "workerProfiles": [{"name": "worker", "count": 3}],
            "workerProfilesStatus": [{"name": "w1", "count": 1}, {"name": "w2", "count": 2}],
            "apiserverProfile": {"visibility": "Public", "intIp": "i"},
            "ingressProfiles": [{"name": "default", "ip": "1.2.3.4"}],
            "adminKubeconfig": "kc", "kubeadminPassword": "kp"
        }
    })
}

#[test]
fn answers_show_the_version_and_no_secret() {
    for version in rp_api::all() {
        let shown = convert::to_answer(version, &stored());
        let text =
            String::from_utf8(render::render(&ClusterResponse { version, shown: &shown }).unwrap()).unwrap();
        for secret in [
            "\"ps\"",
            "\"cs\"",
            "\"key\"",
            "\"kc\"",
            "\"kp\"",
            "secret-url",
            "\"oid\"",
            "infra",
            "intIp",
            "unknown",
        ] {
            assert!(!text.contains(secret), "{} shows {secret}", version.name);
        }
        assert!(text.contains("\\u003c1\\u003e") && text.ends_with("}\n"), "{text}");
        assert_eq!(
            text.contains("\"w2\""),
            version.shows_live_workers || version.has("properties.workerProfilesStatus")
        );
    }
}

#[test]
fn the_newest_version_sorts_its_members() {
    let keys = |name: &str| {
        let shown = convert::to_answer(version(name), &stored());
        let text = String::from_utf8(
            render::render(&ClusterResponse { version: version(name), shown: &shown }).unwrap(),
        )
        .unwrap();
        let top = text
            .lines()
            .filter(|line| line.starts_with("    \""))
            .map(|line| line.trim().split('"').nth(1).unwrap().to_owned());
        top.collect::<Vec<_>>()
    };
    assert_eq!(
        keys("2025-07-25"),
        ["id", "identity", "location", "name", "properties", "systemData", "tags", "type"]
    );
    assert_eq!(
        keys("2024-08-12-preview"),
        ["id", "name", "type", "location", "tags", "systemData", "identity", "properties"]
    );
}

#[test]
fn fixed_objects_stand_there_empty() {
    let empty = json!({"id": "i", "properties": {}});
    let text = |name: &str| {
        let shown = convert::to_answer(version(name), &empty);
        serde_json::to_value(ClusterResponse { version: version(name), shown: &shown }).unwrap()
    };
    assert_eq!(
        text("2020-04-30"),
        json!({"id": "i", "properties": {"clusterProfile": {}, "consoleProfile": {},
        "networkProfile": {}, "masterProfile": {}, "apiserverProfile": {}}})
    );
    assert_eq!(
        text("2025-07-25"),
        json!({"id": "i", "systemData": {}, "properties": {"clusterProfile": {},
        "networkProfile": {}, "masterProfile": {}, "apiserverProfile": {}}})
    );
}

#[test]
fn an_update_keeps_what_the_version_does_not_know_and_what_is_ours() {
    let version = version("2025-07-25");
    let mut into = stored();
    let base = convert::to_external(version, &into);
    let mut wanted = base.clone();
    convert::without_read_only(version, &mut wanted);
    let body = r#"{"tags": {"n": "1"}, "properties": {"networkProfile": {"loadBalancerProfile": {"managedOutboundIps": {"count": 5}}},
        "ingressProfiles": [{"name": "default"}]}}"#;
    decode::decode_into(version, &mut wanted, body.as_bytes()).unwrap();
    convert::update(version, &base, &wanted, &mut into);
    let mut want = stored();
    want["tags"] = json!({"n": "1"});
    want["properties"]["networkProfile"]["loadBalancerProfile"]["managedOutboundIps"]["count"] = json!(5);
    assert_eq!(into, want);
}

#[test]
fn another_principal_loses_its_object_id_and_another_secret_does_not() {
    let version = version("2023-11-22");
    let after = |body: &str| {
        let mut into = stored();
        let base = convert::to_external(version, &into);
        let mut wanted = base.clone();
        decode::decode_into(version, &mut wanted, body.as_bytes()).unwrap();
        convert::update(version, &base, &wanted, &mut into);
        into["properties"]["servicePrincipalProfile"].clone()
    };
    let secret = after(r#"{"properties": {"servicePrincipalProfile": {"clientSecret": "new"}}}"#);
    assert_eq!(secret, json!({"clientId": "cid", "clientSecret": "new", "spObjectId": "oid"}));
    let client = after(r#"{"properties": {"servicePrincipalProfile": {"clientId": "new"}}}"#);
    assert_eq!(client, json!({"clientId": "new", "clientSecret": "cs"}));
}

#[test]
fn a_put_starts_from_little() {
    let version = version("2023-11-22");
    let base = convert::put_base(version, &stored());
    assert_eq!(base["properties"]["clusterProfile"], json!({"pullSecret": "ps", "version": "4.19.1"}));
    assert_eq!(base["properties"]["servicePrincipalProfile"], json!({"clientSecret": "cs"}));
    assert!(base.get("tags").is_none() && base.get("location").is_none());
}

/// Any JSON of small size.
fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(member(), inner, 0..6).prop_map(|map| map.into_iter().collect()),
        ]
    })
}

fn member() -> impl Strategy<Value = String> {
    let names: Vec<String> = {
        let mut names = vec!["x".to_owned()];
        rp_api::admin().cluster.walk(&mut |_, member| names.push(member.name.to_owned()));
        rp_api::all().last().unwrap().cluster.walk(&mut |_, member| names.push(member.name.to_owned()));
        names
    };
    prop::sample::select(names)
}

proptest! {
    #[test]
    fn any_body_is_laid_over_or_refused(body in anything(), at in 0usize..12) {
        let version = rp_api::all().get(at).unwrap_or_else(|| rp_api::admin());
        let mut over = convert::to_external(version, &stored());
        let before = over.clone();
        match decode::decode_into(version, &mut over, body.to_string().as_bytes()) {
            Ok(()) => {
                // The result still has the version's shape: it can be rendered and decoded again.
                render::render(&ClusterResponse { version, shown: &over }).unwrap();
                let mut into = stored();
                convert::update(version, &before, &over, &mut into);
                prop_assert_eq!(&into["properties"]["unknown"], &json!({"x": 1}));
                let _ = rp_api::changes::check(version, &before, &over);
            }
            Err(error) => prop_assert_eq!(error.status, 400),
        }
    }

    #[test]
    fn a_cluster_comes_back_as_it_was(at in 0usize..11) {
        let version = &rp_api::all()[at];
        let shown = convert::to_external(version, &stored());
        let mut over = json!({});
        decode::decode_into(version, &mut over, shown.to_string().as_bytes()).unwrap();
        let mut sent = convert::to_external(version, &json!({}));
        decode::decode_into(version, &mut sent, shown.to_string().as_bytes()).unwrap();
        let mut into = json!({});
        convert::create(version, &sent, &mut into);
        let mut again = convert::to_external(version, &into);
        let mut want = shown;
        convert::without_read_only(version, &mut want);
        convert::without_read_only(version, &mut again);
        prop_assert_eq!(again, want);
    }
}
