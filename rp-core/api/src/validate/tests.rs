//! One case per rule, and the result of every version for the same cluster.

use serde_json::{Value, json};

use super::*;
use crate::{all, convert, decode};

const ID: &str = "/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/group/providers/Microsoft.RedHatOpenShift/openShiftClusters/cluster";
const SUB: &str = "00000000-0000-0000-0000-000000000001";

fn context(version: &Version) -> ValidationContext<'_> {
    ValidationContext {
        version,
        id: ID,
        name: "cluster",
        subscription: SUB,
        group: "group",
        region: "eastus",
        domain: "eastus.aroapp.io",
        architecture: 1,
        development_workers: false,
    }
}

fn subnet(name: &str) -> String {
    format!(
        "/subscriptions/{SUB}/resourceGroups/net/providers/Microsoft.Network/virtualNetworks/vnet/subnets/{name}"
    )
}

/// A new cluster that every rule of the newest version lets through.
fn good() -> Value {
    json!({
        "id": ID, "name": "cluster", "type": "Microsoft.RedHatOpenShift/openShiftClusters", "location": "eastus",
        "properties": {
            "provisioningState": "Succeeded",
            "clusterProfile": {"domain": "abc", "version": "4.19.1", "fipsValidatedModules": "Disabled",
                "resourceGroupId": format!("/subscriptions/{SUB}/resourceGroups/managed")},
            "consoleProfile": {},
            "servicePrincipalProfile": {"clientId": "11111111-1111-1111-1111-111111111111", "clientSecret": "s"},
            "networkProfile": {"podCidr": "10.128.0.0/14", "serviceCidr": "172.30.0.0/16",
                "softwareDefinedNetwork": "OVNKubernetes"},
            "masterProfile": {"vmSize": "Standard_D8s_v3", "subnetId": subnet("master"), "encryptionAtHost": "Disabled"},
            "workerProfiles": [{"name": "worker", "vmSize": "Standard_D4s_v3", "diskSizeGB": 128,
                "subnetId": subnet("worker"), "count": 3, "encryptionAtHost": "Disabled"}],
            "apiserverProfile": {"visibility": "Public"},
            "ingressProfiles": [{"name": "default", "visibility": "Public"}]
        }
    })
}

fn newest() -> &'static Version {
    all().last().unwrap()
}

/// Sets a member (a pointer) and says what the create's error is then.
fn broken(version: &Version, pointer: &str, value: Value) -> (String, String, String) {
    let mut wanted = good();
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    match wanted.pointer_mut(parent).unwrap() {
        Value::Object(map) => drop(map.insert(name.to_owned(), value)),
        Value::Array(list) => list[name.parse::<usize>().unwrap()] = value,
        _ => unreachable!(),
    }
    let error = create(&context(version), &wanted).unwrap_err();
    assert_eq!(error.status, 400);
    (error.body.code.to_owned(), error.body.target, error.body.message)
}

#[test]
fn every_version_takes_a_good_cluster() {
    for version in all() {
        let body = serde_json::to_vec(&good()).unwrap();
        let mut sent = convert::put_base(version, &Value::Null);
        decode::decode_into(version, &mut sent, &body).unwrap();
        create(&context(version), &sent).unwrap_or_else(|error| panic!("{}: {error}", version.name));
    }
}

#[test]
fn each_rule_of_a_create_names_its_member() {
    let p = "/properties";
    let cases: Vec<(String, Value, &str, &str, &str)> = vec![
        ("/id".into(), json!("/x"), "MismatchingResourceID", "id", "did not match the name in the Url"),
        ("/name".into(), json!("x"), "MismatchingResourceName", "name", "resource name 'x'"),
        ("/type".into(), json!("x"), "MismatchingResourceType", "type", "resource type 'x'"),
        (
            "/location".into(),
            json!("mars"),
            "InvalidParameter",
            "location",
            "The provided location 'mars' is invalid.",
        ),
        (
            format!("{p}/provisioningState"),
            json!("Gone"),
            "InvalidParameter",
            "properties.provisioningState",
            "'Gone'",
        ),
        (
            format!("{p}/clusterProfile/pullSecret"),
            json!("{\"auths\": []}"),
            "InvalidParameter",
            "properties.clusterProfile.pullSecret",
            "The provided pull secret is invalid.",
        ),
        (
            format!("{p}/clusterProfile/domain"),
            json!("a"),
            "InvalidParameter",
            "properties.clusterProfile.domain",
            "'a'",
        ),
        (
            format!("{p}/clusterProfile/domain"),
            json!("x.westus.aroapp.io"),
            "InvalidParameter",
            "properties.clusterProfile.domain",
            "x.westus.aroapp.io",
        ),
        (
            format!("{p}/clusterProfile/domain"),
            json!("xy.z.eastus.aroapp.io"),
            "InvalidParameter",
            "properties.clusterProfile.domain",
            "xy.z",
        ),
        (
            format!("{p}/clusterProfile/resourceGroupId"),
            json!(format!("/subscriptions/{SUB}/resourceGroups/GROUP")),
            "InvalidParameter",
            "properties.clusterProfile.resourceGroupId",
            "must be different from resourceGroup",
        ),
        (
            format!("{p}/clusterProfile/fipsValidatedModules"),
            json!(""),
            "InvalidParameter",
            "properties.clusterProfile.fipsValidatedModules",
            "The provided value '' is invalid.",
        ),
        (
            format!("{p}/servicePrincipalProfile/clientId"),
            json!("x"),
            "InvalidParameter",
            "properties.servicePrincipalProfile.clientId",
            "The provided client ID 'x' is invalid.",
        ),
        (
            format!("{p}/servicePrincipalProfile/clientSecret"),
            json!(""),
            "InvalidParameter",
            "properties.servicePrincipalProfile.clientSecret",
            "The provided client secret is invalid.",
        ),
        (
            format!("{p}/networkProfile/podCidr"),
            json!("x"),
            "InvalidParameter",
            "properties.networkProfile.podCidr",
            "The provided pod CIDR 'x' is invalid: 'invalid CIDR address: x'.",
        ),
        (
            format!("{p}/networkProfile/podCidr"),
            json!("fd00::/48"),
            "InvalidParameter",
            "properties.networkProfile.podCidr",
            "must be IPv4.",
        ),
        (
            format!("{p}/networkProfile/podCidr"),
            json!("100.64.0.0/10"),
            "InvalidCIDRRange",
            "properties.networkProfile",
            "'100.64.0.0/10'",
        ),
        (
            format!("{p}/networkProfile/serviceCidr"),
            json!("172.30.0.0/23"),
            "InvalidParameter",
            "properties.networkProfile.serviceCidr",
            "must be /22 or larger.",
        ),
        (
            format!("{p}/networkProfile/podCidr"),
            json!("10.129.0.0/14"),
            "InvalidNetworkAddress",
            "properties.networkProfile.podCidr",
            "expecting: '10.128.0.0/14'.",
        ),
        (
            format!("{p}/networkProfile/outboundType"),
            json!("x"),
            "InvalidParameter",
            "properties.networkProfile.outboundType",
            "must be UserDefinedRouting or Loadbalancer.",
        ),
        (
            format!("{p}/networkProfile/outboundType"),
            json!("UserDefinedRouting"),
            "InvalidParameter",
            "properties.networkProfile.outboundType",
            "is public.",
        ),
        (
            format!("{p}/networkProfile/loadBalancerProfile"),
            json!({"managedOutboundIps": {"count": 21}}),
            "InvalidParameter",
            "properties.networkProfile.loadBalancerProfile.managedOutboundIps.count",
            "1 to 20",
        ),
        (
            format!("{p}/masterProfile/vmSize"),
            json!("Standard_D4s_v3"),
            "InvalidParameter",
            "properties.masterProfile.vmSize",
            "invalid for the 'master' role.",
        ),
        (
            format!("{p}/masterProfile/subnetId"),
            json!("x"),
            "InvalidParameter",
            "properties.masterProfile.subnetId",
            "The provided master VM subnet 'x' is invalid.",
        ),
        (
            format!("{p}/apiserverProfile/visibility"),
            json!("x"),
            "InvalidParameter",
            "properties.apiserverProfile.visibility",
            "The provided visibility 'x' is invalid.",
        ),
        (
            format!("{p}/apiserverProfile/ip"),
            json!("::1"),
            "InvalidParameter",
            "properties.apiserverProfile.ip",
            "The provided IP '::1' is invalid: must be IPv4.",
        ),
        (
            format!("{p}/workerProfiles"),
            json!([]),
            "InvalidParameter",
            "properties.workerProfiles",
            "There should be exactly one worker profile.",
        ),
        (
            format!("{p}/workerProfiles/0/name"),
            json!("w"),
            "InvalidParameter",
            "properties.workerProfiles['w'].name",
            "The provided worker name 'w' is invalid.",
        ),
        (
            format!("{p}/workerProfiles/0/count"),
            json!(51),
            "InvalidParameter",
            "properties.workerProfiles['worker'].count",
            "The provided worker count '51' is invalid.",
        ),
        (
            format!("{p}/workerProfiles/0/diskSizeGB"),
            json!(127),
            "InvalidParameter",
            "properties.workerProfiles['worker'].diskSizeGB",
            "'127'",
        ),
        (
            format!("{p}/workerProfiles/0/subnetId"),
            json!(subnet("MASTER")),
            "InvalidParameter",
            "properties.workerProfiles['worker'].subnetId",
            "must be different to master VM subnet",
        ),
        (
            format!("{p}/workerProfiles/0/diskEncryptionSetId"),
            json!("x"),
            "InvalidParameter",
            "properties.workerProfiles['worker'].subnetId",
            "must be the same as master disk encryption set ''.",
        ),
        (
            format!("{p}/ingressProfiles/0/name"),
            json!("x"),
            "InvalidParameter",
            "properties.ingressProfiles['x'].name",
            "The provided ingress name 'x' is invalid.",
        ),
        (
            format!("{p}/ingressProfiles/0"),
            Value::Null,
            "InvalidParameter",
            "properties.ingressProfiles[0]",
            "The field 'properties.ingressProfiles[0]' is required.",
        ),
        (
            format!("{p}/masterProfile"),
            Value::Null,
            "InvalidParameter",
            "properties.masterProfile",
            "The field 'properties.masterProfile' is required.",
        ),
    ];
    for (pointer, value, code, target, words) in cases {
        let mut wanted = good();
        // A null object would be refused by its type before its rule.
        if value.is_null() && pointer.ends_with("masterProfile") {
            wanted["properties"].as_object_mut().unwrap().remove("masterProfile");
            let error = create(&context(newest()), &wanted).unwrap_err();
            assert_eq!((error.body.target.as_str(), error.body.code), (target, code));
            continue;
        }
        let (is_code, is_target, message) = broken(newest(), &pointer, value);
        assert_eq!((is_code.as_str(), is_target.as_str()), (code, target), "{pointer}: {message}");
        assert!(message.contains(words), "{pointer}: {message}");
    }
}

#[test]
fn older_versions_ask_for_a_service_principal() {
    let mut wanted = good();
    wanted["properties"].as_object_mut().unwrap().remove("servicePrincipalProfile");
    let old = crate::find("2023-11-22").unwrap();
    let error = create(&context(old), &wanted).unwrap_err();
    assert_eq!(error.body.target, "properties.servicePrincipalProfile.servicePrincipalProfile");
    let error = create(&context(newest()), &wanted).unwrap_err();
    assert_eq!(error.body.message, "Must provide either an identity or service principal credentials.");
}

#[test]
fn workload_identity_needs_one_identity_and_operators() {
    let id = format!(
        "/subscriptions/{SUB}/resourceGroups/g/providers/Microsoft.ManagedIdentity/userAssignedIdentities/"
    );
    let mut wanted = good();
    let properties = wanted["properties"].as_object_mut().unwrap();
    properties.remove("servicePrincipalProfile");
    properties.insert(
        "platformWorkloadIdentityProfile".into(),
        json!({"platformWorkloadIdentities": {"a": {"resourceId": format!("{id}a")}, "b": {"resourceId": format!("{id}b")}}}),
    );
    wanted["identity"] = json!({"type": "UserAssigned", "userAssignedIdentities": {format!("{id}c"): {}}});
    create(&context(newest()), &wanted).unwrap();

    let fails = |change: &dyn Fn(&mut Value)| {
        let mut wanted = wanted.clone();
        change(&mut wanted);
        create(&context(newest()), &wanted).unwrap_err().body
    };
    let platform = "/properties/platformWorkloadIdentityProfile";
    let error = fails(&|w| w["identity"]["userAssignedIdentities"] = json!({}));
    assert_eq!(error.message, "The provided cluster identity is invalid; there should be exactly one.");
    let error = fails(&|w| drop(w.as_object_mut().unwrap().remove("identity")));
    assert_eq!(error.target, "identity");
    let error = fails(&|w| w.pointer_mut(platform).unwrap()["platformWorkloadIdentities"] = json!({}));
    assert_eq!(error.message, "The set of platform workload identities cannot be empty.");
    let error = fails(&|w| {
        w.pointer_mut(platform).unwrap()["platformWorkloadIdentities"]["b"] =
            json!({"resourceId": format!("{id}A")});
    });
    assert!(error.message.ends_with("used by multiple identities."), "{}", error.message);
    let error = fails(&|w| w.pointer_mut(platform).unwrap()["upgradeableTo"] = json!("4.19"));
    assert_eq!(error.target, "properties.platformWorkloadIdentityProfile.UpgradeableTo[4.19]");
}

#[test]
fn an_update_changes_what_may_change() {
    for version in all() {
        let stored = good();
        let is = convert::to_external(version, &stored);
        let change = |body: Value| {
            let mut wanted = is.clone();
            decode::decode_into(version, &mut wanted, &serde_json::to_vec(&body).unwrap()).unwrap();
            update(&context(version), &is, &wanted).map_err(|error| error.body.target)
        };
        assert_eq!(change(json!({"tags": {"a": "b"}})), Ok(()), "{}", version.name);
        let secret = json!({"properties": {"servicePrincipalProfile": {"clientSecret": "new"}}});
        assert_eq!(change(secret), Ok(()), "{}", version.name);
        assert_eq!(change(json!({"location": "EASTUS"})), Err("location".into()), "{}", version.name);
        assert_eq!(change(json!({"name": "CLUSTER"})), Ok(()), "{}", version.name);
        let count = json!({"properties": {"workerProfiles": [{"count": 4}]}});
        assert_eq!(
            change(count),
            Err("properties.workerProfiles['worker'].count".into()),
            "{}",
            version.name
        );
        let more = json!({"properties": {"workerProfiles": [{}, {}]}});
        assert_eq!(change(more), Err("properties.workerProfiles".into()), "{}", version.name);
        let url = json!({"properties": {"consoleProfile": {"url": "https://console.example"}}});
        assert_eq!(change(url), Err("properties.consoleProfile.url".into()), "{}", version.name);
    }
}
