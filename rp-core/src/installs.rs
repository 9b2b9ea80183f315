//! Removes what an installer keeps on this machine of clusters that are not being created: the worker ended in the middle of
//! the installation, and one on another machine went on. It holds pull secrets and keys of clusters.

#[cfg(test)]
mod tests;

use std::time::Duration;

use rp_base::chain;
use rp_database::{StoreError, Typed};
use rp_documents::{ClusterDocument, ProvisioningState};
use rp_install::runner::{InstallRunner, RunError};

/// Between two checks.
const PERIOD: Duration = Duration::from_mins(10);

/// Checks now and every ten minutes from then on, until this is dropped.
pub(crate) async fn remove_abandoned(runner: &dyn InstallRunner, clusters: &Typed<ClusterDocument>) {
    loop {
        check(runner, clusters).await;
        tokio::time::sleep(PERIOD).await;
    }
}

/// Without an answer from the store nothing is removed.
async fn check(runner: &dyn InstallRunner, clusters: &Typed<ClusterDocument>) {
    let kept = match runner.kept().await {
        Ok(kept) => kept,
        Err(error) => {
            tracing::warn!(error = %chain(&error), "the folder of installations cannot be read");
            return;
        }
    };
    for id in kept {
        match is_created(clusters, &id).await {
            Ok(true) => {}
            Ok(false) => remove(runner, &id).await,
            Err(error) => {
                tracing::warn!(document = id, error = %chain(&error), "an installation that may be over is left");
            }
        }
    }
}

async fn is_created(clusters: &Typed<ClusterDocument>, id: &str) -> Result<bool, StoreError> {
    let found = clusters.get(id).await?;
    let state = found.and_then(|found| found.value.cluster.properties.provisioning_state.get().copied());
    Ok(state == Some(ProvisioningState::Creating))
}

async fn remove(runner: &dyn InstallRunner, id: &str) {
    match runner.remove(id).await {
        Ok(()) => tracing::info!(document = id, "the files of an installation that is over are removed"),
        // A worker of this machine is at its end.
        Err(RunError::Busy) => {}
        Err(error) => {
            tracing::warn!(document = id, error = %chain(&error), "the files of an installation cannot be removed");
        }
    }
}
