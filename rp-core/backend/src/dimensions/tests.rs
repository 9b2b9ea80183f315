use rp_api::CloudError;
use serde_json::json;

use super::*;

const ID: &str = "/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/g/providers/Microsoft.RedHatOpenShift/openShiftClusters/c";

fn value<'a>(all: &'a [(String, String)], name: &str) -> &'a str {
    all.iter().find(|(each, _)| each == name).map_or("absent", |(_, value)| value)
}

#[test]
fn values_are_those_of_the_cluster() {
    let body = serde_json::from_value(json!({
        "id": "a", "key": "/subscriptions/s/resourcegroups/g/providers/p/openshiftclusters/c", "partitionKey": "s",
        "openShiftCluster": {
            "id": ID, "name": "c", "location": "eastus", "tags": {"a": "b"},
            "properties": {
                "clusterProfile": {"domain": "short", "version": "4.18.1", "fipsValidatedModules": "Disabled"},
                "networkProfile": {"podCidr": "10.128.0.0/14", "serviceCidr": "10.9.0.0/16", "outboundType": "odd"},
                "workerProfiles": [{"vmSize": "Standard_D4s_v3", "diskSizeGB": 128}],
                "ingressProfiles": [{"name": "default", "visibility": "Public"}],
                "operatorFlags": {"aro.x.enabled": "true", "odd flag": "x", "number": 5},
                "servicePrincipalProfile": {"clientId": "x"},
            },
        },
    }))
    .unwrap();
    let failure = OperationFailure::for_customer(&CloudError::bad("Code", "", "x"), "");
    let told = TerminalOperation {
        body: &body,
        operation: "Deleting",
        initial: "Deleting",
        end: OperationEnd::Failed,
        failure: Some(&failure),
    };
    let all = dimensions_of(&told, "eastus.aroapp.io");
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
    let done = dimensions_of(&TerminalOperation { end: OperationEnd::Succeeded, failure: None, ..told }, "x");
    assert_eq!((value(&done, "resulttype"), value(&done, "provisioningstate")), ("Success", "Succeeded"));
    assert_eq!(domain_of("a.eastus.aroapp.io", "eastus.aroapp.io"), "managed");
    assert_eq!(domain_of("a.example.com", "eastus.aroapp.io"), "Custom");
}

#[test]
fn clusters_of_any_shape_have_dimensions() {
    for properties in [json!({}), json!({"workerProfiles": [5], "operatorFlags": 3, "networkProfile": null})]
    {
        let body = json!({"id": "a", "key": "k", "partitionKey": "p",
            "openShiftCluster": {"id": ID, "tags": 1, "properties": properties}});
        let body = serde_json::from_value(body).unwrap();
        let told = TerminalOperation {
            body: &body,
            operation: "x",
            initial: "x",
            end: OperationEnd::Succeeded,
            failure: None,
        };
        assert!(dimensions_of(&told, "").len() > 20);
    }
}
