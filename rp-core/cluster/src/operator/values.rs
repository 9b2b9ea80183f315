//! What the operator of a cluster is deployed with, from the document and the environment (`contract/operator.md` §2.1,
//! §5.1, §5.4).

use std::collections::BTreeMap;

use rp_azure::{Cloud, Endpoints};
use rp_base::Secret;
use rp_documents::cluster::ClusterSecret;
use rp_openshift::pull_secret::RegistryCredentials;
use rp_openshift::{ClusterVersion, Whole};
use rp_operator_api::cluster::{API_VERSION, InternetChecker, KIND};
use rp_operator_api::deployment::{Identity, ManagedIdentity, PROGRAM, Settings, repository_of};
use rp_operator_api::{ClusterSpec, Flag, SINGLETON};
use serde_json::{Value, json};

use crate::conditions::CLUSTER_VERSION;
use crate::context::Context;
use crate::errors::StepError;
use crate::kube_api::Kube;

/// The platform identity of the operator.
const IDENTITY: &str = "aro-operator";
/// The first version of OpenShift whose pods are restricted.
const RESTRICTED: (u32, u32) = (4, 11);
/// Networks of the service (`contract/operator.md` §5.4).
const RP_SUBNET: (&str, &str) = ("rp-vnet", "rp-subnet");
const GATEWAY_SUBNET: (&str, &str) = ("gateway-vnet", "gateway-subnet");

/// Reference of the image. The settings name it, else it is that of our registry with the version of this software; the
/// version of the document takes the place of either's.
pub(super) fn image(context: &Context) -> String {
    let (document, env) = (context.document(), &context.env);
    let own = format!("{}/{PROGRAM}", env.registry_host);
    let named = env.operator.image.as_str();
    let repository = if named.is_empty() { &own } else { repository_of(named) };
    match &*document.properties.operator_version {
        "" if named.is_empty() => format!("{repository}:{}", env.commit),
        "" => named.to_owned(),
        digest if digest.starts_with("sha256:") => format!("{repository}@{digest}"),
        version => format!("{repository}:{version}"),
    }
}

/// What differs between clusters in the objects of the deployment.
///
/// # Errors
/// The platform identity is missing; the version of the cluster is not known; a secret cannot be opened.
pub(super) async fn settings(context: &Context, kube: &Kube) -> Result<Settings, StepError> {
    Ok(Settings {
        image: image(context),
        identity: identity(context)?,
        development: context.env.features.development,
        restricted: cluster_version(kube).await? >= RESTRICTED,
        pull_secret: pull_secret(context)?,
    })
}

fn identity(context: &Context) -> Result<Identity, StepError> {
    let document = context.document();
    if !document.is_workload_identity() {
        return Ok(Identity::ServicePrincipal);
    }
    let identities = &*document.properties.platform_workload_identity_profile.platform_workload_identities;
    let client_id = identities.get(IDENTITY).and_then(|identity| identity.client_id.get());
    let client_id =
        client_id.ok_or_else(|| StepError::other(format!("operator identity {IDENTITY} not found")))?;
    Ok(Identity::Managed(ManagedIdentity {
        client_id: client_id.clone(),
        tenant_id: context.tenant(),
        region: document.location.to_string(),
        subscription_id: document.subscription_id().to_owned(),
    }))
}

/// Major and minor: of the newest complete version, else of the newest entry of the history.
async fn cluster_version(kube: &Kube) -> Result<(u32, u32), StepError> {
    let found: ClusterVersion<Whole> = kube.get_required(CLUSTER_VERSION).await?;
    let newest = found.status.history.first().map(|entry| entry.version.as_str());
    let version = found.current().or(newest).unwrap_or_default();
    let mut parts = version.split('.').map(str::parse);
    match (parts.next(), parts.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => Ok((major, minor)),
        _ => Err(StepError::other("unknown cluster version")),
    }
}

/// The service's registries, and those of the document's registry profiles.
///
/// # Errors
/// A password cannot be opened.
pub(super) fn pull_secret(context: &Context) -> Result<Secret<String>, StepError> {
    let mut all = context.env.operator.pull_secret.clone();
    for (at, profile) in context.document().properties.registry_profiles.iter().enumerate() {
        if let Some(password) = context.secret(ClusterSecret::RegistryPassword(at))? {
            let user = profile.username.to_string();
            all.set(&profile.name, &RegistryCredentials { user, password });
        }
    }
    Ok(all.to_json())
}

/// The `Cluster`, with the members that the service writes: no banner, which administrators set, and no annotations.
///
/// # Errors
/// `no Ingress Profiles found`, `ingress IP is empty`.
pub(super) fn cluster_object(context: &Context) -> Result<Value, StepError> {
    let mut spec = serde_json::to_value(spec(context)?)
        .map_err(|error| StepError::other(format!("the Cluster object: {error}")))?;
    if let Some(members) = spec.as_object_mut() {
        members.remove("banner");
    }
    Ok(json!({"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": SINGLETON}, "spec": spec}))
}

fn spec(context: &Context) -> Result<ClusterSpec, StepError> {
    let (document, env) = (context.document(), &context.env);
    let properties = &document.properties;
    let gateway_ip = &*properties.network_profile.gateway_private_endpoint_ip;
    let telemetry = format!("telemetry.{}.{}", env.region, env.operator.parent_domain).to_ascii_lowercase();
    Ok(ClusterSpec {
        resource_id: document.cluster_id().to_owned(),
        cluster_resource_group_id: document.group_id().to_owned(),
        domain: document.domain(&env.domain),
        acr_domain: env.registry_host.clone(),
        az_environment: cloud_name(env.operator.cloud).to_owned(),
        location: env.region.clone(),
        infra_id: document.infra_id().to_owned(),
        storage_suffix: document.storage_suffix().to_owned(),
        architecture_version: document.architecture(),
        internet_checker: InternetChecker { urls: checked_urls(context) },
        vnet_id: vnet_of(document.master_subnet()).to_owned(),
        api_int_ip: properties.apiserver_profile.int_ip.to_string(),
        ingress_ip: ingress_ip(context)?,
        gateway_domains: gateway_domains(context),
        gateway_telemetry_domain: if gateway_ip.is_empty() { String::new() } else { telemetry },
        gateway_private_endpoint_ip: gateway_ip.to_owned(),
        service_subnets: service_subnets(context),
        operator_flags: flags(context),
        ..ClusterSpec::default()
    })
}

const fn cloud_name(cloud: Cloud) -> &'static str {
    match cloud {
        Cloud::Public => "AzurePublicCloud",
        Cloud::UsGovernment => "AzureUSGovernmentCloud",
    }
}

/// What must be reachable from a cluster: the registry, the issuer of tokens, the resource manager, telemetry.
fn checked_urls(context: &Context) -> Vec<String> {
    let cloud = context.env.operator.cloud;
    let geneva = match cloud {
        Cloud::Public => "https://gcs.prod.monitoring.core.windows.net/",
        Cloud::UsGovernment => "https://gcs.monitoring.core.usgovcloudapi.net/",
    };
    let mut urls = vec![format!("https://{}/", context.env.registry_host)];
    if let Some(endpoints) = Endpoints::for_cloud(cloud) {
        urls.extend([endpoints.authority.to_string(), endpoints.resource_manager.to_string()]);
    }
    urls.push(geneva.to_owned());
    urls
}

fn vnet_of(subnet: &str) -> &str {
    subnet.rsplit_once("/subnets/").map_or(subnet, |(vnet, _)| vnet)
}

/// The address of the ingress profile `default`, or of the only one.
fn ingress_ip(context: &Context) -> Result<String, StepError> {
    let document = context.document();
    let all = &*document.properties.ingress_profiles;
    let only = || all.first().filter(|_| all.len() == 1);
    let found = all.iter().find(|profile| &*profile.name == "default").or_else(only);
    match found.map(|profile| &*profile.ip) {
        None => Err(StepError::other("no Ingress Profiles found")),
        Some("") => Err(StepError::other("ingress IP is empty")),
        Some(ip) => Ok(ip.to_owned()),
    }
}

/// What the cluster reaches through the gateway; empty without one.
fn gateway_domains(context: &Context) -> Vec<String> {
    let document = context.document();
    if !document.is_gateway_enabled() {
        return Vec::new();
    }
    let storage = match context.env.operator.cloud {
        Cloud::Public => "core.windows.net",
        Cloud::UsGovernment => "core.usgovcloudapi.net",
    };
    let mut domains = context.env.operator.gateway_domains.clone();
    let account = &*document.properties.image_registry_storage_account_name;
    if !account.is_empty() {
        domains.push(format!("{account}.blob.{storage}"));
    }
    domains
}

/// Subnets of the service from which the cluster's storage accounts are reached.
fn service_subnets(context: &Context) -> Vec<String> {
    let env = &context.env;
    let subnet = |group: &str, (vnet, subnet): (&str, &str)| {
        format!(
            "/subscriptions/{}/resourceGroups/{group}/providers/Microsoft.Network/virtualNetworks/{vnet}/subnets/{subnet}",
            env.rp_subscription
        )
    };
    let mut subnets = vec![
        subnet(&env.rp_group, (&env.endpoint_vnet, &env.endpoint_subnet)),
        subnet(&env.rp_group, RP_SUBNET),
    ];
    if context.document().is_gateway_enabled() {
        subnets.push(subnet(&env.gateway_group, GATEWAY_SUBNET));
    }
    subnets
}

/// The document's flags as they are: defaults that are newer than the document are resolved by the operator.
fn flags(context: &Context) -> BTreeMap<String, String> {
    let document = context.document();
    let pair = |(name, value): (&String, &rp_documents::cluster::Shared<String>)| {
        Some((name.clone(), value.get()?.clone()))
    };
    let mut flags: BTreeMap<String, String> =
        document.properties.operator_flags.iter().filter_map(pair).collect();
    let environment = &context.env.operator.environment;
    if !environment.is_empty() {
        flags.entry(Flag::Environment.name().to_owned()).or_insert_with(|| environment.clone());
    }
    flags
}
