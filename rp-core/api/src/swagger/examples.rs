//! One example for each operation: requests and responses of the sample clusters, written by the
//! code that writes real ones.

use serde_json::{Map, Value, json};

use super::operations::{LongRunning, Operation, PathScope, of_version};
use super::samples::{self, GROUP, Identity, NAME, REGION, SUBSCRIPTION, openshift};
use crate::response::ClusterResponse;
use crate::version::{JsonDialect, Version};
use crate::{convert, render};

/// The operations of a version, each with its example; none when the version was never published.
pub fn examples(version: &Version) -> Vec<(&'static str, Value)> {
    if version.published.is_none() {
        return Vec::new();
    }
    of_version(version).map(|operation| (operation.id, example(version, operation))).collect()
}

fn example(version: &Version, operation: &Operation) -> Value {
    let responses: Map<String, Value> = responses(version, operation)
        .into_iter()
        .map(|(status, answer)| (status.to_owned(), answer))
        .collect();
    let mut example =
        json!({"parameters": parameters(version, operation), "responses": Value::Object(responses)});
    if version.json == JsonDialect::Sorted {
        example["operationId"] = json!(operation.id);
        example["title"] = json!(operation.summary);
    }
    example
}

fn parameters(version: &Version, operation: &Operation) -> Value {
    let mut parameters = json!({"api-version": version.name});
    let mut set = |name: &str, value: &str| parameters[name] = json!(value);
    if operation.scope != PathScope::Provider {
        set("subscriptionId", SUBSCRIPTION);
    }
    match operation.scope {
        PathScope::Provider | PathScope::Subscription => {}
        PathScope::Group => set("resourceGroupName", GROUP),
        PathScope::Cluster => {
            set("resourceGroupName", GROUP);
            set("resourceName", NAME);
        }
        PathScope::Region => set("location", REGION),
        PathScope::Version => {
            set("location", REGION);
            set("openShiftVersion", openshift().0);
        }
        PathScope::Minor => {
            set("location", REGION);
            set("openShiftMinorVersion", minor());
        }
    }
    match operation.id {
        "OpenShiftClusters_CreateOrUpdate" => parameters["parameters"] = request(version),
        "OpenShiftClusters_Update" => parameters["parameters"] = change(version),
        _ => {}
    }
    parameters
}

/// The sample that shows what the version is for.
fn identity(version: &Version) -> Identity {
    if version.service_principal_required { Identity::ServicePrincipal } else { Identity::Workload }
}

/// The body of a PUT: all that a caller may say, and nothing else.
fn request(version: &Version) -> Value {
    let mut body = convert::to_external(version, &samples::wanted(identity(version)));
    convert::without_read_only(version, &mut body);
    pruned(&mut body);
    body
}

/// The body of a PATCH: members that may change.
fn change(version: &Version) -> Value {
    let whole = request(version);
    let mut body = json!({"tags": whole["tags"], "properties": {}});
    for name in ["servicePrincipalProfile", "platformWorkloadIdentityProfile"] {
        if whole["properties"].get(name).is_some() {
            body["properties"][name] = whole["properties"][name].clone();
        }
    }
    body
}

/// Leaves out objects that say nothing; an identity without members is named by its key.
fn pruned(value: &mut Value) {
    let Value::Object(map) = value else { return };
    map.values_mut().for_each(pruned);
    map.retain(|name, value| {
        name.starts_with('/') || value.as_object().is_none_or(|below| !below.is_empty())
    });
}

fn responses(version: &Version, operation: &Operation) -> Vec<(&'static str, Value)> {
    let of = identity(version);
    let plain = |body: Value| vec![("200", json!({"body": body}))];
    match operation.long {
        Some(LongRunning::Delete) => {
            let headers = json!({
                "Azure-AsyncOperation": samples::operation("operationsstatus"),
                "Location": samples::operation("operationresults"),
            });
            return vec![("202", json!({"headers": headers})), ("204", json!({}))];
        }
        Some(LongRunning::Write) => {
            let answer = |state: &str| {
                let mut stored = samples::stored(of, state);
                if let Some(properties) = stored["properties"].as_object_mut() {
                    properties.remove("workerProfilesStatus");
                }
                json!({
                    "body": shown(version, &stored),
                    "headers": {"Azure-AsyncOperation": samples::operation("operationsstatus")},
                })
            };
            return vec![("200", answer("Updating")), ("201", answer("Creating"))];
        }
        None => {}
    }
    match operation.id {
        "Operations_List" => plain(json!({"value": [operation_shown()]})),
        "OpenShiftClusters_List" | "OpenShiftClusters_ListByResourceGroup" => {
            plain(json!({"value": [shown(version, &samples::stored(of, "Succeeded"))]}))
        }
        "OpenShiftClusters_Get" => plain(shown(version, &samples::stored(of, "Succeeded"))),
        "OpenShiftClusters_ListCredentials" => {
            plain(json!({"kubeadminUsername": "kubeadmin", "kubeadminPassword": "password"}))
        }
        "OpenShiftClusters_ListAdminCredentials" => plain(json!({"kubeconfig": "a3ViZWNvbmZpZw=="})),
        "OpenShiftVersions_List" => plain(json!({"value": [installable(version)]})),
        "OpenShiftVersions_Get" => plain(installable(version)),
        "PlatformWorkloadIdentityRoleSets_List" => plain(json!({"value": [roles()]})),
        _ => plain(roles()),
    }
}

/// The cluster, by way of the text that a caller would get.
fn shown(version: &Version, stored: &Value) -> Value {
    let shown = convert::to_answer(version, stored);
    let text = render::render(&ClusterResponse { version, shown: &shown }).unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}

fn operation_shown() -> Value {
    json!({
        "name": format!("{}/read", crate::RESOURCE_TYPE),
        "display": {
            "provider": "Azure Red Hat OpenShift",
            "resource": "openShiftClusters",
            "operation": "Read OpenShift cluster",
        },
        "origin": "user,system",
    })
}

fn installable(version: &Version) -> Value {
    let (name, kind) = openshift();
    let mut shown =
        json!({"id": samples::offered("openShiftVersions", name), "properties": {"version": name}});
    if version.named_versions {
        shown["name"] = json!(name);
        shown["type"] = json!(kind);
    }
    shown
}

fn minor() -> &'static str {
    let (version, _) = openshift();
    version.rsplit_once('.').map_or(version, |(minor, _)| minor)
}

fn roles() -> Value {
    json!({
        "id": samples::offered("platformWorkloadIdentityRoleSets", minor()),
        "name": minor(),
        "type": "Microsoft.RedHatOpenShift/PlatformWorkloadIdentityRoleSet",
        "properties": {
            "openShiftVersion": minor(),
            "platformWorkloadIdentityRoles": [{
                "operatorName": "disk-csi-driver",
                "roleDefinitionName": "Azure Red Hat OpenShift Storage Operator Role",
                "roleDefinitionId": "/providers/Microsoft.Authorization/roleDefinitions/5b7237c5-45e1-49d6-bc18-a1f62f400748",
            }],
        },
    })
}
