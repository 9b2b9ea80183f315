//! Answers of the simulated Azure to checks of new clusters. A person who tries this out may also name subscriptions
//! and directories that do not exist.

use async_trait::async_trait;
use rp_api::CloudError;
use rp_api::vm_sizes::{self, Role};
use rp_documents::OpenShiftCluster;
use rp_frontend::{AzureChecks, CreateChecks};
use rp_simulator_azure::ArmControl;

/// Asks about subscriptions that the stand-in knows, in their own directories.
#[derive(Debug)]
pub(crate) struct KnownChecks {
    pub(crate) checks: AzureChecks,
    pub(crate) azure: ArmControl,
}

#[async_trait]
impl CreateChecks for KnownChecks {
    async fn check(
        &self,
        subscription: &str,
        tenant: &str,
        cluster: &OpenShiftCluster,
    ) -> Result<(), CloudError> {
        let known = self.azure.tenant(subscription);
        if !known.is_some_and(|known| known.eq_ignore_ascii_case(tenant)) {
            return Ok(());
        }
        self.checks.check(subscription, tenant, cluster).await
    }
}

/// Every size that a cluster may have is offered, and encryption at host wherever somebody asks for it.
pub(crate) fn prepare(azure: &ArmControl, subscriptions: impl IntoIterator<Item = String>) {
    let roles = [Role::Master, Role::Worker, Role::DevelopmentWorker];
    let mut sizes: Vec<_> = roles.into_iter().flat_map(vm_sizes::for_role).collect();
    sizes.sort_by(|(a, _), (b, _)| a.cmp(b));
    sizes.dedup_by(|(a, _), (b, _)| a == b);
    let sizes = sizes.into_iter().map(|(name, size)| (name, size.family.to_owned(), size.cores));
    azure.offer(sizes.collect());
    for subscription in subscriptions {
        azure.feature(&subscription, "Microsoft.Compute/EncryptionAtHost", "Registered");
    }
}
