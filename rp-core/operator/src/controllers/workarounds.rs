//! Temporary fixes (`contract/operator.md` §8.30). All of them restart nodes, so nothing changes while the gate is closed
//! ("Do better" 9).

use rp_operator_objects::workaround::{Input, workarounds};

use crate::controller::{Outcome, ReconcileError, Reconciled, Run};
use crate::gate::{cluster_version, installed, may_restart_nodes};
use crate::kinds::{MACHINE_CONFIG_POOL, NETWORK_OPERATOR, ObjectName};
use crate::plan::carry_out;

/// Begin and end of the names of the MachineConfigs.
pub(super) const MACHINE_CONFIGS: (&str, &str) = ("99-master-disable-", "");
/// The KubeletConfig that reserves memory, and the pool that it is for.
pub(super) const KUBELET_CONFIG: (&str, &str) = ("aro-limits", "");
pub(super) const POOL: (&str, &str) = ("worker", "");

pub(super) async fn reconcile(run: &Run<'_>) -> Reconciled {
    if !may_restart_nodes(run.api(), run.flags).await? {
        return Ok(Outcome::done());
    }
    let version = installed(&cluster_version(run.api()).await?)?;
    let network = run.api().get(ObjectName::of_cluster(&NETWORK_OPERATOR, "cluster")).await?;
    let pool = run.api().get(ObjectName::of_cluster(&MACHINE_CONFIG_POOL, "worker")).await?;
    let network = network.unwrap_or_default();
    let input = Input { flags: run.flags, version, network: &network, worker_pool: pool.as_ref() };
    let mut errors = Vec::new();
    for one in workarounds(&input) {
        match carry_out(run.api(), &one.plan, None).await {
            Ok(true) => tracing::info!(workaround = one.name, required = one.required, "changed"),
            Ok(false) => {}
            Err(error) => errors.push(format!("{}: {}", one.name, rp_base::chain(&error))),
        }
    }
    if errors.is_empty() { Ok(Outcome::done()) } else { Err(ReconcileError::invalid(errors.join("\n"))) }
}
