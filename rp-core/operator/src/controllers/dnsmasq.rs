//! Name resolution of the nodes (`contract/operator.md` §8.11): a MachineConfig for each pool. A new pool gets its own at
//! once; one that is there changes in upgrades only, because its nodes restart.

use rp_operator_api::Flag;
use rp_operator_objects::dnsmasq::{plan, pool_of};
use serde_json::Value;

use super::machine_configs::{keep, name, names_of, pool, pools};
use crate::controller::{Outcome, ReconcileError, Reconciled, Run};
use crate::gate::may_restart_nodes;

/// Begin and end of the names of the MachineConfigs.
pub(super) const NAMES: (&str, &str) = ("99-", "-aro-dns");

/// All pools.
pub(super) async fn cluster(run: &Run<'_>) -> Reconciled {
    for pool in pools(run.api()).await? {
        of_pool(run, &pool).await?;
    }
    Ok(Outcome::clear())
}

/// The pool of a MachineConfig that changed.
pub(super) async fn config(run: &Run<'_>) -> Reconciled {
    match pool_of(run.key) {
        Some(pool) => one(run, pool).await,
        None => Ok(Outcome::done().gone()),
    }
}

/// A pool that changed.
pub(super) async fn pool_changed(run: &Run<'_>) -> Reconciled {
    one(run, run.key).await
}

async fn one(run: &Run<'_>, name: &str) -> Reconciled {
    let Some(pool) = pool(run.api(), name).await? else { return Ok(Outcome::clear_degraded().gone()) };
    of_pool(run, &pool).await?;
    Ok(Outcome::clear())
}

async fn of_pool(run: &Run<'_>, pool: &Value) -> Result<(), ReconcileError> {
    let may = may_restart_nodes(run.api(), run.flags).await?;
    let plan = plan(name(pool), &names_of(run)?, run.on(Flag::RestartDnsmasq), may);
    keep(run.api(), pool, &plan).await
}
