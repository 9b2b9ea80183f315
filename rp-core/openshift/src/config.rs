//! Configuration objects of which a cluster has one: infrastructure, network, proxy, DNS, ingress, console, image
//! registry.

use serde::Deserialize;

use crate::lenient::{Given, Int, Length, Texts, member, object};
use crate::meta::{Meta, NameOnly};
use crate::reader::{Reader, TextValue as _, Whole};

/// `infrastructures.config.openshift.io/cluster`.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "")]
pub struct Infrastructure<R: Reader> {
    #[serde(deserialize_with = "object")]
    pub metadata: Meta<R>,
    #[serde(deserialize_with = "object")]
    pub status: InfrastructureStatus<R>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "", rename_all = "camelCase")]
pub struct InfrastructureStatus<R: Reader> {
    #[serde(deserialize_with = "member")]
    pub infrastructure_name: R::More<R::Text<253>>,
    #[serde(rename = "apiServerURL", deserialize_with = "member")]
    pub api_server: R::More<R::Text<2048>>,
    #[serde(rename = "apiServerInternalURI")]
    pub api_internal: R::Text<2048>,
    #[serde(deserialize_with = "member")]
    pub control_plane_topology: R::More<R::Text<64>>,
    #[serde(deserialize_with = "object")]
    pub platform_status: PlatformStatus<R>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "")]
pub struct PlatformStatus<R: Reader> {
    #[serde(rename = "type", deserialize_with = "member")]
    pub kind: R::More<R::Text<64>>,
    #[serde(deserialize_with = "object")]
    pub azure: AzurePlatform<R>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "", rename_all = "camelCase")]
pub struct AzurePlatform<R: Reader> {
    #[serde(deserialize_with = "member")]
    pub resource_group_name: R::More<R::Text<128>>,
    #[serde(deserialize_with = "member")]
    pub network_resource_group_name: R::More<R::Text<128>>,
    #[serde(deserialize_with = "member")]
    pub cloud_name: R::More<R::Text<64>>,
}

/// `networks.config.openshift.io/cluster`.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "")]
pub struct Network<R: Reader> {
    #[serde(deserialize_with = "object")]
    pub metadata: Meta<R>,
    #[serde(deserialize_with = "object")]
    pub spec: NetworkSpec<R>,
    #[serde(deserialize_with = "object")]
    pub status: NetworkStatus<R>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "", rename_all = "camelCase")]
pub struct NetworkSpec<R: Reader> {
    /// E.g. `OVNKubernetes`.
    pub network_type: R::Text<128>,
    #[serde(deserialize_with = "member")]
    pub cluster_network: Vec<Cidr<R>>,
    #[serde(deserialize_with = "member")]
    pub service_network: Texts<R::Text<64>>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "", rename_all = "camelCase")]
pub struct NetworkStatus<R: Reader> {
    #[serde(deserialize_with = "member")]
    pub network_type: R::More<Given<R::Text<128>>>,
    #[serde(deserialize_with = "member")]
    pub cluster_network: R::More<Vec<Cidr<R>>>,
    #[serde(deserialize_with = "member")]
    pub service_network: R::More<Texts<R::Text<64>>>,
    #[serde(rename = "clusterNetworkMTU")]
    pub mtu: Int,
    /// A migration of the network that is going on.
    #[serde(deserialize_with = "member")]
    pub migration: R::More<Option<Empty>>,
}

/// An object of which nothing is read.
#[derive(Debug, Default, Clone, Copy, Deserialize)]
pub struct Empty {}

/// A range of addresses for pods.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "", rename_all = "camelCase")]
pub struct Cidr<R: Reader> {
    pub cidr: R::Text<64>,
    pub host_prefix: Int,
}

impl Network<Whole> {
    /// The type that is in use, else the one that is wanted.
    pub fn kind(&self) -> &str {
        let used = self.status.network_type.0.as_ref().filter(|used| !used.is_empty());
        used.unwrap_or(&self.spec.network_type).as_str()
    }
}

/// `proxies.config.openshift.io/cluster`.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "")]
pub struct Proxy<R: Reader> {
    #[serde(deserialize_with = "object")]
    pub metadata: Meta<R>,
    #[serde(deserialize_with = "object")]
    pub spec: ProxyHosts<R>,
    #[serde(deserialize_with = "object")]
    pub status: ProxyHosts<R>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "", rename_all = "camelCase")]
pub struct ProxyHosts<R: Reader> {
    pub http_proxy: R::Text<2048>,
    pub https_proxy: R::Text<2048>,
    /// Separated by commas.
    pub no_proxy: R::Text<65_536>,
    /// Of the specification only.
    #[serde(rename = "trustedCA", deserialize_with = "object")]
    pub trusted_ca: NameOnly<R>,
}

impl<R: Reader> ProxyHosts<R> {
    /// Nothing is set.
    pub fn is_empty(&self) -> bool {
        self.http_proxy.is_empty() && self.https_proxy.is_empty() && self.no_proxy.is_empty()
    }
}

/// `dnses.operator.openshift.io/default`.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct Dns {
    #[serde(deserialize_with = "object")]
    pub spec: DnsSpec,
}

#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(default)]
pub struct DnsSpec {
    /// Only the number of servers is read.
    #[serde(deserialize_with = "member")]
    pub servers: Length,
}

/// `ingresses.config.openshift.io/cluster`.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "")]
pub struct Ingress<R: Reader> {
    #[serde(deserialize_with = "object")]
    pub spec: DomainSpec<R>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "")]
pub struct DomainSpec<R: Reader> {
    /// Applications are below it.
    pub domain: R::Text<253>,
}

/// `consoles.config.openshift.io/cluster`.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "")]
pub struct Console<R: Reader> {
    #[serde(deserialize_with = "object")]
    pub status: ConsoleStatus<R>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "")]
pub struct ConsoleStatus<R: Reader> {
    #[serde(rename = "consoleURL")]
    pub url: R::Text<2048>,
}

/// `configs.imageregistry.operator.openshift.io/cluster`.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "")]
pub struct ImageRegistry<R: Reader> {
    #[serde(deserialize_with = "object")]
    pub spec: ImageRegistrySpec<R>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "")]
pub struct ImageRegistrySpec<R: Reader> {
    #[serde(deserialize_with = "object")]
    pub storage: ImageStorage<R>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "")]
pub struct ImageStorage<R: Reader> {
    #[serde(deserialize_with = "object")]
    pub azure: StorageAccount<R>,
}

/// Where the images are.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "", rename_all = "camelCase")]
pub struct StorageAccount<R: Reader> {
    pub account_name: R::Text<64>,
}
