//! What only some roles need of the store: grants by `[roles]` and `[access]`, targets, and the budget of requests.

use std::sync::Arc;

use anyhow::Context as _;
use rp_access::{Access, AccessParts, KubeconfigParts, Policy, StoreDirectory};
use rp_config::Settings;
use rp_net::{Budget, BudgetLimits, PerMinute};

use crate::Services;

impl Services {
    /// Grants over the store.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn access(&self) -> anyhow::Result<Arc<Access>> {
        let parts = || AccessParts {
            store: Arc::clone(&self.store),
            audit: self.audit.clone(),
            keyring: self.keyring.clone(),
            clock: Arc::clone(&self.clock),
            random: Arc::clone(&self.random),
            policy: policy(&self.settings),
            registry: self.registry.clone(),
        };
        let access = self.lazy.access.get_or_try_init(|| Access::start(parts())).await;
        access.map(Arc::clone).context("cannot read the grants")
    }

    /// Targets over the store.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn directory(&self) -> anyhow::Result<Arc<StoreDirectory>> {
        let start = || StoreDirectory::start(Arc::clone(&self.store), self.keyring.clone(), read_kubeconfig);
        let directory = self.lazy.directory.get_or_try_init(start).await;
        directory.map(Arc::clone).context("cannot read the clusters")
    }

    /// Requests that each cluster is asked to bear, by everything in the process that asks clusters.
    pub fn budget(&self) -> Budget {
        let limits = BudgetLimits {
            per_second: self.settings.limits.cluster_requests_per_second,
            burst: self.settings.limits.cluster_requests_burst,
            ..BudgetLimits::default()
        };
        self.lazy.budget.get_or_init(|| Budget::new(limits, &self.registry)).clone()
    }
}

fn read_kubeconfig(text: &str) -> Result<KubeconfigParts, &'static str> {
    let plan = rp_kube::kubeconfig::read(text, None).map_err(|_| "its kubeconfig cannot be read")?;
    Ok(KubeconfigParts { ca_pem: plan.ca_pem, credential: plan.credential })
}

/// The rules about people and lives.
fn policy(settings: &Settings) -> Policy {
    let limits = &settings.limits;
    Policy {
        roles: settings.roles.clone(),
        access: settings.access.clone(),
        elevation: settings.elevation.clone(),
        robots: settings.robots.clone(),
        rates: PerMinute {
            sign_in: limits.sign_in_per_minute,
            issue: limits.issue_per_minute,
            renew: limits.renewals_per_minute,
            misses: limits.misses_per_minute,
            streams: limits.streams_per_minute,
        },
        outage: settings.store.outage,
    }
}
