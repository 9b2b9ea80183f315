//! What the edge writes into a document when it accepts a request (`contract/api.md` §2, §6, §13).

use rp_api::{CloudError, defaults};
use rp_documents::cluster::{CorrelationData, Edge, Intent, Map, Shared, SystemData};
use rp_documents::{ClusterDocument, OpenShiftCluster, ProvisioningState};

use crate::call::Call;
use crate::dependencies::FrontendParts;
use crate::operations::NewOperation;

/// Records that a request was accepted: there is work for the backend.
pub(super) fn record_acceptance(
    document: &mut ClusterDocument,
    call: &Call,
    parts: &FrontendParts,
    begun: &NewOperation,
) {
    let edge = Edge::accepting();
    document.async_operation_id.set(edge, begun.id());
    document.correlation_data.set(edge, correlation(call, parts));
    // Zero is left out of documents.
    document.dequeues.clear(edge);
}

/// What ties the operation to the request.
pub(super) fn correlation(call: &Call, parts: &FrontendParts) -> CorrelationData {
    let (edge, data) = (Edge::accepting(), &call.correlation);
    let text = |text: &str| Intent::new(edge, text);
    CorrelationData {
        client_request_id: text(&data.client_request),
        correlation_id: text(&data.correlation),
        operation_id: text(&data.operation),
        request_id: text(&data.request),
        request_time: Intent::new(edge, parts.clock.now().to_string()),
        ..CorrelationData::default()
    }
}

/// Each non-empty member of ARM's header replaces ours (`contract/frontend.md` §6.3 step 8).
pub(super) fn system_data(call: &Call, cluster: &mut OpenShiftCluster) {
    let Some(sent) = &call.system_data else { return };
    let mut data = SystemData::clone(&cluster.system_data);
    data.take_over(Edge::accepting(), sent);
    if data != *cluster.system_data {
        cluster.system_data.set(Edge::accepting(), data);
    }
}

/// The identity headers of clusters with workload identity (`contract/frontend.md` §6.3 step 11).
pub(super) fn identity(call: &Call, cluster: &mut OpenShiftCluster) -> Result<(), CloudError> {
    if !cluster.properties.is_workload_identity() {
        return Ok(());
    }
    if let Some(url) = required(call, "x-ms-identity-url", call.identity_url.as_deref())? {
        cluster.managed_service_identity.identity_url.set(Edge::accepting(), url);
    }
    if let Some(tenant) = required(call, "x-ms-home-tenant-id", call.home_tenant.as_deref())? {
        cluster.managed_service_identity.tenant_id.set(Edge::accepting(), tenant);
    }
    Ok(())
}

/// A header that a PUT must have.
fn required<'a>(call: &Call, header: &str, value: Option<&'a str>) -> Result<Option<&'a str>, CloudError> {
    if value.is_none() && call.method == http::Method::PUT {
        let message = format!("The request header '{header}' is required.");
        return Err(CloudError::bad("InvalidParameter", header, message));
    }
    Ok(value)
}

/// Fills in what is empty, just before the cluster is stored.
pub(super) fn fill_defaults(cluster: &mut OpenShiftCluster) {
    let (edge, properties) = (Edge::accepting(), &mut cluster.properties);
    properties.fill_defaults(edge);
    if properties.provisioning_state.get() == Some(&ProvisioningState::AdminUpdating) {
        properties.fill_maintenance_task(edge);
    }
    if properties.operator_flags.is_none() {
        let flags = defaults::operator_flags();
        let flags: Map<_> = flags.map(|(flag, value)| (flag.to_owned(), Shared::new(edge, value))).collect();
        properties.operator_flags.set(edge, flags);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn filled(properties: &Value) -> Value {
        let id = "/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/g/providers/Microsoft.RedHatOpenShift/openShiftClusters/c";
        let mut cluster: OpenShiftCluster =
            serde_json::from_value(json!({"id": id, "properties": properties})).unwrap();
        fill_defaults(&mut cluster);
        serde_json::to_value(&cluster.properties).unwrap()
    }

    #[test]
    fn empty_members_are_filled_and_others_kept() {
        let properties = filled(&json!({"masterProfile": {"vmSize": "s"}, "workerProfiles": [{}],
            "networkProfile": {"outboundType": "UserDefinedRouting"}}));
        assert_eq!(properties["masterProfile"]["encryptionAtHost"], "Disabled");
        assert_eq!(properties["workerProfiles"][0]["encryptionAtHost"], "Disabled");
        assert_eq!(properties["clusterProfile"]["fipsValidatedModules"], "Disabled");
        assert_eq!(properties["networkProfile"]["preconfiguredNSG"], "Disabled");
        assert!(properties["networkProfile"].get("loadBalancerProfile").is_none());
        assert_eq!(properties["operatorFlags"].as_object().unwrap().len(), 46);
        assert!(properties.get("maintenanceTask").is_none());

        let mut again = properties;
        again["operatorFlags"] = json!({});
        again["networkProfile"]["outboundType"] = json!("");
        again["provisioningState"] = json!("AdminUpdating");
        let again = filled(&again);
        assert_eq!(again["operatorFlags"], json!({}));
        assert_eq!(again["maintenanceTask"], "Everything");
        let balancer = &again["networkProfile"]["loadBalancerProfile"];
        assert_eq!(balancer, &json!({"managedOutboundIps": {"count": 1}}));
    }
}
