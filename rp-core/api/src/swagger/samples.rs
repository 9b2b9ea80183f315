//! The clusters of the examples, as they are stored (`contract/api.md` §17).

use serde_json::{Value, json};

pub(super) const SUBSCRIPTION: &str = "00000000-0000-0000-0000-000000000000";
pub(super) const GROUP: &str = "resourceGroup";
pub(super) const NAME: &str = "resourceName";
pub(super) const REGION: &str = "location";
const VERSION: &str = "4.19.1";

/// How the sample cluster signs in to Azure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Identity {
    ServicePrincipal,
    Workload,
}

pub(super) fn cluster_id() -> String {
    format!("{}/resourceGroups/{GROUP}/providers/{}/{NAME}", subscription(), crate::RESOURCE_TYPE)
}

pub(super) fn operation(kind: &str) -> String {
    let operation = "11111111-1111-1111-1111-111111111111";
    let place = "providers/microsoft.redhatopenshift/locations/location";
    format!("https://management.azure.com{}/{place}/{kind}/{operation}", subscription())
}

fn subscription() -> String {
    format!("/subscriptions/{SUBSCRIPTION}")
}

fn subnet(name: &str) -> String {
    let network = "providers/Microsoft.Network/virtualNetworks/vnet/subnets";
    format!("{}/resourceGroups/vnetResourceGroup/{network}/{name}", subscription())
}

fn user_identity(name: &str) -> String {
    let kind = "providers/Microsoft.ManagedIdentity/userAssignedIdentities";
    format!("{}/resourceGroups/{GROUP}/{kind}/{name}", subscription())
}

/// The cluster of a request: as stored before we write our own members into it.
pub(super) fn wanted(identity: Identity) -> Value {
    let mut cluster = json!({
        "location": REGION,
        "tags": {"key": "value"},
        "properties": {
            "clusterProfile": {
                "pullSecret": "{\"auths\":{\"registry.connect.redhat.com\":{\"auth\":\"\"}}}",
                "domain": "cluster.location.aroapp.io",
                "version": VERSION,
                "resourceGroupId": format!("{}/resourceGroups/clusterResourceGroup", subscription()),
                "fipsValidatedModules": "Enabled",
            },
            "networkProfile": {
                "podCidr": "10.128.0.0/14",
                "serviceCidr": "172.30.0.0/16",
                "softwareDefinedNetwork": "OVNKubernetes",
                "outboundType": "Loadbalancer",
                "preconfiguredNSG": "Disabled",
                "loadBalancerProfile": {"managedOutboundIps": {"count": 1}},
            },
            "masterProfile": {
                "vmSize": "Standard_D8s_v3",
                "subnetId": subnet("master"),
                "encryptionAtHost": "Enabled",
            },
            "workerProfiles": [worker()],
            "apiserverProfile": {"visibility": "Public"},
            "ingressProfiles": [{"name": "default", "visibility": "Public"}],
        },
    });
    match identity {
        Identity::ServicePrincipal => {
            let principal =
                json!({"clientId": "22222222-2222-2222-2222-222222222222", "clientSecret": "clientSecret"});
            cluster["properties"]["servicePrincipalProfile"] = principal;
        }
        Identity::Workload => {
            let assigned = user_identity("aro-cluster");
            cluster["managedServiceIdentity"] =
                json!({"type": "UserAssigned", "userAssignedIdentities": {assigned: {}}});
            cluster["properties"]["platformWorkloadIdentityProfile"] = json!({
                "upgradeableTo": "4.20.1",
                "platformWorkloadIdentities": {"disk-csi-driver": {"resourceId": user_identity("disk-csi-driver")}},
            });
        }
    }
    cluster
}

fn worker() -> Value {
    json!({
        "name": "worker",
        "vmSize": "Standard_D2s_v3",
        "diskSizeGB": 128,
        "subnetId": subnet("worker"),
        "count": 3,
        "encryptionAtHost": "Enabled",
    })
}

/// The cluster with the members that we write.
pub(super) fn stored(identity: Identity, state: &str) -> Value {
    let mut cluster = wanted(identity);
    cluster["id"] = json!(cluster_id());
    cluster["name"] = json!(NAME);
    cluster["type"] = json!(crate::RESOURCE_TYPE);
    cluster["systemData"] = json!({
        "createdBy": "user@example.com",
        "createdByType": "User",
        "createdAt": "2026-01-24T16:23:15.3950000Z",
        "lastModifiedBy": "user@example.com",
        "lastModifiedByType": "User",
        "lastModifiedAt": "2026-01-24T16:23:15.3950000Z",
    });
    let properties = &mut cluster["properties"];
    properties["provisioningState"] = json!(state);
    properties["workerProfilesStatus"] = json!([worker()]);
    properties["consoleProfile"] =
        json!({"url": "https://console-openshift-console.apps.cluster.location.aroapp.io/"});
    properties["apiserverProfile"]["url"] = json!("https://api.cluster.location.aroapp.io:6443/");
    properties["apiserverProfile"]["ip"] = json!("1.2.3.4");
    properties["ingressProfiles"][0]["ip"] = json!("1.2.3.5");
    let address = "providers/Microsoft.Network/publicIPAddresses/infraId-pip-v4";
    let address = format!("{}/resourceGroups/clusterResourceGroup/{address}", subscription());
    properties["networkProfile"]["loadBalancerProfile"]["effectiveOutboundIps"] = json!([{"id": address}]);
    if identity == Identity::Workload {
        properties["clusterProfile"]["oidcIssuer"] = json!("https://oidc.location.aroapp.io/tenant/cluster");
        let operator = &mut properties["platformWorkloadIdentityProfile"]["platformWorkloadIdentities"];
        operator["disk-csi-driver"]["clientId"] = json!("33333333-3333-3333-3333-333333333333");
        operator["disk-csi-driver"]["objectId"] = json!("44444444-4444-4444-4444-444444444444");
        let known = json!({
            "clientId": "55555555-5555-5555-5555-555555555555",
            "principalId": "66666666-6666-6666-6666-666666666666",
        });
        cluster["managedServiceIdentity"]["userAssignedIdentities"] =
            json!({user_identity("aro-cluster"): known});
    }
    cluster
}

/// The id of what can be installed.
pub(super) fn offered(kind: &str, name: &str) -> String {
    format!("{}/providers/Microsoft.RedHatOpenShift/locations/{REGION}/{kind}/{name}", subscription())
}

/// The members of a version of OpenShift.
pub(super) fn openshift() -> (&'static str, &'static str) {
    (VERSION, "Microsoft.RedHatOpenShift/OpenShiftVersion")
}
