//! Whether outbound addresses can be had and suffice (`contract/cluster.md` §7.3). Pure.

use rp_api::CloudError;

use crate::document::Document;

/// Ports of an address, and those that every machine is given.
const PORTS_OF_ADDRESS: usize = 63_992;
const PORTS_OF_MACHINE: usize = 1024;

/// What the subscription has of a resource in a region.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Usage {
    pub(crate) current: i64,
    pub(crate) limit: i64,
}

/// Public addresses that the operation will make.
pub(crate) fn needed_addresses(cluster: &Document) -> usize {
    let count = cluster.managed_addresses();
    match cluster.is_creating() {
        true => count + usize::from(cluster.is_ingress_public()),
        // Fewer than there are need none.
        false => count.saturating_sub(cluster.effective_addresses().len()),
    }
}

/// The free quota takes the needed addresses.
///
/// # Errors
/// 400 `ResourceQuotaExceeded`.
pub(crate) fn check_quota(needed: usize, usage: Usage) -> Result<(), CloudError> {
    let Usage { current, limit } = usage;
    if i64::try_from(needed).is_ok_and(|needed| needed <= (limit - current).max(0)) {
        return Ok(());
    }
    Err(CloudError::bad(
        "ResourceQuotaExceeded",
        "properties.networkProfile.loadBalancerProfile.ManagedOutboundIPs.Count",
        format!(
            "Resource quota of PublicIPAddresses exceeded. Maximum allowed: {limit}, Current in use: {current}, Additional requested: {needed}."
        ),
    ))
}

/// The addresses have ports for all machines behind the balancer.
///
/// # Errors
/// 400 `InvalidParameter`.
pub(crate) fn check_ports(addresses: usize, machines: usize) -> Result<(), CloudError> {
    let (total, required) = (addresses * PORTS_OF_ADDRESS, machines * PORTS_OF_MACHINE);
    if required <= total {
        return Ok(());
    }
    Err(CloudError::invalid(
        "properties.networkProfile.loadBalancerProfile",
        format!(
            "Insufficient frontend ports to support the backend instance count.  Total frontend ports: {total}, Required frontend ports: {required}, Total backend instances: {machines}"
        ),
    ))
}
