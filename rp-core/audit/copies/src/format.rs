//! Shapes of an entry in a sink.

use std::sync::Arc;

use rp_documents::{Entry, Phase};
use serde_json::{Value, json};

/// How entries are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SinkFormat {
    /// As they are stored, byte for byte: such a copy can be verified.
    Aro,
    /// The record `audit event` of `contract/portal.md` §17.3 (a).
    Ifx(Arc<IfxOrigin>),
}

/// Where the records say that they come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IfxOrigin {
    /// Such as `AzurePublicCloud`.
    pub cloud: String,
    pub host: String,
    pub region: String,
}

impl SinkFormat {
    /// An entry's line.
    pub(crate) fn entry(&self, text: String) -> String {
        match self {
            Self::Aro => text,
            Self::Ifx(place) => match serde_json::from_str::<Entry>(&text) {
                Ok(entry) => ifx(&entry, place).to_string(),
                // What is no entry of ours is passed on as it is.
                Err(_) => text,
            },
        }
    }
}

/// The method that a verb stands for.
fn method(verb: &str) -> &'static str {
    match verb {
        "get" | "list" | "watch" | "head" | "options" => "GET",
        "update" | "put" => "PUT",
        "patch" => "PATCH",
        "delete" | "deletecollection" => "DELETE",
        _ => "POST",
    }
}

/// The segment after the cluster's name that an action belongs to.
fn segment(entry: &Entry) -> &str {
    match entry.verb.split_once('.') {
        Some(("grant", _)) => entry.resource.as_str(),
        Some(_) => "",
        None if entry.target.is_some() && entry.grant.is_some() => "kubeconfig",
        None => "",
    }
}

/// The path of an action: the cluster, the segment, and the path below the cluster's API.
fn path(entry: &Entry) -> String {
    let mut path = entry.target.as_ref().map_or_else(String::new, |target| target.key().to_owned());
    let segment = segment(entry);
    if entry.verb.contains('.') || segment != "kubeconfig" {
        let (kind, word) = entry.verb.split_once('.').unwrap_or(("", entry.verb.as_str()));
        for part in [if segment.is_empty() { kind } else { segment }, word] {
            if !part.is_empty() {
                path.push('/');
                path.push_str(part);
            }
        }
        return path;
    }
    path.push_str("/kubeconfig/proxy");
    if entry.resource.is_empty() {
        path.push_str(entry.query.split('?').next().unwrap_or_default());
        return path;
    }
    path.push_str(if entry.group.is_empty() { "/api" } else { "/apis" });
    let namespaces = if entry.namespace.is_empty() { "" } else { "namespaces" };
    let parts =
        [&entry.group, namespaces, &entry.namespace, &entry.resource, &entry.name, &entry.subresource];
    for part in parts.into_iter().filter(|part| !part.is_empty()) {
        path.push('/');
        path.push_str(part);
    }
    path
}

/// `contract/portal.md` §17.3 (a). The writer stands for the process, its number for the counter.
fn ifx(entry: &Entry, place: &IfxOrigin) -> Value {
    let path = path(entry);
    let failed = entry.result.status >= 400 || (entry.result.status == 0 && entry.result.word != "ok");
    let payload = json!({
        "env_ver": 2.1, "env_name": "#Ifx.AuditSchema", "env_flags": 257, "env_cloud_ver": 1,
        "env_time": entry.at, "env_epoch": entry.writer, "env_seqNum": entry.seq,
        "env_appId": "aro-admin", "env_cloud_role": "rp",
        "env_cloud_name": place.cloud, "env_cloud_environment": place.cloud,
        "env_cloud_roleInstance": place.host, "env_cloud_location": place.region,
        "CallerIdentities": [{
            "CallerIdentityType": "Username",
            "CallerIdentityValue": entry.actor.name,
            "CallerIpAddress": entry.actor.from,
        }],
        "Category": "ResourceManagement",
        "OperationName": format!("{} {path}", method(&entry.verb)),
        "Result": {
            "ResultType": if failed { "Fail" } else { "Success" },
            "ResultDescription": format!("Status code: {}", entry.result.status),
        },
        "requestId": "",
        "TargetResources": [{ "TargetResourceType": segment(entry), "TargetResourceName": path }],
    });
    json!({
        "msg": "audit event",
        "logKind": "ifxaudit",
        "adminOp": true,
        "source": "aro-admin",
        "createdTime": entry.at,
        // A start is told as well: the end of a stream may be hours away.
        "phase": match entry.phase { Phase::Start => "start", Phase::End => "end", Phase::Single => "single" },
        "payload": payload.to_string(),
    })
}
