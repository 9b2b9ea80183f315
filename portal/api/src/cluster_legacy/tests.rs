//! Answers of the contract for objects that are whole, empty and odd.

use super::*;
use serde_json::{Value, json};

/// What is answered for an object.
fn answered<O: DeserializeOwned, T: Serialize>(of: fn(&O) -> T, object: Value) -> Value {
    serde_json::to_value(of(&serde_json::from_value(object).unwrap())).unwrap()
}

#[test]
fn instants_are_written_as_the_contract_writes_them() {
    let at = |text: &str| Time(Timestamp::parse(text).ok());
    assert_eq!(time(at("2021-03-09T13:48:16Z")), "2021-03-09 13:48:16 +0000 UTC");
    assert_eq!(time(at("2021-03-09T14:48:16.5+01:00")), "2021-03-09 13:48:16 +0000 UTC");
    assert_eq!(time(Time(None)), "0001-01-01 00:00:00 +0000 UTC");
    assert_eq!(optional_time(at("never")), None);
}

#[test]
fn an_empty_object_gives_the_words_for_nothing() {
    assert_eq!(
        answered(machine, json!({"metadata": {"name": "m"}})),
        json!({"name": "m", "createdTime": "0001-01-01 00:00:00 +0000 UTC", "lastUpdated": "Unknown",
            "errorReason": "None", "errorMessage": "None", "lastOperation": "Unknown",
            "lastOperationDate": "Unknown", "status": "Unknown"})
    );
    let nothing = json!({"cpu": "0", "storageVolume": "0", "memory": "0", "pods": "0"});
    assert_eq!(
        answered(node, json!({})),
        json!({"name": "", "createdTime": "0001-01-01 00:00:00 +0000 UTC", "capacity": nothing,
            "allocatable": nothing, "volumes": [], "taints": [], "conditions": [], "labels": {}, "annotations": {}})
    );
    assert_eq!(
        answered(operator, json!({"metadata": {"name": "dns"}})),
        json!({"name": "dns", "available": "Unknown", "progressing": "Unknown", "degraded": "Unknown",
            "conditions": []})
    );
}

#[test]
fn a_node_is_written_with_what_it_has_and_optional_members_only_where_they_are() {
    let object = json!({
        "metadata": {"name": "n", "creationTimestamp": "2021-03-09T13:48:16Z", "labels": {"b": "", "a": "1"},
            "annotations": {"x": "y"}},
        "spec": {"taints": [{"key": "k", "effect": "NoSchedule"},
            {"key": "l", "value": "v", "effect": "NoExecute", "timeAdded": "2021-03-09T13:48:17Z"}]},
        "status": {"capacity": {"cpu": "8", "memory": "32880480Ki", "pods": 250}, "allocatable": {"cpu": "7500m"},
            "volumesAttached": [{"name": "disk", "devicePath": "0"}],
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady",
                "lastHeartbeatTime": "2021-03-09T13:48:18Z"}]}});
    assert_eq!(
        answered(node, object),
        json!({"name": "n", "createdTime": "2021-03-09 13:48:16 +0000 UTC",
            "capacity": {"cpu": "8", "storageVolume": "0", "memory": "32880480Ki", "pods": "250"},
            "volumes": [{"name": "disk", "path": "0"}],
            "allocatable": {"cpu": "7500m", "storageVolume": "0", "memory": "0", "pods": "0"},
            "taints": [{"key": "k", "effect": "NoSchedule"}, {"key": "l", "value": "v", "effect": "NoExecute",
                "timeAdded": "2021-03-09 13:48:17 +0000 UTC"}],
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady",
                "lastHeartbeatTime": "2021-03-09 13:48:18 +0000 UTC"}],
            "labels": {"a": "1", "b": ""}, "annotations": {"x": "y"}})
    );
}

#[test]
fn the_status_of_an_operator_stands_in_its_conditions() {
    let object = json!({"metadata": {"name": "dns"}, "status": {"conditions": [
        {"type": "Available", "status": "True", "reason": "AsExpected", "message": "m",
            "lastTransitionTime": "2021-03-09T13:48:16Z"}, {"type": "Degraded"}]}});
    assert_eq!(
        answered(operator, object),
        json!({"name": "dns", "available": "True", "progressing": "Unknown", "degraded": "", "conditions": [
            {"type": "Available", "lastUpdated": "2021-03-09 13:48:16 +0000 UTC", "status": "True",
                "reason": "AsExpected", "message": "m"},
            {"type": "Degraded", "lastUpdated": "0001-01-01 00:00:00 +0000 UTC", "status": "", "reason": "",
                "message": ""}]})
    );
}

#[test]
fn a_machine_set_is_written_with_lower_case_keys() {
    let object = json!({"metadata": {"name": "s", "creationTimestamp": "2021-03-09T13:48:16Z",
            "labels": {"machine.openshift.io/cluster-api-machine-type": "worker"}},
        "spec": {"replicas": 0, "template": {"spec": {"providerSpec": {"value": {"VMSIZE": "big", "vnet": "v",
            "subnet": "n", "publicLoadBalancer": "lb",
            "osDisk": {"managedDisk": {"storageAccountType": "Premium_LRS"}}}}}}},
        "status": {"replicas": 2}});
    assert_eq!(
        answered(machine_set, object),
        json!({"name": "s", "type": "worker", "createdat": "2021-03-09 13:48:16 +0000 UTC", "desiredreplicas": 0,
            "replicas": 2, "errorreason": "None", "errormessage": "None", "publicloadbalancername": "lb",
            "vmsize": "big", "accountstoragetype": "Premium_LRS", "subnet": "n", "vnet": "v"})
    );
    let odd = json!({"spec": {"template": {"spec": {"providerSpec": {"value": 7}}}}});
    let odd = answered(machine_set, odd);
    assert_eq!((&odd["vmsize"], &odd["accountstoragetype"]), (&json!(""), &json!("")));
}
