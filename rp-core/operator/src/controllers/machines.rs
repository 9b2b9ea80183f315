//! The check of machines (`contract/operator.md` §8.17): it reports, and repairs nothing.

use rp_operator_api::conditions::Check;
use serde_json::Value;

use super::machine_sets::NAMESPACE;
use crate::controller::{Outcome, Reconciled, Run};
use crate::kinds::{MACHINE, MACHINE_SET, ObjectName};

const ROLE: &str = "machine.openshift.io/cluster-api-machine-role";
/// Machines that are read: more than a cluster of the service may have.
const MOST_MACHINES: usize = 2_000;
const MOST_SETS: usize = 500;
const MASTERS: usize = 3;
/// The smallest disk of a worker, GB.
const LEAST_DISK: i64 = 128;

pub(super) async fn reconcile(run: &Run<'_>) -> Reconciled {
    // Off: what was checked last says nothing any more (`contract/operator.md` "Do better" 8).
    if !run.enabled {
        return Ok(Outcome::unknown(Check::MachineValid));
    }
    let machines = run.api().list(&MACHINE, NAMESPACE, "", MOST_MACHINES).await?;
    let sets = run.api().list(&MACHINE_SET, NAMESPACE, "", MOST_SETS).await?;
    let errors = errors(&machines, &sets);
    Ok(if errors.is_empty() {
        Outcome::check(Check::MachineValid, "True", "CheckDone", "All machines valid")
    } else {
        Outcome::check(Check::MachineValid, "False", "CheckFailed", &errors.join("\n"))
    })
}

fn errors(machines: &[Value], sets: &[Value]) -> Vec<String> {
    let mut errors = Vec::new();
    let (mut masters, mut workers) = (0, 0);
    let mut sorted: Vec<_> = machines.iter().collect();
    sorted.sort_by_key(|machine| name(machine));
    for machine in sorted {
        let role = machine.pointer("/metadata/labels").and_then(|labels| labels.get(ROLE)?.as_str());
        let is = |word: &str| role.is_some_and(|role| role.eq_ignore_ascii_case(word));
        masters += usize::from(is("master"));
        workers += usize::from(is("worker"));
        let found = match role {
            None => vec!["cluster-api-machine-role label not found".to_owned()],
            Some(_) => of_machine(machine, is("worker")),
        };
        errors.extend(found.into_iter().map(|error| format!("machine {}: {error}", name(machine))));
    }
    if masters != MASTERS {
        errors.push(format!("invalid number of master machines {masters}, expected {MASTERS}"));
    }
    // A set that does not state its replicas has one.
    let replicas = |set: &Value| set.pointer("/spec/replicas").and_then(Value::as_i64).unwrap_or(1);
    let expected = sets.iter().map(replicas).sum::<i64>();
    if usize::try_from(expected) != Ok(workers) {
        errors.push(format!("invalid number of worker machines {workers}, expected {expected}"));
    }
    errors
}

fn name(machine: &Value) -> &str {
    ObjectName::of(machine).map_or("", |name| name.name)
}

fn of_machine(machine: &Value, is_worker: bool) -> Vec<String> {
    let Some(spec) = machine.pointer("/spec/providerSpec/value") else {
        return vec!["provider spec missing".to_owned()];
    };
    if !spec.is_object() {
        return vec!["failed to read provider spec: it is not an object".to_owned()];
    }
    let text = |at: &str| spec.pointer(at).and_then(Value::as_str).unwrap_or_default();
    let mut errors = Vec::new();
    let disk = spec.pointer("/osDisk/diskSizeGB").and_then(Value::as_i64).unwrap_or(0);
    if is_worker && disk < LEAST_DISK {
        errors.push(format!("invalid disk size '{disk}'"));
    }
    let (publisher, offer) = (text("/image/publisher"), text("/image/offer"));
    if (publisher, offer) != ("azureopenshift", "aro4") {
        errors.push(format!("invalid image '{publisher}/{offer}'"));
    }
    let identity = text("/managedIdentity");
    if !identity.is_empty() {
        errors.push(format!("invalid managedIdentity '{identity}'"));
    }
    errors
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn machine(name: &str, role: &str) -> Value {
        json!({
            "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine",
            "metadata": { "name": name, "labels": { ROLE: role } },
            "spec": { "providerSpec": { "value": {
                "osDisk": { "diskSizeGB": 128 }, "image": { "publisher": "azureopenshift", "offer": "aro4" },
            } } },
        })
    }

    fn all() -> Vec<Value> {
        [("m-0", "master"), ("m-1", "master"), ("m-2", "master"), ("w-0", "worker"), ("w-1", "worker")]
            .map(|(name, role)| machine(name, role))
            .into()
    }

    fn sets() -> Vec<Value> {
        vec![json!({ "spec": { "replicas": 2 } })]
    }

    #[test]
    fn machines_of_the_service_are_valid() {
        assert!(errors(&all(), &sets()).is_empty());
    }

    #[test]
    fn every_fault_is_named() {
        let mut machines = all();
        machines[0]["metadata"]["labels"] = json!({});
        machines[1]["spec"] = json!({});
        machines[3]["spec"]["providerSpec"]["value"]["osDisk"]["diskSizeGB"] = json!(64);
        machines[4]["spec"]["providerSpec"]["value"]["image"]["offer"] = json!("other");
        machines[4]["spec"]["providerSpec"]["value"]["managedIdentity"] = json!("id");
        assert_eq!(
            errors(&machines, &[json!({ "spec": {} })]),
            [
                "machine m-0: cluster-api-machine-role label not found",
                "machine m-1: provider spec missing",
                "machine w-0: invalid disk size '64'",
                "machine w-1: invalid image 'azureopenshift/other'",
                "machine w-1: invalid managedIdentity 'id'",
                "invalid number of master machines 2, expected 3",
                "invalid number of worker machines 2, expected 1",
            ]
        );
    }
}
