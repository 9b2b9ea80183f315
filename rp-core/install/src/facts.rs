//! What an installation is made from: the cluster's document with its secrets open, the version, the sizes of machines
//! and the region, checked and in one form.

use std::net::Ipv4Addr;

use rp_base::Secret;
use rp_documents::cluster::{OpenShiftCluster, WorkerProfile};
use rp_documents::offer::OpenShiftVersionProperties;
use rp_node_config::names::{DomainName, Gateway, NodeNames};
use rp_openshift::pull_secret::{PullSecret, RegistryCredentials, TELEMETRY};

use crate::image::{self, OsImage};
use crate::{InputError, ssh_key, zones};

/// The MTU of a network that has no larger one.
const USUAL_MTU: i64 = 1500;

/// Secrets of the document, open.
#[derive(Debug, Clone)]
pub struct OpenSecrets {
    /// Private RSA key, PKCS#1 DER.
    pub ssh_key: Secret<Vec<u8>>,
    /// JSON; `None`: the customer gave none.
    pub pull_secret: Option<Secret<String>>,
    /// Of our registries, in the order of the document's registry profiles.
    pub registries: Vec<(String, RegistryCredentials)>,
}

/// What the region says.
#[derive(Debug, Clone)]
pub struct RegionFacts {
    /// `AzurePublicCloud` or `AzureUSGovernmentCloud`.
    pub cloud: String,
    /// End of the domains that the service manages.
    pub domain: String,
    /// `arosvc.azurecr.io`.
    pub acr_domain: String,
    /// The service's own pull secret, JSON.
    pub pull_secret: Secret<String>,
    /// Domains that the gateway serves to every cluster.
    pub gateway_domains: Vec<String>,
    /// End of the names of storage accounts: `core.windows.net`.
    pub storage_domain: String,
    /// Zones other than 1, 2 and 3 are used too.
    pub expanded_zones: bool,
}

/// What Azure says of a size of virtual machines.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SizeFacts {
    pub zones: Vec<String>,
    pub accelerated_networking: bool,
    /// Capability `HyperVGenerations`.
    pub generations: Option<String>,
}

/// A subnet by its names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subnet {
    pub resource_group: String,
    pub network: String,
    pub name: String,
}

/// A disk encryption set by its names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncryptionSet {
    pub subscription: String,
    pub resource_group: String,
    pub name: String,
}

/// Machines of one kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machines {
    pub name: String,
    pub count: i64,
    pub size: String,
    /// GB.
    pub disk: i64,
    pub subnet: Subnet,
    pub disk_encryption_set: Option<EncryptionSet>,
    pub encryption_at_host: bool,
    pub zones: Vec<String>,
    pub accelerated_networking: bool,
}

/// All inputs of one installation.
#[derive(Debug, Clone)]
pub struct InstallFacts {
    /// First label of the domain.
    pub name: String,
    /// The rest of it.
    pub base_domain: String,
    pub names: NodeNames,
    pub infra_id: String,
    pub location: String,
    pub cloud: String,
    /// Name of the managed resource group.
    pub resource_group: String,
    pub masters: Machines,
    pub workers: Machines,
    pub image: OsImage,
    pub pod_cidr: String,
    pub service_cidr: String,
    /// `OVNKubernetes` or `OpenShiftSDN`.
    pub network_type: String,
    /// Machines reach the outside through the public load balancer.
    pub outbound_balanced: bool,
    pub ingress_public: bool,
    pub fips: bool,
    pub workload_identity: bool,
    /// Whether the customer gave a pull secret.
    pub has_pull_secret: bool,
    pub acr_domain: String,
    /// `ssh-rsa BASE64`.
    pub ssh_key: String,
    pub pull_secret: PullSecret,
    /// Account of the image registry.
    pub registry_account: String,
    /// Other than the usual 1500.
    pub large_mtu: bool,
    /// Issuer of the tokens of service accounts; workload identity only.
    pub oidc_issuer: Option<String>,
}

impl InstallFacts {
    /// Checks and gathers.
    ///
    /// # Errors
    /// [`InputError`] names the member that is missing or wrong.
    pub fn new(
        cluster: &OpenShiftCluster,
        secrets: &OpenSecrets,
        version: &OpenShiftVersionProperties,
        region: &RegionFacts,
        sizes: impl Fn(&str) -> Option<SizeFacts>,
    ) -> Result<Self, InputError> {
        let properties = &cluster.properties;
        let profile = &properties.cluster_profile;
        let network = &properties.network_profile;
        let location = cluster.location.to_ascii_lowercase();
        let worker = properties.worker_profiles.first().ok_or(missing("properties.workerProfiles"))?;
        let size = |name: &str| {
            sizes(name).ok_or(InputError::Malformed {
                field: "vmSize",
                expected: "a size that the region offers (sku information not found for vm size)",
            })
        };
        let (master_size, worker_size) = (size(&properties.master_profile.vm_size)?, size(&worker.vm_size)?);
        let generation = |size: &SizeFacts| image::generation(size.generations.as_deref());
        let image =
            OsImage::of_version(version)?.for_generations(generation(&master_size), generation(&worker_size));
        let names = node_names(cluster, region)?;
        let (name, base_domain) = split_domain(&names.domain)?;
        Ok(Self {
            name,
            base_domain,
            names,
            infra_id: required("properties.infraId", &properties.infra_id)?,
            masters: masters(cluster, &master_size, &location, region.expanded_zones)?,
            workers: workers(worker, &worker_size, &location, region.expanded_zones)?,
            location,
            cloud: region.cloud.clone(),
            resource_group: last_part(
                "properties.clusterProfile.resourceGroupId",
                &profile.resource_group_id,
            )?,
            image,
            pod_cidr: cidr("properties.networkProfile.podCidr", &network.pod_cidr)?,
            service_cidr: cidr("properties.networkProfile.serviceCidr", &network.service_cidr)?,
            network_type: match &*network.software_defined_network {
                "" => "OVNKubernetes".to_owned(),
                kind => kind.to_owned(),
            },
            outbound_balanced: &*network.outbound_type != "UserDefinedRouting",
            ingress_public: properties
                .ingress_profiles
                .first()
                .is_some_and(|ingress| &*ingress.visibility == "Public"),
            fips: &*profile.fips_validated_modules == "Enabled",
            workload_identity: properties.is_workload_identity(),
            has_pull_secret: secrets.pull_secret.is_some(),
            acr_domain: DomainName::parse(&region.acr_domain)
                .map_err(|error| InputError::Name { field: "the registry's domain", error })?
                .to_string(),
            ssh_key: ssh_key::authorized_key(secrets.ssh_key.expose())?,
            pull_secret: pull_secret(secrets, region)?,
            registry_account: required(
                "properties.imageRegistryStorageAccountName",
                &properties.image_registry_storage_account_name,
            )?,
            large_mtu: *network.mtu_size > USUAL_MTU,
            oidc_issuer: Some(String::from(&*profile.oidc_issuer)).filter(|issuer| !issuer.is_empty()),
        })
    }
}

const fn missing(field: &'static str) -> InputError {
    InputError::Missing { field }
}

fn required(field: &'static str, text: &str) -> Result<String, InputError> {
    if text.is_empty() { Err(missing(field)) } else { Ok(text.to_owned()) }
}

/// The last part of a path; resource groups and accounts are made of letters, digits and `-_.()`.
fn last_part(field: &'static str, path: &str) -> Result<String, InputError> {
    let part = path.rsplit('/').next().unwrap_or_default();
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '(' | ')');
    if part.is_empty() {
        return Err(missing(field));
    }
    match part.chars().all(plain) {
        true => Ok(part.to_owned()),
        false => Err(InputError::Malformed { field, expected: "a resource id" }),
    }
}

/// An IPv4 network in CIDR notation.
fn cidr(field: &'static str, text: &str) -> Result<String, InputError> {
    let wrong = InputError::Malformed { field, expected: "an IPv4 network such as 10.128.0.0/14" };
    let Some((address, length)) = text.split_once('/') else { return Err(wrong) };
    match (address.parse::<Ipv4Addr>(), length.parse::<u8>()) {
        (Ok(_), Ok(0..=32)) => Ok(text.to_owned()),
        _ => Err(wrong),
    }
}

fn address(field: &'static str, text: &str) -> Result<Ipv4Addr, InputError> {
    let text = if text.is_empty() { return Err(missing(field)) } else { text };
    text.parse().map_err(|_| InputError::Malformed { field, expected: "an IPv4 address" })
}

/// First label and the rest (`contract/installer.md` §2).
fn split_domain(domain: &DomainName) -> Result<(String, String), InputError> {
    let field = "properties.clusterProfile.domain";
    let (name, base) = domain
        .as_str()
        .split_once('.')
        .ok_or(InputError::Malformed { field, expected: "a domain of two labels or more" })?;
    Ok((name.to_owned(), base.to_owned()))
}

fn node_names(cluster: &OpenShiftCluster, region: &RegionFacts) -> Result<NodeNames, InputError> {
    let properties = &cluster.properties;
    let field = "properties.clusterProfile.domain";
    let domain = &*properties.cluster_profile.domain;
    let whole = match domain.contains('.') {
        true => domain.to_owned(),
        false => format!("{domain}.{}", region.domain),
    };
    let ingress = properties.ingress_profiles.first().ok_or(missing("properties.ingressProfiles"))?;
    Ok(NodeNames {
        domain: DomainName::parse(&whole).map_err(|error| InputError::Name { field, error })?,
        api_int: address("properties.apiserverProfile.intIp", &properties.apiserver_profile.int_ip)?,
        ingress: address("properties.ingressProfiles[0].ip", &ingress.ip)?,
        gateway: gateway(cluster, region)?,
    })
}

/// The gateway that the cluster has a private endpoint to, and what it serves (`contract/installer.md` §8.1).
fn gateway(cluster: &OpenShiftCluster, region: &RegionFacts) -> Result<Option<Gateway>, InputError> {
    let properties = &cluster.properties;
    let endpoint = &*properties.network_profile.gateway_private_endpoint_ip;
    if endpoint.is_empty() {
        return Ok(None);
    }
    let account = &*properties.image_registry_storage_account_name;
    let own = (!account.is_empty()).then(|| format!("{account}.blob.{}", region.storage_domain));
    let domains = region.gateway_domains.iter().chain(&own).map(|text| {
        DomainName::parse(text).map_err(|error| InputError::Name { field: "a domain of the gateway", error })
    });
    Ok(Some(Gateway {
        address: address("properties.networkProfile.gatewayPrivateEndpointIp", endpoint)?,
        domains: domains.collect::<Result<_, _>>()?,
    }))
}

fn subnet(field: &'static str, id: &str) -> Result<Subnet, InputError> {
    let parts: Vec<_> = id.split('/').collect();
    match parts[..] {
        ["", subscriptions, _, groups, group, _, _, networks, network, subnets, name]
            if subscriptions.eq_ignore_ascii_case("subscriptions")
                && groups.eq_ignore_ascii_case("resourceGroups")
                && networks.eq_ignore_ascii_case("virtualNetworks")
                && subnets.eq_ignore_ascii_case("subnets") =>
        {
            Ok(Subnet {
                resource_group: last_part(field, group)?,
                network: last_part(field, network)?,
                name: last_part(field, name)?,
            })
        }
        _ if id.is_empty() => Err(missing(field)),
        _ => Err(InputError::Malformed { field, expected: "the resource id of a subnet" }),
    }
}

fn encryption_set(field: &'static str, id: &str) -> Result<Option<EncryptionSet>, InputError> {
    let parts: Vec<_> = id.split('/').collect();
    match parts[..] {
        [""] => Ok(None),
        ["", subscriptions, subscription, groups, group, _, _, sets, name]
            if subscriptions.eq_ignore_ascii_case("subscriptions")
                && groups.eq_ignore_ascii_case("resourceGroups")
                && sets.eq_ignore_ascii_case("diskEncryptionSets") =>
        {
            Ok(Some(EncryptionSet {
                subscription: last_part(field, subscription)?,
                resource_group: last_part(field, group)?,
                name: last_part(field, name)?,
            }))
        }
        _ => Err(InputError::Malformed { field, expected: "the resource id of a disk encryption set" }),
    }
}

fn masters(
    cluster: &OpenShiftCluster,
    size: &SizeFacts,
    location: &str,
    expanded: bool,
) -> Result<Machines, InputError> {
    let profile = &cluster.properties.master_profile;
    Ok(Machines {
        name: "master".to_owned(),
        count: 3,
        size: String::from(&*profile.vm_size),
        disk: 1024,
        subnet: subnet("properties.masterProfile.subnetId", &profile.subnet_id)?,
        disk_encryption_set: encryption_set(
            "properties.masterProfile.diskEncryptionSetId",
            &profile.disk_encryption_set_id,
        )?,
        encryption_at_host: &*profile.encryption_at_host == "Enabled",
        zones: zones::control_plane(&zones::available(location, &size.zones, expanded))?,
        accelerated_networking: size.accelerated_networking,
    })
}

fn workers(
    profile: &WorkerProfile,
    size: &SizeFacts,
    location: &str,
    expanded: bool,
) -> Result<Machines, InputError> {
    Ok(Machines {
        name: required("properties.workerProfiles[0].name", &profile.name)?,
        count: *profile.count,
        size: String::from(&*profile.vm_size),
        disk: *profile.disk_size_gb,
        subnet: subnet("properties.workerProfiles[0].subnetId", &profile.subnet_id)?,
        disk_encryption_set: encryption_set(
            "properties.workerProfiles[0].diskEncryptionSetId",
            &profile.disk_encryption_set_id,
        )?,
        encryption_at_host: &*profile.encryption_at_host == "Enabled",
        zones: zones::workers(&zones::available(location, &size.zones, expanded))?,
        accelerated_networking: size.accelerated_networking,
    })
}

/// The service's, the customer's over it, our registries over both, and no telemetry (`contract/installer.md` §5).
fn pull_secret(secrets: &OpenSecrets, region: &RegionFacts) -> Result<PullSecret, InputError> {
    let mut all = PullSecret::parse(region.pull_secret.expose())?;
    if let Some(customer) = &secrets.pull_secret {
        all = all.merged(PullSecret::parse(customer.expose())?);
    }
    for (registry, credentials) in &secrets.registries {
        all.set(registry, credentials);
    }
    all.remove(TELEMETRY);
    Ok(all)
}
