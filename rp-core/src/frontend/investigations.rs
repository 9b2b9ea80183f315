//! `[rp]` into who answers questions about clusters (`contract/frontend.md` §11.10).

use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;
use rp_azure::{CallPolicy, RetryPolicy};
use rp_frontend::Investigations;
use rp_investigate::{GraphCredentials, KubernetesPods, PodTimes};

use crate::Services;

/// For one call of Azure with its repeats: an administrator waits for the first line.
const GRAPH_PATIENCE: Duration = Duration::from_secs(30);

/// Pods of the management cluster that the settings name; `None`: they name none.
///
/// # Errors
/// Azure is not asked, which has the clusters' own authorities.
pub(super) fn investigations(services: &Services) -> anyhow::Result<Option<Investigations>> {
    let settings = &services.settings.rp.investigate;
    let Some(kubeconfig) = settings.investigate_kubeconfig_file.clone() else {
        tracing::info!(
            "rp.investigate_kubeconfig_file is not set: questions about clusters are not answered"
        );
        return Ok(None);
    };
    let azure = services.azure.client();
    let azure =
        azure.ok_or_else(|| anyhow!("rp.investigate_kubeconfig_file: azure.credential is not set"))?;
    let issuer = GraphCredentials {
        azure: azure.with_policy(CallPolicy::new(RetryPolicy::QUICK, GRAPH_PATIENCE)),
        tenants: services.azure.tenants(),
        keyring: services.keyring.clone(),
        clock: Arc::clone(&services.clock),
        random: Arc::clone(&services.random),
    };
    let pods = KubernetesPods {
        settings: settings.clone(),
        kubeconfig,
        issuer: Arc::new(issuer),
        times: PodTimes::default(),
        clock: Arc::clone(&services.clock),
        random: Arc::clone(&services.random),
    };
    Ok(Some(Investigations::new(Arc::new(pods), settings.investigate_at_once)))
}
