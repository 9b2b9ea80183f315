//! A cluster as the store holds it.

use std::time::Duration;

use rp_base::Timestamp;
use rp_documents::cluster::{
    FromJson as Json, InstallPhase, Intent, Member, Outcome, Properties, Shared, Worker,
};
use rp_documents::health::CollectorResult;
use rp_documents::{
    ClusterDocument, ClusterHealth, InvalidResourceId, Lease, Leased as _, OpenShiftCluster,
    ProvisioningState, ResourceId, Unknown,
};
use serde::Serialize;
use serde_json::{Value, json};

use super::shape::UNKIND;
use super::{Cluster, ClusterShape};

/// 2100-01-01, in seconds since 1970.
const END_OF_TIME: i64 = 4_102_444_800;

impl Cluster {
    /// The document, without kubeconfigs.
    ///
    /// # Errors
    /// A name has characters that a resource id may not have.
    pub fn document(&self) -> Result<ClusterDocument, InvalidResourceId> {
        let id = ResourceId::from_parts(&self.subscription, &self.resource_group, &self.name)?;
        let managed = format!("/subscriptions/{}/resourcegroups/aro-{}", self.subscription, self.infra_id);
        let mut document = ClusterDocument {
            async_operation_id: Shared::default(),
            bucket: member(self.dice("bucket").below(256)),
            client_id_key: Intent::default(),
            cluster_resource_group_id_key: member(&managed),
            correlation_data: Shared::default(),
            dequeues: Shared::default(),
            former_client_id_key: Intent::default(),
            id: self.id(),
            key: id.key().to_owned(),
            lease_expires: Outcome::default(),
            lease_owner: Outcome::default(),
            lease_token: Outcome::default(),
            maintenance_hold_until: Outcome::default(),
            cluster: Box::new(self.cluster(id, &managed)),
            operation: Outcome::default(),
            partition_key: self.subscription.clone(),
            retry: Outcome::default(),
            unknown: Unknown::new(),
        };
        if self.shape.provisioning_state().is_queued() {
            // A document that never changes state is not offered to workers.
            let lease = Lease { owner: "simulation".to_owned(), expires: END_OF_TIME, ..Lease::default() };
            document.set_lease(&lease);
            document.async_operation_id.set(Worker::holding(&lease), self.dice("operation").uuid());
        }
        Ok(document)
    }

    fn cluster(&self, id: ResourceId, managed: &str) -> OpenShiftCluster {
        let note = if self.shape == ClusterShape::Hostile { UNKIND[0] } else { "platform" };
        OpenShiftCluster {
            id,
            location: member(&self.location),
            managed_service_identity: Shared::default(),
            name: member(&self.name),
            properties: self.properties(managed),
            system_data: member(json!({
                "createdBy": format!("{}@customer.invalid", self.resource_group),
                "createdAt": self.created,
                "lastModifiedAt": self.since,
            })),
            tags: member(json!({"environment": self.resource_group.rsplit('-').next(), "owner": note})),
            kind: member("Microsoft.RedHatOpenShift/openShiftClusters"),
            unknown: Unknown::new(),
        }
    }

    /// The document's id.
    pub fn id(&self) -> String {
        self.dice("id").uuid()
    }

    fn properties(&self, managed: &str) -> Properties {
        let state = self.shape.provisioning_state();
        let running = state.is_queued() && state != ProvisioningState::Creating;
        let last = running || state == ProvisioningState::Maintenance;
        let failed = match self.shape {
            ClusterShape::FailedCreate => Some(ProvisioningState::Creating),
            ClusterShape::FailedUpdate => Some(ProvisioningState::Updating),
            ClusterShape::FailedAdminUpdate => Some(ProvisioningState::AdminUpdating),
            _ => None,
        };
        let commit = self.dice("commit").letters(7);
        let public = self.dice("visibility").below(3) > 0;
        let vnet = format!(
            "/subscriptions/{}/resourceGroups/{}/providers/Microsoft.Network/virtualNetworks/{}-vnet/subnets",
            self.subscription, self.resource_group, self.name
        );
        let mut properties = json!({
            "simulated": true,
            "provisioningState": state,
            "lastProvisioningState": last.then_some(ProvisioningState::Succeeded),
            "failedProvisioningState": failed,
            "lastAdminUpdateError": self.admin_error(),
            "maintenanceState": if self.shape == ClusterShape::Maintenance { "Planned" } else { "None" },
            "createdAt": self.created,
            "createdBy": commit,
            "provisionedBy": commit,
            "architectureVersion": 1,
            "infraId": self.infra_id,
            "zones": ["1", "2", "3"],
            "clusterProfile": {
                "version": self.wanted,
                "domain": self.domain.split('.').next(),
                "resourceGroupId": managed,
                "fipsValidatedModules": "Disabled",
            },
            "consoleProfile": {"url": format!("https://console-openshift-console.apps.{}/", self.domain)},
            "apiserverProfile": {
                "visibility": if public { "Public" } else { "Private" },
                "url": format!("https://api.{}:6443/", self.domain),
                "ip": if public { self.public_ip(1) } else { "10.0.0.4".to_owned() },
                "intIp": "10.0.0.4",
            },
            "networkProfile": {
                "podCidr": "10.128.0.0/14",
                "serviceCidr": "172.30.0.0/16",
                "softwareDefinedNetwork": "OVNKubernetes",
                "preconfiguredNSG": if self.has_own_security_group() { "Enabled" } else { "Disabled" },
                "mtuSize": 1500,
                "outboundType": "Loadbalancer",
            },
            "masterProfile": {
                "vmSize": "Standard_D8s_v5",
                "subnetId": format!("{vnet}/master"),
                "encryptionAtHost": "Disabled",
            },
            "workerProfiles": self.worker_profiles(&vnet),
            "ingressProfiles": [{"name": "default", "visibility": "Public", "ip": self.public_ip(2)}],
            "install": self.install(),
        });
        if let Some(ip) = self.private_ip() {
            properties["networkProfile"]["privateEndpointIp"] = json!(ip);
        }
        if let Value::Object(members) = &mut properties {
            members.retain(|_, value| !value.is_null() && value != "");
        }
        serde_json::from_value(properties).unwrap_or_default()
    }

    fn worker_profiles(&self, vnet: &str) -> Vec<Value> {
        (1..=3)
            .map(|zone| {
                let count = self.workers / 3 + usize::from(zone <= self.workers % 3);
                json!({"name": format!("{}-worker-{}{zone}", self.infra_id, self.location), "count": count,
                    "vmSize": "Standard_D4s_v5", "diskSizeGB": 128, "subnetId": format!("{vnet}/worker"),
                    "encryptionAtHost": "Disabled"})
            })
            .collect()
    }

    /// Documentation addresses (RFC 5737): never assigned.
    pub fn public_ip(&self, salt: usize) -> String {
        format!("203.0.113.{}", (self.index * 7 + salt) % 254 + 1)
    }

    fn install(&self) -> Option<Value> {
        let phase = match self.shape {
            ClusterShape::Bootstrapping | ClusterShape::FailedCreate => InstallPhase::Bootstrap.name(),
            ClusterShape::Finishing => InstallPhase::RemoveBootstrap.name(),
            _ => return None,
        };
        Some(json!({"phase": phase, "now": self.since}))
    }

    fn admin_error(&self) -> String {
        match self.shape {
            ClusterShape::FailedAdminUpdate => {
                "step [Condition apiServersReady, timeout 30m0s] failed: timed out waiting \
                for the condition: kube-apiserver has 2 of 3 instances at revision 41"
                    .to_owned()
            }
            ClusterShape::Hostile => UNKIND.join("\n"),
            _ => String::new(),
        }
    }

    /// What the last look saw; `None` while there is nothing to look at.
    pub fn health(&self) -> Option<ClusterHealth> {
        if self.shape == ClusterShape::Bootstrapping {
            return None;
        }
        let mut dice = self.dice("health");
        let answers = self.shape.answers();
        let collectors = ["version", "clusteroperators", "nodes", "certificates", "alerts"].map(|name| {
            CollectorResult { name: name.to_owned(), error: self.collector_error(name), took_ms: None }
        });
        let ends = match self.shape {
            ClusterShape::CertificateEnding => 2 + dice.below(6),
            _ => 40 + dice.below(600),
        };
        let nodes = if answers { 3 + self.workers } else { 0 };
        Some(ClusterHealth {
            id: self.id(),
            looked_at: self.epoch - Duration::from_secs(dice.below(60) as u64),
            took_ms: if answers { 40 + dice.below(900) as u64 } else { 10_000 },
            collectors: collectors.into(),
            operators_degraded: self.troubles().iter().map(|trouble| trouble.operator.to_owned()).collect(),
            nodes_not_ready: u32::try_from(self.nodes_down()).unwrap_or(0),
            nodes: u32::try_from(nodes).unwrap_or(0),
            alerts: self.alerts(),
            certificate_expiry: answers.then(|| self.epoch + Duration::from_hours(24 * ends as u64)),
            version: if answers { self.version.clone() } else { String::new() },
            updating_to: String::new(),
            healthz: Some(if answers { 200 } else { 0 }),
            since: Some(self.began("health")),
            unknown: object(json!({"simulated": true})),
        })
    }

    /// Why a part of the look failed.
    fn collector_error(&self, collector: &str) -> Option<String> {
        let text = match (self.shape, collector) {
            (ClusterShape::Refusing | ClusterShape::Silent, _) => "no answer from the API server within 10 s",
            (ClusterShape::FailedCreate, "clusteroperators") => {
                "9 of 34 cluster operators are available; the installation stopped: bootstrap did not complete within 60 min"
            }
            (ClusterShape::FailedUpdate, "nodes") => {
                "the update stopped: node was not drained within 20 min: cannot evict pod as it would violate the pod's disruption budget"
            }
            (ClusterShape::Hostile, "alerts") => UNKIND[3],
            _ => return None,
        };
        Some(text.to_owned())
    }

    fn alerts(&self) -> Vec<String> {
        let names: &[&str] = match self.shape {
            ClusterShape::Degraded => &["ClusterOperatorDegraded", "KubePodNotReady"],
            ClusterShape::NodeDown | ClusterShape::FailedUpdate => {
                &["KubeNodeNotReady", "KubeNodeUnreachable", "TargetDown"]
            }
            ClusterShape::Hostile => &["ClusterOperatorDegraded", UNKIND[0], UNKIND[2]],
            ClusterShape::CertificateEnding => &["IngressCertificateExpiring"],
            ClusterShape::Upgrading => &["KubeDaemonSetRolloutStuck"],
            _ => &[],
        };
        names.iter().map(|&name| name.to_owned()).collect()
    }

    /// When something of the cluster began, some time after its installation.
    pub fn began(&self, part: &str) -> Timestamp {
        let life = self.epoch.since(self.created).as_secs();
        let mut dice = self.dice(part);
        let later = usize::try_from(life).unwrap_or(usize::MAX);
        self.created + Duration::from_secs(dice.below(later.min(2400)) as u64)
    }
}

/// A member with that JSON.
fn member<T: Json, W>(value: impl Serialize) -> Member<T, W> {
    serde_json::to_value(value).and_then(serde_json::from_value).unwrap_or_default()
}

fn object(value: Value) -> Unknown {
    match value {
        Value::Object(members) => members,
        _ => Unknown::new(),
    }
}
