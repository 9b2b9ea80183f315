//! Public addresses (`contract/cluster.md` §8.1): Standard, static, IPv4, without a DNS label.

use rp_base::sha256;
use serde_json::{Value, json};

use super::{id, resource};
use crate::document::Document;

pub(crate) const KIND: &str = "Microsoft.Network/publicIPAddresses";
/// What names of managed outbound addresses contain.
pub(crate) const OUTBOUND: &str = "-outbound-pip-v4";

/// The API server's.
pub(crate) fn api_name(cluster: &Document) -> String {
    format!("{}-pip-v4", cluster.infra_id())
}

/// The router's.
pub(crate) fn router_name(cluster: &Document) -> String {
    format!("{}-default-v4", cluster.infra_id())
}

/// The `n`th managed outbound address: a name that a second run finds again.
pub(crate) fn outbound_name(cluster: &Document, n: usize) -> String {
    let digest = sha256(format!("{}/outbound/{n}", cluster.id()).as_bytes());
    let hex = digest.to_string();
    let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default();
    // RFC 9562 version 8 of a uuid: made of what we choose.
    let (a, b, c, d, e) = (part(0, 8), part(8, 12), part(13, 16), part(17, 20), part(20, 32));
    format!("{a}-{b}-8{c}-8{d}-{e}{OUTBOUND}")
}

pub(crate) fn address_id(cluster: &Document, name: &str) -> String {
    id(cluster.group_id(), KIND, name)
}

/// An address in the cluster's zones.
pub(crate) fn address(cluster: &Document, name: &str) -> Value {
    let properties = json!({ "publicIPAllocationMethod": "Static", "publicIPAddressVersion": "IPv4" });
    let mut body = resource(KIND, name, Some(&cluster.location()), properties);
    body["sku"] = json!({ "name": "Standard" });
    body["zones"] = json!(cluster.zones());
    body
}

/// Names of the outbound addresses of a new cluster, the API's own first.
pub(crate) fn outbound_names(cluster: &Document) -> Vec<String> {
    let own = cluster.is_api_public();
    let further = cluster.managed_addresses().saturating_sub(usize::from(own));
    let first = own.then(|| api_name(cluster));
    first.into_iter().chain((0..further).map(|n| outbound_name(cluster, n))).collect()
}
