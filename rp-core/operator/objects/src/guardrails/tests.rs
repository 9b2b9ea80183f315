use std::collections::BTreeMap;

use super::*;
use crate::golden;

const NEW: Version = Version::new(4, 18, 3);

fn flags(set: &[(&str, &str)]) -> Flags {
    let set: BTreeMap<_, _> =
        set.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Flags::resolve(&set)
}

fn texts(decision: &Decision) -> Vec<String> {
    decision.plan.changes.iter().map(|change| format!("{change:?}")).collect()
}

#[test]
fn the_policies_are_stable() {
    let all = [
        ("aro.guardrails.policies.aro-master-toleration-pod-deny.managed", "true"),
        ("aro.guardrails.policies.aro-pull-secret-deny.managed", "true"),
    ];
    golden::check("guardrails.json", &golden::applied(&decide(&flags(&all), NEW).plan));
}

#[test]
fn the_mandatory_policy_is_there_whatever_the_flags() {
    let name = "aro-cluster-version-major-upgrade-deny";
    let mandatory = [
        format!("Delete ValidatingAdmissionPolicyBinding {OLD_NAME}-binding"),
        format!("Delete ValidatingAdmissionPolicy {OLD_NAME}"),
        format!("Apply ValidatingAdmissionPolicy {name}"),
        format!("Apply ValidatingAdmissionPolicyBinding {name}-binding"),
    ];
    for set in [("aro.guardrails.enabled", "false"), ("aro.guardrails.deploy.managed", "")] {
        assert_eq!(texts(&decide(&flags(&[set]), NEW)), mandatory, "{set:?}");
    }
    let removed = texts(&decide(&flags(&[("aro.guardrails.deploy.managed", "false")]), NEW));
    assert_eq!(removed[..4], mandatory);
    assert_eq!(removed.len(), 4 + 2 * OPTIONAL.len());
    assert!(removed[4..].iter().all(|text| text.starts_with("Delete")), "{removed:?}");
}

#[test]
fn a_flag_removes_and_restores_its_policy_alone() {
    let name = "aro-nodes-deny";
    let off = texts(&decide(&flags(&[("aro.guardrails.policies.aro-nodes-deny.managed", "false")]), NEW));
    let on = texts(&decide(&flags(&[]), NEW));
    assert!(on.contains(&format!("Apply ValidatingAdmissionPolicy {name}")));
    assert!(off.contains(&format!("Delete ValidatingAdmissionPolicy {name}")));
    let same = on.iter().zip(&off).filter(|(on, off)| on != off).count();
    assert_eq!(same, 2);
}

#[test]
fn enforcement_is_the_action_of_the_binding() {
    let action_of = |enforcement: &str| {
        let set = [("aro.guardrails.policies.aro-nodes-deny.enforcement", enforcement)];
        let objects = golden::applied(&decide(&flags(&set), NEW).plan);
        let binding = objects.iter().find(|object| object["metadata"]["name"] == "aro-nodes-deny-binding");
        binding.unwrap()["spec"]["validationActions"].clone()
    };
    for (enforcement, action) in
        [("deny", "Deny"), ("warn", "Warn"), ("dryrun", "Audit"), ("nonsense", "Deny")]
    {
        assert_eq!(action_of(enforcement), json!([action]), "{enforcement}");
    }
}

#[test]
fn what_cannot_be_enforced_is_said() {
    let old = decide(&flags(&[]), Version::new(4, 16, 9));
    assert!(old.plan.is_empty() && old.note.is_some());
    let off = decide(&flags(&[("aro.guardrails.enabled", "false")]), Version::new(4, 16, 9));
    assert_eq!(off, Decision { plan: Plan::nothing(), note: None });
    let gatekeeper = decide(&flags(&[("aro.guardrails.method", "gatekeeper")]), NEW);
    assert!(gatekeeper.note.is_some());
    assert_eq!(gatekeeper.plan.changes.len(), 4);
    assert_eq!(decide(&flags(&[("aro.guardrails.method", "vap")]), NEW).note, None);
}

#[test]
fn only_accounts_of_the_platform_are_exempt() {
    assert!(PRIVILEGED.iter().all(|namespace| is_exempt_account(namespace)));
    assert!(is_exempt_account("openshift-kube-storage-version-migrator"));
    for namespace in ["openshift-operators", "openshift-config", "default", "kube-systems", ""] {
        assert!(!is_exempt_account(namespace), "{namespace}");
    }
    let known = rp_openshift::namespaces::is_openshift;
    assert!(namespaces::exempt().filter(|name| name.starts_with("openshift")).all(known));
}

#[test]
fn expressions_are_made_of_plain_constants() {
    for policy in std::iter::once(&MANDATORY).chain(OPTIONAL) {
        let object = policy.object();
        for at in ["validations", "matchConditions"] {
            for one in object["spec"][at].as_array().into_iter().flatten() {
                let expression = one["expression"].as_str().unwrap();
                assert!(!expression.contains(['"', '\\', '\n']), "{expression}");
                assert_eq!(expression.matches('\'').count() % 2, 0, "{expression}");
                assert_eq!(expression.matches('(').count(), expression.matches(')').count(), "{expression}");
                // A limit of the API server.
                assert!(expression.len() < 16 * 1024);
            }
        }
        let exempt = policy.conditions().iter().any(|one| one["name"] == "not-exempt");
        assert_eq!(exempt, policy.flags.is_some(), "{}", policy.name);
    }
}

#[test]
fn the_operations_page_has_the_table() {
    let page = include_str!("../../../../../docs/operations/operator-policies.md");
    assert!(page.contains(&markdown()), "the table should be\n{}", markdown());
}
