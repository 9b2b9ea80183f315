//! `2022-09-04`: OpenShift versions can be listed.

use crate::version::{Publication, Version};

pub(super) fn after(before: &Version) -> Version {
    let mut version = before.next("2022-09-04");
    version.openshift_versions = true;
    version.published = Some(Publication { stable: true, common_types: "v3" });
    version
}
