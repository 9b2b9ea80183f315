//! Object kinds of which a cluster has one or a few.

use std::collections::BTreeMap;

use rp_openshift::{self as openshift, Pairs, Whole, WholeText};
use serde::Serialize;

use super::{Condition, Meta, Project, read};

/// `etcds.operator.openshift.io/cluster`.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Etcd {
    #[serde(flatten)]
    pub meta: Meta,
    /// Among them `EtcdMembersAvailable` and `EtcdMembersDegraded`, whose messages name the members.
    pub conditions: Vec<Condition>,
    /// Node, current and target revision.
    pub nodes: Vec<(String, i64, i64)>,
}

impl Project for Etcd {
    type Object = openshift::Etcd<Whole>;

    fn project(object: &Self::Object) -> Option<Self> {
        let revisions = |node: &openshift::EtcdNode<Whole>| {
            let (current, target) = (node.current_revision.or_zero(), node.target_revision.or_zero());
            (read::short(&node.node_name), current, target)
        };
        Some(Self {
            meta: read::meta(&object.metadata)?,
            conditions: read::conditions(&object.status.conditions),
            nodes: read::list(&object.status.node_statuses, revisions),
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
    type Object = openshift::Infrastructure<Whole>;

    fn project(object: &Self::Object) -> Option<Self> {
        let (status, platform) = (&object.status, &object.status.platform_status);
        Some(Self {
            meta: read::meta(&object.metadata)?,
            infra_name: read::short(&status.infrastructure_name),
            platform: read::short(&platform.kind),
            api_url: read::text(&status.api_server, 500),
            api_internal_url: read::text(&status.api_internal, 500),
            control_plane_topology: read::short(&status.control_plane_topology),
            resource_group: read::short(&platform.azure.resource_group_name),
            network_resource_group: read::short(&platform.azure.network_resource_group_name),
            cloud: read::short(&platform.azure.cloud_name),
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
    type Object = openshift::Network<Whole>;

    fn project(object: &Self::Object) -> Option<Self> {
        let status = &object.status;
        Some(Self {
            meta: read::meta(&object.metadata)?,
            kind: read::short_text(object.kind()),
            mtu: status.mtu.0,
            cluster_networks: read::list(&status.cluster_network, |range| {
                (read::short(&range.cidr), range.host_prefix.or_zero())
            }),
            service_networks: read::short_texts(&status.service_network),
            migrating: status.migration.is_some(),
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
    type Object = openshift::Proxy<Whole>;

    fn project(object: &Self::Object) -> Option<Self> {
        let status = &object.status;
        let no_proxy = read::text(&status.no_proxy, 20_000);
        Some(Self {
            meta: read::meta(&object.metadata)?,
            http: without_user(&read::text(&status.http_proxy, 500)),
            https: without_user(&read::text(&status.https_proxy, 500)),
            no_proxy: no_proxy
                .split(',')
                .map(str::trim)
                .filter(|e| !e.is_empty())
                .map(str::to_owned)
                .collect(),
            trusted_ca: read::short(&object.spec.trusted_ca.name),
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
    type Object = openshift::IngressController<Whole>;

    fn project(object: &Self::Object) -> Option<Self> {
        let certificate = object.spec.default_certificate.as_ref();
        Some(Self {
            meta: read::meta(&object.metadata)?,
            domain: read::short_text(object.domain()),
            replicas: object.desired(),
            available: object.status.available_replicas.or_zero(),
            certificate: certificate.map(|secret| read::short(&secret.name)).unwrap_or_default(),
            scope: read::short_text(object.scope()),
            conditions: read::conditions(&object.status.conditions),
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
    /// Flags as the service and others set them.
    pub flags: BTreeMap<String, String>,
    /// Flags as the operator goes by them; empty: it does not report them.
    pub effective_flags: BTreeMap<String, String>,
    pub gateway_domains: Vec<String>,
}

impl Project for AroCluster {
    type Object = openshift::AroCluster<Whole>;

    fn project(object: &Self::Object) -> Option<Self> {
        let pairs = |flags: &Pairs<WholeText>| {
            read::map(flags.0.iter().flatten().map(|(name, value)| (name.as_str(), value.as_str())))
        };
        Some(Self {
            meta: read::meta(&object.metadata)?,
            operator_version: read::short(&object.status.operator_version),
            conditions: read::conditions(&object.status.conditions),
            flags: pairs(&object.spec.flags),
            effective_flags: pairs(&object.status.effective_flags),
            gateway_domains: read::short_texts(&object.spec.gateway_domains),
        })
    }

    fn key(&self) -> (&str, &str) {
        ("", &self.meta.name)
    }
}
