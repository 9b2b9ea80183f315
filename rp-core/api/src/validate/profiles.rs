//! The cluster as a whole, the console, the control plane, the API server.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde_json::Value;

use super::{ValidationContext, ValidationResult, switch};
use crate::error::CloudError;
use crate::text;
use crate::view::Cluster;
use crate::vm_sizes::{self, Role};

pub(super) fn cluster(context: &ValidationContext<'_>, cluster: &Cluster, new: bool) -> ValidationResult {
    let profile = &cluster.properties.cluster_profile;
    if !profile.pull_secret.is_empty() && !is_pull_secret(&profile.pull_secret) {
        let target = "properties.clusterProfile.pullSecret";
        return Err(CloudError::invalid(target, "The provided pull secret is invalid."));
    }
    if !text::is_domain(&profile.domain, new) || !is_our_domain(&profile.domain, context.domain) {
        let message = format!("The provided domain '{}' is invalid.", profile.domain);
        return Err(CloudError::invalid("properties.clusterProfile.domain", message));
    }
    resource_group(context, &profile.resource_group_id)?;
    let fips = "properties.clusterProfile.fipsValidatedModules";
    switch(context, fips, fips, &profile.fips_validated_modules)
}

/// `{"auths": {string: object}}`.
fn is_pull_secret(text: &str) -> bool {
    #[derive(serde::Deserialize)]
    struct PullSecret {
        #[serde(default)]
        auths: Option<BTreeMap<String, serde_json::Map<String, Value>>>,
    }
    serde_json::from_str::<PullSecret>(text).is_ok_and(|secret| secret.auths.is_some())
}

/// A domain below ours has one label of its own, and is of this region.
fn is_our_domain(domain: &str, ours: &str) -> bool {
    let parent = ours.split_once('.').map_or("", |(_, parent)| parent);
    let below = |domain: &str, parent: &str| {
        domain.strip_suffix(parent).and_then(|rest| rest.strip_suffix('.')).map(str::to_owned)
    };
    match below(domain, ours) {
        Some(own) => !own.contains('.'),
        None => parent.is_empty() || below(domain, parent).is_none(),
    }
}

fn resource_group(context: &ValidationContext<'_>, id: &str) -> ValidationResult {
    let target = "properties.clusterProfile.resourceGroupId";
    let refuse = |why: &str| {
        Err(CloudError::invalid(target, format!("The provided resource group '{id}' is invalid{why}.")))
    };
    let Some(parts) = text::resource_group(id) else { return refuse("") };
    if !parts.subscription.eq_ignore_ascii_case(context.subscription) {
        return refuse(": must be in same subscription as cluster");
    }
    if parts.group.eq_ignore_ascii_case(context.group) {
        return refuse(": must be different from resourceGroup of the OpenShift cluster object");
    }
    Ok(())
}

pub(super) fn console(cluster: &Cluster) -> ValidationResult {
    let url = &cluster.properties.console_profile.url;
    if url.is_empty() || text::is_url(url) {
        return Ok(());
    }
    let message = format!("The provided console URL '{url}' is invalid.");
    Err(CloudError::invalid("properties.consoleProfile.url", message))
}

pub(super) fn master(context: &ValidationContext<'_>, cluster: &Cluster) -> ValidationResult {
    let master = &cluster.properties.master_profile;
    let path = |member: &str| format!("properties.masterProfile.{member}");
    let size = &master.vm_size;
    if vm_sizes::find(size, Role::Master).is_none() {
        let message = format!("The provided VM size '{size}' is invalid for the 'master' role.");
        return Err(CloudError::invalid(&path("vmSize"), message));
    }
    if !vm_sizes::supports_version(size, &cluster.properties.cluster_profile.version) {
        let message =
            format!("The provided master VM size '{size}' is invalid for the chosen OpenShift version.");
        return Err(CloudError::invalid(&path("vmSize"), message));
    }
    let refuse = |member: &str, what: &str, id: &str, why: &str| {
        Err(CloudError::invalid(&path(member), format!("The provided master {what} '{id}' is invalid{why}.")))
    };
    let same =
        |parts: text::ResourceIdParts<'_>| parts.subscription.eq_ignore_ascii_case(context.subscription);
    match text::subnet(&master.subnet_id) {
        None => return refuse("subnetId", "VM subnet", &master.subnet_id, ""),
        Some((parts, _)) if !same(parts) => {
            return refuse("subnetId", "VM subnet", &master.subnet_id, ELSEWHERE);
        }
        Some(_) => {}
    }
    let encryption = path("encryptionAtHost");
    switch(context, &encryption, &encryption, &master.encryption_at_host)?;
    let set = &master.disk_encryption_set_id;
    match text::disk_encryption_set(set) {
        _ if set.is_empty() => Ok(()),
        None => refuse("diskEncryptionSetId", "disk encryption set", set, ""),
        Some(parts) if !same(parts) => refuse("diskEncryptionSetId", "disk encryption set", set, ELSEWHERE),
        Some(_) => Ok(()),
    }
}

const ELSEWHERE: &str = ": must be in same subscription as cluster";

pub(super) fn api_server(cluster: &Cluster) -> ValidationResult {
    let profile = &cluster.properties.apiserver_profile;
    visibility("properties.apiserverProfile.visibility", &profile.visibility)?;
    if !profile.url.is_empty() && !text::is_url(&profile.url) {
        let message = format!("The provided URL '{}' is invalid.", profile.url);
        return Err(CloudError::invalid("properties.apiserverProfile.url", message));
    }
    ip("properties.apiserverProfile.ip", &profile.ip)
}

pub(super) fn visibility(target: &str, value: &str) -> ValidationResult {
    if matches!(value, "Public" | "Private") {
        return Ok(());
    }
    Err(CloudError::invalid(target, format!("The provided visibility '{value}' is invalid.")))
}

pub(super) fn ip(target: &str, value: &str) -> ValidationResult {
    match text::address(value) {
        _ if value.is_empty() => Ok(()),
        None => Err(CloudError::invalid(target, format!("The provided IP '{value}' is invalid."))),
        Some(IpAddr::V6(_)) => {
            Err(CloudError::invalid(target, format!("The provided IP '{value}' is invalid: must be IPv4.")))
        }
        Some(IpAddr::V4(_)) => Ok(()),
    }
}
