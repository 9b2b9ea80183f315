//! Shipping of logs (`contract/operator.md` §8.13).

use rp_operator_objects::logging::{Input, NAMESPACE, plan};

use crate::controller::{Outcome, ReconcileError, Reconciled, Run};
use crate::gate::{cluster_version, installed};
use crate::kinds::{DAEMON_SET, ObjectName, SECURITY_CONSTRAINTS};
use crate::plan::carry_out;

/// The exporters, by node.
pub(super) const EXPORTERS: [&str; 2] = ["otel-exporter-master", "otel-exporter-worker"];

pub(super) async fn reconcile(run: &Run<'_>) -> Reconciled {
    let version = installed(&cluster_version(run.api()).await?)?;
    let privileged = run.api().get(ObjectName::of_cluster(&SECURITY_CONSTRAINTS, "privileged")).await?;
    let mut daemon_sets = Vec::new();
    for name in EXPORTERS {
        daemon_sets.extend(run.api().get(ObjectName::in_namespace(&DAEMON_SET, NAMESPACE, name)).await?);
    }
    let input = Input {
        spec: &run.cluster.spec,
        flags: run.flags,
        version,
        privileged: &privileged.unwrap_or_default(),
        daemon_sets: &daemon_sets,
    };
    let plan = plan(&input).map_err(|error| ReconcileError::invalid(error.to_string()))?;
    carry_out(run.api(), &plan, Some(&run.owner())).await?;
    Ok(Outcome::clear())
}
