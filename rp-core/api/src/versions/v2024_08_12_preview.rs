//! `2024-08-12-preview`: workload identity.

use crate::schema::{Change, Member, Members, Shape, map, object, text};
use crate::version::{Publication, Version};

pub(super) fn after(before: &Version) -> Version {
    let mut version = before.next("2024-08-12-preview");
    version.cluster.add_after("", "systemData", identity());
    version.cluster.add(
        "properties.clusterProfile",
        text("oidcIssuer", "The address of the issuer of the cluster's tokens.").read_only(),
    );
    version.cluster.add_after("properties", "servicePrincipalProfile", platform());
    version.named_versions = true;
    version.role_sets = true;
    version.service_principal_required = false;
    version.published = Some(Publication { stable: false, common_types: "v6" });
    version
}

/// The identity of the cluster, as ARM has it (`contract/api.md` §3.2).
pub(crate) fn identity() -> Member {
    const TYPES: &[&str] = &["None", "SystemAssigned", "SystemAssigned,UserAssigned", "UserAssigned"];
    let assigned = Shape::Object(Members(vec![
        text("clientId", "The client id of the identity.").read_only(),
        text("principalId", "The principal id of the identity.").read_only(),
    ]));
    object(
        "identity",
        "The managed identities of the cluster.",
        vec![
            text("type", "Which kinds of identities there are.").choice("ManagedServiceIdentityType", TYPES),
            text("principalId", "The principal id of the system assigned identity.").read_only(),
            text("tenantId", "The tenant of the system assigned identity.").read_only(),
            map("userAssignedIdentities", "The user assigned identities, by resource id.", assigned).free(),
        ],
    )
    .nullable()
    .stored("managedServiceIdentity")
}

/// The identities of the platform's operators.
pub(crate) fn platform() -> Member {
    let identity = Shape::Object(Members(vec![
        text("resourceId", "The id of the user assigned identity.").free(),
        text("clientId", "The client id of the identity.").read_only(),
        text("objectId", "The object id of the identity.").read_only(),
    ]));
    object(
        "platformWorkloadIdentityProfile",
        "The identities that the platform's operators use.",
        vec![
            text("upgradeableTo", "The version up to which the identities suffice.").free(),
            map("platformWorkloadIdentities", "The identities, by operator.", identity).change(Change::Free),
        ],
    )
    .nullable()
}
