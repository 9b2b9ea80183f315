//! The state of the operator as other parts of the platform read it (`contract/operator.md` §8.9).

use std::time::Duration;

use rp_operator_api::Condition;
use serde_json::{Value, json};

use crate::apply::ensure;
use crate::controller::{Outcome, Reconciled, Run};
use crate::kinds::{CLUSTER_OPERATOR, ObjectName};

pub(super) const NAME: &str = "aro";
/// How long the operator begins.
const BEGINNING: Duration = Duration::from_secs(5);

pub(super) async fn reconcile(run: &Run<'_>) -> Reconciled {
    let name = ObjectName::of_cluster(&CLUSTER_OPERATOR, NAME);
    let object = json!({
        "apiVersion": "config.openshift.io/v1",
        "kind": "ClusterOperator",
        "metadata": { "name": NAME },
        // The definition wants it, though it has no members.
        "spec": {},
    });
    ensure(run.api(), &object, Some(&run.owner())).await?;
    let live = run.api().get(name).await?.unwrap_or_default();
    let old = live.get("status").cloned().unwrap_or_default();
    let now = run.context.clock.now().to_string();
    let conditions = conditions(&run.cluster.status.conditions, &old["conditions"], &now);
    let versions = json!([{ "name": "operator", "version": run.context.version }]);
    if old["conditions"] != conditions || old["versions"] != versions {
        let version = live.pointer("/metadata/resourceVersion").cloned().unwrap_or_default();
        let status = json!({ "conditions": conditions, "versions": versions });
        run.api()
            .merge_status(name, &json!({ "metadata": { "resourceVersion": version }, "status": status }))
            .await?;
    }
    // The first status says that the operator begins; the next one what the conditions say.
    let begins = old["conditions"].as_array().is_none_or(Vec::is_empty);
    Ok(Outcome { requeue: begins.then_some(BEGINNING), ..Outcome::done() })
}

/// The conditions of the operator; a time changes only when its status does.
fn conditions(cluster: &[Condition], old: &Value, now: &str) -> Value {
    let (available, progressing) = if old.as_array().is_none_or(Vec::is_empty) {
        let starting = |status| Summary::new(status, "Initializing", "Operator is initializing");
        (starting("False"), starting("True"))
    } else {
        (union(cluster, "Available", "True"), union(cluster, "Progressing", "False"))
    };
    let degraded = Summary::new("False", "AsExpected", "");
    let all = [("Available", available), ("Progressing", progressing), ("Degraded", degraded)];
    let one = |(kind, summary): (&str, Summary)| {
        let same = |one: &&Value| one["type"] == kind && one["status"] == summary.status;
        let since = old.as_array().into_iter().flatten().find(same);
        let since = since.map_or_else(|| json!(now), |since| since["lastTransitionTime"].clone());
        json!({
            "type": kind,
            "status": summary.status,
            "reason": summary.reason,
            "message": summary.message,
            "lastTransitionTime": since,
        })
    };
    Value::Array(all.into_iter().map(one).collect())
}

struct Summary {
    status: &'static str,
    reason: String,
    message: String,
}

impl Summary {
    fn new(status: &'static str, reason: &str, message: &str) -> Self {
        Self { status, reason: reason.to_owned(), message: message.to_owned() }
    }
}

/// What all conditions say whose type ends in that word.
fn union(cluster: &[Condition], suffix: &str, good: &'static str) -> Summary {
    let of_word: Vec<_> = cluster.iter().filter(|one| one.kind.ends_with(suffix)).collect();
    if of_word.is_empty() {
        return Summary::new("Unknown", "NoData", "");
    }
    let bad: Vec<_> = of_word.iter().copied().filter(|one| one.status != good).collect();
    let lines = |all: &[&Condition]| {
        let with_message = all.iter().filter(|one| !one.message.is_empty());
        with_message.map(|one| format!("{}: {}", one.kind, one.message)).collect::<Vec<_>>().join("\n")
    };
    if bad.is_empty() {
        let message = lines(&of_word);
        return Summary::new(good, "AsExpected", if message.is_empty() { "All is well" } else { &message });
    }
    let opposite = if good == "True" { "False" } else { "True" };
    let status = if bad.iter().all(|one| one.status == "Unknown") { "Unknown" } else { opposite };
    let reason = |one: &&Condition| format!("{}_{}", one.kind.trim_end_matches(suffix), one.reason);
    let reasons = bad.iter().map(reason).collect::<Vec<_>>().join("::");
    Summary { status, reason: reasons, message: lines(&bad) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn condition(kind: &str, status: &str, reason: &str, message: &str) -> Condition {
        Condition {
            kind: kind.to_owned(),
            status: status.to_owned(),
            reason: reason.to_owned(),
            message: message.to_owned(),
            last_transition_time: None,
        }
    }

    fn begun() -> Value {
        conditions(&[], &Value::Null, "t0")
    }

    #[test]
    fn it_starts_as_progressing() {
        let begun = begun();
        assert_eq!(begun[0]["status"], "False");
        assert_eq!(begun[0]["reason"], "Initializing");
        assert_eq!(begun[1]["status"], "True");
        assert_eq!(begun[2]["status"], "False");
    }

    #[test]
    fn all_good_is_available_and_one_bad_is_not() {
        let good = condition("AControllerAvailable", "True", "", "");
        let all =
            conditions(&[good.clone(), condition("AControllerProgressing", "False", "", "")], &begun(), "t1");
        assert_eq!((&all[0]["status"], &all[0]["message"]), (&json!("True"), &json!("All is well")));
        assert_eq!((&all[1]["status"], &all[1]["lastTransitionTime"]), (&json!("False"), &json!("t1")));
        assert_eq!(all[2]["lastTransitionTime"], "t0", "its status is the same");
        let bad = condition("BControllerAvailable", "False", "Broken", "no disk");
        let all = conditions(&[good, bad], &begun(), "t1");
        assert_eq!(all[0]["status"], "False");
        assert_eq!(all[0]["reason"], "BController_Broken");
        assert_eq!(all[0]["message"], "BControllerAvailable: no disk");
        assert_eq!((&all[1]["status"], &all[1]["reason"]), (&json!("Unknown"), &json!("NoData")));
    }

    #[test]
    fn it_is_never_degraded_because_that_would_block_upgrades() {
        let degraded = condition("AControllerDegraded", "True", "", "broken");
        assert_eq!(conditions(&[degraded], &begun(), "t1")[2]["status"], "False");
    }
}
