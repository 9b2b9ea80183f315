//! Credentials of image registries (`contract/operator.md` §8.25): those of the service are kept in the global pull secret,
//! those of the customer stay.

use rp_openshift::{PullSecret, Whole};
use rp_operator_api::{Flag, Managed, NAMESPACE};
use rp_operator_objects::Plan;
use rp_operator_objects::pull_secret::{Present, look, repair};
use serde::Deserialize as _;
use serde_json::{Value, json};

use crate::controller::{Outcome, ReconcileError, Reconciled, Run};
use crate::kinds::{ObjectName, SECRET};
use crate::metrics::{RepairLabels, RepairResult};
use crate::plan::carry_out;

pub(super) const USER: (&str, &str) = ("openshift-config", "pull-secret");
pub(super) const OURS: (&str, &str) = (NAMESPACE, "cluster");

pub(super) async fn reconcile(run: &Run<'_>) -> Reconciled {
    let live = read(run, USER).await?;
    let secret = live.as_ref().map(parse).transpose()?;
    let version = live.as_ref().and_then(|live| live.pointer("/metadata/resourceVersion")?.as_str());
    let present =
        secret.as_ref().map(|secret| Present { secret, resource_version: version.unwrap_or_default() });
    let decided = if run.flags.managed(Flag::PullSecretManaged) == Managed::Deploy {
        let ours = read(run, OURS).await?;
        let missing = || ReconcileError::invalid("Secret openshift-azure-operator/cluster is not there");
        let ours = parse(&ours.ok_or_else(missing)?)?;
        repair(present, &ours).map_err(|error| ReconcileError::invalid(rp_base::chain(&error).to_string()))?
    } else {
        look(present)
    };
    if !decided.plan.is_empty() {
        write(run, &decided.plan).await?;
    }
    if run.cluster.status.red_hat_keys_present != decided.red_hat_keys {
        run.context.status.set("redHatKeysPresent", &json!(decided.red_hat_keys)).await?;
    }
    Ok(Outcome::clear())
}

async fn write(run: &Run<'_>, plan: &Plan) -> Result<(), ReconcileError> {
    let written = carry_out(run.api(), plan, None).await;
    let result = if written.is_ok() { RepairResult::Success } else { RepairResult::Error };
    run.context.metrics.pull_secret.with(&RepairLabels { result }).inc();
    written?;
    Ok(())
}

async fn read(run: &Run<'_>, (namespace, name): (&str, &str)) -> Result<Option<Value>, ReconcileError> {
    Ok(run.api().get(ObjectName::in_namespace(&SECRET, namespace, name)).await?)
}

fn parse(secret: &Value) -> Result<PullSecret<Whole>, ReconcileError> {
    PullSecret::deserialize(secret).map_err(|_| ReconcileError::invalid("a pull secret cannot be read"))
}
