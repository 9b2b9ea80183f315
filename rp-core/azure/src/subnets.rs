//! Subnets and their network security groups (Microsoft.Network).

use async_trait::async_trait;
use serde::{Deserialize, Deserializer};

use crate::arm::{Arm, Call};
use crate::error::AzureError;

const API_VERSION: &str = "2024-05-01";

/// Reads subnets.
#[async_trait]
pub trait Subnets: Send + Sync + 'static {
    /// A subnet with its network security group and the group's rules.
    ///
    /// # Errors
    /// [`AzureError`].
    async fn subnet(&self, tenant: &str, id: &str) -> Result<Subnet, AzureError>;
}

/// A subnet. What Azure left out is empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Subnet {
    pub id: String,
    /// `addressPrefix` and `addressPrefixes`, each once, as they are written.
    pub prefixes: Vec<String>,
    pub security_group: Option<SecurityGroup>,
}

/// A network security group.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SecurityGroup {
    pub id: String,
    /// Its owner's rules; Azure's default ones are not among them.
    pub rules: Vec<SecurityRule>,
}

/// A rule; prefixes are addresses, networks, `*` or service tags.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SecurityRule {
    pub name: String,
    /// `Allow` or `Deny`.
    pub access: String,
    /// `Inbound` or `Outbound`.
    pub direction: String,
    /// 100 to 4096, lower first.
    pub priority: i64,
    /// `Tcp`, `Udp`, `Icmp`, `Esp`, `Ah` or `*`.
    pub protocol: String,
    pub sources: Vec<String>,
    pub destinations: Vec<String>,
    /// `80`, `80-90` or `*`.
    pub source_ports: Vec<String>,
    pub destination_ports: Vec<String>,
}

#[async_trait]
impl Subnets for Arm {
    async fn subnet(&self, tenant: &str, id: &str) -> Result<Subnet, AzureError> {
        let call = Call {
            client: "subnets",
            operation: "get",
            shown: "get subnet",
            tenant,
            id,
            api_version: API_VERSION,
            query: &[("$expand", "networkSecurityGroup")],
        };
        Ok(self.get::<Resource<WireSubnet>>(&call).await?.into_subnet(id))
    }
}

/// `null` is as good as absent: Azure writes both.
fn or_default<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

#[derive(Default, Deserialize)]
#[serde(default, bound = "P: Default + Deserialize<'de>")]
struct Resource<P> {
    #[serde(deserialize_with = "or_default")]
    id: String,
    #[serde(deserialize_with = "or_default")]
    name: String,
    #[serde(deserialize_with = "or_default")]
    properties: P,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireSubnet {
    #[serde(deserialize_with = "or_default")]
    address_prefix: String,
    #[serde(deserialize_with = "or_default")]
    address_prefixes: Vec<String>,
    network_security_group: Option<Resource<WireGroup>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireGroup {
    #[serde(deserialize_with = "or_default")]
    security_rules: Vec<Resource<WireRule>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireRule {
    #[serde(deserialize_with = "or_default")]
    access: String,
    #[serde(deserialize_with = "or_default")]
    direction: String,
    #[serde(deserialize_with = "or_default")]
    priority: i64,
    #[serde(deserialize_with = "or_default")]
    protocol: String,
    #[serde(deserialize_with = "or_default")]
    source_address_prefix: String,
    #[serde(deserialize_with = "or_default")]
    source_address_prefixes: Vec<String>,
    #[serde(deserialize_with = "or_default")]
    destination_address_prefix: String,
    #[serde(deserialize_with = "or_default")]
    destination_address_prefixes: Vec<String>,
    #[serde(deserialize_with = "or_default")]
    source_port_range: String,
    #[serde(deserialize_with = "or_default")]
    source_port_ranges: Vec<String>,
    #[serde(deserialize_with = "or_default")]
    destination_port_range: String,
    #[serde(deserialize_with = "or_default")]
    destination_port_ranges: Vec<String>,
}

/// One and many of the same, in order, each once.
fn both(one: String, many: Vec<String>) -> Vec<String> {
    let mut all: Vec<String> = Vec::with_capacity(many.len() + 1);
    for text in std::iter::once(one).chain(many).filter(|text| !text.is_empty()) {
        if !all.contains(&text) {
            all.push(text);
        }
    }
    all
}

impl Resource<WireSubnet> {
    fn into_subnet(self, asked: &str) -> Subnet {
        let of = self.properties;
        Subnet {
            id: if self.id.is_empty() { asked.to_owned() } else { self.id },
            prefixes: both(of.address_prefix, of.address_prefixes),
            security_group: of.network_security_group.map(|group| SecurityGroup {
                id: group.id,
                rules: group.properties.security_rules.into_iter().map(Resource::into_rule).collect(),
            }),
        }
    }
}

impl Resource<WireRule> {
    fn into_rule(self) -> SecurityRule {
        let of = self.properties;
        SecurityRule {
            name: self.name,
            access: of.access,
            direction: of.direction,
            priority: of.priority,
            protocol: of.protocol,
            sources: both(of.source_address_prefix, of.source_address_prefixes),
            destinations: both(of.destination_address_prefix, of.destination_address_prefixes),
            source_ports: both(of.source_port_range, of.source_port_ranges),
            destination_ports: both(of.destination_port_range, of.destination_port_ranges),
        }
    }
}
