//! A cluster's stored document as the steps read it. What they do not know stays as it is.

use std::sync::Arc;

use rp_documents::ResourceId;
use serde_json::{Map, Value};

use crate::errors::StepError;

/// The whole envelope; a cheap clone. Pointers start at its member `openShiftCluster`.
#[derive(Clone)]
pub struct Document(Arc<Value>);

impl Document {
    /// Of a stored envelope.
    pub fn new(envelope: Value) -> Self {
        Self(Arc::new(envelope))
    }

    /// The envelope.
    pub fn envelope(&self) -> &Value {
        &self.0
    }

    /// The cluster as it is stored.
    pub fn cluster(&self) -> &Value {
        &self.0["openShiftCluster"]
    }

    /// A member of the cluster, e.g. `/properties/zones`.
    pub fn get(&self, pointer: &str) -> Option<&Value> {
        self.cluster().pointer(pointer)
    }

    /// A text member.
    pub fn text(&self, pointer: &str) -> Option<&str> {
        self.get(pointer)?.as_str()
    }

    /// A text member; empty when it is not there.
    pub fn text_or_empty(&self, pointer: &str) -> &str {
        self.text(pointer).unwrap_or_default()
    }

    /// The members of an array.
    pub fn items(&self, pointer: &str) -> &[Value] {
        self.get(pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    /// The document's id, a UUID.
    pub fn id(&self) -> &str {
        self.0["id"].as_str().unwrap_or_default()
    }

    /// The cluster's resource id in the caller's casing.
    pub fn cluster_id(&self) -> &str {
        self.text_or_empty("/id")
    }

    /// The same, read.
    ///
    /// # Errors
    /// It is none.
    pub fn resource_id(&self) -> Result<ResourceId, StepError> {
        ResourceId::parse(self.cluster_id()).map_err(|error| StepError::other(error.to_string()))
    }

    /// Lower-cased resource id: the key in the store and of the installer.
    pub fn key(&self) -> String {
        self.cluster_id().to_ascii_lowercase()
    }

    /// The cluster's name.
    pub fn name(&self) -> &str {
        self.cluster_id().rsplit('/').next().unwrap_or_default()
    }

    /// The customer's subscription.
    pub fn subscription_id(&self) -> &str {
        self.cluster_id().split('/').nth(2).unwrap_or_default()
    }

    /// Azure location in lower case.
    pub fn location(&self) -> String {
        self.text_or_empty("/location").to_ascii_lowercase()
    }

    /// Prefix of resource names; very old clusters have none: `aro`.
    pub fn infra_id(&self) -> &str {
        self.text("/properties/infraId").filter(|id| !id.is_empty()).unwrap_or("aro")
    }

    /// Resource id of the managed resource group.
    pub fn group_id(&self) -> &str {
        self.text_or_empty("/properties/clusterProfile/resourceGroupId")
    }

    /// Its name.
    pub fn group(&self) -> &str {
        self.group_id().rsplit('/').next().unwrap_or_default()
    }

    /// End of the storage accounts' names.
    pub fn storage_suffix(&self) -> &str {
        self.text_or_empty("/properties/storageSuffix")
    }

    /// OpenShift's version.
    pub fn version(&self) -> &str {
        self.text_or_empty("/properties/clusterProfile/version")
    }

    /// Major and minor of the version.
    pub fn minor(&self) -> Option<(u32, u32)> {
        let mut parts = self.version().split('.');
        Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
    }

    /// 0: V1, 1: V2.
    pub fn architecture(&self) -> i64 {
        self.get("/properties/architectureVersion").and_then(Value::as_i64).unwrap_or_default()
    }

    /// Whether platform identities take the place of a service principal.
    pub fn is_workload_identity(&self) -> bool {
        let there = |pointer| self.get(pointer).is_some_and(|value| !value.is_null());
        there("/properties/platformWorkloadIdentityProfile") && !there("/properties/servicePrincipalProfile")
    }

    /// Whether the API server has a public address.
    pub fn is_api_public(&self) -> bool {
        self.text("/properties/apiserverProfile/visibility") == Some("Public")
    }

    /// Whether the default ingress has a public address.
    pub fn is_ingress_public(&self) -> bool {
        self.text("/properties/ingressProfiles/0/visibility") == Some("Public")
    }

    /// Whether machines reach the outside through the public load balancer, not the customer's routes.
    pub fn is_outbound_balanced(&self) -> bool {
        self.text("/properties/networkProfile/outboundType") != Some("UserDefinedRouting")
    }

    /// Whether the subnets have the customer's own security groups.
    pub fn is_nsg_preconfigured(&self) -> bool {
        self.text("/properties/networkProfile/preconfiguredNSG") == Some("Enabled")
    }

    /// Whether the cluster reaches the service through the gateway.
    pub fn is_gateway_enabled(&self) -> bool {
        self.get("/properties/featureProfile/gatewayEnabled") == Some(&Value::Bool(true))
    }

    /// Subnet of the control plane.
    pub fn master_subnet(&self) -> &str {
        self.text_or_empty("/properties/masterProfile/subnetId")
    }

    /// The workers' profiles: as they are, where that is known, else as they were sent.
    pub fn worker_profiles(&self) -> &[Value] {
        match self.items("/properties/workerProfilesStatus") {
            [] => self.items("/properties/workerProfiles"),
            known => known,
        }
    }

    /// Subnets of the workers, in the profiles' order; an empty text where a profile has none.
    pub fn worker_subnets(&self) -> Vec<&str> {
        self.worker_profiles()
            .iter()
            .map(|profile| profile["subnetId"].as_str().unwrap_or_default())
            .collect()
    }

    /// Zones of the cluster's own resources.
    pub fn zones(&self) -> Vec<&str> {
        self.items("/properties/zones").iter().filter_map(Value::as_str).collect()
    }

    /// The whole domain: a name without a dot gets the parent's.
    pub fn domain(&self, parent: &str) -> String {
        let domain = self.text_or_empty("/properties/clusterProfile/domain");
        if domain.contains('.') { domain.to_owned() } else { format!("{domain}.{parent}") }
    }

    /// First label of a domain that we manage; `None`: it is the customer's own (`contract/cluster.md` §6.4).
    ///
    /// # Errors
    /// It is no domain.
    pub fn managed_prefix(&self, parent: &str) -> Result<Option<&str>, StepError> {
        let domain = self.text_or_empty("/properties/clusterProfile/domain");
        if domain.is_empty() || domain.starts_with('.') || domain.ends_with('.') {
            return Err(StepError::other(format!("invalid domain \"{domain}\"")));
        }
        let prefix = domain.strip_suffix(parent).and_then(|rest| rest.strip_suffix('.')).unwrap_or(domain);
        Ok(Some(prefix).filter(|prefix| !prefix.contains('.')))
    }
}

impl std::fmt::Debug for Document {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Document").field("id", &self.id()).finish_non_exhaustive()
    }
}

/// Sets a member by pointer, making objects on the way. An array's members must be there.
pub(crate) fn set(at: &mut Value, pointer: &str, value: Value) {
    let mut at = at;
    for part in pointer.split('/').skip(1) {
        at = match at {
            Value::Array(items) => match part.parse::<usize>().ok().and_then(|index| items.get_mut(index)) {
                Some(item) => item,
                None => return,
            },
            other => {
                if !other.is_object() {
                    *other = Value::Object(Map::new());
                }
                &mut other[part]
            }
        };
    }
    *at = value;
}
