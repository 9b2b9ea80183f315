//! Networks, subnets and their ranges (`contract/cluster.md` §7.3). Pure.

use ipnet::IpNet;
use rp_api::CloudError;
use serde_json::Value;

use super::subjects::PRECONFIGURED;
use crate::document::Document;
use crate::resources::NamedSubnet;

const CODE: &str = "InvalidLinkedVNet";
/// The smallest subnet.
const SMALLEST: u8 = 27;

/// A subnet as Azure shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Subnet {
    pub(crate) named: NamedSubnet,
    pub(crate) prefixes: Vec<String>,
    pub(crate) security_group: Option<String>,
    pub(crate) route_table: Option<String>,
    pub(crate) nat_gateway: Option<String>,
    /// `Succeeded` when nothing is going on.
    pub(crate) state: String,
}

impl Subnet {
    /// Of ARM's body: one prefix or a list of them.
    pub(crate) fn read(named: NamedSubnet, body: &Value) -> Self {
        let of = &body["properties"];
        let id = |member: &str| of[member]["id"].as_str().map(str::to_owned);
        let one = of["addressPrefix"].as_str().into_iter();
        let many = of["addressPrefixes"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let mut prefixes: Vec<String> = one.chain(many).map(str::to_owned).collect();
        prefixes.dedup();
        Self {
            named,
            prefixes,
            security_group: id("networkSecurityGroup"),
            route_table: id("routeTable"),
            nat_gateway: id("natGateway"),
            state: of["provisioningState"].as_str().unwrap_or_default().to_owned(),
        }
    }

    fn invalid(&self, what: &str) -> CloudError {
        let message = format!("The provided subnet '{}' is invalid: {what}", self.named.id);
        CloudError::bad(CODE, &self.named.path, message)
    }
}

/// Network of a subnet: the id before `/subnets/`.
pub(crate) fn network_of(subnet: &str) -> Option<&str> {
    let at = subnet.to_ascii_lowercase().rfind("/subnets/")?;
    subnet.get(..at)
}

/// A network is where its cluster is.
///
/// # Errors
/// 400 `InvalidLinkedVNet`.
pub(crate) fn check_location(location: &str, cluster: &str) -> Result<(), CloudError> {
    if location.eq_ignore_ascii_case(cluster) {
        return Ok(());
    }
    let message = format!("The vnet location '{location}' must match the cluster location '{cluster}'.");
    Err(CloudError::bad(CODE, "", message))
}

/// Ranges of subnets, pods and services are disjoint. A text that is no range was refused before, and is left out.
///
/// # Errors
/// 400 `InvalidLinkedVNet`.
pub(crate) fn check_ranges<'a>(ranges: impl Iterator<Item = &'a str>) -> Result<(), CloudError> {
    let mut seen: Vec<IpNet> = Vec::new();
    for range in ranges.filter_map(|text| text.parse::<IpNet>().ok()).map(|range| range.trunc()) {
        if let Some(other) = seen.iter().find(|other| other.contains(&range) || range.contains(*other)) {
            let message = format!("The provided CIDRs must not overlap: '{range} overlaps with {other}'.");
            return Err(CloudError::bad(CODE, "", message));
        }
        seen.push(range);
    }
    Ok(())
}

/// Security groups, state and size of a cluster's subnets.
///
/// # Errors
/// 400 `InvalidLinkedVNet`.
pub(crate) fn check_subnets(cluster: &Document, subnets: &[Subnet]) -> Result<(), CloudError> {
    let preconfigured = cluster.is_nsg_preconfigured();
    if cluster.is_creating() && preconfigured && subnets.iter().any(|subnet| subnet.security_group.is_none())
    {
        return Err(CloudError::bad(CODE, "", PRECONFIGURED));
    }
    for subnet in subnets {
        check_group(cluster, subnet)?;
        if subnet.state != "Succeeded" {
            let message = format!("The provided subnet '{}' is not in a Succeeded state", subnet.named.id);
            return Err(CloudError::bad(CODE, &subnet.named.path, message));
        }
        let ranges = subnet.prefixes.iter().filter_map(|text| text.parse::<IpNet>().ok());
        if ranges.into_iter().any(|range| range.prefix_len() > SMALLEST) {
            return Err(subnet.invalid("must be /27 or larger."));
        }
    }
    Ok(())
}

fn check_group(cluster: &Document, subnet: &Subnet) -> Result<(), CloudError> {
    let ours = cluster.security_group(&subnet.named.id);
    let has_ours = subnet.security_group.as_ref().map(|id| id.eq_ignore_ascii_case(&ours));
    match (cluster.is_creating(), cluster.is_nsg_preconfigured(), has_ours) {
        (true, false, Some(false)) => Err(subnet.invalid("must not have a network security group attached.")),
        (false, false, None | Some(false)) => {
            Err(subnet.invalid(&format!("must have network security group '{ours}' attached.")))
        }
        (false, true, None) => Err(subnet.invalid("must have a network security group attached.")),
        _ => Ok(()),
    }
}

/// An encryption set is where its cluster is.
///
/// # Errors
/// 400 `InvalidLinkedDiskEncryptionSet`.
pub(crate) fn check_encryption_set(location: &str, cluster: &str) -> Result<(), CloudError> {
    if location.eq_ignore_ascii_case(cluster) {
        return Ok(());
    }
    let message =
        format!("The disk encryption set location '{location}' must match the cluster location '{cluster}'.");
    Err(CloudError::bad("InvalidLinkedDiskEncryptionSet", "", message))
}
