//! The ClusterRoles of the people who operate the service (`contract/operator.md` §8.26).

use rp_operator_objects::rbac::plan;

use crate::controller::{Outcome, Reconciled, Run};
use crate::plan::carry_out;

pub(super) async fn reconcile(run: &Run<'_>) -> Reconciled {
    carry_out(run.api(), &plan(), Some(&run.owner())).await?;
    Ok(Outcome::done())
}
