//! Ranges inside the cluster, and how it reaches the outside.

use ipnet::{IpNet, Ipv4Net};

use super::{ValidationContext, ValidationResult};
use crate::error::CloudError;
use crate::text;
use crate::view::{Cluster, LoadBalancer, Network};

const PATH: &str = "properties.networkProfile";
/// Ranges that the network plug-in uses itself (`contract/api.md` §3).
const RESERVED: [&str; 3] = ["100.64.0.0/16", "169.254.169.0/29", "100.88.0.0/16"];
/// Outbound addresses that a cluster may have.
const MOST_ADDRESSES: i64 = 20;

pub(super) fn ranges(context: &ValidationContext<'_>, cluster: &Cluster, new: bool) -> ValidationResult {
    let network = &cluster.properties.network_profile;
    range(context, network, new, "pod", &network.pod_cidr, 18)?;
    range(context, network, new, "service", &network.service_cidr, 22)?;
    let choice = network.software_defined_network.as_str();
    let path = "properties.networkProfile.softwareDefinedNetwork";
    if context.version.has(path) && !matches!(choice, "OVNKubernetes" | "OpenShiftSDN") {
        let message = format!("The provided SoftwareDefinedNetwork '{choice}' is invalid.");
        return Err(CloudError::invalid("properties.networkProfile.SoftwareDefinedNetwork", message));
    }
    Ok(())
}

fn range(
    context: &ValidationContext<'_>,
    network: &Network,
    new: bool,
    what: &str,
    text: &str,
    longest: u8,
) -> ValidationResult {
    let target = format!("{PATH}.{what}Cidr");
    let Some(range) = text::range(text) else {
        let message =
            format!("The provided {what} CIDR '{text}' is invalid: 'invalid CIDR address: {text}'.");
        return Err(CloudError::invalid(&target, message));
    };
    let IpNet::V4(range) = range else {
        let message = format!("The provided {what} CIDR '{text}' is invalid: must be IPv4.");
        return Err(CloudError::invalid(&target, message));
    };
    let counts =
        !context.version.reserved_ranges_by_network || network.software_defined_network == "OVNKubernetes";
    if new && counts && is_reserved(range) {
        let message = format!(
            "Azure Red Hat OpenShift uses 100.64.0.0/16, 169.254.169.0/29, and 100.88.0.0/16 IP address ranges \
             internally. Do not include this '{text}' IP address range in any other CIDR definitions in your cluster."
        );
        return Err(CloudError::bad("InvalidCIDRRange", PATH, message));
    }
    if range.prefix_len() > longest {
        // The contract's message says vnet for both.
        let message = format!("The provided vnet CIDR '{text}' is invalid: must be /{longest} or larger.");
        return Err(CloudError::invalid(&target, message));
    }
    if range.addr() != range.network() {
        let message = format!(
            "The provided {what} CIDR '{text}' is invalid, expecting: '{}/{}'.",
            range.network(),
            range.prefix_len()
        );
        return Err(CloudError::bad("InvalidNetworkAddress", &target, message));
    }
    Ok(())
}

fn is_reserved(range: Ipv4Net) -> bool {
    RESERVED.iter().filter_map(|text| text.parse::<Ipv4Net>().ok()).any(|reserved| {
        let (a, b) = (range.trunc(), reserved);
        a.contains(&b.network()) || b.contains(&a.network())
    })
}

pub(super) fn outbound(context: &ValidationContext<'_>, cluster: &Cluster, new: bool) -> ValidationResult {
    let properties = &cluster.properties;
    let network = &properties.network_profile;
    let kind = network.outbound_type.as_str();
    let target = "properties.networkProfile.outboundType";
    if !matches!(kind, "" | "Loadbalancer" | "UserDefinedRouting") {
        let message = format!(
            "The provided outboundType '{kind}' is invalid: must be UserDefinedRouting or Loadbalancer."
        );
        return Err(CloudError::invalid(target, message));
    }
    let routed = kind == "UserDefinedRouting";
    let ingress = properties.ingress_profiles.iter().flatten().next();
    let public = properties.apiserver_profile.visibility != "Private"
        || ingress.is_some_and(|ingress| ingress.visibility != "Private");
    if routed && public {
        let message = format!(
            "The provided outboundType '{kind}' is invalid: cannot use UserDefinedRouting if either API Server \
             Visibility or Ingress Visibility is public."
        );
        return Err(CloudError::invalid(target, message));
    }
    match &network.load_balancer_profile {
        Some(_) if routed => Err(balancer(
            "",
            "The provided loadBalancerProfile is invalid: cannot use a loadBalancerProfile if outboundType is \
             UserDefinedRouting.",
        )),
        Some(profile) => load_balancer(context, profile, new),
        None => Ok(()),
    }
}

fn balancer(member: &str, message: impl Into<String>) -> CloudError {
    let dot = if member.is_empty() { "" } else { "." };
    CloudError::invalid(&format!("{PATH}.loadBalancerProfile{dot}{member}"), message)
}

fn load_balancer(context: &ValidationContext<'_>, profile: &LoadBalancer, new: bool) -> ValidationResult {
    if context.version.has("properties.networkProfile.loadBalancerProfile.outboundIps") {
        let given = [
            profile.managed_outbound_ips.is_some(),
            profile.outbound_ips.is_some(),
            profile.outbound_ip_prefixes.is_some(),
        ];
        match given.iter().filter(|given| **given).count() {
            0 => {
                return Err(balancer(
                    "",
                    "The provided loadBalancerProfile is invalid: must specify one of managedOutboundIps, \
                     outboundIps, or outboundIpPrefixes.",
                ));
            }
            1 => {}
            _ => {
                return Err(balancer(
                    "",
                    "The provided loadBalancerProfile is invalid: can only use one of managedOutboundIps, \
                     outboundIps, or outboundIpPrefixes at a time.",
                ));
            }
        }
    }
    addresses(context, profile)?;
    let unbuilt = [
        ("outboundIps", profile.outbound_ips.is_some()),
        ("outboundIpPrefixes", profile.outbound_ip_prefixes.is_some()),
        ("allocatedOutboundPorts", profile.allocated_outbound_ports.is_some()),
    ];
    for (member, given) in unbuilt {
        if given {
            let message =
                format!("The field {member} is not implemented at this time, please check back later.");
            return Err(balancer(member, message));
        }
    }
    if new && !profile.effective_outbound_ips.is_empty() {
        return Err(balancer("effectiveOutboundIps", "The field effectiveOutboundIps is read only."));
    }
    Ok(())
}

fn addresses(context: &ValidationContext<'_>, profile: &LoadBalancer) -> ValidationResult {
    let Some(managed) = &profile.managed_outbound_ips else { return Ok(()) };
    let count = managed.count;
    let refuse = |why: &str| {
        let message = format!(
            "The provided managedOutboundIps.count {count} is invalid: managedOutboundIps.count {why}."
        );
        Err(balancer("managedOutboundIps.count", message))
    };
    if context.architecture == 0 && count > 1 {
        return refuse("must be 1, multiple IPs are not supported for this cluster's network architecture");
    }
    if !(1..=MOST_ADDRESSES).contains(&count) {
        return refuse("must be in the range of 1 to 20 (inclusive)");
    }
    Ok(())
}
