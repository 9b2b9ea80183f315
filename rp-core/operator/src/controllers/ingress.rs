//! Replicas of the default ingress (`contract/operator.md` §8.16): fewer than two do not survive the restart of a node.

use serde_json::{Value, json};

use crate::controller::{Outcome, ReconcileError, Reconciled, Run};
use crate::kinds::{INGRESS_CONTROLLER, ObjectName};

pub(super) const NAMESPACE: &str = "openshift-ingress-operator";
pub(super) const NAME: &str = "default";
const LEAST: i64 = 2;

pub(super) async fn reconcile(run: &Run<'_>) -> Reconciled {
    let name = ObjectName::in_namespace(&INGRESS_CONTROLLER, NAMESPACE, NAME);
    run.api().edit(name, change).await?;
    Ok(Outcome::clear())
}

fn change(ingress: Option<&Value>) -> Result<Option<Value>, ReconcileError> {
    let missing =
        || ReconcileError::invalid("IngressController openshift-ingress-operator/default is not there");
    let replicas = ingress.ok_or_else(missing)?.pointer("/spec/replicas").and_then(Value::as_i64);
    let few = replicas.is_some_and(|replicas| replicas < LEAST);
    Ok(few.then(|| json!({ "spec": { "replicas": LEAST } })))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_below_two_is_raised() {
        let of = |spec: Value| change(Some(&json!({ "spec": spec }))).unwrap();
        assert_eq!(of(json!({ "replicas": 1 })), Some(json!({ "spec": { "replicas": 2 } })));
        assert_eq!(of(json!({ "replicas": 0 })), Some(json!({ "spec": { "replicas": 2 } })));
        assert_eq!(of(json!({ "replicas": 3 })), None);
        assert_eq!(of(json!({})), None, "unset means the platform chooses");
        assert!(change(None).is_err());
    }
}
