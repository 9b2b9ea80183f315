//! API versions of resources by their type (`contract/cluster.md` §1.4, `contract/frontend.md` §11.7).

/// Types or their beginnings, in lower case, with the version that we speak.
const TABLE: [(&str, &str); 21] = [
    ("microsoft.authorization", "2018-09-01-preview"),
    ("microsoft.authorization/denyassignments", "2018-07-01-preview"),
    ("microsoft.authorization/roledefinitions", "2018-01-01-preview"),
    ("microsoft.compute", "2024-03-01"),
    ("microsoft.compute/diskencryptionsets", "2021-04-01"),
    ("microsoft.compute/disks", "2019-03-01"),
    ("microsoft.compute/galleries", "2022-03-03"),
    ("microsoft.compute/snapshots", "2020-05-01"),
    ("microsoft.containerregistry", "2020-11-01-preview"),
    ("microsoft.documentdb", "2023-04-15"),
    ("microsoft.insights", "2018-03-01"),
    ("microsoft.insights/autoscalesettings", "2022-10-01"),
    ("microsoft.keyvault", "2019-09-01"),
    ("microsoft.keyvault/vaults/accesspolicies", "2021-10-01"),
    ("microsoft.managedidentity", "2018-11-30"),
    ("microsoft.network", "2020-08-01"),
    ("microsoft.network/dnszones", "2018-05-01"),
    ("microsoft.network/privatednszones", "2018-09-01"),
    ("microsoft.storage", "2021-09-01"),
    ("microsoft.resources/deployments", "2021-04-01"),
    ("microsoft.resources/resourcegroups", "2021-04-01"),
];

/// The version of a type (`Microsoft.Compute/disks`, in any case): the longest beginning that the table has; `None`: we
/// know nothing of it.
pub fn api_version(kind: &str) -> Option<&'static str> {
    let kind = kind.to_ascii_lowercase();
    let begins = |prefix: &str| kind.starts_with(prefix);
    let fitting = TABLE.iter().filter(|(prefix, _)| begins(prefix));
    fitting.max_by_key(|(prefix, _)| prefix.len()).map(|(_, version)| *version)
}
