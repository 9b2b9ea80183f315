//! What can be installed (`contract/database.md` §2.2): versions of OpenShift, and the roles that each
//! minor's operators need.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::{Collection, Document, Unknown};

/// A version that the region offers. Writers: the version updater and the admin API.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OpenShiftVersionDocument {
    /// A lower-case UUID.
    pub id: String,
    pub open_shift_version: OpenShiftVersion,
    #[serde(flatten)]
    pub unknown: Unknown,
}

/// The version as ARM knows it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenShiftVersion {
    /// It is being deleted: readers of the change feed drop it, and the store removes it a minute later.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deleting: bool,
    pub properties: OpenShiftVersionProperties,
    #[serde(flatten)]
    pub unknown: Unknown,
}

/// What is installed under that name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OpenShiftVersionProperties {
    /// `x.y.z`.
    pub version: String,
    #[serde(default)]
    pub open_shift_pullspec: String,
    #[serde(default)]
    pub installer_pullspec: String,
    #[serde(default)]
    pub enabled: bool,
    /// Used by clusters that name no version.
    #[serde(default)]
    pub default: bool,
    #[serde(flatten)]
    pub unknown: Unknown,
}

impl Document for OpenShiftVersionDocument {
    const COLLECTION: Collection = Collection::OpenShiftVersions;

    fn id(&self) -> &str {
        &self.id
    }

    /// Two writers must not make the same version twice.
    fn unique_key(&self) -> Option<Cow<'_, str>> {
        Some(Cow::Owned(self.open_shift_version.properties.version.to_ascii_lowercase()))
    }
}

/// The roles of one minor version's operators. Writers: the role-set updater and the admin API.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RoleSetDocument {
    /// A lower-case UUID.
    pub id: String,
    pub platform_workload_identity_role_set: PlatformRoleSet,
    #[serde(flatten)]
    pub unknown: Unknown,
}

/// The set as ARM knows it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlatformRoleSet {
    /// It is being deleted: readers of the change feed drop it, and the store removes it a minute later.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deleting: bool,
    pub properties: PlatformRoleSetProperties,
    #[serde(flatten)]
    pub unknown: Unknown,
}

/// Which roles for which minor version.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlatformRoleSetProperties {
    /// `x.y`.
    pub open_shift_version: String,
    pub platform_workload_identity_roles: Vec<PlatformRole>,
    #[serde(flatten)]
    pub unknown: Unknown,
}

/// The role of one operator.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlatformRole {
    pub operator_name: String,
    pub role_definition_name: String,
    /// Resource id of the role definition.
    pub role_definition_id: String,
    /// `system:serviceaccount:NAMESPACE:NAME`, those whose tokens the identity trusts.
    #[serde(default)]
    pub service_accounts: Vec<String>,
    /// Where the operator reads its credential.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_location: Option<SecretLocation>,
    #[serde(flatten)]
    pub unknown: Unknown,
}

/// A secret of the cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecretLocation {
    pub namespace: String,
    pub name: String,
}

impl Document for RoleSetDocument {
    const COLLECTION: Collection = Collection::RoleSets;

    fn id(&self) -> &str {
        &self.id
    }

    /// Two writers must not make two sets of one minor version.
    fn unique_key(&self) -> Option<Cow<'_, str>> {
        let properties = &self.platform_workload_identity_role_set.properties;
        Some(Cow::Owned(properties.open_shift_version.to_ascii_lowercase()))
    }
}
