//! Addresses of API server and router, and their public names (`contract/cluster.md` §6.8).

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use ipnet::Ipv4Net;
use rp_api::CloudError;
use rp_documents::OpenShiftCluster;
use rp_documents::cluster::Worker;
use serde_json::Value;

use super::azure::{items, must_get, named};
use super::dns;
use crate::context::Context;
use crate::errors::StepError;
use crate::templates::{addresses, balancers, versions};

/// Addresses at the beginning of a subnet that Azure keeps.
const RESERVED: u32 = 4;

/// Reads the API server's addresses from what was deployed, and names them.
pub(crate) async fn update_api_ip_early(context: &Context) -> Result<(), StepError> {
    let document = context.document();
    let client = context.customer();
    let balancer = must_get(&client, &balancers::internal_id(&document), versions::NETWORK).await?;
    let internal = first_address(&balancer)?;
    let address = match document.is_api_public() {
        true => public_address(context, &addresses::api_name(&document)).await?,
        false => internal.clone(),
    };
    dns::update_api(context, &address).await?;
    let change = move |cluster: &mut OpenShiftCluster, by: Worker| {
        let profile = &mut cluster.properties.apiserver_profile;
        profile.int_ip.set(by, internal.as_str());
        profile.ip.set(by, address.as_str());
    };
    context.patch(change).await.map(|_| ())
}

/// The internal address, where the document does not have it yet.
pub(crate) async fn populate_database_int_ip(context: &Context) -> Result<(), StepError> {
    let document = context.document();
    if !document.properties.apiserver_profile.int_ip.is_empty() {
        return Ok(());
    }
    let balancer =
        must_get(&context.customer(), &balancers::internal_id(&document), versions::NETWORK).await?;
    let address = first_address(&balancer)?;
    let change = move |cluster: &mut OpenShiftCluster, by: Worker| {
        cluster.properties.apiserver_profile.int_ip.set(by, address.as_str());
    };
    context.patch(change).await.map(|_| ())
}

/// Address of the internal frontend, else of the first one.
fn first_address(balancer: &Value) -> Result<String, StepError> {
    let frontends = items(&balancer["properties"], "frontendIPConfigurations");
    let frontend = named(frontends, balancers::INTERNAL_FRONTEND).or_else(|| frontends.first());
    let address = frontend.and_then(|frontend| frontend["properties"]["privateIPAddress"].as_str());
    match address {
        Some(address) if !address.is_empty() => Ok(address.to_owned()),
        _ => Err(StepError::other("the internal load balancer has no address")),
    }
}

async fn public_address(context: &Context, name: &str) -> Result<String, StepError> {
    let id = addresses::address_id(&context.document(), name);
    let body = must_get(&context.customer(), &id, versions::NETWORK).await?;
    match body["properties"]["ipAddress"].as_str() {
        Some(address) if !address.is_empty() => Ok(address.to_owned()),
        _ => Err(StepError::other(format!("the public address {name} has no address yet"))),
    }
}

/// The router's address: the public one that was deployed, or one that will be free in the workers' subnet.
pub(crate) async fn create_or_update_router_ip_early(context: &Context) -> Result<(), StepError> {
    let document = context.document();
    let known = document.ingress_ip().to_owned();
    let address = match document.is_ingress_public() {
        true => public_address(context, &addresses::router_name(&document)).await?,
        // Chosen by an earlier run: names and the installer's manifests may have it already.
        false if !known.is_empty() => known.clone(),
        false => highest_free(context).await?,
    };
    dns::update_apps(context, &address).await?;
    if address != known {
        set_ingress_ip(context, &address).await?;
    }
    Ok(())
}

/// Writes the address of the default ingress.
pub(crate) async fn set_ingress_ip(context: &Context, address: &str) -> Result<(), StepError> {
    let address = address.to_owned();
    let change = move |cluster: &mut OpenShiftCluster, by: Worker| {
        if let Some(ingress) = cluster.properties.ingress_profiles.elements_mut().first_mut() {
            ingress.ip.set(by, address.as_str());
        }
    };
    context.patch(change).await.map(|_| ())
}

async fn highest_free(context: &Context) -> Result<String, StepError> {
    let document = context.document();
    let subnets = document.worker_subnets();
    let subnet = subnets.first().copied().unwrap_or_default();
    let body = must_get(&context.customer(), subnet, versions::NETWORK).await?;
    let address = highest_free_of(&body).ok_or_else(|| {
        let message = format!("The subnet '{subnet}' has no remaining IP addresses.");
        CloudError::bad("InvalidLinkedVNet", "", message)
    })?;
    Ok(address.to_string())
}

/// The highest address of a subnet's first range that nobody has: Azure itself gives from the bottom.
pub(crate) fn highest_free_of(subnet: &Value) -> Option<Ipv4Addr> {
    let of = &subnet["properties"];
    let prefix = of["addressPrefix"].as_str().or_else(|| of["addressPrefixes"][0].as_str())?;
    let range: Ipv4Net = prefix.parse().ok()?;
    let taken = items(of, "ipConfigurations").iter();
    let taken: BTreeSet<Ipv4Addr> = taken
        .filter_map(|configuration| configuration["properties"]["privateIPAddress"].as_str()?.parse().ok())
        .collect();
    let (first, last) = (u32::from(range.network()), u32::from(range.broadcast()));
    let candidates = (first.checked_add(RESERVED)?..last).rev().map(Ipv4Addr::from);
    candidates.into_iter().find(|address| !taken.contains(address))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_highest_address_that_nobody_has() {
        let subnet = |prefix: &str, taken: &[&str]| {
            let taken: Vec<Value> =
                taken.iter().map(|ip| json!({"properties": {"privateIPAddress": ip}})).collect();
            json!({"properties": {"addressPrefix": prefix, "ipConfigurations": taken}})
        };
        let free =
            |prefix: &str, taken: &[&str]| highest_free_of(&subnet(prefix, taken)).map(|ip| ip.to_string());
        assert_eq!(free("10.0.2.0/23", &[]).as_deref(), Some("10.0.3.254"));
        assert_eq!(free("10.0.2.0/23", &["10.0.3.254", "10.0.3.252"]).as_deref(), Some("10.0.3.253"));
        assert_eq!(free("10.0.0.0/29", &["10.0.0.6", "10.0.0.5"]).as_deref(), Some("10.0.0.4"));
        assert_eq!(free("10.0.0.0/29", &["10.0.0.6", "10.0.0.5", "10.0.0.4"]), None);
        assert_eq!(free("10.0.0.0/31", &[]), None);
        assert_eq!(free("what", &[]), None);
    }
}
