//! `2023-09-04`: security groups of the caller's own, and the machine sets as they are beside the profiles as sent. The
//! preview's load balancer profile is not in it.

use super::SWITCH;
use crate::schema::{Member, Members, Shape, text};
use crate::version::{Publication, Version};

pub(super) fn after(before: &Version) -> Version {
    let mut version = before.next("2023-09-04");
    version.cluster.remove("properties.networkProfile.loadBalancerProfile");
    version.cluster.add(
        "properties.networkProfile",
        text("preconfiguredNSG", "Whether the subnets have network security groups of the caller's own.")
            .choice("PreconfiguredNSG", SWITCH),
    );
    let status = workers_status(&version.cluster);
    if let Some(status) = status {
        version.cluster.add_after("properties", "workerProfiles", status);
    }
    version.extra_state = None;
    version.shows_live_workers = false;
    version.published = Some(Publication { stable: true, common_types: "v3" });
    version
}

/// The worker profiles again, as the cluster's machine sets are.
pub(super) fn workers_status(cluster: &Members) -> Option<Member> {
    let sent = cluster.at("properties.workerProfiles")?.clone();
    let shape = Shape::List(Box::new(Shape::Object(sent.shape.members()?.clone())));
    let says = "The worker machine sets as they are.";
    Some(
        Member { name: "workerProfilesStatus", stored: "workerProfilesStatus", shape, says, ..sent }
            .read_only(),
    )
}
