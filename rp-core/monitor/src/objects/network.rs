//! The cluster's network and its proxy.

use serde::Deserialize;

use super::lenient::{Int, Text, list, object, texts};

/// `proxies.config.openshift.io/cluster`.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct Proxy {
    #[serde(deserialize_with = "object")]
    pub spec: ProxyHosts,
    #[serde(deserialize_with = "object")]
    pub status: ProxyHosts,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ProxyHosts {
    pub http_proxy: Text<2048>,
    pub https_proxy: Text<2048>,
    pub no_proxy: Text<65_536>,
}

/// `networks.config.openshift.io/cluster`.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct Network {
    #[serde(deserialize_with = "object")]
    pub spec: NetworkSpec,
    #[serde(deserialize_with = "object")]
    pub status: NetworkStatus,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct NetworkSpec {
    pub network_type: Text<128>,
    #[serde(deserialize_with = "list")]
    pub cluster_network: Vec<Cidr>,
    #[serde(deserialize_with = "texts")]
    pub service_network: Vec<Text<64>>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct Cidr {
    pub cidr: Text<64>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct NetworkStatus {
    #[serde(rename = "clusterNetworkMTU")]
    pub mtu: Int,
}

/// `dnses.operator.openshift.io/default`.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct Dns {
    #[serde(deserialize_with = "object")]
    pub spec: DnsSpec,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct DnsSpec {
    /// Only the number of servers is read.
    #[serde(deserialize_with = "list")]
    pub servers: Vec<Server>,
}

#[derive(Debug, Default, Clone, Deserialize)]
pub struct Server {}

/// `infrastructures.config.openshift.io/cluster`.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct Infrastructure {
    #[serde(deserialize_with = "object")]
    pub status: InfrastructureStatus,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct InfrastructureStatus {
    #[serde(rename = "apiServerInternalURI")]
    pub api_internal: Text<2048>,
}
