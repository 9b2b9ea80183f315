//! The health check of machines (`contract/operator.md` §8.18).

use rp_operator_api::Flag;
use rp_operator_objects::machine_health_check::plan;

use crate::controller::{Outcome, Reconciled, Run};
use crate::gate::{cluster_version, is_upgrading};
use crate::plan::carry_out;

pub(super) async fn reconcile(run: &Run<'_>) -> Reconciled {
    let upgrading = is_upgrading(&cluster_version(run.api()).await?);
    let plan = plan(run.flags.managed(Flag::MachineHealthCheckManaged), upgrading);
    carry_out(run.api(), &plan, Some(&run.owner())).await?;
    Ok(Outcome::clear())
}
