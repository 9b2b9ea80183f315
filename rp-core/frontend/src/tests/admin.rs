//! What administrators' tools ask for (`contract/frontend.md` §10, §11).

use std::sync::Arc;

use rp_access::{Access, AccessParts, Policy};
use rp_audit::{Audit, AuditOptions, CheckpointKey};
use rp_base::{ManualClock, SystemRandom, Timestamp};
use rp_database::{Draft, in_memory};
use rp_documents::Collection;
use rp_metrics::Registry;
use serde_json::{Value, json};

use super::{Api, SUB, id, path, wanted};
use crate::{AdminParts, Issuer, SshEndpoint, StoreOffers};

const VERSIONS: &str = "/admin/versions";
const SETS: &str = "/admin/platformworkloadidentityrolesets";
const CALLER: (&str, &str) = ("x-ms-arm-resource-system-data", r#"{"lastModifiedBy": "sre@example.org"}"#);

fn version(name: &str, enabled: bool, default: bool) -> Value {
    json!({"properties": {"version": name, "openShiftPullspec": "o", "installerPullspec": "i",
        "enabled": enabled, "default": default}})
}

async fn listed(api: &Api, path: &str) -> Vec<Value> {
    let told = api.call("GET", path, None).await;
    assert_eq!(told.status, 200, "{}", told.text);
    told.json()["value"].as_array().unwrap().clone()
}

#[tokio::test]
async fn versions_are_made_changed_and_have_one_default() {
    let api = Api::new();
    for (name, default, status) in [("4.10.1", false, 201), ("4.9.3", true, 201), ("4.10.1", false, 200)] {
        let told = api.call("PUT", VERSIONS, Some(version(name, true, default))).await;
        assert_eq!(told.status, status, "{}", told.text);
    }
    let told = api.call("PUT", VERSIONS, Some(version("4.10.1", true, true))).await;
    assert_eq!(
        told.json(),
        json!({"name": "4.10.1", "type": "Microsoft.RedHatOpenShift/OpenShiftVersion",
        "properties": {"version": "4.10.1", "openShiftPullspec": "o", "installerPullspec": "i",
            "enabled": true, "default": true}})
    );
    let all = listed(&api, VERSIONS).await;
    let told: Vec<_> =
        all.iter().map(|one| (one["name"].clone(), one["properties"]["default"].clone())).collect();
    assert_eq!(told, [(json!("4.9.3"), json!(false)), (json!("4.10.1"), json!(true))]);

    let refused = |body: Value| async { api.call("PUT", VERSIONS, Some(body)).await.refusal() };
    let invalid = |target: &str| (400, "InvalidParameter".to_owned(), target.to_owned());
    assert_eq!(refused(version("4.10.1", false, true)).await, invalid("properties.enabled"));
    assert_eq!(refused(version("4.10.1", true, false)).await, invalid("properties.default"));
    assert_eq!(refused(json!({})).await, invalid("properties.version"));
    let mut renamed = version("4.9.3", true, false);
    renamed["name"] = json!("x");
    assert_eq!(refused(renamed).await, (400, "PropertyChangeNotAllowed".to_owned(), "name".to_owned()));
    let told = api.send("PUT", VERSIONS, &[], "{".to_owned()).await;
    assert_eq!(
        told.json()["error"]["message"],
        "The request content was invalid and could not be deserialized."
    );
    let told = api.call("PUT", VERSIONS, Some(json!({"properties": {"enabled": 1}}))).await;
    let message = told.json()["error"]["message"].as_str().unwrap().to_owned();
    assert!(message.starts_with("The request content could not be deserialized: "), "{message}");
    assert_eq!(listed(&api, VERSIONS).await, all, "a refusal changes nothing");

    // What ARM's callers are offered follows.
    let offers = StoreOffers::start(api.store.clone()).await;
    assert_eq!(crate::Offers::default_version(&*offers).as_deref(), Some("4.10.1"));
}

#[tokio::test]
async fn of_versions_written_at_once_each_is_there_once() {
    let api = Api::new();
    let writes = (0..20).map(|n| {
        let body = version(&format!("4.1{}.0", n % 4), true, n % 5 == 0);
        let api = &api;
        async move { api.call("PUT", VERSIONS, Some(body)).await.status.as_u16() }
    });
    for status in futures_util::future::join_all(writes).await {
        assert!(matches!(status, 200 | 201 | 400), "{status}");
    }
    let all = listed(&api, VERSIONS).await;
    assert_eq!(all.len(), 4);
    let offers = StoreOffers::start(api.store.clone()).await;
    assert!(crate::Offers::default_version(&*offers).is_some());
}

#[tokio::test]
async fn role_sets_are_made_and_changed() {
    let api = Api::new();
    let role = |name: &str| {
        json!({"operatorName": name, "roleDefinitionName": "n", "roleDefinitionId": "i",
            "serviceAccounts": ["a"], "secretLocation": {"namespace": "s", "name": "t"}})
    };
    let set = |minor: &str, roles: Value| json!({"properties": {"openShiftVersion": minor, "platformWorkloadIdentityRoles": roles}});
    let told = api.call("PUT", SETS, Some(set("4.10", json!([role("x")])))).await;
    assert_eq!(told.status, 201, "{}", told.text);
    assert_eq!(api.call("PUT", SETS, Some(set("4.9", json!([role("x")])))).await.status, 201);
    let told = api.call("PUT", SETS, Some(set("4.10", json!([role("x"), role("y")])))).await;
    assert_eq!(told.status, 200);
    let all = listed(&api, SETS).await;
    assert_eq!(all[1]["name"], "4.10");
    assert_eq!(all[1]["properties"]["platformWorkloadIdentityRoles"], json!([role("x"), role("y")]));
    let told = api.call("PUT", SETS, Some(set("4.10", json!([])))).await;
    assert_eq!(told.refusal().2, "properties.platformWorkloadIdentityRoles");
    let told = api.call("PUT", SETS, Some(set("4.10", json!([{"operatorName": "x"}])))).await;
    assert!(
        told.refusal()
            .2
            .ends_with("[0].roleDefinitionId, properties.platformWorkloadIdentityRoles[0].serviceAccounts")
    );
}

#[tokio::test]
async fn sizes_are_listed_by_role() {
    let api = Api::new();
    let told = api.call("GET", "/admin/supportedvmsizes?vmRole=master", None).await.json();
    assert_eq!(told["Standard_D8s_v3"], json!({"coreCount": 8, "family": "standardDSv3Family"}));
    assert_eq!(told["Standard_D4s_v3"], Value::Null);
    let told = api.call("GET", "/admin/supportedvmsizes?vmRole=worker", None).await.json();
    assert_eq!(told["Standard_D4s_v3"]["coreCount"], 4);
    for asked in ["", "?vmRole=", "?vmRole=Master"] {
        let told = api.call("GET", &format!("/admin/supportedvmsizes{asked}"), None).await;
        assert_eq!(told.status, 400);
        assert!(told.text.contains("vmRole can only be master or worker"), "{}", told.text);
    }
}

#[tokio::test]
async fn the_fleet_is_listed_flat_and_whole() {
    let api = Api::registered().await;
    for n in 0..12 {
        let told = api.call("PUT", &path(&format!("c{n:02}")), Some(wanted(n))).await;
        assert_eq!(told.status, 201, "{}", told.text);
    }
    let told = api.call("GET", "/admin/clusters?name=C0&state=Creating", None).await.json();
    let lines = told.as_array().unwrap();
    assert_eq!(lines.len(), 10);
    assert_eq!(lines[3]["name"], "c03");
    assert_eq!(lines[3]["resourceId"], id("c03"));
    assert_eq!(lines[3]["resourceGroup"], "Group");
    assert_eq!(lines[3]["subscription"], SUB);
    assert_eq!(lines[3]["failedProvisioningState"], "");
    assert_eq!(lines[3]["createdAt"], "2026-11-21T03:12:00Z");
    assert!(lines[3].as_object().unwrap().values().all(Value::is_string));
    for none in ["name=zz", "state=creating", "subscription=ffff", "version=5.", "created_by=nobody"] {
        let told = api.call("GET", &format!("/admin/clusters?{none}"), None).await;
        assert_eq!(told.text, "[]\n", "{none}");
    }

    let list = "/admin/providers/microsoft.redhatopenshift/openShiftClusters";
    let first = api.call("GET", list, None).await.json();
    assert_eq!(first["value"].as_array().unwrap().len(), 10);
    assert_eq!(first["value"][0]["properties"]["architectureVersion"], 1, "the form of administrators");
    let next = first["nextLink"].as_str().unwrap();
    let next = next.strip_prefix("https://management.azure.com").unwrap();
    let rest = api.call("GET", next, None).await.json();
    assert_eq!(rest["value"].as_array().unwrap().len(), 2);
    assert_eq!(rest["nextLink"], Value::Null);
    // A token opens the list that it is of.
    let token = next.split_once('?').unwrap().1;
    let group = format!(
        "/subscriptions/{SUB}/resourceGroups/Other/providers/Microsoft.RedHatOpenShift/openShiftClusters"
    );
    let told = api.call("GET", &format!("{group}?api-version=2025-07-25&{token}"), None).await;
    assert_eq!(told.refusal().2, "$skipToken");
    let told = api.call("GET", &format!("/admin/billingdocuments?{token}"), None).await;
    assert_eq!(told.refusal(), (400, "InvalidParameter".to_owned(), "$skipToken".to_owned()));
}

#[tokio::test]
async fn bills_are_read() {
    let api = Api::new();
    for n in 0..11 {
        let billing = if n == 4 {
            Value::Null
        } else {
            json!({"creationTime": 5, "location": "eastus", "tenantID": "t"})
        };
        let body = json!({"id": format!("b{n:02}"), "key": "k", "clusterResourceGroupIDKey": "g", "infraId": "i",
            "billing": billing, "other": 1});
        let draft = Draft {
            id: format!("b{n:02}"),
            partition: format!("b{n:02}"),
            unique_key: None,
            body: body.to_string(),
            expires_at: None,
        };
        api.store.create(Collection::Billing, draft).await.unwrap();
    }
    let told = api.call("GET", "/admin/billingdocuments", None).await.json();
    assert_eq!(told["value"].as_array().unwrap().len(), 9);
    assert!(told["nextLink"].as_str().unwrap().contains("%24skipToken="));
    let told = api.call("GET", "/admin/billingdocuments/b03", None).await;
    assert_eq!(
        told.json(),
        json!({"id": "b03", "key": "k", "clusterResourceGroupIDKey": "g", "infraId": "i",
        "billing": {"creationTime": 5, "location": "eastus", "tenantID": "t"}})
    );
    assert_eq!(api.call("GET", "/admin/billingdocuments/b04", None).await.text, "null\n");
    let told = api.call("GET", "/admin/billingdocuments/none", None).await;
    assert_eq!(told.refusal(), (404, "NotFound".to_owned(), String::new()));
}

#[tokio::test]
async fn without_hive_callers_are_told_so() {
    let api = Api::new();
    let says = |path: &'static str| {
        let api = &api;
        async move {
            let told = api.call("GET", path, None).await;
            (told.status.as_u16(), told.json()["error"]["message"].as_str().unwrap().to_owned())
        }
    };
    let off = (500, "hive is not enabled".to_owned());
    assert_eq!(says("/admin/hivesyncset?issyncset=false").await, off);
    assert_eq!(says("/admin/hive/k8sobjects/pods?namespace=x").await, off);
    let bad = |text: &str| (400, text.to_owned());
    assert_eq!(says("/admin/hivesyncset").await, bad("invalid paremeter value: issyncset"));
    assert_eq!(
        says("/admin/hivesyncset?issyncset=true").await,
        bad("namespace cannot be null for listing syncsets")
    );
    assert_eq!(
        says("/admin/hivesyncset/syncsetname/x?issyncset=false&cdnamespace=y").await,
        bad("namespace should be null for getting a selectorsyncset")
    );
}

#[tokio::test]
async fn a_cluster_has_selectors() {
    let api = Api::registered().await;
    api.call("PUT", &path("c"), Some(wanted(1))).await;
    let told = api.call("GET", &format!("/admin{}/selectors", id("c")), None).await.json();
    assert_eq!(told["resourceID"], id("c").to_lowercase());
    assert_eq!(told["subscriptionState"], "Registered");
    assert_eq!(told["authenticationType"], "ServicePrincipal");
    assert_eq!(told["architectureVersion"], "1");
    assert_eq!(told["outboundType"], "Loadbalancer");
    assert_eq!(told["isManagedDomain"], "true");
    assert!(told["bucketID"].as_str().unwrap().parse::<u8>().is_ok());
    let told = api.call("GET", &format!("/admin{}/selectors", id("none")), None).await;
    assert_eq!(told.refusal().0, 404);
}

#[tokio::test]
async fn objects_say_why_they_are_not_read() {
    let api = Api::registered().await;
    api.call("PUT", &path("c"), Some(wanted(1))).await;
    let objects = format!("/admin{}/kubernetesobjects", id("c"));
    let told = api.call("GET", &format!("{objects}?kind=Pod&unrestricted=maybe"), None).await;
    assert_eq!(told.refusal(), (400, "InvalidParameter".to_owned(), "unrestricted".to_owned()));
    let told = api.call("GET", &objects, None).await;
    assert_eq!(told.json()["error"]["message"], "The provided resource is invalid.");
    let none = format!("/admin{}/kubernetesobjects?kind=Pod", id("none"));
    assert_eq!(api.call("GET", &none, None).await.refusal().0, 404);
    assert_eq!(api.call("PUT", &objects, Some(json!({}))).await.status, 405);
    let told = api.call("DELETE", &objects, None).await;
    assert_eq!(told.json()["error"]["message"], "The provided resource is invalid.");
    assert_eq!(api.call("GET", &format!("/admin{}/nothing", id("c")), None).await.status, 404);
    let wrong = id("c").replace("Microsoft.RedHatOpenShift", "Microsoft.Other");
    let told = api.call("GET", &format!("/admin{wrong}/selectors"), None).await;
    assert_eq!(told.refusal().1, "InvalidResourceNamespace");
}

async fn issuing() -> (Api, Arc<Access>) {
    let clock = ManualClock::at(Timestamp::from_seconds(1_795_230_720));
    let (store, trail) = (in_memory(Arc::new(clock.clone())), in_memory(Arc::new(clock.clone())));
    let options = AuditOptions::new(CheckpointKey::generate().unwrap());
    let audit = Audit::start(trail, Arc::new(clock.clone()), options).await.unwrap();
    let keyring = rp_seal::Keyring::generate(&SystemRandom);
    let access = AccessParts {
        store: store.clone(),
        audit,
        keyring: keyring.clone(),
        clock: Arc::new(clock.clone()),
        random: Arc::new(SystemRandom),
        policy: Policy::default(),
        registry: Registry::default(),
    };
    let access = Access::start(access).await.unwrap();
    let door = SshEndpoint {
        host: "ssh.example".to_owned(),
        port: 22,
        known_host: "ssh.example ssh-rsa AAAA".to_owned(),
        fips: true,
    };
    let issuer = Issuer {
        access: access.clone(),
        proxy: "https://proxy.example".to_owned(),
        ca_pem: Some("PEM".to_owned()),
        ssh: Some(door),
    };
    let api = Api::over(store, keyring, clock, AdminParts { issuer: Some(issuer), ..AdminParts::default() });
    assert_eq!(api.subscription("Registered").await.status, 201);
    assert_eq!(api.call("PUT", &path("Orion"), Some(wanted(1))).await.status, 201);
    (api, access)
}

#[tokio::test]
async fn automation_gets_kubeconfigs_that_are_grants() {
    let (api, access) = issuing().await;
    let here = std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);
    for (way, elevated, file) in
        [("new", false, "orion.kubeconfig"), ("newelevated", true, "orion-elevated.kubeconfig")]
    {
        let told = api
            .send("POST", &format!("/admin{}/kubeconfig/{way}", id("Orion")), &[CALLER], String::new())
            .await;
        assert_eq!(told.status, 200, "{}", told.text);
        assert_eq!(told.header("content-disposition"), format!("attachment; filename=\"{file}\""));
        assert!(!told.text.ends_with('\n'));
        let config = told.json();
        let server = config["clusters"][0]["cluster"]["server"].as_str().unwrap();
        assert_eq!(server, format!("https://proxy.example{}/kubeconfig/proxy", id("Orion").to_lowercase()));
        let token = config["users"][0]["user"]["token"].as_str().unwrap();
        let live = access.authenticate(token, here).await.unwrap();
        let rights = if elevated { rp_documents::Rights::Admin } else { rp_documents::Rights::Read };
        assert_eq!((live.grant.owner.name.as_str(), live.rights), ("sre@example.org", rights));
        assert_eq!(live.grant.not_after.since(live.grant.created).as_secs(), 21600);
        assert_eq!(
            live.grant.target.as_ref().map(rp_documents::ResourceId::key),
            Some(id("Orion").to_lowercase().as_str())
        );
    }
    let nobody = api.send("POST", &format!("/admin{}/kubeconfig/new", id("Orion")), &[], String::new()).await;
    assert_eq!(nobody.status, 400);
    assert!(nobody.text.contains("The caller identity could not be determined from the request."));
    let none =
        api.send("POST", &format!("/admin{}/kubeconfig/new", id("none")), &[CALLER], String::new()).await;
    assert_eq!(none.refusal().1, "ResourceNotFound");
    let bare = Api::registered().await;
    bare.call("PUT", &path("c"), Some(wanted(1))).await;
    let told =
        bare.send("POST", &format!("/admin{}/kubeconfig/new", id("c")), &[CALLER], String::new()).await;
    assert_eq!(told.refusal(), (503, "InternalServerError".to_owned(), String::new()));
    let told =
        bare.send("POST", &format!("/admin{}/ssh/newelevated", id("c")), &[CALLER], "{}".to_owned()).await;
    assert!(told.text.contains("Portal SSH host key is not available; the SSH endpoint is disabled."));
}

#[tokio::test]
async fn automation_gets_passwords_that_work_once() {
    let (api, access) = issuing().await;
    let ssh = format!("/admin{}/ssh/newelevated", id("Orion"));
    let told = api.send("POST", &ssh, &[CALLER], r#"{"master": 2}"#.to_owned()).await;
    assert_eq!(told.status, 200, "{}", told.text);
    let answer = told.json();
    let command = answer["command"].as_str().unwrap();
    assert!(
        command.starts_with("echo 'ssh.example ssh-rsa AAAA' > ssh.example_known_host ; ssh -o "),
        "{command}"
    );
    assert!(command.ends_with(" sre@ssh.example"), "{command}");
    let here = std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);
    assert!(command.contains(" -o HostKeyAlgorithms=rsa-sha2-512 "), "{command}");
    let live = access.redeem_ssh(answer["password"].as_str().unwrap(), "sre", here).await.unwrap();
    assert_eq!(live.grant.machine.as_deref(), Some("master-2"));
    assert_eq!(live.grant.not_after.since(live.grant.created).as_secs(), 3600);
    let refused = |body: &'static str, caller: &'static str| {
        let (api, ssh) = (&api, &ssh);
        async move {
            let data = json!({"createdBy": caller}).to_string();
            let told = api.send("POST", ssh, &[(CALLER.0, &data)], body.to_owned()).await;
            assert_eq!(told.status, 400, "{}", told.text);
            told.json()["error"]["message"].as_str().unwrap().to_owned()
        }
    };
    assert_eq!(refused(r#"{"master": 3}"#, "a@b").await, "master must be 0, 1, or 2.");
    assert_eq!(refused(r#"{"master": -1}"#, "a@b").await, "master must be 0, 1, or 2.");
    assert!(refused("[", "a@b").await.starts_with("The request body could not be parsed: "));
    let unsupported = "The caller identity contains unsupported characters.";
    for bad in ["-oProxyCommand=x@b", "a b@c", "$(id)@x", "@x"] {
        assert_eq!(refused(r#"{"master": 0}"#, bad).await, unsupported, "{bad}");
    }
    assert_eq!(
        refused(r#"{"master": 0}"#, " ").await,
        "The caller identity could not be determined from the request."
    );
}

#[tokio::test]
async fn detectors_are_shown_as_the_diagnosis_tells_them() {
    let api = Api::registered().await;
    api.call("PUT", &path("C"), Some(wanted(1))).await;
    let list = api.call("GET", &format!("{}/detectors", id("C")), None).await;
    let of = |detector: &str| format!("{}/detectors/{detector}", id("C"));
    let kind = "Microsoft.RedHatOpenShift/openShiftClusters/detectors";
    assert_eq!(
        list.json(),
        json!({"value": [{"id": of("one"), "name": "one", "type": kind, "location": "eastus",
        "properties": {"metadata": {"id": "one"}, "x": 1}}]})
    );
    assert!(!list.text.trim_end().contains('\n'), "compact");
    let one = api.call("GET", &of("One"), None).await;
    assert_eq!(one.json()["properties"], json!({"of": id("C")}));
    for (path, status) in [(of("two"), 404), (of("a%2fb"), 404), (format!("{}/detectors", id("no")), 404)] {
        assert_eq!(api.call("GET", &path, None).await.refusal().0, status, "{path}");
    }
}
