//! `2023-04-01`: how the cluster reaches the outside.

use crate::schema::text;
use crate::version::Version;

pub(super) fn after(before: &Version) -> Version {
    let mut version = before.next("2023-04-01");
    version.cluster.add(
        "properties.networkProfile",
        text("outboundType", "How the cluster's machines reach the outside.")
            .choice("OutboundType", &["Loadbalancer", "UserDefinedRouting"]),
    );
    version
}
