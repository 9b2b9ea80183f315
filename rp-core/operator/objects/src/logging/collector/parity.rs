//! The form in which the service reads records: bodies and attributes as earlier exporters wrote them.

use serde_json::{Value, json};

use super::Source;
use crate::logging::expressions::literal;

/// The name of the node, out of the environment.
pub(super) const NODE: &str = "${env:MONITORING_ROLE_INSTANCE}";
/// Members of a journal entry that are not shipped; of those that begin like this, the ones in [`KEPT`] are.
const DROPPED: &str = "^(_|JOB_|NM_|COREDUMP_)|^(SYSLOG_FACILITY|SYSLOG_TIMESTAMP|SYSLOG_PID|MESSAGE_ID|INVOCATION_ID|CPU_USAGE_NSEC|BOOT_ID|PENDING|TIMESTAMP|TIMESTAMP_MONOTONIC)$";
const KEPT: [&str; 3] = ["_PID", "_SYSTEMD_UNIT", "_BOOT_ID"];
/// Severity texts and numbers of OpenTelemetry, by the priority of syslog.
const SEVERITIES: [(&str, u8); 8] = [
    ("EMERG", 21),
    ("ALERT", 19),
    ("CRIT", 18),
    ("ERR", 17),
    ("WARNING", 13),
    ("NOTICE", 10),
    ("INFO", 9),
    ("DEBUG", 5),
];
/// Objects whose members become attributes `PARENT_MEMBER`.
const LIFTED: [(&str, &[&str]); 4] = [
    ("user", &["username", "uid", "groups", "extra"]),
    ("impersonatedUser", &["username", "uid", "groups", "extra"]),
    ("responseStatus", &["code", "reason", "status", "message", "metadata"]),
    (
        "objectRef",
        &["resource", "namespace", "name", "uid", "apiGroup", "apiVersion", "resourceVersion", "subresource"],
    ),
];

/// The processor of a source.
pub(super) fn transform(source: Source) -> Value {
    let statements = match source {
        Source::Journald => journald(),
        Source::Containers | Source::Audit => others(),
    };
    let all: Vec<_> = statements.into_iter().chain(common()).collect();
    json!({ "error_mode": "ignore", "log_statements": [{ "context": "log", "statements": all }] })
}

fn journald() -> Vec<String> {
    let mut out = vec![
        "set(cache[\"entry\"], body) where IsMap(body)".to_owned(),
        format!("delete_matching_keys(cache[\"entry\"], {}) where IsMap(body)", literal(DROPPED)),
    ];
    out.extend(KEPT.map(|name| {
        format!("set(cache[\"entry\"][\"{name}\"], body[\"{name}\"]) where body[\"{name}\"] != nil")
    }));
    out.push("set(attributes[\"journald\"], cache[\"entry\"]) where IsMap(body)".to_owned());
    out.push("set(body, cache[\"entry\"]) where IsMap(body)".to_owned());
    out
}

fn others() -> Vec<String> {
    let mut out: Vec<_> = ["requestObject", "responseObject"]
        .map(|name| format!("delete_key(body, \"{name}\") where IsMap(body)"))
        .into();
    out.push("set(attributes[\"raw_json_body\"], body)".to_owned());
    out.push(format!("delete_matching_keys(body, {}) where IsMap(body)", literal(DROPPED)));
    for (parent, members) in LIFTED {
        out.extend(members.iter().map(|member| {
            let path = format!("body[\"{parent}\"][\"{member}\"]");
            format!("set(attributes[\"{parent}_{member}\"], {path}) where IsMap(body) and IsMap(body[\"{parent}\"]) and {path} != nil")
        }));
    }
    out
}

fn common() -> Vec<String> {
    let identifier = "SYSLOG_IDENTIFIER";
    let present = |name: &str| format!("IsMap(body) and body[\"{name}\"] != nil");
    let mut out = vec![format!(
        "set(attributes[\"{identifier}\"], body[\"{identifier}\"]) where {}",
        present(identifier)
    )];
    for (priority, (text, number)) in SEVERITIES.iter().enumerate() {
        let is = format!("IsMap(body) and body[\"PRIORITY\"] == \"{priority}\"");
        // The text first: the number says whether it was set.
        out.push(format!("set(severity_text, \"{text}\") where severity_number == 0 and {is}"));
        out.push(format!("set(severity_number, {number}) where severity_number == 0 and {is}"));
    }
    out.push(format!("set(body, body[\"MESSAGE\"]) where {}", present("MESSAGE")));
    for name in ["container", "pod", "namespace"] {
        let path = format!("resource.attributes[\"k8s.{name}.name\"]");
        out.push(format!("set(attributes[\"{name}\"], {path}) where {path} != nil"));
    }
    out.push(format!("set(attributes[\"node\"], \"{NODE}\")"));
    out
}
