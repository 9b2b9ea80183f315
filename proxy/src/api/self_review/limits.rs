//! The rules of a `SelfSubjectRulesReview`, limited to what a grant's rights leave.
//!
//! A rule has no exceptions: "all resources but Secrets" cannot be said. So a rule for all groups or resources becomes
//! rules for the well-known ones that the grant opens, and the review says that its list is incomplete, as API servers
//! do where an authoriser cannot list its rules. What stays is never more than the grant allows.

use rp_documents::Rights;
use serde_json::{Map, Value, json};

use super::actions::{ALL, Action, VERBS};
use super::well_known::{PATHS, RESOURCES};

/// The list would take too much work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooManyRules;

/// Actions that are looked at for one review, and names that are repeated.
const MOST_ACTIONS: usize = 50_000;
/// Bytes of a word of a rule. What stays repeats the words of a rule for each of its groups.
const MOST_WORD: usize = 512;
/// What a rule consists of.
const LISTS: [&str; 5] = ["verbs", "apiGroups", "resources", "resourceNames", "nonResourceURLs"];
/// Of a group that is not known here.
const NONE: &[&str] = &[];
const PATH_VERBS: [&str; 2] = ["get", "head"];
/// Stands for the verbs that are not in these lists, such as those of security context constraints.
const OTHER_VERB: &str = "use";

/// Limits the rules in the status of a review, of Kubernetes or of OpenShift.
///
/// # Errors
/// There are too many of them, or they are too long.
pub(super) fn limit(review: &mut Value, held: Rights) -> Result<(), TooManyRules> {
    let Some(status) = review.get_mut("status").and_then(Value::as_object_mut) else { return Ok(()) };
    let mut limits = Limits { held, left: MOST_ACTIONS, expanded: false };
    // OpenShift's own API has both kinds of rules in one list.
    for name in ["resourceRules", "nonResourceRules", "rules"] {
        let Some(rules) = status.get(name).and_then(Value::as_array) else { continue };
        let mut kept = Vec::new();
        for rule in rules {
            if !has_short_words(rule) {
                return Err(TooManyRules);
            }
            limits.resources(rule, &mut kept)?;
            limits.paths(rule, &mut kept)?;
        }
        status.insert(name.to_owned(), Value::Array(kept));
    }
    if limits.expanded {
        tell(status, held);
    }
    Ok(())
}

/// Says that the list is incomplete, beside what the cluster says.
fn tell(status: &mut Map<String, Value>, held: Rights) {
    let told = status.get("evaluationError").and_then(Value::as_str).unwrap_or_default();
    let more = format!(
        "of rules for all resources or all verbs, only well-known ones that {} rights of a grant open are listed",
        held.name()
    );
    let told = if told.is_empty() { more } else { format!("{told}; {more}") };
    status.insert("evaluationError".to_owned(), told.into());
    status.insert("incomplete".to_owned(), true.into());
}

struct Limits {
    held: Rights,
    /// Actions that may still be looked at.
    left: usize,
    /// A rule for all of something was replaced.
    expanded: bool,
}

impl Limits {
    /// The part of a rule that is about resources.
    fn resources(&mut self, rule: &Value, kept: &mut Vec<Value>) -> Result<(), TooManyRules> {
        let (verbs, resources) = (texts(rule, "verbs"), texts(rule, "resources"));
        let mut groups = texts(rule, "apiGroups");
        if groups.is_empty() {
            groups.push("");
        }
        let names = texts(rule, "resourceNames");
        let of_all = groups.contains(&ALL);
        for group in self.groups(&groups) {
            let mut by_verbs: Vec<(Vec<&str>, Vec<&str>)> = Vec::new();
            for resource in self.names(group, of_all, &resources)? {
                let allowed = self.verbs(&verbs, &VERBS, |verb| action(verb, group, resource))?;
                if allowed.is_empty() {
                    continue;
                }
                match by_verbs.iter_mut().find(|(known, _)| *known == allowed) {
                    Some((_, with)) => with.push(resource),
                    None => by_verbs.push((allowed, vec![resource])),
                }
            }
            for (verbs, resources) in by_verbs {
                let mut rule = json!({ "verbs": verbs, "apiGroups": [group], "resources": resources });
                if !names.is_empty() {
                    self.spend(names.len())?;
                    rule["resourceNames"] = json!(names);
                }
                kept.push(rule);
            }
        }
        Ok(())
    }

    /// The part of a rule that is about paths.
    fn paths(&mut self, rule: &Value, kept: &mut Vec<Value>) -> Result<(), TooManyRules> {
        let (verbs, paths) = (texts(rule, "verbs"), texts(rule, "nonResourceURLs"));
        let all = paths.iter().any(|path| matches!(*path, ALL | "/*"));
        self.expanded |= all;
        let paths = if all { PATHS.to_vec() } else { paths };
        for path in paths {
            let allowed = self.verbs(&verbs, &PATH_VERBS, |verb| Action::Path { verb, path })?;
            if !allowed.is_empty() {
                kept.push(json!({ "verbs": allowed, "nonResourceURLs": [path] }));
            }
        }
        Ok(())
    }

    /// Those of the verbs that the grant leaves. "All" never stays: it has `impersonate` in it, which no grant gives, and
    /// of a path every method.
    fn verbs<'a>(
        &mut self,
        given: &[&'a str],
        known: &[&'static str],
        of_verb: impl Fn(&'a str) -> Action<'a>,
    ) -> Result<Vec<&'a str>, TooManyRules> {
        let all = given.contains(&ALL);
        let asked: &[&'a str] = if all { known } else { given };
        self.spend(asked.len().max(given.len()) + 1)?;
        let held = self.held;
        self.expanded |= all && of_verb(OTHER_VERB).demand().is_met(held);
        Ok(asked.iter().copied().filter(|verb| of_verb(verb).demand().is_met(held)).collect())
    }

    /// So many more actions are looked at.
    fn spend(&mut self, actions: usize) -> Result<(), TooManyRules> {
        self.left = self.left.checked_sub(actions).ok_or(TooManyRules)?;
        Ok(())
    }

    /// The groups that a rule names.
    fn groups<'a>(&mut self, given: &[&'a str]) -> Vec<&'a str> {
        if !given.contains(&ALL) {
            return given.to_vec();
        }
        self.expanded = true;
        RESOURCES.iter().map(|(group, _)| *group).collect()
    }

    /// The resources of a group that a rule names, with no word for several left; `of_all`: the rule is for all groups.
    fn names<'a>(
        &mut self,
        group: &str,
        of_all: bool,
        given: &[&'a str],
    ) -> Result<Vec<&'a str>, TooManyRules> {
        let known = RESOURCES.iter().find(|(name, _)| *name == group).map_or(NONE, |(_, known)| *known);
        let mut names: Vec<&'a str> = Vec::new();
        for &given in given {
            self.spend(1)?;
            if !given.contains(ALL) {
                // Of all groups, those that are known to have it.
                if !of_all || known.contains(&given) {
                    names.push(given);
                }
                continue;
            }
            self.expanded = true;
            names.extend(known.iter().copied().filter(|name| matches(given, name)));
        }
        Ok(names)
    }
}

/// Whether a rule has nothing but words that are as short as names are.
fn has_short_words(rule: &Value) -> bool {
    LISTS
        .iter()
        .filter_map(|list| rule.get(*list).and_then(Value::as_array))
        .flatten()
        .all(|word| word.as_str().is_some_and(|word| word.len() <= MOST_WORD))
}

/// Whether a rule's word for several covers a resource: `*` all with their subresources, `*/scale` a subresource of all.
fn matches(word: &str, name: &str) -> bool {
    let (resource, subresource) = name.split_once('/').unwrap_or((name, ""));
    match word.split_once('/') {
        None => word == ALL,
        Some((of, sub)) => {
            (of == ALL || of == resource) && !subresource.is_empty() && (sub == ALL || sub == subresource)
        }
    }
}

fn action<'a>(verb: &'a str, group: &'a str, resource: &'a str) -> Action<'a> {
    let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
    Action::Resource { verb, group, resource, subresource, name: "" }
}

fn texts<'a>(rule: &'a Value, name: &str) -> Vec<&'a str> {
    rule.get(name).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limited(status: &Value, held: Rights) -> Value {
        let mut review = json!({ "kind": "SelfSubjectRulesReview", "status": status });
        limit(&mut review, held).unwrap();
        review["status"].take()
    }

    #[test]
    fn rules_lose_what_the_grant_refuses() {
        let given = json!({ "incomplete": false, "resourceRules": [
            { "verbs": ["get", "list", "create"], "apiGroups": [""], "resources": ["pods", "secrets", "pods/exec"] },
            { "verbs": ["*"], "apiGroups": ["apps"], "resources": ["deployments"], "resourceNames": ["a"] },
            { "verbs": ["create"], "apiGroups": ["authorization.k8s.io"], "resources": ["selfsubjectaccessreviews"] },
            { "verbs": ["impersonate"], "apiGroups": [""], "resources": ["users"] },
        ], "nonResourceRules": [{ "verbs": ["get", "post"], "nonResourceURLs": ["/version", "/debug/*", "/api/*"] }] });
        let read = limited(&given, Rights::Read);
        assert_eq!(
            read["resourceRules"],
            json!([
                { "verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods"] },
                { "verbs": ["get", "list", "watch"], "apiGroups": ["apps"], "resources": ["deployments"],
                  "resourceNames": ["a"] },
                { "verbs": ["create"], "apiGroups": ["authorization.k8s.io"],
                  "resources": ["selfsubjectaccessreviews"] },
            ])
        );
        assert_eq!(
            read["nonResourceRules"],
            json!([
                { "verbs": ["get"], "nonResourceURLs": ["/version"] },
                { "verbs": ["get"], "nonResourceURLs": ["/api/*"] },
            ])
        );
        assert_eq!(read["incomplete"], false, "nothing was replaced");
        let write = limited(&given, Rights::Write);
        assert_eq!(
            write["resourceRules"][0],
            json!({ "verbs": ["get", "list", "create"], "apiGroups": [""], "resources": ["pods", "pods/exec"] })
        );
        assert_eq!(write["resourceRules"][1]["verbs"], json!(VERBS));
        assert_eq!(write["incomplete"], true, "other verbs are left, and not listed");
    }

    #[test]
    fn a_rule_for_all_never_says_more_than_the_grant() {
        let all = json!({ "resourceRules": [{ "verbs": ["*"], "apiGroups": ["*"], "resources": ["*"] }],
            "nonResourceRules": [{ "verbs": ["*"], "nonResourceURLs": ["*"] }], "evaluationError": "theirs" });
        for held in [Rights::Read, Rights::Write] {
            let status = limited(&all, held);
            assert_eq!(status["incomplete"], true);
            assert!(status["evaluationError"].as_str().unwrap().starts_with("theirs; "), "{status}");
            let rules = status["resourceRules"].as_array().unwrap();
            assert!(rules.len() > 10, "{status}");
            for rule in rules {
                let group = rule["apiGroups"][0].as_str().unwrap();
                for (resource, verb) in texts(rule, "resources")
                    .iter()
                    .flat_map(|name| texts(rule, "verbs").into_iter().map(move |verb| (*name, verb)))
                {
                    assert!(action(verb, group, resource).demand().is_met(held), "{verb} {resource}.{group}");
                    assert!(!["secrets", "serviceaccounts/token"].contains(&resource));
                }
            }
            let paths = status["nonResourceRules"].as_array().unwrap();
            assert_eq!(paths.len(), PATHS.len(), "{paths:?}");
        }
    }

    #[test]
    fn all_verbs_of_those_that_can_be_impersonated_never_stay_all() {
        let given = json!({ "resourceRules": [
            { "verbs": ["*"], "apiGroups": [""], "resources": ["serviceaccounts", "users", "groups"] },
        ], "nonResourceRules": [{ "verbs": ["*"], "nonResourceURLs": ["/version"] }] });
        for held in [Rights::Read, Rights::Write] {
            let status = limited(&given, held);
            for list in ["resourceRules", "nonResourceRules"] {
                let rules = status[list].as_array().unwrap();
                assert!(!rules.is_empty(), "{status}");
                let verbs = rules.iter().flat_map(|rule| texts(rule, "verbs"));
                assert!(verbs.into_iter().all(|verb| ![ALL, "impersonate"].contains(&verb)), "{status}");
            }
            assert_eq!(status["nonResourceRules"][0]["verbs"], json!(PATH_VERBS));
        }
    }

    #[test]
    fn rules_of_openshift_are_limited_too() {
        let given = json!({ "rules": [
            { "verbs": ["get"], "apiGroups": null, "resources": ["secrets", "pods"] },
            { "verbs": ["get"], "resources": [], "nonResourceURLs": ["/healthz"] },
        ] });
        assert_eq!(
            limited(&given, Rights::Read)["rules"],
            json!([
                { "verbs": ["get"], "apiGroups": [""], "resources": ["pods"] },
                { "verbs": ["get"], "nonResourceURLs": ["/healthz"] },
            ])
        );
    }

    #[test]
    fn too_many_rules_are_not_limited() {
        let many = vec!["x"; 1000];
        let mut review = json!({ "status": { "resourceRules": [
            { "verbs": many, "apiGroups": many, "resources": many } ] } });
        assert_eq!(limit(&mut review, Rights::Read), Err(TooManyRules));
        let mut none = json!({ "kind": "Status" });
        assert_eq!(limit(&mut none, Rights::Read), Ok(()));
    }

    #[test]
    fn a_rule_that_would_be_repeated_too_often_or_is_too_long_is_not_limited() {
        let (long, names) = ("x".repeat(MOST_WORD + 1), vec!["x"; 1000]);
        let groups: Vec<String> = (0..100).map(|number| format!("group{number}")).collect();
        for rule in [
            json!({ "verbs": ["get"], "apiGroups": groups, "resources": ["a"], "resourceNames": names }),
            json!({ "verbs": ["get"], "apiGroups": [""], "resources": ["pods"], "resourceNames": [long] }),
            json!({ "verbs": ["get"], "apiGroups": [""], "resources": ["pods"], "resourceNames": [{}] }),
        ] {
            let mut review = json!({ "status": { "resourceRules": [rule] } });
            assert_eq!(limit(&mut review, Rights::Read), Err(TooManyRules));
        }
    }

    #[test]
    fn words_for_several_cover_what_a_cluster_means() {
        for (word, name, covers) in [
            ("*", "pods", true),
            ("*", "pods/exec", true),
            ("*/scale", "deployments/scale", true),
            ("*/scale", "deployments", false),
            ("pods/*", "pods/log", true),
            ("pods/*", "pods", false),
            ("pods/*", "services/proxy", false),
        ] {
            assert_eq!(matches(word, name), covers, "{word} {name}");
        }
    }
}
