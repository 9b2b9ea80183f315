//! The ClusterRoles of the people who operate the service (`contract/operator.md` §8.26): both read, and neither reads a
//! secret.

mod table;

use serde_json::{Value, json};

use crate::Plan;

use self::table::{DIAGNOSTICS, DIAGNOSTICS_PATHS, SRE, SRE_PATHS};

const GROUP: &str = "rbac.authorization.k8s.io";
const API: &str = "rbac.authorization.k8s.io/v1";

/// Resources of one group with the same verbs.
#[derive(Debug, Clone, Copy)]
struct Rule {
    group: &'static str,
    resources: &'static [&'static str],
    verbs: &'static [&'static str],
}

/// What is to be done: both roles and their bindings are applied.
pub fn plan() -> Plan {
    let roles =
        [("system:aro-sre", SRE, SRE_PATHS), ("system:aro-diagnostics", DIAGNOSTICS, DIAGNOSTICS_PATHS)];
    Plan::apply(roles.into_iter().flat_map(|(name, rules, paths)| [role(name, rules, paths), binding(name)]))
}

fn role(name: &str, rules: &[Rule], paths: &[&str]) -> Value {
    let rule =
        |rule: &Rule| json!({ "apiGroups": [rule.group], "resources": rule.resources, "verbs": rule.verbs });
    let mut rules: Vec<Value> = rules.iter().map(rule).collect();
    rules.push(json!({ "nonResourceURLs": paths, "verbs": ["get"] }));
    json!({ "apiVersion": API, "kind": "ClusterRole", "metadata": { "name": name }, "rules": rules })
}

fn binding(name: &str) -> Value {
    json!({
        "apiVersion": API,
        "kind": "ClusterRoleBinding",
        "metadata": { "name": name },
        "roleRef": { "apiGroup": GROUP, "kind": "ClusterRole", "name": name },
        "subjects": [{ "apiGroup": GROUP, "kind": "User", "name": name }],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden;

    #[test]
    fn the_roles_are_stable() {
        golden::check("rbac.json", &golden::applied(&plan()));
        let names: Vec<_> = plan().changes.iter().map(|change| change.object().to_string()).collect();
        assert_eq!(
            names,
            [
                "ClusterRole system:aro-sre",
                "ClusterRoleBinding system:aro-sre",
                "ClusterRole system:aro-diagnostics",
                "ClusterRoleBinding system:aro-diagnostics",
            ]
        );
    }

    #[test]
    fn no_role_reads_secrets_or_writes() {
        for Rule { group, resources, verbs } in SRE.iter().chain(DIAGNOSTICS) {
            assert!(!resources.contains(&"secrets"), "{group}");
            let all = resources.contains(&"*");
            assert!(!all || *group == "operator.openshift.io", "{group}");
            let reviews = resources.iter().all(|name| name.ends_with("reviews"));
            let reads = verbs.iter().all(|verb| ["get", "list", "watch"].contains(verb));
            assert!(reads || (reviews && *verbs == ["create"]), "{group} {verbs:?}");
        }
    }

    #[test]
    fn a_resource_of_a_role_has_its_verbs_once() {
        for rules in [SRE, DIAGNOSTICS] {
            let mut all: Vec<_> =
                rules.iter().flat_map(|rule| rule.resources.iter().map(|one| (rule.group, *one))).collect();
            let count = all.len();
            all.sort_unstable();
            all.dedup();
            assert_eq!(all.len(), count);
        }
    }
}
