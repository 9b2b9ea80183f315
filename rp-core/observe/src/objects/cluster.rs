//! Object kinds of which a cluster has one or a few.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::{Condition, Meta, Project, read};

/// `etcds.operator.openshift.io/cluster`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Etcd {
    #[serde(flatten)]
    pub meta: Meta,
    /// Among them `EtcdMembersAvailable` and `EtcdMembersDegraded`, whose messages name the members.
    pub conditions: Vec<Condition>,
    /// Node, current and target revision.
    pub nodes: Vec<(String, i64, i64)>,
}

impl Project for Etcd {
    fn project(object: &Value) -> Option<Self> {
        let number = |value: &Value, at: &str| read::number(value, at).unwrap_or(0);
        Some(Self {
            meta: read::meta(object)?,
            conditions: read::conditions(object, "/status/conditions"),
            nodes: read::list(object, "/status/nodeStatuses")
                .map(|node| {
                    let (now, wanted) = (number(node, "/currentRevision"), number(node, "/targetRevision"));
                    (read::short_text(node, "/nodeName"), now, wanted)
                })
                .collect(),
        })
    }

    fn key(&self) -> (&str, &str) {
        ("", &self.meta.name)
    }
}

/// `infrastructures.config.openshift.io/cluster`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Infrastructure {
    #[serde(flatten)]
    pub meta: Meta,
    pub infra_name: String,
    pub platform: String,
    pub api_url: String,
    pub api_internal_url: String,
    pub control_plane_topology: String,
    pub resource_group: String,
    pub network_resource_group: String,
    pub cloud: String,
}

impl Project for Infrastructure {
    fn project(object: &Value) -> Option<Self> {
        Some(Self {
            meta: read::meta(object)?,
            infra_name: read::short_text(object, "/status/infrastructureName"),
            platform: read::short_text(object, "/status/platformStatus/type"),
            api_url: read::text(object, "/status/apiServerURL", 500),
            api_internal_url: read::text(object, "/status/apiServerInternalURI", 500),
            control_plane_topology: read::short_text(object, "/status/controlPlaneTopology"),
            resource_group: read::short_text(object, "/status/platformStatus/azure/resourceGroupName"),
            network_resource_group: read::short_text(
                object,
                "/status/platformStatus/azure/networkResourceGroupName",
            ),
            cloud: read::short_text(object, "/status/platformStatus/azure/cloudName"),
        })
    }

    fn key(&self) -> (&str, &str) {
        ("", &self.meta.name)
    }
}

/// `networks.config.openshift.io/cluster`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Network {
    #[serde(flatten)]
    pub meta: Meta,
    /// E.g. `OVNKubernetes`.
    pub kind: String,
    pub mtu: Option<i64>,
    /// CIDR and host prefix.
    pub cluster_networks: Vec<(String, i64)>,
    pub service_networks: Vec<String>,
    /// A migration of the network that is going on.
    pub migrating: bool,
}

impl Project for Network {
    fn project(object: &Value) -> Option<Self> {
        let status = read::short_text(object, "/status/networkType");
        let networks = read::list(object, "/status/clusterNetwork");
        Some(Self {
            meta: read::meta(object)?,
            kind: if status.is_empty() { read::short_text(object, "/spec/networkType") } else { status },
            mtu: read::number(object, "/status/clusterNetworkMTU"),
            cluster_networks: networks
                .map(|each| (read::short_text(each, "/cidr"), read::number(each, "/hostPrefix").unwrap_or(0)))
                .collect(),
            service_networks: read::short_texts(object, "/status/serviceNetwork"),
            migrating: object.pointer("/status/migration").is_some_and(Value::is_object),
        })
    }

    fn key(&self) -> (&str, &str) {
        ("", &self.meta.name)
    }
}

/// `proxies.config.openshift.io/cluster`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Proxy {
    #[serde(flatten)]
    pub meta: Meta,
    /// Without user and password.
    pub http: String,
    /// Without user and password.
    pub https: String,
    pub no_proxy: Vec<String>,
    pub trusted_ca: String,
}

impl Project for Proxy {
    fn project(object: &Value) -> Option<Self> {
        let no_proxy = read::text(object, "/status/noProxy", 20_000);
        Some(Self {
            meta: read::meta(object)?,
            http: without_user(&read::text(object, "/status/httpProxy", 500)),
            https: without_user(&read::text(object, "/status/httpsProxy", 500)),
            no_proxy: no_proxy
                .split(',')
                .map(str::trim)
                .filter(|e| !e.is_empty())
                .map(str::to_owned)
                .collect(),
            trusted_ca: read::short_text(object, "/spec/trustedCA/name"),
        })
    }

    fn key(&self) -> (&str, &str) {
        ("", &self.meta.name)
    }
}

/// A proxy's address may carry a password.
fn without_user(url: &str) -> String {
    match url.rsplit_once('@') {
        Some((before, host)) => {
            let scheme =
                before.split_once("://").map(|(scheme, _)| format!("{scheme}://")).unwrap_or_default();
            format!("{scheme}{host}")
        }
        None => url.to_owned(),
    }
}

/// An ingress controller of `operator.openshift.io/v1`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct IngressController {
    #[serde(flatten)]
    pub meta: Meta,
    pub domain: String,
    pub replicas: i64,
    pub available: i64,
    /// Name of the secret with its certificate; empty: the operator's own.
    pub certificate: String,
    /// `External`, `Internal` or empty.
    pub scope: String,
    pub conditions: Vec<Condition>,
}

impl Project for IngressController {
    fn project(object: &Value) -> Option<Self> {
        let status = read::short_text(object, "/status/domain");
        const STRATEGY: &str = "/status/endpointPublishingStrategy/loadBalancer/scope";
        Some(Self {
            meta: read::meta(object)?,
            domain: if status.is_empty() { read::short_text(object, "/spec/domain") } else { status },
            replicas: read::number(object, "/spec/replicas").unwrap_or(2),
            available: read::number(object, "/status/availableReplicas").unwrap_or(0),
            certificate: read::short_text(object, "/spec/defaultCertificate/name"),
            scope: read::short_text(object, STRATEGY),
            conditions: read::conditions(object, "/status/conditions"),
        })
    }

    fn key(&self) -> (&str, &str) {
        (&self.meta.namespace, &self.meta.name)
    }
}

/// `clusters.aro.openshift.io/cluster`: what the operator inside the cluster says.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AroCluster {
    #[serde(flatten)]
    pub meta: Meta,
    /// The operator's build.
    pub operator_version: String,
    pub conditions: Vec<Condition>,
    pub flags: BTreeMap<String, String>,
    pub gateway_domains: Vec<String>,
}

impl Project for AroCluster {
    fn project(object: &Value) -> Option<Self> {
        Some(Self {
            meta: read::meta(object)?,
            operator_version: read::short_text(object, "/status/operatorVersion"),
            conditions: read::conditions(object, "/status/conditions"),
            flags: read::map(object, "/spec/operatorflags"),
            gateway_domains: read::short_texts(object, "/spec/gatewayDomains"),
        })
    }

    fn key(&self) -> (&str, &str) {
        ("", &self.meta.name)
    }
}
