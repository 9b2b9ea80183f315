//! Profiles among a cluster's properties (`contract/api.md` §3).

use super::member::{Intent, Outcome, Shared};
use super::object::{object, optional_objects};
use super::shape::Instant;
use crate::Sealed;

object! {
    /// `properties.clusterProfile`.
    #[derive(Default)]
    pub struct ClusterProfile {
        /// Workload identity only.
        "boundServiceAccountSigningKey" => bound_service_account_signing_key: Outcome<Sealed>,
        /// A short name, or a whole domain.
        "domain" => domain: Intent<String>,
        /// The worker fills it in where older documents do not have it.
        "fipsValidatedModules" => fips_validated_modules: Shared<String>,
        /// Workload identity only.
        "oidcIssuer" => oidc_issuer: Outcome<String>,
        /// JSON text.
        "pullSecret" => pull_secret: Intent<Sealed>,
        /// The managed resource group, lower case.
        "resourceGroupId" => resource_group_id: Intent<String>,
        /// The version to install; the worker writes the actual version.
        "version" => version: Shared<String>,
    }
}

object! {
    /// `properties.consoleProfile`.
    #[derive(Default)]
    pub struct ConsoleProfile {
        "url" => url: Outcome<String>,
    }
}

object! {
    /// `properties.apiserverProfile`.
    #[derive(Default)]
    pub struct ApiServerProfile {
        /// The internal address.
        "intIp" => int_ip: Outcome<String>,
        "ip" => ip: Outcome<String>,
        "url" => url: Outcome<String>,
        /// `Public` or `Private`.
        "visibility" => visibility: Intent<String>,
    }
}

object! {
    /// `properties.featureProfile`.
    #[derive(Default)]
    pub struct FeatureProfile {
        /// Whether the cluster reaches the service through the gateway.
        "gatewayEnabled" => gateway_enabled: Intent<bool>,
    }
}

object! {
    /// `properties.hiveProfile`.
    #[derive(Default)]
    pub struct HiveProfile {
        "createdByHive" => created_by_hive: Outcome<bool>,
        "namespace" => namespace: Outcome<String>,
    }
}

object! {
    /// One of `properties.ingressProfiles`.
    #[derive(Default)]
    pub struct IngressProfile {
        "ip" => ip: Outcome<String>,
        "name" => name: Intent<String>,
        /// `Public` or `Private`.
        "visibility" => visibility: Intent<String>,
    }
}

object! {
    /// `properties.networkProfile`.
    #[derive(Default)]
    pub struct NetworkProfile {
        "gatewayPrivateEndpointIp" => gateway_private_endpoint_ip: Outcome<String>,
        "gatewayPrivateLinkId" => gateway_private_link_id: Outcome<String>,
        /// The worker fills it in where older documents do not have it.
        "loadBalancerProfile" => load_balancer_profile: Shared<LoadBalancerProfile>,
        "mtuSize" => mtu_size: Outcome<i64>,
        /// `Loadbalancer` or `UserDefinedRouting`. The worker fills it in where older documents do not have it.
        "outboundType" => outbound_type: Shared<String>,
        "podCidr" => pod_cidr: Intent<String>,
        /// `Enabled` or `Disabled`. The worker fills it in where older documents do not have it.
        "preconfiguredNSG" => preconfigured_nsg: Shared<String>,
        /// Our private endpoint of the API server; empty until it exists.
        "privateEndpointIp" => private_endpoint_ip: Outcome<String>,
        "serviceCidr" => service_cidr: Intent<String>,
        /// `OVNKubernetes` or `OpenShiftSDN`. The frontend sets it on create; the worker writes the actual type.
        "softwareDefinedNetwork" => software_defined_network: Shared<String>,
    }
}

object! {
    /// `properties.networkProfile.loadBalancerProfile`.
    #[derive(Default)]
    pub struct LoadBalancerProfile {
        "allocatedOutboundPorts" => allocated_outbound_ports: Intent<i64>,
        "effectiveOutboundIps" => effective_outbound_ips: Outcome<Vec<Outcome<EffectiveOutboundIp>>>,
        "managedOutboundIps" => managed_outbound_ips: Shared<ManagedOutboundIps>,
        "outboundIpPrefixes" => outbound_ip_prefixes: Intent<Vec<Intent<OutboundReference>>>,
        "outboundIps" => outbound_ips: Intent<Vec<Intent<OutboundReference>>>,
    }
}

object! {
    /// A public address in use.
    #[derive(Default)]
    pub struct EffectiveOutboundIp {
        "id" => id: Outcome<String>,
    }
}

object! {
    /// A public address or prefix of the customer's own.
    #[derive(Default)]
    pub struct OutboundReference {
        "id" => id: Intent<String>,
    }
}

object! {
    /// Public addresses that we manage.
    #[derive(Default)]
    pub struct ManagedOutboundIps {
        "count" => count: Shared<i64>,
    }
}

object! {
    /// `properties.masterProfile`.
    #[derive(Default)]
    pub struct MasterProfile {
        "diskEncryptionSetId" => disk_encryption_set_id: Intent<String>,
        /// `Enabled` or `Disabled`. The worker fills it in where older documents do not have it.
        "encryptionAtHost" => encryption_at_host: Shared<String>,
        "subnetId" => subnet_id: Intent<String>,
        "vmSize" => vm_size: Intent<String>,
    }
}

object! {
    /// One of `properties.workerProfiles`.
    #[derive(Default)]
    pub struct WorkerProfile {
        "count" => count: Intent<i64>,
        "diskEncryptionSetId" => disk_encryption_set_id: Intent<String>,
        "diskSizeGB" => disk_size_gb: Intent<i64>,
        /// `Enabled` or `Disabled`. The worker fills it in where older documents do not have it.
        "encryptionAtHost" => encryption_at_host: Shared<String>,
        "name" => name: Intent<String>,
        "subnetId" => subnet_id: Intent<String>,
        "vmSize" => vm_size: Intent<String>,
    }
}

object! {
    /// One of `properties.registryProfiles`: how the cluster pulls from a registry of ours.
    #[derive(Default)]
    pub struct RegistryProfile {
        "issueDate" => issue_date: Outcome<Instant>,
        "name" => name: Outcome<String>,
        "password" => password: Outcome<Sealed>,
        "username" => username: Outcome<String>,
    }
}

optional_objects!(
    ApiServerProfile,
    ClusterProfile,
    ConsoleProfile,
    EffectiveOutboundIp,
    FeatureProfile,
    HiveProfile,
    IngressProfile,
    LoadBalancerProfile,
    ManagedOutboundIps,
    MasterProfile,
    NetworkProfile,
    OutboundReference,
    RegistryProfile,
    WorkerProfile,
);
