//! Which kinds a cluster serves: its aggregated discovery (Kubernetes 1.26 and later), else group by group.

use std::sync::Arc;

use futures_util::StreamExt as _;
use portal_session::context::Context;
use portal_session::fault::Fault;
use rp_access::ActiveGrant;
use rp_documents::ResourceId;
use serde_json::Value;

use crate::objects::kinds::{Kind, Kinds};
use crate::objects::names::{KindName, is_dns};
use crate::state::PortalState;

/// Kinds of one cluster.
const MOST_KINDS: usize = 3_000;
/// Groups asked one by one.
const MOST_GROUPS: usize = 300;
const AT_ONCE: usize = 6;
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";

/// The kinds of a cluster.
///
/// # Errors
/// The cluster did not answer.
pub async fn discover(
    context: &Context,
    state: &PortalState,
    live: &Arc<ActiveGrant>,
    id: &ResourceId,
) -> Result<Arc<Kinds>, Fault> {
    if let Some(kinds) = state.model.discovered.get(id) {
        return Ok(kinds);
    }
    let mut found = Kinds::default();
    for root in ["/api", "/apis"] {
        let answer: Value = super::json(context, state, live, root, AGGREGATED).await?;
        if answer.get("kind").and_then(Value::as_str) == Some("APIGroupDiscoveryList") {
            aggregated(&answer, &mut found);
        } else {
            one_by_one(context, state, live, &answer, &mut found).await;
        }
    }
    found.kinds.sort_by(|a, b| {
        (rank(&a.name.group), &a.name.group, &a.kind).cmp(&(rank(&b.name.group), &b.name.group, &b.kind))
    });
    found.kinds.truncate(MOST_KINDS);
    let found = Arc::new(found);
    state.model.discovered.keep(id, &found);
    Ok(found)
}

/// Order of groups: OpenShift's first, then those that others added, then Kubernetes' own.
fn rank(group: &str) -> u8 {
    match group {
        group if group.ends_with("openshift.io") => 0,
        "" => 2,
        group if group.ends_with(".k8s.io") || !group.contains('.') => 3,
        _ => 1,
    }
}

fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn word(value: &Value, name: &str) -> String {
    let text = value.get(name).and_then(Value::as_str).unwrap_or_default();
    rp_base::text::clean(text, 253)
}

fn words(value: &Value, name: &str) -> Vec<String> {
    list(value, name)
        .iter()
        .filter_map(Value::as_str)
        .take(20)
        .map(|text| rp_base::text::clean(text, 63))
        .collect()
}

fn add(found: &mut Kinds, kind: Kind) {
    let same = |each: &Kind| each.name.group == kind.name.group && each.name.plural == kind.name.plural;
    if found.kinds.len() < MOST_KINDS
        && !kind.kind.is_empty()
        && is_dns(&kind.name.plural, 253)
        && !found.kinds.iter().any(same)
    {
        found.kinds.push(kind);
    }
}

fn aggregated(answer: &Value, found: &mut Kinds) {
    for group in list(answer, "items") {
        let name = group.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
        // The first version is the preferred one; a kind that it lacks comes with a later one.
        for version in list(group, "versions") {
            if word(version, "freshness") == "Stale" {
                found.missing.push(format!("{name}/{}", word(version, "version")));
            }
            for resource in list(version, "resources") {
                let (plural, words_of) = (word(resource, "resource"), words(resource, "verbs"));
                let kind = Kind {
                    name: KindName { group: name.to_owned(), version: word(version, "version"), plural },
                    kind: resource
                        .pointer("/responseKind/kind")
                        .and_then(Value::as_str)
                        .unwrap_or_default()
                        .to_owned(),
                    short: words(resource, "shortNames"),
                    namespaced: word(resource, "scope") == "Namespaced",
                    listable: words_of.iter().any(|verb| verb == "list"),
                };
                add(found, kind);
            }
        }
    }
}

/// Older servers: each group has its own list.
async fn one_by_one(
    context: &Context,
    state: &PortalState,
    live: &Arc<ActiveGrant>,
    answer: &Value,
    found: &mut Kinds,
) {
    let core = list(answer, "versions")
        .iter()
        .filter_map(Value::as_str)
        .map(|version| (String::new(), version.to_owned()));
    let groups = list(answer, "groups").iter().map(|group| {
        let version = group.pointer("/preferredVersion/version").and_then(Value::as_str).unwrap_or_default();
        (word(group, "name"), version.to_owned())
    });
    let all: Vec<(String, String)> = core
        .chain(groups)
        .filter(|(group, version)| (group.is_empty() || is_dns(group, 253)) && is_dns(version, 63))
        .take(MOST_GROUPS)
        .collect();
    let asked = futures_util::stream::iter(all).map(|(group, version)| async move {
        let path =
            if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{group}/{version}") };
        let answer = super::json::<Value>(context, state, live, &path, "application/json").await;
        (group, version, answer)
    });
    let answers: Vec<_> = asked.buffered(AT_ONCE).collect().await;
    for (group, version, answer) in answers {
        let Ok(answer) = answer else {
            found.missing.push(format!("{group}/{version}"));
            continue;
        };
        for resource in list(&answer, "resources") {
            let plural = word(resource, "name");
            let kind = Kind {
                name: KindName { group: group.clone(), version: version.clone(), plural },
                kind: word(resource, "kind"),
                short: words(resource, "shortNames"),
                namespaced: resource.get("namespaced").and_then(Value::as_bool).unwrap_or(false),
                listable: words(resource, "verbs").iter().any(|verb| verb == "list"),
            };
            add(found, kind);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn reads_aggregated_discovery_in_the_preferred_version() {
        let mut found = Kinds::default();
        let resource = |plural: &str, kind: &str, scope: &str| json!({ "resource": plural, "responseKind": { "kind": kind }, "scope": scope, "verbs": ["get", "list"], "shortNames": ["x"] });
        aggregated(
            &json!({ "items": [
                { "metadata": { "name": "a.io" }, "versions": [
                    { "version": "v2", "resources": [resource("things", "Thing", "Namespaced"), resource("../x", "Bad", "Cluster")] },
                    { "version": "v1", "freshness": "Stale", "resources": [resource("things", "Thing", "Namespaced"), resource("olds", "Old", "Cluster")] },
                ] },
                { "metadata": {} }, 7,
            ] }),
            &mut found,
        );
        let names: Vec<(&str, &str, bool)> = found
            .kinds
            .iter()
            .map(|k| (k.name.version.as_str(), k.name.plural.as_str(), k.namespaced))
            .collect();
        assert_eq!(names, [("v2", "things", true), ("v1", "olds", false)]);
        assert_eq!(found.missing, ["a.io/v1"]);
        assert_eq!(found.of_object("a.io/v1", "Thing").map(|k| k.name.version.as_str()), Some("v2"));
        assert!(found.find(&KindName::new("a.io", "v1", "things").unwrap()).is_some());
    }
}
