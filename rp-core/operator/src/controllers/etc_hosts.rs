//! Host entries of the nodes (`contract/operator.md` §8.12): API server and gateway stay reachable without any DNS. All changes
//! wait for an upgrade, even the first, because nodes restart.

use rp_operator_api::{Flag, Managed};
use rp_operator_objects::etc_hosts::{plan, pool_of, removal};
use serde_json::Value;

use super::machine_configs::{config_names, keep, name, names_of, pool, pools};
use crate::controller::{Outcome, ReconcileError, Reconciled, Run};
use crate::gate::may_restart_nodes;
use crate::plan::carry_out;

/// Begin and end of the names of the MachineConfigs.
pub(super) const NAMES: (&str, &str) = ("99-", "-aro-etc-hosts-gateway-domains");

/// All pools.
pub(super) async fn cluster(run: &Run<'_>) -> Reconciled {
    if !may_restart_nodes(run.api(), run.flags).await? {
        return Ok(Outcome::clear());
    }
    match run.flags.managed(Flag::EtcHostsManaged) {
        Managed::Deploy => {
            for pool in pools(run.api()).await? {
                of_pool(run, &pool).await?;
            }
        }
        Managed::Remove => {
            let configs = config_names(run.api()).await?;
            carry_out(run.api(), &removal(configs.iter().map(String::as_str)), None).await?;
        }
        Managed::Leave => {}
    }
    Ok(Outcome::clear())
}

/// The pool of a MachineConfig that changed.
pub(super) async fn config(run: &Run<'_>) -> Reconciled {
    let Some(named) = pool_of(run.key) else { return Ok(Outcome::done().gone()) };
    if run.flags.managed(Flag::EtcHostsManaged) != Managed::Deploy {
        return Ok(Outcome::done());
    }
    if !may_restart_nodes(run.api(), run.flags).await? {
        return Ok(Outcome::clear());
    }
    let Some(pool) = pool(run.api(), named).await? else { return Ok(Outcome::clear_degraded().gone()) };
    of_pool(run, &pool).await?;
    Ok(Outcome::clear())
}

async fn of_pool(run: &Run<'_>, pool: &Value) -> Result<(), ReconcileError> {
    keep(run.api(), pool, &plan(name(pool), &names_of(run)?)).await
}
