//! Shipping of the logs of nodes and containers by an OpenTelemetry collector on every node (`contract/operator.md`
//! §8.13).

mod collector;
mod expressions;
mod pods;
#[cfg(test)]
mod tests;

use std::net::IpAddr;

use rp_node_config::names::DomainName;
use rp_operator_api::{ClusterSpec, Flag, Flags};
use serde_json::{Value, json};

pub use collector::configuration;

use crate::{Change, ObjectRef, Plan, Version};

/// The namespace of the exporters.
pub const NAMESPACE: &str = "openshift-azure-logging";
const ACCOUNT: &str = "geneva";
/// The tag of the image where the flag names none: the version of the configuration that the image reads.
const TAG: &str = "v1";
const RBAC: &str = "rbac.authorization.k8s.io";

/// Why nothing is applied. The text is that of the condition.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoggingError {
    #[error("invalid cluster spec field \"gatewayPrivateEndpointIP\": {0:?} is not a valid IP address")]
    Address(String),
    #[error("invalid cluster spec field \"gatewayTelemetryDomain\": empty")]
    NoDomain,
    #[error("invalid cluster spec field \"gatewayTelemetryDomain\": {0:?} is not a valid domain")]
    Domain(String),
    #[error(
        "no image of the log exporter: neither acrDomain nor flag aro.genevalogging.otel.pullSpec is set"
    )]
    NoImage,
    #[error("SecurityContextConstraints privileged cannot be copied: it has no members")]
    NoConstraints,
}

/// The nodes of a DaemonSet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeRole {
    /// Nodes of the control plane.
    Master,
    /// All other nodes.
    Worker,
}

impl NodeRole {
    const ALL: [Self; 2] = [Self::Master, Self::Worker];

    const fn name(self) -> &'static str {
        match self {
            Self::Master => "master",
            Self::Worker => "worker",
        }
    }

    fn daemon_set(self) -> String {
        format!("otel-exporter-{}", self.name())
    }

    fn config_map(self) -> String {
        format!("otel-config-{}", self.name())
    }
}

/// Which logs are shipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    Max,
    Reduced,
    Minimal,
}

impl Profile {
    /// The profile of a role. The flags take known values only.
    pub fn of(flags: &Flags, role: NodeRole) -> Self {
        let flag = match role {
            NodeRole::Master => Flag::OtelMasterProfile,
            NodeRole::Worker => Flag::OtelWorkerProfile,
        };
        match flags.text(flag) {
            Some("max-logs") => Self::Max,
            Some("reduced-logs") => Self::Reduced,
            _ => Self::Minimal,
        }
    }
}

/// Where the logs go: the telemetry endpoint of the gateway.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Gateway {
    domain: DomainName,
    address: IpAddr,
}

/// What the decision goes by.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    pub spec: &'a ClusterSpec,
    pub flags: &'a Flags,
    /// The version that the cluster has.
    pub version: Version,
    /// SecurityContextConstraints `privileged`, as it was read.
    pub privileged: &'a Value,
    /// DaemonSets of the namespace, as they were read.
    pub daemon_sets: &'a [Value],
}

/// What is to be done. Without an address of the gateway there are no DaemonSets. The owner is the `Cluster`.
///
/// # Errors
/// [`LoggingError`].
pub fn plan(input: &Input<'_>) -> Result<Plan, LoggingError> {
    let gateway = gateway(input.spec)?;
    let mut changes: Vec<_> = leftovers().map(Change::Delete).into();
    changes.extend(permissions(input)?.map(Change::Apply));
    let configurations =
        NodeRole::ALL.map(|role| (role, configuration(role, Profile::of(input.flags, role))));
    changes.extend(
        configurations.iter().map(|(role, text)| Change::Apply(config_map(&role.config_map(), text))),
    );
    if let Some(gateway) = gateway {
        let image = image(input.spec, input.flags)?;
        changes.extend(
            configurations
                .iter()
                .map(|(role, text)| Change::Apply(pods::daemon_set(*role, &image, &gateway, text))),
        );
    }
    changes.extend(selectors(input.daemon_sets));
    // Last: where their kinds are missing, everything else is there.
    changes.extend([pods::pod_monitor(), pods::alerts()].map(Change::Apply));
    Ok(Plan { changes })
}

/// The image of the exporters: that of the flag, else that of the service's registry.
fn image(spec: &ClusterSpec, flags: &Flags) -> Result<String, LoggingError> {
    match (flags.text(Flag::OtelPullSpec), spec.acr_domain.as_str()) {
        (Some(image), _) => Ok(image.to_owned()),
        (None, "") => Err(LoggingError::NoImage),
        (None, registry) => Ok(format!("{registry}/telemetryexporter:{TAG}")),
    }
}

/// Objects of earlier versions of the operator.
fn leftovers() -> [ObjectRef; 5] {
    let core = |kind: &str, name: &str| ObjectRef::in_namespace("v1", kind, NAMESPACE, name);
    [
        ObjectRef::in_namespace("apps/v1", "DaemonSet", NAMESPACE, "mdsd"),
        core("ConfigMap", "fluent-config"),
        core("Secret", "certificates"),
        core("ConfigMap", "gateway-ca"),
        // One for both roles: a change for one restarted the other (`contract/operator.md` "Do better" 27).
        core("ConfigMap", "otel-config"),
    ]
}

fn gateway(spec: &ClusterSpec) -> Result<Option<Gateway>, LoggingError> {
    let ClusterSpec { gateway_private_endpoint_ip: ip, gateway_telemetry_domain: domain, .. } = spec;
    if ip.is_empty() {
        return Ok(None);
    }
    let address = ip.parse().map_err(|_| LoggingError::Address(ip.clone()))?;
    if domain.is_empty() {
        return Err(LoggingError::NoDomain);
    }
    let domain = DomainName::parse(domain).map_err(|_| LoggingError::Domain(domain.clone()))?;
    Ok(Some(Gateway { domain, address }))
}

/// Exporters run on every node: a selector that somebody set goes.
fn selectors(daemon_sets: &[Value]) -> impl Iterator<Item = Change> {
    let names = NodeRole::ALL.map(NodeRole::daemon_set);
    let is_limited = move |set: &&Value| {
        let name = set.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
        let selector = set.pointer("/spec/template/spec/nodeSelector").and_then(Value::as_object);
        names.iter().any(|ours| ours == name) && selector.is_some_and(|selector| !selector.is_empty())
    };
    daemon_sets.iter().filter(is_limited).map(|set| Change::Merge {
        object: ObjectRef {
            api_version: "apps/v1".to_owned(),
            kind: "DaemonSet".to_owned(),
            ..ObjectRef::of(set)
        },
        patch: json!({ "spec": { "template": { "spec": { "nodeSelector": null } } } }),
        resource_version: None,
    })
}

fn metadata(name: &str) -> Value {
    json!({ "name": name, "namespace": NAMESPACE })
}

fn config_map(name: &str, configuration: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata(name),
        "data": { "config.yaml": configuration },
    })
}

fn permissions(input: &Input<'_>) -> Result<[Value; 5], LoggingError> {
    let role = json!([{ "apiGroups": [""], "resources": ["services", "endpoints", "pods"], "verbs": ["get", "list", "watch"] }]);
    let api = format!("{RBAC}/v1");
    let name = "prometheus-k8s";
    Ok([
        namespace(input.version),
        json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata(ACCOUNT) }),
        constraints(input.privileged)?,
        json!({ "apiVersion": api, "kind": "Role", "metadata": metadata(name), "rules": role }),
        json!({
            "apiVersion": api,
            "kind": "RoleBinding",
            "metadata": metadata(name),
            "roleRef": { "apiGroup": RBAC, "kind": "Role", "name": name },
            "subjects": [{ "kind": "ServiceAccount", "name": name, "namespace": "openshift-monitoring" }],
        }),
    ])
}

fn namespace(version: Version) -> Value {
    let mut labels = json!({ "openshift.io/cluster-monitoring": "true" });
    if version.is_at_least(4, 11) {
        for mode in ["enforce", "audit", "warn"] {
            labels[format!("pod-security.kubernetes.io/{mode}")] = json!("privileged");
        }
    }
    let annotations = json!({ "openshift.io/node-selector": "" });
    json!({
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": { "name": NAMESPACE, "labels": labels, "annotations": annotations },
    })
}

/// A copy of `privileged` for one account.
fn constraints(privileged: &Value) -> Result<Value, LoggingError> {
    let members = privileged.as_object().filter(|members| members.len() > 3);
    let mut copy = members.ok_or(LoggingError::NoConstraints)?.clone();
    let user = format!("system:serviceaccount:{NAMESPACE}:{ACCOUNT}");
    for (name, value) in [
        ("apiVersion", json!("security.openshift.io/v1")),
        ("kind", json!("SecurityContextConstraints")),
        ("metadata", json!({ "name": "privileged-genevalogging" })),
        ("groups", json!([])),
        ("users", json!([user])),
    ] {
        copy.insert(name.to_owned(), value);
    }
    Ok(Value::Object(copy))
}
