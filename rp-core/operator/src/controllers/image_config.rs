//! Registries that the cluster must be able to use (`contract/operator.md` §8.15).

use rp_operator_objects::image_config::plan;

use crate::controller::{Outcome, ReconcileError, Reconciled, Run};
use crate::kinds::{IMAGE, ObjectName};
use crate::plan::carry_out;

pub(super) async fn reconcile(run: &Run<'_>) -> Reconciled {
    let image = run.api().get(ObjectName::of_cluster(&IMAGE, "cluster")).await?;
    let image = image.ok_or_else(|| ReconcileError::invalid("Image cluster is not there"))?;
    let plan = plan(&run.cluster.spec, &image).map_err(|error| ReconcileError::invalid(error.to_string()))?;
    carry_out(run.api(), &plan, None).await?;
    Ok(Outcome::clear())
}
