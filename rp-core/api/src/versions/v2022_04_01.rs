//! `2022-04-01`: FIPS validated modules; the choice of network is removed.

use super::SWITCH;
use crate::schema::text;
use crate::version::{Publication, Version};

pub(super) fn after(before: &Version) -> Version {
    let mut version = before.next("2022-04-01");
    version.cluster.add(
        "properties.clusterProfile",
        text("fipsValidatedModules", "Whether FIPS validated crypto modules are used.")
            .choice("FipsValidatedModules", SWITCH),
    );
    version.cluster.remove("properties.networkProfile.softwareDefinedNetwork");
    version.reserved_ranges_by_network = false;
    version.published = Some(Publication { stable: true, common_types: "v2" });
    version
}
