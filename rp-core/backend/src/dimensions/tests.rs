use rp_api::CloudError;
use serde_json::json;

use super::*;

fn value<'a>(all: &'a [(String, String)], name: &str) -> &'a str {
    all.iter().find(|(each, _)| each == name).map_or("absent", |(_, value)| value)
}

#[test]
fn values_are_those_of_the_cluster() {
    let body = json!({
        "key": "/subscriptions/s/resourcegroups/g/providers/p/openshiftclusters/c", "partitionKey": "s",
        "openShiftCluster": {
            "id": "/subscriptions/S/c", "name": "c", "location": "eastus", "tags": {"a": "b"},
            "properties": {
                "clusterProfile": {"domain": "short", "version": "4.18.1", "fipsValidatedModules": "Disabled"},
                "networkProfile": {"podCidr": "10.128.0.0/14", "serviceCidr": "10.9.0.0/16", "outboundType": "odd"},
                "workerProfiles": [{"vmSize": "Standard_D4s_v3", "diskSizeGB": 128}],
                "ingressProfiles": [{"name": "default", "visibility": "Public"}],
                "operatorFlags": {"aro.x.enabled": "true", "odd flag": "x", "number": 5},
                "servicePrincipalProfile": {"clientId": "x"},
            },
        },
    });
    let wrong = Wrong::told(&CloudError::bad("Code", "", "x"), "");
    let told = Told {
        body: &body,
        operation: "Deleting",
        initial: "Deleting",
        target: Target::Failed,
        wrong: Some(&wrong),
    };
    let all = of(&told, "eastus.aroapp.io");
    for (name, want) in [
        ("operationtype", "Deleting"),
        ("provisioningstate", "Failed"),
        ("resulttype", "UserError"),
        ("subscriptionid", "s"),
        ("resourceid", "/subscriptions/s/resourcegroups/g/providers/p/openshiftclusters/c"),
        ("correlationdata.requestid", "empty"),
        ("clusterprofile.domain", "managed"),
        ("networkprofile.podcidr", "Default"),
        ("networkprofile.servicecidr", "Custom"),
        ("networkprofile.outboundtype", "unknown"),
        ("workprofile.count", "1"),
        ("workprofile.disksize", "128"),
        ("ingressprofile", "Public.default"),
        ("operatorflags-aro.x.enabled", "true"),
        ("operatorflags-odd flag", "absent"),
        ("operatorflags-number", "absent"),
        ("clusteridentity", "serviceprincipal"),
        ("tags", "Enabled"),
        ("fips", "Disabled"),
        ("pullsecret", "Disabled"),
    ] {
        assert_eq!(value(&all, name), want, "{name}");
    }
    let done = of(&Told { target: Target::Succeeded, wrong: None, ..told }, "x");
    assert_eq!((value(&done, "resulttype"), value(&done, "provisioningstate")), ("Success", "Succeeded"));
    assert_eq!(domain_of("a.eastus.aroapp.io", "eastus.aroapp.io"), "managed");
    assert_eq!(domain_of("a.example.com", "eastus.aroapp.io"), "Custom");
}

#[test]
fn documents_of_any_shape_have_dimensions() {
    for body in [json!(null), json!({"openShiftCluster": {"properties": {"workerProfiles": [5], "tags": 1}}})]
    {
        let told = Told { body: &body, operation: "x", initial: "x", target: Target::Succeeded, wrong: None };
        assert!(of(&told, "").len() > 20);
    }
}
