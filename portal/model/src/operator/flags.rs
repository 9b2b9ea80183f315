//! The flags of a cluster's operator: what is set, where, and what holds.

use std::collections::{BTreeMap, BTreeSet};

use rp_operator_api::Flag;
use rp_operator_api::flags::{Flags, checked};
use rp_rows::AroCluster;
use schemars::JsonSchema;
use serde::Serialize;

/// Flags that are not known, of one cluster, that are shown.
const MOST_UNKNOWN: usize = 50;
/// Characters of a name or a value that are shown.
const MOST_SHOWN: usize = 300;

/// Where a flag is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum FlagSource {
    /// In the cluster's document.
    Document,
    /// In the `Cluster` object only: somebody set it there.
    Cluster,
    /// Nowhere: its default holds.
    Default,
}

/// One flag.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "OperatorFlag")]
pub struct FlagReport {
    pub name: String,
    /// What it does; empty: the flag is not known.
    pub about: &'static str,
    /// Which values it takes.
    pub takes: String,
    /// All of them, where they are few; `null`: see `takes`.
    pub values: Option<Vec<&'static str>>,
    /// The value in the cluster's document.
    pub document: Option<String>,
    /// The value in the `Cluster` object.
    pub cluster: Option<String>,
    /// What holds where it is not set; `null`: the controller works it out.
    pub default: Option<String>,
    /// What the operator goes by; `null`: the controller works it out, or the flag is not known.
    pub effective: Option<String>,
    pub source: FlagSource,
    /// It is set to another value than the default.
    pub changed: bool,
    /// The document has another value than the `Cluster` object: it is not written yet.
    pub pending: bool,
    /// What is wrong with it; empty: nothing.
    pub problem: String,
}

/// Every flag in the order of the documentation, then those that are set and not known. Without the `Cluster` object
/// what holds is worked out from the document.
pub fn flag_reports(document: &BTreeMap<String, String>, cluster: Option<&AroCluster>) -> Vec<FlagReport> {
    let in_cluster = cluster.map_or(document, |cluster| &cluster.flags);
    let resolved = Flags::resolve(in_cluster);
    let defaults = Flags::resolve(&BTreeMap::new());
    let reported = cluster.map(|cluster| &cluster.effective_flags).filter(|flags| !flags.is_empty());
    let mut all: Vec<FlagReport> = Vec::new();
    for flag in Flag::ALL {
        let effective = match reported {
            Some(reported) => reported.get(flag.name()).cloned(),
            None => resolved.text(*flag).map(str::to_owned),
        };
        let default = defaults.text(*flag).map(str::to_owned);
        let set = one(flag.name(), document, cluster);
        let changed = set.source != FlagSource::Default && effective != default;
        let (takes, values) = (flag.kind().expected(), flag.kind().values());
        all.push(FlagReport { about: flag.effect(), takes, values, default, effective, changed, ..set });
    }
    let names: BTreeSet<&String> = document.keys().chain(in_cluster.keys()).collect();
    let unknown = names.into_iter().filter(|name| Flag::named(name).is_none());
    all.extend(unknown.take(MOST_UNKNOWN).map(|name| one(name, document, cluster)));
    all
}

/// What is set under a name, and what is wrong with it.
fn one(name: &str, document: &BTreeMap<String, String>, cluster: Option<&AroCluster>) -> FlagReport {
    let in_document = document.get(name);
    let in_cluster = cluster.and_then(|cluster| cluster.flags.get(name));
    let source = match (in_document, in_cluster) {
        (Some(_), _) => FlagSource::Document,
        (None, Some(_)) => FlagSource::Cluster,
        (None, None) => FlagSource::Default,
    };
    let holds = in_cluster.or(in_document);
    let refused = holds.and_then(|value| checked(name, value).err());
    let shown = |text: &String| rp_base::text::clean(text, MOST_SHOWN);
    FlagReport {
        name: rp_base::text::clean(name, MOST_SHOWN),
        about: "",
        takes: String::new(),
        values: None,
        document: in_document.map(shown),
        cluster: in_cluster.map(shown),
        default: None,
        effective: None,
        source,
        changed: source != FlagSource::Default,
        pending: cluster.is_some() && in_document.is_some() && in_document != in_cluster,
        problem: refused.map(|refused| refused.to_string()).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use rp_rows::Project as _;
    use serde_json::{Value, json};

    use super::*;

    fn cluster(flags: &Value, effective: &Value) -> AroCluster {
        let object = json!({"metadata": {"name": "cluster"}, "spec": {"operatorflags": flags},
            "status": {"effectiveFlags": effective}});
        AroCluster::from_json(&object).unwrap()
    }

    fn set(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    fn find<'a>(all: &'a [FlagReport], name: &str) -> &'a FlagReport {
        all.iter().find(|flag| flag.name == name).unwrap()
    }

    #[test]
    fn without_the_cluster_the_document_is_resolved() {
        let all = flag_reports(&set(&[("aro.banner.enabled", "TRUE")]), None);
        assert_eq!(all.len(), Flag::ALL.len());
        let banner = find(&all, "aro.banner.enabled");
        assert_eq!((banner.effective.as_deref(), banner.default.as_deref()), (Some("true"), Some("false")));
        assert_eq!((banner.source, banner.changed, banner.pending), (FlagSource::Document, true, false));
        let checker = find(&all, "aro.checker.enabled");
        assert_eq!((checker.effective.as_deref(), checker.source), (Some("true"), FlagSource::Default));
        assert!(!checker.changed && checker.takes == "true or false");
        assert_eq!(find(&all, "rh.srep.muo.deploy.pullspec").effective, None);
    }

    #[test]
    fn what_the_cluster_has_differs_from_the_document() {
        let object = cluster(
            &json!({"aro.banner.enabled": "false", "aro.rbac.enabled": "false", "aro.machine.enabled": "no", "typo": "x"}),
            &json!({"aro.banner.enabled": "false", "aro.rbac.enabled": "false", "aro.machine.enabled": "true"}),
        );
        let document = set(&[("aro.banner.enabled", "true"), ("aro.machine.enabled", "no")]);
        let all = flag_reports(&document, Some(&object));
        let banner = find(&all, "aro.banner.enabled");
        assert!(banner.pending && banner.effective.as_deref() == Some("false"));
        assert_eq!(find(&all, "aro.rbac.enabled").source, FlagSource::Cluster);
        assert!(find(&all, "aro.rbac.enabled").changed);
        let machine = find(&all, "aro.machine.enabled");
        assert!(machine.problem.contains("true or false") && !machine.changed, "{machine:?}");
        assert_eq!(all.last().map(|flag| flag.problem.as_str()), Some("flag \"typo\" is not known"));
    }

    #[test]
    fn unknown_flags_are_bounded() {
        let many: BTreeMap<String, String> =
            (0..500).map(|n| (format!("flag-{n:03}"), "x".repeat(1000))).collect();
        let all = flag_reports(&many, None);
        assert_eq!(all.len(), Flag::ALL.len() + MOST_UNKNOWN);
        assert!(all.iter().all(|flag| flag.document.as_ref().is_none_or(|value| value.len() < 310)));
    }
}
