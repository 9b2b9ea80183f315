//! `2020-04-30`: the first stable one. Ingress profiles are checked on create only.

use crate::version::{Publication, Version};

pub(super) fn after(before: &Version) -> Version {
    let mut version = before.next("2020-04-30");
    version.ingress_checked_on_update = false;
    version.published = Some(Publication { stable: true, common_types: "v1" });
    version
}
