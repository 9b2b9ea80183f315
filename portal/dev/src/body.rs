//! The request that creates a cluster here: `aro-dev cluster NAME` prints it with the command that sends it.

use std::path::Path;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use crate::folder::read_text;
use crate::names::{CUSTOMER, CUSTOMER_GROUP, MOST_PAIRS, SECRET, application, customer_network};

/// The version of the API that the body is of.
const API_VERSION: &str = "2023-11-22";

/// A body for `PUT`, and the resource id to send it to.
pub(crate) struct ClusterRequest {
    /// Resource id.
    pub(crate) id: String,
    pub(crate) body: Value,
}

/// The body of a cluster; `subnets` chooses the pair of subnets of the customer's networks, from 1.
pub(crate) fn cluster_request(
    name: &str,
    subnets: usize,
    version: &str,
    install: Option<&str>,
) -> anyhow::Result<ClusterRequest> {
    ensure!((1..=MOST_PAIRS).contains(&subnets), "--subnets: 1 to {MOST_PAIRS}");
    let group = format!("/subscriptions/{CUSTOMER}/resourceGroups/{CUSTOMER_GROUP}");
    let network = customer_network(subnets);
    let network = format!("{group}/providers/Microsoft.Network/virtualNetworks/{network}/subnets");
    let mut body = json!({
        "location": "westeurope",
        "properties": {
            "clusterProfile": {
                "domain": name.to_ascii_lowercase(),
                "version": version,
                "resourceGroupId": format!("/subscriptions/{CUSTOMER}/resourceGroups/aro-{name}"),
                "fipsValidatedModules": "Disabled",
            },
            "servicePrincipalProfile": { "clientId": application(subnets), "clientSecret": SECRET },
            "networkProfile": { "podCidr": "10.128.0.0/14", "serviceCidr": "172.30.0.0/16", "outboundType": "Loadbalancer", "preconfiguredNSG": "Disabled" },
            "masterProfile": { "vmSize": "Standard_D8s_v3", "subnetId": format!("{network}/master-{subnets}"), "encryptionAtHost": "Disabled" },
            "workerProfiles": [{
                "name": "worker", "vmSize": "Standard_D2s_v3", "diskSizeGB": 128, "count": 3, "encryptionAtHost": "Disabled",
                "subnetId": format!("{network}/worker-{subnets}"),
            }],
            "apiserverProfile": { "visibility": "Public" },
            "ingressProfiles": [{ "name": "default", "visibility": "Public" }],
        },
    });
    if let Some(install) = install {
        body["tags"] = json!({ crate::install::TAG: install });
    }
    let id = format!("{group}/providers/Microsoft.RedHatOpenShift/openShiftClusters/{name}");
    Ok(ClusterRequest { id, body })
}

/// Prints the body alone (`json`), or with the commands that send it.
#[expect(clippy::print_stdout, reason = "the answer of a command")]
pub(crate) fn print(folder: &Path, asked: &ClusterRequest, alone: bool) -> anyhow::Result<()> {
    if alone {
        println!("{}", json!({ "id": asked.id, "apiVersion": API_VERSION, "body": asked.body }));
        return Ok(());
    }
    let dev: Value = serde_json::from_str(&read_text(&folder.join("dev.json"))?)?;
    let rp = dev["rp_url"].as_str().context("dev.json has no rp_url")?.trim_end_matches('/').to_owned();
    let ca = folder.join("ca.pem");
    let curl = format!("curl --cacert {} ", ca.display());
    let url = format!("{rp}{}?api-version={API_VERSION}", asked.id);
    println!("{curl}-X PUT -H content-type:application/json '{url}' -d '\n{:#}'\n", asked.body);
    println!("# later\n{curl}-X DELETE '{url}'");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_have_applications_and_subnets_of_their_own() {
        let (one, two) = (
            cluster_request("a", 1, "4.17.27", None).unwrap(),
            cluster_request("b", 2, "4.17.27", Some("no-api")).unwrap(),
        );
        let of = |asked: &ClusterRequest, pointer: &str| asked.body.pointer(pointer).cloned().unwrap();
        for pointer in ["/properties/servicePrincipalProfile/clientId", "/properties/masterProfile/subnetId"]
        {
            assert_ne!(of(&one, pointer), of(&two, pointer));
        }
        assert_eq!(of(&two, "/tags/simulated-install"), "no-api");
        assert!(cluster_request("c", MOST_PAIRS + 1, "4.17.27", None).is_err());
    }
}
