//! `2023-11-22`: the load balancer profile again, without the parts that were never built; members that only we
//! write are read-only.

use super::v2023_07_01_preview::{effective, load_balancer, managed};
use crate::version::Version;

pub(super) fn after(before: &Version) -> Version {
    let mut version = before.next("2023-11-22");
    version.cluster.add_after(
        "properties.networkProfile",
        "outboundType",
        load_balancer(vec![managed(), effective()]),
    );
    version.cluster.make_read_only(&[
        "systemData",
        "properties.consoleProfile.url",
        "properties.apiserverProfile.url",
        "properties.apiserverProfile.ip",
        "properties.ingressProfiles.ip",
    ]);
    version.extra_state = Some("Canceled");
    version
}
