//! At least two worker machines (`contract/operator.md` §8.19), unless the customer manages machine sets of their own.

use rp_openshift::{MachineSet, Whole};
use serde::Deserialize as _;
use serde_json::{Value, json};

use crate::controller::{Outcome, ReconcileError, Reconciled, Run};
use crate::kinds::{MACHINE_SET, ObjectName};

pub(super) const NAMESPACE: &str = "openshift-machine-api";
const ROLE: &str = "machine.openshift.io/cluster-api-machine-role";
const LEAST: i64 = 2;
/// Sets that are read.
const MOST: usize = 500;

/// What has to be done.
#[derive(Debug, PartialEq, Eq)]
enum Decision {
    /// The customer manages machine sets.
    Leave,
    Enough,
    /// This set gets so many replicas.
    Raise {
        set: String,
        to: i64,
    },
}

pub(super) async fn reconcile(run: &Run<'_>) -> Reconciled {
    let sets = run.api().list(&MACHINE_SET, NAMESPACE, "", MOST).await?;
    match decide(&sets, &run.cluster.spec.infra_id) {
        Decision::Leave => Ok(Outcome::clear_degraded()),
        Decision::Enough => Ok(Outcome::clear()),
        Decision::Raise { set, to } => {
            let name = ObjectName::in_namespace(&MACHINE_SET, NAMESPACE, &set);
            let raise = |live: Option<&Value>| -> Result<Option<Value>, ReconcileError> {
                Ok(live.map(|_| json!({ "spec": { "replicas": to } })))
            };
            run.api().edit(name, raise).await?;
            Ok(Outcome::clear())
        }
    }
}

fn decide(sets: &[Value], infra_id: &str) -> Decision {
    let read = |set: &Value| MachineSet::<Whole>::deserialize(set).ok();
    let is_worker = |set: &MachineSet<Whole>| {
        set.metadata.labels.get(ROLE).is_some_and(|role| role.eq_ignore_ascii_case("worker"))
    };
    let mut workers: Vec<_> = sets.iter().filter_map(read).filter(is_worker).collect();
    workers.sort_by(|a, b| a.metadata.name.cmp(&b.metadata.name));
    if workers.iter().any(|set| !set.metadata.name.as_str().contains(infra_id)) {
        return Decision::Leave;
    }
    // A set that does not state its replicas has one.
    let replicas = |set: &MachineSet<Whole>| set.spec.replicas.0.unwrap_or(1);
    let missing = LEAST - workers.iter().map(replicas).sum::<i64>();
    // The same set each time, whichever changed.
    match workers.first() {
        Some(first) if missing > 0 => {
            Decision::Raise { set: first.metadata.name.as_str().to_owned(), to: replicas(first) + missing }
        }
        _ => Decision::Enough,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(name: &str, role: &str, replicas: &Value) -> Value {
        json!({ "metadata": { "name": name, "labels": { ROLE: role } }, "spec": { "replicas": replicas } })
    }

    #[test]
    fn the_first_set_is_raised_to_what_is_missing() {
        let sets = [
            set("x-b", "Worker", &json!(0)),
            set("x-a", "worker", &json!(0)),
            set("x-m", "master", &json!(0)),
        ];
        assert_eq!(decide(&sets, "x"), Decision::Raise { set: "x-a".to_owned(), to: 2 });
        let sets = [set("x-a", "worker", &Value::Null), set("x-b", "worker", &json!(1))];
        assert_eq!(decide(&sets, "x"), Decision::Enough, "a set without a number has one");
        assert_eq!(decide(&[], "x"), Decision::Enough);
    }

    #[test]
    fn sets_of_the_customer_are_left_alone() {
        let sets = [set("x-a", "worker", &json!(0)), set("mine", "worker", &json!(0))];
        assert_eq!(decide(&sets, "x"), Decision::Leave);
    }
}
