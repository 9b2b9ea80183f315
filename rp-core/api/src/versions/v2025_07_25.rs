//! `2025-07-25`: workload identity, stable; other rules of JSON (`contract/api.md` §8.3) and objects that
//! must be there (`contract/api.md` §11.3).

use crate::version::{JsonDialect, Publication, Version};

pub(super) fn after(before: &Version) -> Version {
    let mut version = before.next("2025-07-25");
    version.json = JsonDialect::Sorted;
    version.published = Some(Publication { stable: true, common_types: "v6" });
    version
}
