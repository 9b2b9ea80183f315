//! Which roles the platform's operators need in a version (`contract/api.md` §12.4,
//! `contract/cluster.md` §13.2).

use std::collections::BTreeSet;

use rp_api::CloudError;
use rp_documents::{PlatformRole, RoleSetDocument};

use crate::document::Document;

/// One role of one operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OperatorRole {
    pub(crate) operator_name: String,
    pub(crate) role_definition_id: String,
    /// `system:serviceaccount:NAMESPACE:NAME`
    pub(crate) service_accounts: Vec<String>,
}

/// The minors whose role sets count: the cluster's, and the one that it may be upgraded to.
pub(crate) fn needed_minors(cluster: &Document) -> Vec<String> {
    let own = rp_api::text::minor(cluster.version());
    let later = cluster
        .upgradeable_to()
        .filter(|to| rp_api::text::version(to) > rp_api::text::version(cluster.version()));
    let later = later.and_then(rp_api::text::minor).filter(|minor| Some(minor) != own.as_ref());
    own.into_iter().chain(later).collect()
}

/// The roles of those minors out of the stored role sets, merged by operator and role.
///
/// # Errors
/// 400: a minor has none.
pub(crate) fn roles_for(
    minors: &[String],
    sets: &[RoleSetDocument],
) -> Result<Vec<OperatorRole>, CloudError> {
    let mut all: Vec<OperatorRole> = Vec::new();
    for minor in minors {
        let mut sets = sets.iter().map(|set| &set.platform_workload_identity_role_set);
        let set = sets.find(|set| !set.deleting && set.properties.open_shift_version == *minor);
        let Some(set) = set else { return Err(no_set(minor)) };
        for role in &set.properties.platform_workload_identity_roles {
            let role = read(role);
            let same = |known: &OperatorRole| {
                known.operator_name == role.operator_name
                    && known.role_definition_id.eq_ignore_ascii_case(&role.role_definition_id)
            };
            if !all.iter().any(same) {
                all.push(role);
            }
        }
    }
    Ok(all)
}

fn no_set(minor: &str) -> CloudError {
    let message = format!(
        "No PlatformWorkloadIdentityRoleSet found for the requested or upgradeable OpenShift minor version '{minor}'. Please retry with different OpenShift version, and if the issue persists, raise an Azure support ticket"
    );
    CloudError::invalid("", message)
}

fn read(role: &PlatformRole) -> OperatorRole {
    OperatorRole {
        operator_name: role.operator_name.clone(),
        role_definition_id: role.role_definition_id.clone(),
        service_accounts: role.service_accounts.clone(),
    }
}

/// Whether a cluster names an identity for every operator, and for no other.
///
/// # Errors
/// 400 `PlatformWorkloadIdentityMismatch`.
pub(crate) fn check_operators<'a>(
    given: impl Iterator<Item = &'a str>,
    roles: &[OperatorRole],
    minors: &[String],
) -> Result<(), CloudError> {
    let given: BTreeSet<&str> = given.collect();
    let needed: BTreeSet<&str> = roles.iter().map(|role| &*role.operator_name).collect();
    if given == needed { Ok(()) } else { Err(mismatch(&needed, minors)) }
}

fn mismatch(needed: &BTreeSet<&str>, minors: &[String]) -> CloudError {
    let names = needed.iter().copied().collect::<Vec<_>>().join(" ");
    CloudError::bad(
        "PlatformWorkloadIdentityMismatch",
        "properties.PlatformWorkloadIdentityProfile.PlatformWorkloadIdentities",
        format!(
            "There's a mismatch between the required and expected set of platform workload identities for the requested OpenShift minor version '{}'. The required platform workload identities are '[{names}]'",
            minors.join(" or ")
        ),
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn set(minor: &str, roles: &[(&str, &str)]) -> RoleSetDocument {
        let roles: Vec<serde_json::Value> = roles
            .iter()
            .map(|(operator, role)| json!({"operatorName": operator, "roleDefinitionName": operator, "roleDefinitionId": role,
                "serviceAccounts": ["system:serviceaccount:n:s"], "secretLocation": {"namespace": "n", "name": "s"}}))
            .collect();
        let set = json!({"id": "x", "platformWorkloadIdentityRoleSet": {"properties":
            {"openShiftVersion": minor, "platformWorkloadIdentityRoles": roles}}});
        serde_json::from_value(set).unwrap()
    }

    #[test]
    fn the_minor_of_an_upgrade_counts_when_it_is_later() {
        let cluster = |to: &str| {
            crate::harness::documents::document(
                json!({"openShiftCluster": {"properties": {"clusterProfile": {"version": "4.14.9"},
            "platformWorkloadIdentityProfile": {"upgradeableTo": to}}}}),
            )
        };
        assert_eq!(needed_minors(&cluster("4.15.1")), ["4.14", "4.15"]);
        assert_eq!(needed_minors(&cluster("4.14.30")), ["4.14"]);
        assert_eq!(needed_minors(&cluster("4.13.30")), ["4.14"]);
        assert_eq!(needed_minors(&cluster("")), ["4.14"]);
    }

    #[test]
    fn roles_are_merged_by_operator_and_role() {
        let sets =
            [set("4.14", &[("a", "/r/1"), ("b", "/r/2")]), set("4.15", &[("a", "/R/1"), ("a", "/r/3")])];
        let both = ["4.14".to_owned(), "4.15".to_owned()];
        let roles = roles_for(&both, &sets).unwrap();
        let seen: Vec<_> =
            roles.iter().map(|role| (&*role.operator_name, &*role.role_definition_id)).collect();
        assert_eq!(seen, [("a", "/r/1"), ("b", "/r/2"), ("a", "/r/3")]);
        assert!(check_operators(["a", "b"].into_iter(), &roles, &both).is_ok());
        let error = check_operators(["a"].into_iter(), &roles, &both).unwrap_err();
        assert_eq!(
            error.body.target,
            "properties.PlatformWorkloadIdentityProfile.PlatformWorkloadIdentities"
        );
        assert_eq!(
            error.to_string(),
            "400: PlatformWorkloadIdentityMismatch: properties.PlatformWorkloadIdentityProfile.PlatformWorkloadIdentities: There's a mismatch between the required and expected set of platform workload identities for the requested OpenShift minor version '4.14 or 4.15'. The required platform workload identities are '[a b]'"
        );
        let error = roles_for(&["4.99".to_owned()], &sets).unwrap_err();
        assert_eq!(
            error.to_string(),
            "400: InvalidParameter: : No PlatformWorkloadIdentityRoleSet found for the requested or upgradeable OpenShift minor version '4.99'. Please retry with different OpenShift version, and if the issue persists, raise an Azure support ticket"
        );
    }
}
