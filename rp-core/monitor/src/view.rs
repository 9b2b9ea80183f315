//! The monitor's projection of a cluster's document: no secrets, little memory (`contract/monitor.md` §4.1).

use std::sync::Arc;

use rp_base::{Timestamp, sha256};
use rp_documents::cluster::{self, Instant, Properties, Shared};
use rp_documents::{BucketLooks, ClusterDocument, ImportedCluster, ProvisioningState, ResourceId};
use rp_net::Source;

/// The stripped copy of one cluster's document.
#[derive(Debug, Clone, PartialEq)]
pub struct ClusterView {
    /// Id of the cluster's document, and so of its [`rp_documents::ClusterHealth`]; imported: the lower-case name.
    pub document: String,
    pub id: ResourceId,
    pub source: Source,
    /// Chosen at creation and never changed; imported: first byte of SHA-256 of the lower-case resource id.
    pub bucket: u8,
    /// Azure's name of the region; imported: empty.
    pub location: String,
    /// As stored; imported: empty. An unknown state is kept unchanged.
    pub provisioning_state: String,
    /// As stored; empty when there is none.
    pub failed_provisioning_state: String,
    /// Commit of the service that installed the cluster.
    pub provisioned_by: String,
    pub created_at: Option<Timestamp>,
    /// `None`, `Pending`, `Planned`, `Unplanned`, `CustomerActionNeeded`, or empty.
    pub maintenance_state: String,
    /// `clusterProfile.domain`.
    pub domain: String,
    /// `clusterProfile.version`.
    pub version: String,
    pub pod_cidr: String,
    pub service_cidr: String,
    pub private_endpoint_ip: String,
    /// `Enabled`, `Disabled` or empty.
    pub preconfigured_nsg: String,
    /// Azure id of the masters' subnet.
    pub master_subnet: String,
    /// The enriched profiles (`workerProfilesStatus`) where the document has them, else those of the creation.
    pub workers: Vec<WorkerProfile>,
    /// Whether there is a platform workload identity profile.
    pub workload_identity: bool,
    /// Whether there is a service principal profile.
    pub service_principal: bool,
    /// Of the service principal.
    pub client_id: String,
    pub api_url: String,
    pub api_ip: String,
    /// Of the API server: `Public` or `Private`.
    pub visibility: String,
    /// Where Hive keeps the cluster; `None`: not adopted.
    pub hive_namespace: Option<String>,
    /// Lower case; set by the worker from the subscriptions' cache for each look.
    pub tenant: Option<Arc<str>>,
}

/// The projection of a worker profile.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorkerProfile {
    pub name: String,
    /// Azure id of the subnet.
    pub subnet_id: String,
    pub count: i64,
}

impl ClusterView {
    /// Reads the stored text of a cluster's document. Members of another shape than the contract's read as absent, so
    /// that a document with one of them is monitored all the same.
    ///
    /// # Errors
    /// The text is not JSON, or lacks what every document has: id, key, partition, resource id, properties.
    pub fn from_body(body: &str) -> Result<Self, serde_json::Error> {
        Ok(Self::from_document(&serde_json::from_str(body)?))
    }

    /// The same from a document that is already parsed.
    pub fn from_document(document: &ClusterDocument) -> Self {
        let cluster = &*document.cluster;
        let of = &cluster.properties;
        let network = &of.network_profile;
        let hive_namespace = Some(of.hive_profile.namespace.to_string()).filter(|name| !name.is_empty());
        Self {
            // The contract has 256 buckets; a larger number is folded into a byte so that the cluster is monitored.
            bucket: u8::try_from(document.bucket.rem_euclid(256)).unwrap_or(0),
            location: cluster.location.to_string(),
            provisioning_state: of.provisioning_state.word().to_owned(),
            failed_provisioning_state: of.failed_provisioning_state.word().to_owned(),
            provisioned_by: of.provisioned_by.to_string(),
            created_at: of.created_at.get().map(Instant::at),
            maintenance_state: of.maintenance_state.word().to_owned(),
            domain: of.cluster_profile.domain.to_string(),
            version: of.cluster_profile.version.to_string(),
            pod_cidr: network.pod_cidr.to_string(),
            service_cidr: network.service_cidr.to_string(),
            private_endpoint_ip: network.private_endpoint_ip.to_string(),
            preconfigured_nsg: network.preconfigured_nsg.to_string(),
            master_subnet: of.master_profile.subnet_id.to_string(),
            workers: worker_profiles(of),
            workload_identity: !of.platform_workload_identity_profile.is_none(),
            service_principal: !of.service_principal_profile.is_none(),
            client_id: of.service_principal_profile.client_id.to_string(),
            api_url: of.apiserver_profile.url.to_string(),
            api_ip: of.apiserver_profile.ip.to_string(),
            visibility: of.apiserver_profile.visibility.to_string(),
            hive_namespace,
            ..Self::bare(document.id.clone(), cluster.id.clone(), Source::Aro)
        }
    }

    /// An imported cluster: fields that only our own cluster documents have stay empty.
    pub fn from_imported(imported: &ImportedCluster) -> Self {
        Self {
            version: imported.version.clone(),
            created_at: None,
            api_url: imported.server.clone(),
            ..Self::bare(imported.id.clone(), imported.resource_id.clone(), Source::Imported)
        }
    }

    /// A view with id and source only.
    pub fn bare(document: String, id: ResourceId, source: Source) -> Self {
        Self {
            bucket: bucket_of(&id),
            document,
            id,
            source,
            location: String::new(),
            provisioning_state: String::new(),
            failed_provisioning_state: String::new(),
            provisioned_by: String::new(),
            created_at: None,
            maintenance_state: String::new(),
            domain: String::new(),
            version: String::new(),
            pod_cidr: String::new(),
            service_cidr: String::new(),
            private_endpoint_ip: String::new(),
            preconfigured_nsg: String::new(),
            master_subnet: String::new(),
            workers: Vec::new(),
            workload_identity: false,
            service_principal: false,
            client_id: String::new(),
            api_url: String::new(),
            api_ip: String::new(),
            visibility: String::new(),
            hive_namespace: None,
            tenant: None,
        }
    }

    /// Whether it is monitored in this state (`contract/monitor.md` §4.1): not while it is created or
    /// deleted.
    pub fn is_watched(&self) -> bool {
        let failed = ProvisioningState::named(&self.failed_provisioning_state);
        !ProvisioningState::named(&self.provisioning_state)
            .is_some_and(|state| state.is_passing_or_failed(failed))
    }

    /// Id of the document that holds the time of its last look.
    pub fn looks_id(&self) -> String {
        BucketLooks::id_of(u16::from(self.bucket))
    }
}

/// The bucket of a cluster without a stored one: derived from its resource id.
pub fn bucket_of(id: &ResourceId) -> u8 {
    sha256(id.key().as_bytes()).0[0]
}

/// The profiles as they are, where the document has them, else those of the creation.
fn worker_profiles(of: &Properties) -> Vec<WorkerProfile> {
    let profiles = of.worker_profiles_status.get().or(of.worker_profiles.get());
    let view = |profile: &Shared<cluster::WorkerProfile>| WorkerProfile {
        name: profile.name.to_string(),
        subnet_id: profile.subnet_id.to_string(),
        count: *profile.count,
    };
    profiles.map(|profiles| profiles.iter().map(view).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const ID: &str = "/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/Group/providers/Microsoft.RedHatOpenShift/openShiftClusters/Name";

    fn read(properties: &Value) -> ClusterView {
        let body = json!({"id": "a", "key": "k", "partitionKey": "p", "bucket": 7,
            "openShiftCluster": {"id": ID, "location": "westeurope", "properties": properties}});
        ClusterView::from_body(&body.to_string()).unwrap()
    }

    #[test]
    fn keeps_what_the_contract_names_and_no_secret() {
        let view = read(&json!({
            "provisioningState": "Succeeded", "createdAt": "2026-01-02T03:04:05Z", "provisionedBy": "abc",
            "clusterProfile": {"pullSecret": "hidden", "domain": "d", "version": "4.18.1"},
            "networkProfile": {"podCidr": "10.128.0.0/14", "serviceCidr": "172.30.0.0/16",
                "privateEndpointIp": "10.1.2.3", "preconfiguredNSG": "Enabled"},
            "masterProfile": {"subnetId": "/m"},
            "workerProfiles": [{"name": "old", "subnetId": "/w", "count": 3}],
            "workerProfilesStatus": [{"name": "new", "subnetId": "/v", "count": 4, "vmSize": "x"}],
            "apiserverProfile": {"visibility": "Private", "url": "https://api:6443/", "ip": "10.0.0.4"},
            "hiveProfile": {"namespace": "aro-1"},
            "servicePrincipalProfile": {"clientId": "c", "clientSecret": "hidden"},
            "aroServiceKubeconfig": "hidden"
        }));
        assert_eq!((view.bucket, &*view.document, view.id.name()), (7, "a", "Name"));
        assert_eq!(view.workers, [WorkerProfile { name: "new".into(), subnet_id: "/v".into(), count: 4 }]);
        assert_eq!((view.preconfigured_nsg.as_str(), view.api_ip.as_str()), ("Enabled", "10.0.0.4"));
        assert_eq!(view.hive_namespace.as_deref(), Some("aro-1"));
        assert!(view.service_principal && !view.workload_identity);
        assert!(!format!("{view:?}").contains("hidden"));
    }

    #[test]
    fn is_watched_unless_made_or_taken_away() {
        let watched = |state: &str, failed: Value| {
            read(&json!({"provisioningState": state, "failedProvisioningState": failed})).is_watched()
        };
        for state in ["Succeeded", "Updating", "AdminUpdating", "Canceled", "Maintenance", "FromTheFuture"] {
            assert!(watched(state, Value::Null), "{state}");
        }
        assert!(!watched("Creating", Value::Null) && !watched("Deleting", Value::Null));
        assert!(!watched("Failed", json!("Creating")) && !watched("Failed", json!("Deleting")));
        assert!(watched("Failed", json!("Updating")) && watched("Failed", Value::Null));
        assert!(watched("Succeeded", json!("Creating")));
    }

    #[test]
    fn a_bucket_that_is_absent_is_the_first() {
        let read = |id: &str| {
            let cluster = json!({"id": id, "properties": {}});
            let body = json!({"id": "a", "key": "k", "partitionKey": "p", "openShiftCluster": cluster});
            ClusterView::from_body(&body.to_string())
        };
        let view = read(ID).unwrap();
        assert_eq!((view.bucket, view.looks_id().as_str()), (0, "bucket-000"));
        assert!(read("x").is_err());
    }
}
