//! What only some roles need of the store: grants by `[roles]` and `[access]`, targets, and the budget of requests.

use std::sync::Arc;

use anyhow::Context as _;
use rp_access::{Access, AccessParts, KubeconfigParts, Outage, Policy, StoreDirectory};
use rp_config::{SelfServiceRights, Settings};
use rp_documents::{Rights, Role};
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
    let roles = &settings.roles;
    let groups = [
        (Role::Viewer, &roles.viewer),
        (Role::Sre, &roles.sre),
        (Role::Elevated, &roles.elevated),
        (Role::Approver, &roles.approver),
        (Role::Auditor, &roles.auditor),
        (Role::Admin, &roles.admin),
    ];
    Policy {
        groups: groups.into_iter().map(|(role, groups)| (role, groups.clone())).collect(),
        default_life: settings.access.default_life,
        max_life: settings.access.max_life,
        max_power_life: settings.access.max_power_life.min(settings.access.max_life),
        max_total_life: settings.access.max_total_life,
        renew_life: settings.access.renew_life,
        password_life: settings.access.password_life,
        min_life: settings.access.min_life,
        min_reason: settings.access.min_reason,
        fresh_sign_in: settings.access.fresh_sign_in,
        max_grants: settings.access.max_grants,
        max_streams: settings.access.max_streams,
        max_requests: settings.access.max_requests,
        elevation_self_service: settings.elevation.self_service.clone(),
        self_service_rights: if settings.elevation.self_service_rights == SelfServiceRights::Admin {
            Rights::Admin
        } else {
            Rights::Write
        },
        max_elevation: settings.elevation.max_life,
        break_glass: settings.elevation.break_glass,
        max_robot_life: settings.robots.max_life,
        robot_clients: settings.robots.clients.clone(),
        rates: PerMinute {
            sign_in: settings.limits.sign_in_per_minute,
            issue: settings.limits.issue_per_minute,
            renew: settings.limits.renewals_per_minute,
            misses: settings.limits.misses_per_minute,
            streams: settings.limits.streams_per_minute,
        },
        outage: match settings.store.outage {
            rp_config::Outage::Refuse => Outage::Refuse,
            rp_config::Outage::Spool => Outage::Spool,
        },
    }
}
