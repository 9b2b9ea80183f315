//! The deny assignment on a cluster's group (`contract/cluster.md` §8.4).

use serde_json::{Value, json};

use crate::document::Document;

const NAME: &str = "[guid(resourceGroup().id, 'ARO cluster resource group deny assignment')]";
/// Everyone.
const EVERYONE: &str = "00000000-0000-0000-0000-000000000000";

const DENIED: [&str; 3] = ["*/action", "*/delete", "*/write"];

/// What customers may do all the same.
const ALLOWED: [&str; 18] = [
    "Microsoft.Compute/disks/beginGetAccess/action",
    "Microsoft.Compute/disks/endGetAccess/action",
    "Microsoft.Compute/disks/write",
    "Microsoft.Compute/snapshots/beginGetAccess/action",
    "Microsoft.Compute/snapshots/delete",
    "Microsoft.Compute/snapshots/endGetAccess/action",
    "Microsoft.Compute/snapshots/write",
    "Microsoft.Insights/ActionGroups/write",
    "Microsoft.Insights/ActionGroups/delete",
    "Microsoft.Insights/MetricAlerts/write",
    "Microsoft.Insights/MetricAlerts/delete",
    "Microsoft.Insights/ActivityLogAlerts/write",
    "Microsoft.Insights/ActivityLogAlerts/delete",
    "Microsoft.Network/networkInterfaces/effectiveRouteTable/action",
    "Microsoft.Network/networkSecurityGroups/join/action",
    "Microsoft.Resources/tags/*",
    "Microsoft.PolicyInsights/remediations/write",
    "Microsoft.PolicyInsights/remediations/delete",
];

/// Object ids of those whom it does not bind: the cluster's principal, or its identities and the first-party
/// application.
pub(crate) fn excluded(cluster: &Document, first_party: &str) -> Vec<String> {
    if !cluster.is_workload_identity() {
        return vec![cluster.principal().to_owned()];
    }
    let mut all: Vec<String> =
        cluster.identities().into_values().map(|identity| identity.object_id.to_owned()).collect();
    all.push(first_party.to_owned());
    all
}

/// As a resource of a template.
pub(crate) fn resource(excluded: &[String]) -> Value {
    let excluded: Vec<Value> =
        excluded.iter().map(|id| json!({ "id": id, "type": "ServicePrincipal" })).collect();
    let properties = json!({
        "denyAssignmentName": NAME,
        "permissions": [{ "actions": DENIED, "notActions": ALLOWED }],
        "scope": "[resourceGroup().id]",
        "principals": [{ "id": EVERYONE, "type": "SystemDefined" }],
        "excludePrincipals": excluded,
        "isSystemProtected": true,
    });
    crate::templates::resource("Microsoft.Authorization/denyAssignments", NAME, None, properties)
}
