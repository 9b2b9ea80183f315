//! What a customer sends for a cluster.

use serde_json::{Value, json};

/// A body of the newest API version that makes a cluster with a service principal in region `eastus`; `n` keeps apart
/// what must be a cluster's own. A test that needs something else changes the body.
pub fn cluster_body(subscription: &str, n: u64) -> Value {
    let subnet = |name: &str| {
        format!(
            "/subscriptions/{subscription}/resourceGroups/net/providers/Microsoft.Network/virtualNetworks/vnet/subnets/{name}"
        )
    };
    json!({
        "location": "eastus",
        "tags": {"team": "one"},
        "properties": {
            "clusterProfile": {"domain": format!("abc{n}"), "fipsValidatedModules": "Disabled",
                "resourceGroupId": format!("/subscriptions/{subscription}/resourceGroups/managed{n}")},
            "servicePrincipalProfile": {"clientId": format!("11111111-1111-1111-1111-{n:012}"), "clientSecret": "hush"},
            "networkProfile": {"podCidr": "10.128.0.0/14", "serviceCidr": "172.30.0.0/16"},
            "masterProfile": {"vmSize": "Standard_D8s_v3", "subnetId": subnet("master"), "encryptionAtHost": "Disabled"},
            "workerProfiles": [{"name": "worker", "vmSize": "Standard_D4s_v3", "diskSizeGB": 128,
                "subnetId": subnet("worker"), "count": 3, "encryptionAtHost": "Disabled"}],
            "apiserverProfile": {"visibility": "Public"},
            "ingressProfiles": [{"name": "default", "visibility": "Public"}]
        }
    })
}
