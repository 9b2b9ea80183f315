//! The stand-in for Azure that resource providers work with: the service's own resources, and a customer's network.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Result, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rp_base::{Clock as _, SystemClock};
use rp_simulator_azure::{ArmControl, EmptyContents, LocalArm, object_id_of};
use serde_json::{Value, json};
use tests_kit::Folder;

/// The customer's subscription, which is also the name of its directory.
pub const SUBSCRIPTION: &str = "00000000-0000-0000-0000-00000000a001";

/// The resource provider's own subscription.
pub const OWN_SUBSCRIPTION: &str = "00000000-0000-4000-8000-0000000000a0";
/// The directory of that subscription.
const OWN_TENANT: &str = "00000000-0000-4000-8000-0000000000b0";
/// The application of the resource provider.
const CLIENT: &str = "00000000-0000-4000-8000-0000000000de";

/// A running stand-in; it ends with this.
#[derive(Debug)]
pub struct Azure {
    arm: LocalArm,
    slots: usize,
}

impl Azure {
    /// Starts it, and writes the token of its application into the folder (`azure-token`). `slots` are pairs of subnets:
    /// so many clusters there can be at once.
    ///
    /// # Errors
    /// There is no port, or the token cannot be written.
    pub async fn start(folder: &Folder, slots: usize) -> Result<Self> {
        Self::start_with_endpoints(folder, slots, "10.8.0.0/16").await
    }

    /// As [`Self::start`], with this network of private endpoints: one of this machine, such as `127.9.0.0/24`, where a test
    /// listens as a cluster.
    ///
    /// # Errors
    /// There is no port, or the token cannot be written.
    pub async fn start_with_endpoints(folder: &Folder, slots: usize, endpoints: &str) -> Result<Self> {
        let arm =
            LocalArm::start(&[(CLIENT, "none")], Arc::new(EmptyContents), Arc::new(SystemClock)).await?;
        let azure = Self { arm, slots };
        let control = azure.control();
        control.open_directory();
        control.subscribe(SUBSCRIPTION, SUBSCRIPTION);
        control.subscribe(OWN_SUBSCRIPTION, OWN_TENANT);
        let own =
            format!("/subscriptions/{OWN_SUBSCRIPTION}/resourceGroups/rp-eastus/providers/Microsoft.Network");
        let endpoint_subnet = json!([{"name": "rp-pe-subnet", "properties": {"addressPrefix": endpoints,
            "privateEndpointNetworkPolicies": "Disabled"}}]);
        put(
            &control,
            &format!("{own}/virtualNetworks/rp-pe-vnet-001"),
            network(endpoints, &endpoint_subnet),
        )?;
        let zone = json!({"location": "global", "properties": {}});
        put(&control, &format!("{own}/dnsZones/eastus.aroapp.io"), zone)?;
        let mut subnets = Vec::new();
        for slot in 0..slots {
            for (role, third) in [("master", 2 * slot), ("worker", 2 * slot + 1)] {
                let prefix = format!("10.1.{third}.0/24");
                let subnet =
                    json!({"name": format!("{role}-{slot}"), "properties": {"addressPrefix": prefix}});
                subnets.push(subnet);
            }
        }
        put(&control, &virtual_network(), network("10.1.0.0/16", &json!(subnets)))?;
        folder.write("azure-token", token())?;
        Ok(azure)
    }

    /// What the stand-in has, and what it was asked.
    pub fn control(&self) -> ArmControl {
        self.arm.arm.control()
    }

    /// Lines of `[azure]`.
    pub fn settings(&self) -> String {
        let url = &self.arm.url;
        format!(
            "credential = \"workload_identity\"\nclient_id = \"{CLIENT}\"\nfederated_token_file = \"azure-token\"\n\
             resource_manager = \"{url}\"\nauthority = \"{url}\"\n"
        )
    }

    /// How many resources of each type a cluster has in its group.
    pub fn made(&self, number: u64) -> BTreeMap<String, usize> {
        let group = managed_group(number);
        let mut made = BTreeMap::new();
        for key in self.control().keys(&group) {
            // "", "providers", a namespace, and then a type and a name by turns; names differ from cluster to cluster.
            let kind: Vec<&str> = key[group.len()..].split('/').skip(3).step_by(2).collect();
            // Deployments are what was done, not what there is.
            if !key.contains("/microsoft.resources/") {
                *made.entry(kind.join("/")).or_default() += 1;
            }
        }
        made
    }

    /// Ids of what is left of a cluster: what is in its managed group, and the group.
    pub fn left(&self, number: u64) -> Vec<String> {
        let group = managed_group(number);
        let control = self.control();
        let mut left = control.keys(&group);
        left.extend(control.get(&group).map(|_| group));
        left
    }

    /// Every id of both subscriptions, and the security groups of the customer's subnets.
    pub fn everything(&self) -> Vec<String> {
        let control = self.control();
        let mut all: Vec<String> = [SUBSCRIPTION, OWN_SUBSCRIPTION]
            .iter()
            .flat_map(|owner| control.keys(&format!("/subscriptions/{owner}")))
            .collect();
        for slot in 0..self.slots {
            for role in ["master", "worker"] {
                let subnet = control.get(&subnet(role, slot)).unwrap_or_default();
                all.push(subnet["properties"]["networkSecurityGroup"]["id"].to_string());
            }
        }
        all
    }
}

/// Lines of `[rp]`, and the section `[backend]` after them: short leases, so that another process goes on soon.
pub fn provider_settings() -> String {
    format!(
        "subscription = \"{OWN_SUBSCRIPTION}\"\ntenant = \"{OWN_TENANT}\"\ngroup = \"rp-eastus\"\ngateway = false\n\
         service_principal = \"{}\"\n\
         [backend]\nlease = \"8s\"\nheartbeat = \"2s\"\npoll = \"1s\"\nretry = \"200ms\"\nretry_most = \"2s\"\n\
         dequeues = 1000\n",
        object_id_of(CLIENT)
    )
}

fn virtual_network() -> String {
    format!(
        "/subscriptions/{SUBSCRIPTION}/resourceGroups/net/providers/Microsoft.Network/virtualNetworks/vnet"
    )
}

/// The id of a subnet of a slot. `role`: `master` or `worker`.
pub fn subnet(role: &str, slot: usize) -> String {
    format!("{}/subnets/{role}-{slot}", virtual_network())
}

/// The managed group of a cluster, as a key of the stand-in: lower case.
pub fn managed_group(number: u64) -> String {
    format!("/subscriptions/{SUBSCRIPTION}/resourcegroups/managed-{number}")
}

/// The managed group of a cluster in which a path is.
pub fn managed_group_of(path: &str) -> Option<String> {
    let path = path.to_ascii_lowercase();
    let mut parts = path.splitn(6, '/');
    let found: Vec<&str> = parts.by_ref().take(5).collect();
    let [_, _, _, "resourcegroups", name] = found.as_slice() else { return None };
    name.starts_with("managed-").then(|| found.join("/"))
}

fn network(space: &str, subnets: &Value) -> Value {
    json!({"location": "eastus", "properties": {"addressSpace": {"addressPrefixes": [space]}, "subnets": subnets}})
}

fn put(control: &ArmControl, id: &str, body: Value) -> Result<()> {
    ensure!(control.put(id, body), "the stand-in does not take {id}");
    Ok(())
}

/// A service account's token; the stand-in believes its signature.
fn token() -> String {
    let now = SystemClock.now().seconds();
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let header = part(&json!({"alg": "RS256", "kid": "test"}));
    let claims = part(&json!({"iss": "https://localhost/test", "sub": "system:serviceaccount:aro:rp",
        "aud": "api://AzureADTokenExchange", "nbf": now - 60, "exp": now + 24 * 3600}));
    format!("{header}.{claims}.{}", URL_SAFE_NO_PAD.encode([7_u8; 256]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_in_its_managed_group_and_in_no_other() {
        let path =
            format!("/subscriptions/{SUBSCRIPTION}/resourceGroups/Managed-7/providers/Microsoft.Compute");
        assert_eq!(managed_group_of(&path), Some(managed_group(7)));
        assert_eq!(managed_group_of(&subnet("master", 0)), None);
        assert_eq!(managed_group_of("/subscriptions"), None);
    }
}
