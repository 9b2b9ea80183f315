//! `2023-07-01-preview`: the public load balancer's addresses.

use crate::schema::{Member, int, object, objects, text};
use crate::version::{Publication, Version};

pub(super) fn after(before: &Version) -> Version {
    let mut version = before.next("2023-07-01-preview");
    let mut profile = vec![managed(), effective()];
    profile.push(objects("outboundIps", "Addresses of the caller's own.", vec![id()]).free());
    profile.push(objects("outboundIpPrefixes", "Prefixes of the caller's own.", vec![id()]).free());
    profile.push(int("allocatedOutboundPorts", "Outbound ports of each machine.").free());
    version.cluster.add("properties.networkProfile", load_balancer(profile));
    version.extra_state = Some("Cancelled");
    version.published = Some(Publication { stable: false, common_types: "v3" });
    version
}

/// The profile with those members.
pub(super) fn load_balancer(members: Vec<Member>) -> Member {
    object("loadBalancerProfile", "The public load balancer of the cluster.", members).nullable()
}

/// Addresses that the cluster makes itself.
pub(super) fn managed() -> Member {
    let count = int("count", "How many addresses there are, from 1 to 20.").free();
    object("managedOutboundIps", "The addresses that are made for the cluster.", vec![count])
        .nullable()
        .free()
}

/// Addresses that are in use.
pub(super) fn effective() -> Member {
    objects("effectiveOutboundIps", "The addresses in use.", vec![id().read_only()]).read_only()
}

fn id() -> Member {
    text("id", "The id of the resource.")
}
