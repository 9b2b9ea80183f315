//! The kinds of load, one module each.

mod exec;
mod looks;
pub(crate) mod puts;
mod requests;
mod revocations;
mod sign_ins;
mod ssh;
mod terminals;
mod tunnels;
mod watches;

use std::sync::Arc;

use anyhow::Result;

use crate::environment::Environment;
use crate::load::Workload;

/// All of them, with the grants that they need.
///
/// # Errors
/// A grant was refused.
pub(crate) async fn all(environment: &Environment) -> Result<Vec<Arc<dyn Workload>>> {
    let read = environment.kubeconfig(&environment.cluster, "read").await?;
    let write = environment.kubeconfig(&environment.cluster, "write").await?;
    let all: Vec<Arc<dyn Workload>> = vec![
        Arc::new(requests::Requests::new(environment, &read)?),
        Arc::new(watches::Watches::new(read)),
        Arc::new(exec::Exec::new(write)),
        Arc::new(ssh::Ssh::new(environment).await?),
        Arc::new(terminals::Terminals::new(environment).await?),
        Arc::new(tunnels::Tunnels::new(environment).await?),
        Arc::new(sign_ins::SignIns),
        Arc::new(revocations::Revocations),
        Arc::new(puts::Puts::new(environment).await?),
        Arc::new(looks::Looks),
    ];
    Ok(all)
}
