//! The policy that closes the profiler of the cloud credential operator (`contract/operator.md` §8.22).

use rp_operator_objects::network_policy::plan;

use crate::controller::{Outcome, Reconciled, Run};
use crate::gate::{cluster_version, installed};
use crate::plan::carry_out;

/// The name of the policy.
pub(super) const NAME: &str = "aro-cco-deny-pprof";

pub(super) async fn reconcile(run: &Run<'_>) -> Reconciled {
    let version = installed(&cluster_version(run.api()).await?)?;
    carry_out(run.api(), &plan(run.enabled, version), None).await?;
    Ok(Outcome::clear())
}
