//! Pools of machines: what the controllers of dnsmasq and of host entries share (`contract/operator.md` §8.11, §8.12).

use rp_node_config::names::NodeNames;
use rp_operator_objects::{Plan, node_names};
use serde_json::Value;

use crate::api::Api;
use crate::apply::Owner;
use crate::controller::{ReconcileError, Run};
use crate::kinds::{MACHINE_CONFIG, MACHINE_CONFIG_POOL, ObjectName};
use crate::plan::carry_out;

/// Pools that are read.
const MOST_POOLS: usize = 200;
/// MachineConfigs whose metadata is read: each change of a pool leaves one behind.
const MOST_CONFIGS: usize = 10_000;

/// The pools, sorted by name, without those that are being deleted.
pub(super) async fn pools(api: &Api) -> Result<Vec<Value>, ReconcileError> {
    let mut pools = api.list_metadata(&MACHINE_CONFIG_POOL, "", MOST_POOLS).await?;
    pools.retain(|pool| !is_deleted(pool));
    pools.sort_by(|a, b| name(a).cmp(name(b)));
    Ok(pools)
}

/// One pool; `None`: it is not there, or is being deleted.
pub(super) async fn pool(api: &Api, name: &str) -> Result<Option<Value>, ReconcileError> {
    let pool = api.get(ObjectName::of_cluster(&MACHINE_CONFIG_POOL, name)).await?;
    Ok(pool.filter(|pool| !is_deleted(pool)))
}

/// The names of the MachineConfigs.
pub(super) async fn config_names(api: &Api) -> Result<Vec<String>, ReconcileError> {
    let configs = api.list_metadata(&MACHINE_CONFIG, "", MOST_CONFIGS).await?;
    Ok(configs.iter().map(|config| name(config).to_owned()).collect())
}

/// Carries out the plan for a pool, which owns what is created.
pub(super) async fn keep(api: &Api, pool: &Value, plan: &Plan) -> Result<(), ReconcileError> {
    carry_out(api, plan, Owner::of(pool).as_ref()).await?;
    Ok(())
}

/// What the nodes of the cluster resolve by themselves, checked.
pub(super) fn names_of(run: &Run<'_>) -> Result<NodeNames, ReconcileError> {
    node_names::read(&run.cluster.spec).map_err(|error| ReconcileError::invalid(error.to_string()))
}

/// The name of an object.
pub(super) fn name(object: &Value) -> &str {
    object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default()
}

fn is_deleted(object: &Value) -> bool {
    object.pointer("/metadata/deletionTimestamp").is_some()
}
