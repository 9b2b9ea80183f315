//! `2021-09-01-preview`: system data, the choice of network, disk encryption, the admin's kubeconfig.

use super::SWITCH;
use crate::schema::{object, text};
use crate::version::{Publication, Version};

pub(super) fn after(before: &Version) -> Version {
    let mut version = before.next("2021-09-01-preview");
    version.cluster.add_after("", "tags", system_data());
    version.cluster.add(
        "properties.networkProfile",
        text("softwareDefinedNetwork", "The network plug-in.")
            .choice("SoftwareDefinedNetwork", &["OVNKubernetes", "OpenShiftSDN"]),
    );
    for profile in ["properties.masterProfile", "properties.workerProfiles"] {
        version.cluster.add(
            profile,
            text("encryptionAtHost", "Whether the machines' disks are encrypted at their host.")
                .choice("EncryptionAtHost", SWITCH),
        );
        version
            .cluster
            .add(profile, text("diskEncryptionSetId", "The id of the disk encryption set of the disks."));
    }
    version.admin_kubeconfig = true;
    version.reserved_ranges_by_network = true;
    version.published = Some(Publication { stable: false, common_types: "v2" });
    version
}

/// Who made it and who changed it last, as ARM says (`contract/api.md` §3.1).
fn system_data() -> crate::schema::Member {
    const KINDS: &[&str] = &["Application", "Key", "ManagedIdentity", "User"];
    object(
        "systemData",
        "Who made the resource and who changed it last.",
        vec![
            text("createdBy", "Who made the resource."),
            text("createdByType", "What kind of identity made it.").choice("CreatedByType", KINDS),
            text("createdAt", "When it was made (UTC)."),
            text("lastModifiedBy", "Who changed the resource last."),
            text("lastModifiedByType", "What kind of identity changed it last.")
                .choice("CreatedByType", KINDS),
            text("lastModifiedAt", "When it was changed last (UTC)."),
        ],
    )
}
