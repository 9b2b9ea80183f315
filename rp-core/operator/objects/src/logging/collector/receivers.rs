//! Where logs come from, and how lines are parsed.

use serde_json::{Value, json};

use super::Source;
use crate::logging::Profile;
use crate::logging::expressions::EXCLUDED;

/// Namespaces whose containers the profile `minimal-logs` ships, without `openshift-`.
const MINIMAL: [&str; 14] = [
    "azure-*",
    "apiserver",
    "authentication",
    "etcd",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "dns",
    "ingress",
    "ovn-kubernetes",
    "network-operator",
    "machine-config-operator",
    "machine-api",
    "cloud-controller-manager",
];

pub(super) const KLOG: &str = r"^(?<severity>[IWECF])(?:\d{4} \d{2}:\d{2}:\d{2}\.\d{6}) +(?:\d+) (?<src_file>[^:]+):(?<src_line>\d+)\] (?<message>(?:.|\n)*)";
pub(super) const LOGRUS: &str = r#"^time="[^"]+" level=(?<severity>[a-zA-Z]+) msg="(?<message>(?:[^"\\]|\\.)*)"(?<fields>(?: [^= ]+=(?:"(?:[^"\\]|\\.)*"|[^ ]+))*).*$"#;
pub(super) const ZAP: &str = r"^(?:\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d+Z)\t(?<severity>[a-z]+)\t(?<src_file>[^\t]+)\t(?<message>[^\t]+)(?:\t(?<fields>.*))?$";
pub(super) const FILE: &str = r"^(?<src_file>[^:]+):(?<src_line>\d+)$";

/// The receiver of a source.
pub(super) fn receiver(source: Source, profile: Profile) -> Value {
    match source {
        Source::Journald => journald(),
        Source::Containers => containers(profile),
        Source::Audit => audit(),
    }
}

/// The kubelet writes messages of several lines: they become one entry again.
fn journald() -> Value {
    json!({
        "directory": "/var/log/journal",
        "journalctl_path": "/usr/bin/journalctl",
        "start_at": "beginning",
        "storage": "file_storage",
        "operators": [
            {
                "type": "router",
                "id": "by-identifier",
                "routes": [{ "expr": "body.SYSLOG_IDENTIFIER == \"kubenswrapper\"", "output": "kubelet-lines" }],
                "default": "end",
            },
            {
                "type": "recombine",
                "id": "kubelet-lines",
                "combine_field": "body.MESSAGE",
                "is_first_entry": "body.MESSAGE matches \"^[^\\\\s]\"",
                "output": "end",
            },
            { "type": "noop", "id": "end" },
        ],
    })
}

fn containers(profile: Profile) -> Value {
    let of = |namespace: &str| format!("/var/log/containers/*_{namespace}_*.log");
    let include: Vec<_> = match profile {
        Profile::Minimal => MINIMAL.map(|name| of(&format!("openshift-{name}"))).to_vec(),
        Profile::Max | Profile::Reduced => ["default", "kube-*", "openshift", "openshift-*"].map(of).to_vec(),
    };
    let exclude = EXCLUDED.map(|name| of(&format!("openshift-{name}")));
    json!({
        "include": include,
        "exclude": exclude,
        "start_at": "end",
        "storage": "file_storage",
        "include_file_path": true,
        "include_file_path_resolved": true,
        "include_file_name": false,
        "operators": parsers(),
    })
}

/// Each parser runs only while the body is a text; a line that it does not know goes on.
fn parsers() -> Vec<Value> {
    let text = "type(body) == \"string\"";
    let field = |name: &str| format!("type(body) == \"map\" and type(body[\"{name}\"]) == \"string\"");
    let pattern = |id: &str, regex: &str, severities: Value| {
        json!({
            "type": "regex_parser",
            "id": id,
            "if": text,
            "regex": regex,
            "parse_from": "body",
            "parse_to": "body",
            "severity": { "parse_from": "body.severity", "mapping": severities },
            "on_error": "send_quiet",
        })
    };
    let pairs = |id: &str, from: &str| {
        json!({
            "type": "key_value_parser",
            "id": id,
            "if": field(from),
            "parse_from": format!("body.{from}"),
            "parse_to": "body.fields",
            "on_error": "send_quiet",
        })
    };
    let words = json!({ "warn": ["warn", "warning"], "error": "error", "fatal": "fatal", "info": "info", "debug": "debug" });
    let letters = json!({ "warn": "W", "error": "E", "fatal": "F", "info": "I", "debug": "D" });
    vec![
        json!({
            "type": "move",
            "if": "attributes[\"log.file.path_resolved\"] != nil",
            "from": "attributes[\"log.file.path_resolved\"]",
            "to": "attributes[\"log.file.path\"]",
        }),
        json!({ "type": "container", "id": "container", "on_error": "send_quiet" }),
        pattern("klog", KLOG, letters),
        pattern("logrus", LOGRUS, words.clone()),
        pairs("logrus-fields", "fields"),
        pattern("zap", ZAP, words),
        json!({
            "type": "regex_parser",
            "id": "file",
            "if": "type(body) == \"map\" and type(body[\"fields\"]) == \"map\" and type(body.fields[\"file\"]) == \"string\"",
            "regex": FILE,
            "parse_from": "body.fields.file",
            "parse_to": "body",
            "on_error": "send_quiet",
        }),
        pairs("message-fields", "message"),
        json!({
            "type": "flatten",
            "if": "type(body) == \"map\" and type(body[\"fields\"]) == \"map\"",
            "field": "body.fields",
            "on_error": "send_quiet",
        }),
    ]
}

fn audit() -> Value {
    json!({
        "include": ["/var/log/kube-apiserver/audit.log"],
        "start_at": "end",
        "storage": "file_storage",
        "on_truncate": "read_whole_file",
        "operators": [{
            "type": "json_parser",
            "parse_to": "body",
            "timestamp": { "parse_from": "body.stageTimestamp", "layout": "%Y-%m-%dT%H:%M:%S.%LZ" },
            "on_error": "send_quiet",
        }],
    })
}
