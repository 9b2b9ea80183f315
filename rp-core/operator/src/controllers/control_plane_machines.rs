//! The control plane machine set (`contract/operator.md` §8.10): an active one would replace the machines of the control
//! plane. Once deleted, OpenShift creates it again, inactive.

use serde_json::Value;

use crate::controller::{Outcome, Reconciled, Run};
use crate::kinds::{CONTROL_PLANE_MACHINE_SET, ObjectName};

pub(super) const NAMESPACE: &str = "openshift-machine-api";
pub(super) const NAME: &str = "cluster";

pub(super) async fn reconcile(run: &Run<'_>) -> Reconciled {
    // On means: the set belongs to the customer.
    if run.enabled {
        return Ok(Outcome::done());
    }
    let name = ObjectName::in_namespace(&CONTROL_PLANE_MACHINE_SET, NAMESPACE, NAME);
    let set = match run.api().get(name).await {
        // A cluster of an old version has none.
        Err(error) if error.is_not_served() => None,
        read => read?,
    };
    if set.is_some_and(|set| is_active(&set)) {
        run.api().delete(name).await?;
    }
    Ok(Outcome::done())
}

fn is_active(set: &Value) -> bool {
    set.pointer("/spec/state").and_then(Value::as_str) != Some("Inactive")
        && set.pointer("/metadata/deletionTimestamp").is_none()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_an_inactive_one_stays() {
        assert!(is_active(&json!({ "spec": { "state": "Active" } })));
        assert!(is_active(&json!({ "spec": {} })));
        assert!(!is_active(&json!({ "spec": { "state": "Inactive" } })));
        assert!(
            !is_active(&json!({ "metadata": { "deletionTimestamp": "now" }, "spec": {} })),
            "it is being deleted"
        );
    }
}
