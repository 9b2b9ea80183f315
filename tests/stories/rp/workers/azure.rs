//! The stand-in for Azure that the processes work with: the service's own resources, and a customer's network.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Result, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rp_base::{Clock as _, SystemClock};
use rp_simulator_azure::{ArmControl, EmptyContents, LocalArm, object_id_of};
use serde_json::{Value, json};
use tests_kit::Folder;

use crate::rp::site::SUB;

/// Pairs of subnets: so many clusters at once.
pub(super) const SLOTS: usize = 4;

const OWN: &str = "00000000-0000-4000-8000-0000000000a0";
const OWN_TENANT: &str = "00000000-0000-4000-8000-0000000000b0";
const CLIENT: &str = "00000000-0000-4000-8000-0000000000de";

/// It ends with this.
pub(super) struct Azure(LocalArm);

impl Azure {
    pub(super) async fn start(folder: &Folder) -> Result<Self> {
        let azure =
            Self(LocalArm::start(&[(CLIENT, "none")], Arc::new(EmptyContents), Arc::new(SystemClock)).await?);
        let control = azure.control();
        control.open_directory();
        control.subscribe(SUB, SUB);
        control.subscribe(OWN, OWN_TENANT);
        let own = format!("/subscriptions/{OWN}/resourceGroups/rp-eastus/providers/Microsoft.Network");
        let subnet = json!([{"name": "rp-pe-subnet", "properties": {"addressPrefix": "10.8.0.0/16",
            "privateEndpointNetworkPolicies": "Disabled"}}]);
        put(&control, &format!("{own}/virtualNetworks/rp-pe-vnet-001"), network("10.8.0.0/16", &subnet))?;
        let zone = json!({"location": "global", "properties": {}});
        put(&control, &format!("{own}/dnsZones/eastus.aroapp.io"), zone)?;
        let subnets: Vec<Value> = (0..SLOTS)
            .flat_map(|slot| [("master", 2 * slot), ("worker", 2 * slot + 1)].map(|(role, third)| (role, slot, third)))
            .map(|(role, slot, third)| {
                json!({"name": format!("{role}-{slot}"), "properties": {"addressPrefix": format!("10.1.{third}.0/24")}})
            })
            .collect();
        put(&control, &vnet(), network("10.1.0.0/16", &json!(subnets)))?;
        folder.write("azure-token", token())?;
        Ok(azure)
    }

    pub(super) fn control(&self) -> ArmControl {
        self.0.arm.control()
    }

    /// Lines of `[azure]`.
    pub(super) fn settings(&self) -> String {
        format!(
            "credential = \"workload_identity\"\nclient_id = \"{CLIENT}\"\nfederated_token_file = \"azure-token\"\n\
             resource_manager = \"{url}\"\nauthority = \"{url}\"\n",
            url = self.0.url
        )
    }

    /// How many resources of each type a cluster has in its group.
    pub(super) fn made(&self, number: usize) -> BTreeMap<String, usize> {
        let group = group(number);
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

    /// What is left of a cluster.
    pub(super) fn left(&self, number: usize) -> Vec<String> {
        let group = group(number);
        let control = self.control();
        let mut left = control.keys(&group);
        left.extend(control.get(&group).map(|_| group));
        left
    }

    /// Every id of both subscriptions, and the security groups of the customer's subnets.
    pub(super) fn everything(&self) -> Vec<String> {
        let control = self.control();
        let mut all: Vec<String> =
            [SUB, OWN].iter().flat_map(|of| control.keys(&format!("/subscriptions/{of}"))).collect();
        for slot in 0..SLOTS {
            for role in ["master", "worker"] {
                let subnet = control.get(&subnet(role, slot)).unwrap_or_default();
                all.push(subnet["properties"]["networkSecurityGroup"]["id"].to_string());
            }
        }
        all
    }
}

/// Lines of `[rp]`, and what comes after it: short leases, so that others go on soon; a cluster's API is at a closed door.
pub(super) fn place() -> String {
    format!(
        "subscription = \"{OWN}\"\ntenant = \"{OWN_TENANT}\"\ngroup = \"rp-eastus\"\ngateway = false\n\
         service_principal = \"{}\"\n\
         [backend]\nlease = \"8s\"\nheartbeat = \"2s\"\npoll = \"1s\"\nretry = \"200ms\"\nretry_most = \"2s\"\n\
         dequeues = 1000\n\
         [private_link]\nway = \"connect\"\naddress = \"127.0.0.1:1\"\nca_file = \"arm-ca.pem\"\n\
         client_cert_file = \"rp.crt\"\nclient_key_file = \"rp.key\"\n",
        object_id_of(CLIENT)
    )
}

fn vnet() -> String {
    format!("/subscriptions/{SUB}/resourceGroups/net/providers/Microsoft.Network/virtualNetworks/vnet")
}

/// A subnet of a slot.
pub(super) fn subnet(role: &str, slot: usize) -> String {
    format!("{}/subnets/{role}-{slot}", vnet())
}

/// The managed group of a cluster, as a key.
pub(super) fn group(number: usize) -> String {
    format!("/subscriptions/{SUB}/resourcegroups/managed-{number}")
}

/// The managed group of a cluster in which a path is.
pub(super) fn group_of(path: &str) -> Option<String> {
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
