//! A cluster's life as its customer sees it.

use http::StatusCode;
use rp_database::{Expect, Typed};
use rp_documents::mirror::MirroredWorkers;
use rp_documents::{ClusterMirror, Sealed};
use serde_json::json;

use super::*;

#[tokio::test]
async fn a_cluster_is_asked_for_read_listed_changed_and_deleted() {
    let api = Api::registered().await;
    let made = api.call("PUT", &path("c"), Some(wanted(1))).await;
    assert_eq!(made.status, StatusCode::CREATED, "{}", made.text);
    assert_eq!(made.json()["properties"]["provisioningState"], "Creating");
    assert_eq!(made.json()["properties"]["clusterProfile"]["version"], "4.19.1");
    assert_eq!(made.json()["id"], id("c"));
    assert!(!made.text.contains("hush") && !made.text.contains("auths"), "{}", made.text);
    let follow = made.header("azure-asyncoperation").to_owned();
    assert!(follow.starts_with(&format!("https://management.azure.com/subscriptions/{SUB}/providers/microsoft.redhatopenshift/locations/eastus/operationsstatus/")));
    assert!(follow.ends_with("?api-version=2025-07-25") && !made.header("retry-after").is_empty());

    let stored = api.stored().await;
    assert!(!stored.to_string().contains("hush"), "the secret is sealed");
    assert_eq!(stored["openShiftCluster"]["properties"]["operatorFlags"]["aro.cpms.enabled"], "false");
    assert_eq!(stored["clientIdKey"], "11111111-1111-1111-1111-000000000001");

    let at = follow.trim_start_matches("https://management.azure.com");
    let told = api.call("GET", at, None).await;
    assert_eq!(told.header("retry-after"), "10", "a running operation says when to come again");
    let running = told.json();
    assert_eq!((running["status"].as_str(), running.get("endTime")), (Some("Creating"), None));
    let again = api.call("PUT", &path("c"), Some(wanted(1))).await;
    assert_eq!(again.refusal(), (400, "RequestNotAllowed".into(), String::new()));
    api.finish("Succeeded").await;

    let read = api.call("GET", &path("C").to_uppercase().replace("API-VERSION", "api-version"), None).await;
    assert_eq!((read.status, read.json()["name"].clone()), (StatusCode::OK, json!("c")));
    assert!(read.text.starts_with("{\n    \"id\": ") && read.text.ends_with("}\n"), "{}", read.text);
    let change = json!({"tags": {"team": "two"}});
    let changed = api.call("PATCH", &path("c"), Some(change)).await;
    assert_eq!(changed.status, StatusCode::OK, "{}", changed.text);
    assert_eq!(changed.json()["tags"], json!({"team": "two"}));
    assert_eq!(changed.json()["properties"]["provisioningState"], "Updating");
    assert_eq!(
        api.stored().await["openShiftCluster"]["properties"]["servicePrincipalProfile"],
        stored["openShiftCluster"]["properties"]["servicePrincipalProfile"],
        "a secret that is not touched is not written anew"
    );
    api.finish("Succeeded").await;

    let gone = api.call("DELETE", &path("c"), None).await;
    assert_eq!((gone.status, gone.text.as_str()), (StatusCode::ACCEPTED, ""));
    let result = gone.header("location").trim_start_matches("https://management.azure.com").to_owned();
    assert!(result.contains("/operationresults/"));
    assert_eq!(api.call("GET", &result, None).await.status, StatusCode::ACCEPTED);
    assert_eq!(api.call("DELETE", &path("nobody"), None).await.status, StatusCode::NO_CONTENT);
}

#[tokio::test]
async fn a_put_that_repeats_is_accepted_and_changes_nothing() {
    let api = Api::registered().await;
    api.call("PUT", &path("c"), Some(wanted(1))).await;
    api.finish("Succeeded").await;
    // What the backend learns while it makes the cluster.
    api.learn(|properties| {
        properties["consoleProfile"]["url"] = json!("https://console.example/");
        properties["apiserverProfile"]["url"] = json!("https://api.example:6443/");
        properties["apiserverProfile"]["ip"] = json!("192.0.2.1");
        properties["ingressProfiles"][0]["ip"] = json!("192.0.2.2");
    })
    .await;
    let lasting = |mut stored: Value| {
        let properties = stored["openShiftCluster"]["properties"].take();
        [
            "clusterProfile",
            "consoleProfile",
            "networkProfile",
            "masterProfile",
            "workerProfiles",
            "ingressProfiles",
        ]
        .map(|name| properties[name].clone())
    };
    let before = lasting(api.stored().await);
    for version in ["2020-04-30", "2023-09-04", "2023-11-22", VERSION] {
        let at = format!("{}?api-version={version}", id("c"));
        let shown = api.call("GET", &at, None).await.json();
        for body in [wanted(1), shown] {
            let told = api.call("PUT", &at, Some(body)).await;
            assert_eq!(told.status, StatusCode::OK, "{version}: {}", told.text);
            api.finish("Succeeded").await;
            assert_eq!(lasting(api.stored().await), before, "{version}");
        }
    }
    let mut other = wanted(1);
    other["properties"]["consoleProfile"] = json!({"url": "https://other.example/"});
    let told = api.call("PUT", &path("c"), Some(other)).await;
    assert_eq!(told.refusal().2, "properties.consoleProfile.url");
}

#[tokio::test]
async fn a_put_may_leave_out_secrets_and_what_nobody_can_change() {
    let api = Api::registered().await;
    api.call("PUT", &path("c"), Some(wanted(1))).await;
    api.finish("Succeeded").await;
    let mut again = wanted(1);
    again["properties"]["clusterProfile"].as_object_mut().unwrap().remove("pullSecret");
    again["properties"]["servicePrincipalProfile"].as_object_mut().unwrap().remove("clientSecret");
    again.as_object_mut().unwrap().remove("tags");
    // What was filled in at create may be said.
    again["properties"]["networkProfile"]["outboundType"] = json!("Loadbalancer");
    again["properties"]["networkProfile"]["preconfiguredNSG"] = json!("Disabled");
    again["properties"]["networkProfile"]["loadBalancerProfile"] =
        json!({"managedOutboundIps": {"count": 1}});
    again["properties"]["clusterProfile"]["resourceGroupId"] =
        json!(format!("/subscriptions/{SUB}/resourcegroups/managed1"));
    let told = api.call("PUT", &path("c"), Some(again)).await;
    assert_eq!(told.status, StatusCode::OK, "{}", told.text);
    assert!(told.json().get("tags").is_none());
    api.finish("Succeeded").await;
    // What may be changed has to be said.
    let mut less = wanted(1);
    less["properties"]["servicePrincipalProfile"].as_object_mut().unwrap().remove("clientId");
    let told = api.call("PUT", &path("c"), Some(less)).await;
    assert_eq!(told.refusal().2, "properties.servicePrincipalProfile.clientId");
}

#[tokio::test]
async fn what_the_monitor_mirrored_is_shown_and_not_stored() {
    let api = Api::registered().await;
    api.call("PUT", &path("c"), Some(wanted(1))).await;
    api.finish("Succeeded").await;
    let mirror = ClusterMirror {
        id: api.stored().await["id"].as_str().unwrap().to_owned(),
        version: Some("4.19.7".to_owned()),
        worker_profiles: Some(vec![MirroredWorkers { name: "w1".into(), count: 5, ..Default::default() }]),
        ..ClusterMirror::default()
    };
    Typed::<ClusterMirror>::new(api.store.clone()).put(mirror, Expect::Any).await.unwrap();
    let read = api.call("GET", &path("c"), None).await.json();
    assert_eq!(read["properties"]["clusterProfile"]["version"], "4.19.7");
    assert_eq!(read["properties"]["workerProfilesStatus"][0]["name"], "w1");
    let told = api.call("PATCH", &path("c"), Some(json!({"tags": {}}))).await;
    assert_eq!(told.status, StatusCode::OK, "{}", told.text);
    assert!(told.json()["properties"].get("workerProfilesStatus").is_none());
    let stored = api.stored().await;
    assert_eq!(stored["openShiftCluster"]["properties"]["clusterProfile"]["version"], "4.19.1");
    assert!(stored["openShiftCluster"]["properties"].get("workerProfilesStatus").is_none());
}

#[tokio::test]
async fn identities_are_those_of_the_version_that_the_cluster_has_by_now() {
    let api = Api::registered().await;
    let mut body = wanted(1);
    body["properties"].as_object_mut().unwrap().remove("servicePrincipalProfile");
    let of = |name: &str| {
        format!(
            "/subscriptions/{SUB}/resourceGroups/ids/providers/Microsoft.ManagedIdentity/userAssignedIdentities/{name}"
        )
    };
    let operator = |name: &str| json!({"resourceId": of(name)});
    body["properties"]["platformWorkloadIdentityProfile"] =
        json!({"platformWorkloadIdentities": {"disk": operator("disk"), "file": operator("file")}});
    body["identity"] = json!({"type": "UserAssigned", "userAssignedIdentities": {of("cluster"): {}}});
    let headers = [("x-ms-identity-url", "https://identity.example/"), ("x-ms-home-tenant-id", SUB)];
    let made = api.send("PUT", &path("c"), &headers, body.to_string()).await;
    assert_eq!(made.status, StatusCode::CREATED, "{}", made.text);
    api.finish("Succeeded").await;
    let tags = json!({"tags": {"a": "b"}});
    assert_eq!(api.call("PATCH", &path("c"), Some(tags.clone())).await.status, StatusCode::OK);
    api.finish("Succeeded").await;
    let id = api.stored().await["id"].as_str().unwrap().to_owned();
    let mirror = ClusterMirror { id, version: Some("4.20.3".to_owned()), ..ClusterMirror::default() };
    Typed::<ClusterMirror>::new(api.store.clone()).put(mirror, Expect::Any).await.unwrap();
    let told = api.call("PATCH", &path("c"), Some(tags)).await;
    assert_eq!(told.refusal().1, "InvalidParameter");
    assert!(told.text.contains("OpenShift minor version '4.20'"), "{}", told.text);
}

#[tokio::test]
async fn lists_come_in_pages_of_ten() {
    let api = Api::registered().await;
    for n in 0..23 {
        let told = api.call("PUT", &path(&format!("c{n:02}")), Some(wanted(n))).await;
        assert_eq!(told.status, StatusCode::CREATED, "{}", told.text);
    }
    let list = format!("/subscriptions/{SUB}/providers/Microsoft.RedHatOpenShift/openShiftClusters");
    let mut at = format!("{list}?api-version={VERSION}");
    let mut names = Vec::new();
    loop {
        let page = api.call("GET", &at, None).await.json();
        names
            .extend(page["value"].as_array().unwrap().iter().map(|c| c["name"].as_str().unwrap().to_owned()));
        match page["nextLink"].as_str() {
            Some(next) => at = next.trim_start_matches("https://management.azure.com").to_owned(),
            None => break,
        }
    }
    assert_eq!(names, (0..23).map(|n| format!("c{n:02}")).collect::<Vec<_>>());
    let bad = api.call("GET", &format!("{list}?api-version={VERSION}&$skipToken=eHh4"), None).await;
    assert_eq!(bad.refusal(), (400, "InvalidParameter".into(), "$skipToken".into()));
    let group = list.replace("/providers", "/resourceGroups/other/providers");
    let none = api.call("GET", &format!("{group}?api-version={VERSION}"), None).await;
    assert_eq!(none.text, "{\n    \"value\": []\n}\n");
}

#[tokio::test]
async fn credentials_are_shown_to_those_who_may() {
    let api = Api::registered().await;
    api.call("PUT", &path("c"), Some(wanted(1))).await;
    let at = format!("{}/listCredentials?api-version={VERSION}", id("c"));
    assert_eq!(api.call("POST", &at, None).await.refusal().1, "RequestNotAllowed");
    let key = id("c").to_lowercase();
    let stored = api.store.get_by_key(Collection::OpenShiftClusters, &key).await.unwrap().unwrap();
    let place = format!("OpenShiftClusters/{}/kubeadminPassword", stored.id);
    let Sealed(sealed) = api.keyring.seal(b"opensesame", &place).unwrap();
    let mut body: Value = serde_json::from_str(&stored.body).unwrap();
    body["openShiftCluster"]["properties"]["kubeadminPassword"] = json!(sealed);
    let (expect, draft) = (Expect::Version(stored.version), stored.with_body(body.to_string()));
    api.store.replace(Collection::OpenShiftClusters, draft, expect).await.unwrap();
    api.finish("Succeeded").await;
    let told = api.call("POST", &at, None).await;
    assert_eq!(told.json(), json!({"kubeadminUsername": "kubeadmin", "kubeadminPassword": "opensesame"}));
    let old = format!("{}/listAdminCredentials?api-version=2020-04-30", id("c"));
    assert_eq!(api.call("POST", &old, None).await.refusal().1, "InvalidResourceType");
    let admin = format!("{}/listAdminCredentials?api-version={VERSION}", id("c"));
    assert_eq!(api.call("POST", &admin, None).await.json(), json!({"kubeconfig": ""}));
}

#[tokio::test]
async fn the_admin_version_sets_tasks_and_signals() {
    let api = Api::registered().await;
    api.call("PUT", &path("c"), Some(wanted(1))).await;
    api.finish("Succeeded").await;
    let admin = format!("{}?api-version=admin", id("c"));
    let signal = api.call("PATCH", &admin, Some(json!({"properties": {"maintenanceTask": "Pending"}}))).await;
    assert_eq!(signal.status, StatusCode::OK, "{}", signal.text);
    assert_eq!(signal.json()["properties"]["provisioningState"], "Succeeded");
    assert_eq!(signal.json()["properties"]["maintenanceState"], "Pending");
    let odd = api.call("PATCH", &admin, Some(json!({"properties": {"maintenanceTask": "Odd"}}))).await;
    assert_eq!(odd.refusal(), (400, "InvalidParameter".into(), "properties.maintenanceTask".into()));
    let flags = json!({"operatorFlagsMergeStrategy": "reset", "properties": {"operatorFlags": {"aro.cpms.enabled": "true"}}});
    let work = api.call("PATCH", &admin, Some(flags)).await;
    assert_eq!(work.status, StatusCode::OK, "{}", work.text);
    assert_eq!(work.json()["properties"]["provisioningState"], "AdminUpdating");
    assert_eq!(work.json()["properties"]["maintenanceState"], "Planned");
    let stored = api.stored().await;
    let properties = &stored["openShiftCluster"]["properties"];
    assert_eq!(
        (properties["maintenanceTask"].as_str(), properties["operatorFlags"]["aro.cpms.enabled"].as_str()),
        (Some("Everything"), Some("true"))
    );
    assert_eq!(properties["operatorFlags"].as_object().unwrap().len(), 46);
    let made = api.call("PUT", &format!("{}?api-version=admin", id("new")), Some(wanted(2))).await;
    assert_eq!(made.refusal().1, "RequestNotAllowed");
}

#[tokio::test]
async fn versions_and_roles_are_listed_in_order() {
    let api = Api::new();
    let at = |rest: &str, version: &str| {
        format!(
            "/subscriptions/{SUB}/providers/microsoft.redhatopenshift/locations/eastus/{rest}?api-version={version}"
        )
    };
    let list = api.call("GET", &at("openShiftVersions", VERSION), None).await.json();
    let names: Vec<_> =
        list["value"].as_array().unwrap().iter().map(|v| v["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["4.9.10", "4.18.2", "4.19.1"]);
    let old = api.call("GET", &at("openShiftVersions/4.18.2", "2022-09-04"), None).await.json();
    assert_eq!(old, json!({"properties": {"version": "4.18.2"}}));
    assert_eq!(
        api.call("GET", &at("openShiftVersions/4.0.0", VERSION), None).await.refusal().1,
        "ResourceNotFound"
    );
    assert_eq!(
        api.call("GET", &at("openShiftVersions", "2020-04-30"), None).await.refusal().1,
        "InvalidResourceType"
    );
    let roles = api.call("GET", &at("platformWorkloadIdentityRoleSets/4.19", VERSION), None).await.json();
    assert_eq!(roles["properties"]["platformWorkloadIdentityRoles"][0]["operatorName"], "disk");
    let operations = api.call("GET", "/providers/Microsoft.RedHatOpenShift/operations", None).await.json();
    assert_eq!(operations["value"].as_array().unwrap().len(), 11);
}
