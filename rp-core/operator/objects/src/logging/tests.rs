use std::collections::{BTreeMap, BTreeSet};

use regex::Regex;
use serde_json::Map;

use super::*;
use crate::golden;

fn spec() -> ClusterSpec {
    ClusterSpec {
        acr_domain: "arosvc.azurecr.io".to_owned(),
        gateway_private_endpoint_ip: "10.0.0.9".to_owned(),
        gateway_telemetry_domain: "Telemetry.eastus.example.com".to_owned(),
        ..ClusterSpec::default()
    }
}

fn flags(set: &[(&str, &str)]) -> Flags {
    let set: BTreeMap<_, _> =
        set.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Flags::resolve(&set)
}

fn privileged() -> Value {
    json!({
        "apiVersion": "security.openshift.io/v1", "kind": "SecurityContextConstraints",
        "metadata": { "name": "privileged", "uid": "x", "resourceVersion": "7" },
        "allowPrivilegedContainer": true, "groups": ["system:nodes"], "users": ["admin"], "later": [1],
    })
}

fn decide(spec: &ClusterSpec, set: &[(&str, &str)], daemon_sets: &[Value]) -> Result<Plan, LoggingError> {
    let (flags, privileged) = (flags(set), privileged());
    let version = Version::new(4, 18, 3);
    plan(&Input { spec, flags: &flags, version, privileged: &privileged, daemon_sets })
}

#[test]
fn the_objects_are_stable() {
    golden::check("logging.json", &golden::applied(&decide(&spec(), &[], &[]).unwrap()));
}

#[test]
fn the_configurations_are_stable() {
    for (profile, word) in
        [(Profile::Max, "max"), (Profile::Reduced, "reduced"), (Profile::Minimal, "minimal")]
    {
        for role in NodeRole::ALL {
            let name = format!("logging-{}-{word}.json", role.name());
            golden::check_text(&name, &configuration(role, profile));
        }
    }
}

#[test]
fn there_are_no_exporters_without_a_gateway() {
    let none = ClusterSpec { gateway_private_endpoint_ip: String::new(), ..spec() };
    let text = format!("{:?}", decide(&none, &[], &[]).unwrap().changes);
    assert!(!text.contains("Apply DaemonSet") && text.contains("Apply ConfigMap"), "{text}");
    let error = |spec: ClusterSpec| decide(&spec, &[], &[]).unwrap_err().to_string();
    assert_eq!(
        error(ClusterSpec { gateway_private_endpoint_ip: "x".to_owned(), ..spec() }),
        "invalid cluster spec field \"gatewayPrivateEndpointIP\": \"x\" is not a valid IP address"
    );
    assert_eq!(
        error(ClusterSpec { gateway_telemetry_domain: String::new(), ..spec() }),
        "invalid cluster spec field \"gatewayTelemetryDomain\": empty"
    );
    let hostile = "a.b\n10.0.0.1 login.example".to_owned();
    assert!(
        error(ClusterSpec { gateway_telemetry_domain: hostile, ..spec() }).ends_with("not a valid domain")
    );
}

#[test]
fn the_image_is_that_of_the_flag_else_the_pinned_one_of_the_registry() {
    let images = |spec: &ClusterSpec, set: &[(&str, &str)]| {
        let applied = golden::applied(&decide(spec, set, &[])?);
        let sets = applied.into_iter().filter(|object| object["kind"] == "DaemonSet");
        let image = |set: Value| set["spec"]["template"]["spec"]["containers"][0]["image"].clone();
        Ok::<_, LoggingError>(sets.map(image).collect::<Vec<_>>())
    };
    assert_eq!(images(&spec(), &[]).unwrap(), ["arosvc.azurecr.io/telemetryexporter:v1"; 2]);
    let flag = ("aro.genevalogging.otel.pullSpec", "localhost:5000/collector:x");
    assert_eq!(images(&spec(), &[flag]).unwrap(), ["localhost:5000/collector:x"; 2]);
    let nowhere = ClusterSpec { acr_domain: String::new(), ..spec() };
    assert_eq!(images(&nowhere, &[]), Err(LoggingError::NoImage));
}

#[test]
fn each_role_has_its_own_profile_and_restarts_for_it_alone() {
    let hash = |set: &[(&str, &str)]| {
        let applied = golden::applied(&decide(&spec(), set, &[]).unwrap());
        let sets = applied.into_iter().filter(|object| object["kind"] == "DaemonSet");
        sets.map(|set| set["spec"]["template"]["metadata"]["annotations"].to_string()).collect::<Vec<_>>()
    };
    let (before, after) = (hash(&[]), hash(&[("aro.genevalogging.otel.master.profile", "max-logs")]));
    assert_ne!(before[0], after[0]);
    assert_eq!(before[1], after[1]);
}

#[test]
fn a_selector_that_somebody_set_goes() {
    let set = |name: &str, selector: Value| json!({ "metadata": { "name": name, "namespace": NAMESPACE }, "spec": { "template": { "spec": { "nodeSelector": selector } } } });
    let sets = [
        set("otel-exporter-master", json!({ "a": "b" })),
        set("otel-exporter-worker", json!({})),
        set("theirs", json!({ "a": "b" })),
    ];
    let text = format!("{:?}", decide(&spec(), &[], &sets).unwrap().changes);
    assert_eq!(text.matches("Merge").count(), 1);
    assert!(text.contains(&format!("Merge DaemonSet {NAMESPACE}/otel-exporter-master")), "{text}");
}

#[test]
fn what_is_privileged_is_copied_with_members_that_are_not_known() {
    let copy = constraints(&privileged()).unwrap();
    assert_eq!(copy["metadata"], json!({ "name": "privileged-genevalogging" }));
    assert_eq!(copy["users"], json!(["system:serviceaccount:openshift-azure-logging:geneva"]));
    assert_eq!((&copy["groups"], &copy["later"]), (&json!([]), &json!([1])));
    assert_eq!(constraints(&Value::Null), Err(LoggingError::NoConstraints));
}

/// The names of a part of a configuration.
fn defined(configuration: &Value, part: &str) -> BTreeSet<String> {
    configuration[part].as_object().map(Map::keys).into_iter().flatten().cloned().collect()
}

#[test]
fn pipelines_use_everything_that_is_defined_and_nothing_else() {
    for role in NodeRole::ALL {
        for profile in [Profile::Max, Profile::Reduced, Profile::Minimal] {
            let configuration: Value = serde_json::from_str(&configuration(role, profile)).unwrap();
            let pipelines = configuration["service"]["pipelines"].as_object().unwrap();
            for part in ["receivers", "processors", "exporters"] {
                let used: BTreeSet<_> = pipelines
                    .values()
                    .flat_map(|pipeline| pipeline[part].as_array().unwrap())
                    .map(|name| name.as_str().unwrap().to_owned())
                    .collect();
                assert_eq!(used, defined(&configuration, part), "{role:?} {profile:?}");
            }
            assert_eq!(pipelines.contains_key("logs/audit"), role == NodeRole::Master);
            for pipeline in pipelines.values() {
                let steps = pipeline["processors"].as_array().unwrap();
                assert_eq!(steps.first(), Some(&json!("memory_limiter")));
                assert_eq!(steps.last(), Some(&json!("batch")));
            }
        }
    }
}

#[test]
fn a_dollar_means_itself_but_in_the_two_variables() {
    for role in NodeRole::ALL {
        let text = configuration(role, Profile::Minimal);
        let variables = text.matches("${env:").count();
        assert_eq!(variables, 1 + defined(&serde_json::from_str(&text).unwrap(), "receivers").len());
        assert_eq!(text.replace("$$", "").matches('$').count(), variables);
    }
}

#[test]
fn every_pattern_is_valid() {
    let text = configuration(NodeRole::Master, Profile::Minimal)
        + &configuration(NodeRole::Master, Profile::Reduced);
    let literal = Regex::new(r#"IsMatch\([^,]+, "((?:[^"\\]|\\.)*)"\)"#).unwrap();
    let mut count = 0;
    for document in serde_json::Deserializer::from_str(&text).into_iter::<Value>() {
        for condition in texts(&document.unwrap()) {
            for found in literal.captures_iter(&condition) {
                let pattern = found[1].replace("\\\\", "\\").replace("$$", "$");
                assert!(Regex::new(&pattern).is_ok(), "{pattern}");
                count += 1;
            }
        }
    }
    assert!(count > 30, "{count}");
}

/// All texts of a document.
fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(items) => items.iter().flat_map(texts).collect(),
        Value::Object(members) => members.values().flat_map(texts).collect(),
        _ => Vec::new(),
    }
}

#[test]
fn lines_of_the_platform_are_parsed() {
    let configuration: Value = serde_json::from_str(&configuration(NodeRole::Worker, Profile::Max)).unwrap();
    let operators = configuration["receivers"]["file_log/containers"]["operators"].as_array().unwrap();
    let captured = |id: &str, line: &str, name: &str| {
        let one = operators.iter().find(|one| one["id"] == id).unwrap();
        let regex = Regex::new(&one["regex"].as_str().unwrap().replace("$$", "$")).unwrap();
        regex.captures(line).and_then(|found| found.name(name).map(|text| text.as_str().to_owned()))
    };
    let klog = "E1127 11:22:33.123456       1 reflector.go:138] failed:\nsecond line";
    assert_eq!(captured("klog", klog, "severity").as_deref(), Some("E"));
    assert_eq!(captured("klog", klog, "message").as_deref(), Some("failed:\nsecond line"));
    let logrus = r#"time="2026-11-27T11:22:33Z" level=warning msg="a \"b\"" controller=Node n=1"#;
    assert_eq!(captured("logrus", logrus, "severity").as_deref(), Some("warning"));
    assert_eq!(captured("logrus", logrus, "fields").as_deref(), Some(" controller=Node n=1"));
    let zap = "2026-11-27T11:22:33.123Z\terror\tmain.go:7\tfailed\t{\"a\":1}";
    assert_eq!(captured("zap", zap, "src_file").as_deref(), Some("main.go:7"));
    assert_eq!(captured("file", "main.go:7", "src_line").as_deref(), Some("7"));
    assert_eq!(captured("klog", "plain", "severity"), None);
}
