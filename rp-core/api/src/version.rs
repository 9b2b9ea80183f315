//! The versions of the API (`contract/api.md` §8). Each is the one before it with its changes applied: a
//! module of its own in [`crate::versions`] says what changes, and nothing else.

use std::sync::LazyLock;

use crate::schema::Members;
use crate::versions;

/// Rules of JSON that differ between versions (`contract/api.md` §8.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonDialect {
    /// Up to `2024-08-12-preview`: members in the order of the schema; names of a request are matched in any case.
    Declared,
    /// `2025-07-25`: members sorted; names of a request are matched exactly; `null` is ignored but for tags.
    Sorted,
}

/// How a version was published (`contract/api.md` §8, §17).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Publication {
    pub stable: bool,
    /// Version of ARM's common types: `v1`, `v2`, `v3` or `v6`.
    pub common_types: &'static str,
}

/// One version of the API.
#[derive(Debug, Clone)]
pub struct Version {
    /// As in `api-version`, matched exactly.
    pub name: &'static str,
    /// The cluster.
    pub cluster: Members,
    pub json: JsonDialect,
    /// `listAdminCredentials` exists.
    pub admin_kubeconfig: bool,
    /// `openShiftVersions` exists.
    pub openshift_versions: bool,
    /// OpenShift versions carry `name` and `type`.
    pub named_versions: bool,
    /// `platformWorkloadIdentityRoleSets` exists.
    pub role_sets: bool,
    /// A provisioning state that is accepted beside those that all versions know.
    pub extra_state: Option<&'static str>,
    /// `workerProfiles` of an answer shows the machine sets as they are.
    pub shows_live_workers: bool,
    /// A service principal must be given; clusters with workload identity cannot be written.
    pub service_principal_required: bool,
    /// The rules of `contract/api.md` §11.2 on ingress profiles hold for updates too, and come after those on
    /// the API server.
    pub ingress_checked_on_update: bool,
    /// Overlaps with reserved ranges count only with `OVNKubernetes`.
    pub reserved_ranges_by_network: bool,
    /// The rules of `contract/api.md` §11.2 hold; without them only those of change do.
    pub values_checked: bool,
    pub published: Option<Publication>,
}

impl Version {
    /// The next version: the same until changed.
    pub(crate) fn next(&self, name: &'static str) -> Self {
        Self { name, ..self.clone() }
    }

    /// Whether the version has a member at that path (lists and maps are passed through).
    pub fn has(&self, path: &str) -> bool {
        self.cluster.at(path).is_some()
    }
}

static ALL: LazyLock<Vec<Version>> = LazyLock::new(versions::all);
static ADMIN: LazyLock<Version> = LazyLock::new(crate::admin::version);

/// Every version that customers may name, oldest first.
pub fn all() -> &'static [Version] {
    &ALL
}

/// The version of SREs: `admin` (`contract/api.md` §15).
pub fn admin() -> &'static Version {
    &ADMIN
}

/// The version of that name, `admin` included.
pub fn find(name: &str) -> Option<&'static Version> {
    if name == ADMIN.name {
        return Some(&ADMIN);
    }
    ALL.iter().find(|version| version.name == name)
}
