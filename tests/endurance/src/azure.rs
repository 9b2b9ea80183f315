//! The stand-in for Azure that the resource providers work with: the service's own resources, and a customer's network.

use std::sync::Arc;

use anyhow::{Result, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rp_base::{Clock as _, SystemClock};
use rp_simulator_azure::{ArmControl, EmptyContents, LocalArm, object_id_of};
use serde_json::{Value, json};
use tests_kit::Folder;

use crate::settings::{OWN_SUBSCRIPTION, OWN_TENANT};

/// The customer's subscription.
pub(crate) const SUBSCRIPTION: &str = "00000000-0000-0000-0000-00000000a001";
/// Pairs of subnets: so many clusters at once.
pub(crate) const SLOTS: usize = 2;

const CLIENT: &str = "00000000-0000-4000-8000-0000000000de";

/// A running stand-in; it ends with this.
#[derive(Debug)]
pub(crate) struct Azure(LocalArm);

impl Azure {
    /// Starts it, and writes the token of its application into the folder.
    ///
    /// # Errors
    /// There is no port, or the token cannot be written.
    pub(crate) async fn start(folder: &Folder) -> Result<Self> {
        let clock = Arc::new(SystemClock);
        let azure = Self(LocalArm::start(&[(CLIENT, "none")], Arc::new(EmptyContents), clock).await?);
        let control = azure.0.arm.control();
        control.open_directory();
        control.subscribe(SUBSCRIPTION, SUBSCRIPTION);
        control.subscribe(OWN_SUBSCRIPTION, OWN_TENANT);
        let own =
            format!("/subscriptions/{OWN_SUBSCRIPTION}/resourceGroups/rp-eastus/providers/Microsoft.Network");
        let endpoints = json!([{"name": "rp-pe-subnet", "properties": {"addressPrefix": "10.8.0.0/16",
            "privateEndpointNetworkPolicies": "Disabled"}}]);
        put(&control, &format!("{own}/virtualNetworks/rp-pe-vnet-001"), network("10.8.0.0/16", &endpoints))?;
        let zone = json!({"location": "global", "properties": {}});
        put(&control, &format!("{own}/dnsZones/eastus.aroapp.io"), zone)?;
        let mut subnets = Vec::new();
        for slot in 0..SLOTS {
            for (role, third) in [("master", 2 * slot), ("worker", 2 * slot + 1)] {
                let prefix = format!("10.1.{third}.0/24");
                subnets
                    .push(json!({"name": format!("{role}-{slot}"), "properties": {"addressPrefix": prefix}}));
            }
        }
        put(&control, &virtual_network(), network("10.1.0.0/16", &json!(subnets)))?;
        folder.write("azure-token", token())?;
        Ok(azure)
    }

    /// Lines of `[azure]`.
    pub(crate) fn settings(&self) -> String {
        let url = &self.0.url;
        format!(
            "credential = \"workload_identity\"\nclient_id = \"{CLIENT}\"\nfederated_token_file = \"azure-token\"\n\
             resource_manager = \"{url}\"\nauthority = \"{url}\"\n"
        )
    }

    /// The object id of the resource provider's application.
    pub(crate) fn principal() -> String {
        object_id_of(CLIENT)
    }

    /// Ids of what is left of a cluster in its managed group.
    pub(crate) fn left(&self, number: u64) -> Vec<String> {
        self.0.arm.control().keys(&managed_group(number))
    }
}

/// A subnet of a slot.
pub(crate) fn subnet(role: &str, slot: usize) -> String {
    format!("{}/subnets/{role}-{slot}", virtual_network())
}

fn virtual_network() -> String {
    format!(
        "/subscriptions/{SUBSCRIPTION}/resourceGroups/net/providers/Microsoft.Network/virtualNetworks/vnet"
    )
}

/// The managed group of a cluster, as a key of the stand-in.
fn managed_group(number: u64) -> String {
    format!("/subscriptions/{SUBSCRIPTION}/resourcegroups/managed-{number}")
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
