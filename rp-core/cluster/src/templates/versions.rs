//! API versions of what we put and delete (`contract/cluster.md` §1.4); those by type are a table of `rp-azure`.

/// The version of a type; `None`: we know nothing of it.
pub(crate) use rp_azure::api_version as of_type;

/// Of what is read only, and of child types that the table's versions do not know.
pub(crate) const RESOURCES: &str = "2021-04-01";
pub(crate) const DEPLOYMENTS: &str = "2021-04-01";
pub(crate) const NETWORK: &str = "2020-08-01";
pub(crate) const DNS: &str = "2018-05-01";
pub(crate) const COMPUTE: &str = "2024-03-01";
pub(crate) const DISKS: &str = "2019-03-01";
pub(crate) const ENCRYPTION_SETS: &str = "2021-04-01";
pub(crate) const STORAGE: &str = "2021-09-01";
pub(crate) const AUTHORIZATION: &str = "2018-09-01-preview";
pub(crate) const ROLE_DEFINITIONS: &str = "2018-01-01-preview";
pub(crate) const REGISTRY: &str = "2020-11-01-preview";
pub(crate) const PRIVATE_DNS: &str = "2018-09-01";
/// Platform identities are read with the table's version; their federated credentials came later.
pub(crate) const IDENTITIES: &str = "2018-11-30";
pub(crate) const FEDERATED: &str = "2023-01-31";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_beginning_decides() {
        for (kind, version) in [
            ("Microsoft.Network/loadBalancers", Some(NETWORK)),
            ("Microsoft.Network/privateDnsZones", Some(PRIVATE_DNS)),
            ("Microsoft.Network/privateDnsZones/virtualNetworkLinks", Some(PRIVATE_DNS)),
            ("Microsoft.Network/dnsZones", Some(DNS)),
            ("microsoft.compute/virtualmachines", Some(COMPUTE)),
            ("Microsoft.Compute/disks", Some(DISKS)),
            ("Microsoft.Compute/diskEncryptionSets", Some(ENCRYPTION_SETS)),
            ("Microsoft.Compute/galleries/images/versions", Some("2022-03-03")),
            ("Microsoft.Compute/snapshots", Some("2020-05-01")),
            ("Microsoft.Authorization/denyAssignments", Some("2018-07-01-preview")),
            ("Microsoft.Authorization/roleDefinitions", Some(ROLE_DEFINITIONS)),
            ("Microsoft.Authorization/roleAssignments", Some(AUTHORIZATION)),
            ("Microsoft.Insights/metricAlerts", Some("2018-03-01")),
            ("Microsoft.Insights/autoscaleSettings", Some("2022-10-01")),
            ("Microsoft.KeyVault/vaults", Some("2019-09-01")),
            ("Microsoft.KeyVault/vaults/accessPolicies", Some("2021-10-01")),
            ("Microsoft.ManagedIdentity/userAssignedIdentities", Some(IDENTITIES)),
            ("Microsoft.ContainerRegistry/registries", Some(REGISTRY)),
            ("Microsoft.DocumentDB/databaseAccounts", Some("2023-04-15")),
            ("Microsoft.Storage/storageAccounts", Some(STORAGE)),
            ("Microsoft.Resources/deployments", Some(RESOURCES)),
            ("Contoso.Things/things", None),
        ] {
            assert_eq!(of_type(kind), version, "{kind}");
        }
    }
}
