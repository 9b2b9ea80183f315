use std::collections::{BTreeMap, BTreeSet};

use super::*;

fn is_snake(name: &str) -> bool {
    name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

#[test]
fn names_of_statsd_stand_once() {
    let names: BTreeSet<&str> = ALL.iter().map(|metric| metric.name).collect();
    assert_eq!(names.len(), ALL.len());
}

#[test]
fn prometheus_names_follow_the_rules() {
    for metric in ALL {
        let Some(exposed) = &metric.exposed else { continue };
        assert!(exposed.name.starts_with("aro_") && is_snake(exposed.name), "{}", exposed.name);
        assert_eq!(exposed.name.ends_with("_total"), metric.kind == Kind::Count, "{}", exposed.name);
        assert_eq!(metric.kind.prometheus() == "histogram", exposed.name.ends_with("_duration_seconds"));
        let labels = metric.labels();
        assert_eq!(labels.iter().collect::<BTreeSet<_>>().len(), labels.len(), "{}", metric.name);
        assert!(labels.iter().all(|label| is_snake(label)), "{labels:?}");
        assert!(!metric.help.is_empty() && metric.help.ends_with('.'), "{}", metric.name);
    }
}

#[test]
fn metrics_of_one_prometheus_name_agree_in_type_labels_and_help() {
    let mut seen: BTreeMap<&str, &Metric> = BTreeMap::new();
    for metric in ALL {
        let Some(exposed) = &metric.exposed else { continue };
        let first = seen.entry(exposed.name).or_insert(metric);
        let set = |metric: &Metric| metric.labels().into_iter().collect::<BTreeSet<_>>();
        assert_eq!(set(first), set(metric), "{}", exposed.name);
        assert_eq!(first.kind.prometheus(), metric.kind.prometheus(), "{}", exposed.name);
        assert_eq!(first.help, metric.help, "{}", exposed.name);
    }
}

#[test]
fn free_text_is_never_a_label() {
    for name in ["Message", "msg", "sources", "destinations", "createdAt"] {
        for dim in ALL.iter().flat_map(|metric| metric.dims) {
            assert!(dim.statsd != Some(name) || dim.label.is_none(), "{name}");
        }
    }
}
