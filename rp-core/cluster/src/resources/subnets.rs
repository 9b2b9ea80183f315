//! The customer's subnets: changed, not owned (`contract/cluster.md` §6.6). Every write is under the subnet's
//! etag.

use rp_api::{CloudError, ErrorBody};
use rp_azure::{AzureError, Client, ErrorClass, Resources, ServiceError};
use serde_json::{Value, json};

use super::azure::{change, items, take};
use crate::context::Context;
use crate::document::Document;
use crate::errors::StepError;
use crate::roles::last;
use crate::templates::{reference, versions};

/// Reached from the subnets without leaving Azure's network.
pub(crate) const SERVICES: [&str; 2] = ["Microsoft.ContainerRegistry", "Microsoft.Storage"];
/// Tries to attach a security group: at once, and every 30 s for three minutes.
const TRIES: usize = 7;

/// The services' endpoints are on all of the cluster's subnets.
pub(crate) async fn ensure_service_endpoints(context: &Context) -> Result<(), StepError> {
    let document = context.document();
    if document.is_gateway_enabled() {
        return Ok(());
    }
    check_worker_subnets(&document)?;
    let client = context.customer();
    for subnet in document.named_subnets() {
        change(&client, &subnet.id, versions::NETWORK, |body| Ok(add_services(body))).await?;
    }
    Ok(())
}

/// Every worker profile names a subnet.
pub(crate) fn check_worker_subnets(document: &Document) -> Result<(), StepError> {
    let without = document.worker_profiles().iter().find(|profile| profile.subnet_id.is_empty());
    match without {
        None => Ok(()),
        Some(profile) => Err(StepError::other(format!(
            "WorkerProfile '{}' has no SubnetID; check that the corresponding MachineSet is valid",
            &*profile.name
        ))),
    }
}

/// Adds what is missing or did not succeed; says whether something was.
pub(crate) fn add_services(subnet: &mut Value) -> bool {
    let mut endpoints = take(&mut subnet["properties"], "serviceEndpoints");
    let mut changed = false;
    for service in SERVICES {
        let of = |endpoint: &Value| {
            endpoint["service"].as_str().is_some_and(|name| name.eq_ignore_ascii_case(service))
        };
        let good = |endpoint: &Value| of(endpoint) && endpoint["provisioningState"] == "Succeeded";
        if !endpoints.iter().any(good) {
            endpoints.retain(|endpoint| !of(endpoint));
            endpoints.push(json!({ "service": service, "locations": ["*"] }));
            changed = true;
        }
    }
    subnet["properties"]["serviceEndpoints"] = endpoints.into();
    changed
}

/// Private endpoints and link services may sit in the control plane's subnet.
pub(crate) async fn set_master_subnet_policies(context: &Context) -> Result<(), StepError> {
    let document = context.document();
    let subnet = document.master_subnet();
    let client = context.customer();
    let done = change(&client, subnet, versions::NETWORK, |body| {
        let properties = &mut body["properties"];
        let mut changed = false;
        for policy in ["privateEndpointNetworkPolicies", "privateLinkServiceNetworkPolicies"] {
            if properties[policy] != "Disabled" {
                properties[policy] = json!("Disabled");
                changed = true;
            }
        }
        Ok(changed)
    });
    match done.await {
        Err(StepError::Azure(error)) if error.class() == ErrorClass::Policy => {
            Err(denied(subnet, &error).into())
        }
        done => done.map(|_| ()),
    }
}

/// A policy of the customer denies the change of a subnet.
fn denied(subnet: &str, error: &AzureError) -> CloudError {
    const CODE: &str = "RequestDisallowedByPolicy";
    let message = format!("Resource {} was disallowed by policy.", last(subnet));
    let mut told = CloudError::bad(CODE, "", message);
    for found in error.service().into_iter().flat_map(ServiceError::all) {
        for info in found.additional.iter().flat_map(|all| all.as_array().into_iter().flatten()) {
            let name = |of: &str| {
                let of = [format!("policy{of}DisplayName"), format!("policy{of}Name")];
                let texts = of.iter().filter_map(|member| info["info"][member].as_str());
                texts.filter(|text| !text.is_empty()).map(str::to_owned).next().unwrap_or_default()
            };
            let message = format!(
                "Policy definition : {}\nPolicy Assignment : {}",
                name("Definition"),
                name("Assignment")
            );
            told.body.details.push(ErrorBody {
                code: CODE,
                message,
                target: String::new(),
                details: Vec::new(),
            });
        }
    }
    told
}

/// The cluster's security group is on the control plane's and the first workers' subnet.
pub(crate) async fn attach_nsgs(context: &Context) -> Result<(), StepError> {
    let document = context.document();
    if document.is_nsg_preconfigured() {
        return Ok(());
    }
    let workers = document.worker_subnets();
    let mut subnets = vec![document.master_subnet()];
    subnets.extend(workers.first().filter(|id| !id.eq_ignore_ascii_case(document.master_subnet())));
    let client = context.customer();
    for subnet in subnets {
        let group = document.security_group(subnet);
        let mut tried = 1;
        loop {
            match attach(&client, subnet, &group).await {
                Err(StepError::Azure(error)) if tried < TRIES && is_young(&error) => {
                    tried += 1;
                    context.waiting(&error.to_string());
                    context.sleep(context.env.periods.authorization_retry).await?;
                }
                done => break done?,
            }
        }
    }
    Ok(())
}

async fn attach(client: &Client, subnet: &str, group: &str) -> Result<(), StepError> {
    let attach = |body: &mut Value| match body["properties"]["networkSecurityGroup"]["id"].as_str() {
        Some(id) if id.eq_ignore_ascii_case(group) => Ok(false),
        Some(_) => {
            let message = format!(
                "The provided subnet '{subnet}' is invalid: must not have a network security group attached."
            );
            Err(StepError::Cloud(CloudError::bad("InvalidLinkedVNet", "", message)))
        }
        None => {
            body["properties"]["networkSecurityGroup"] = reference(group);
            Ok(true)
        }
    };
    change(client, subnet, versions::NETWORK, attach).await.map(|_| ())
}

/// The group was just made, and is not known to all of Azure yet; or Azure asks for patience.
fn is_young(error: &AzureError) -> bool {
    let unknown = error.chain().iter().any(|found| {
        let Some((_, after)) = found.message.split_once("Resource") else { return false };
        let Some((_, after)) = after.split_once("networkSecurityGroups") else { return false };
        after.split_once("referenced by resource").is_some_and(|(_, after)| after.contains("not found"))
    });
    unknown || matches!(error.class(), ErrorClass::Throttled | ErrorClass::Unavailable)
}

/// Takes a security group off a subnet, where it is still that one. A subnet that is gone has none.
pub(crate) async fn detach(client: &Client, subnet: &str, group: &str) -> Result<(), StepError> {
    if client.get(subnet, versions::NETWORK).await?.is_none() {
        return Ok(());
    }
    let detach = |body: &mut Value| match body["properties"]["networkSecurityGroup"]["id"].as_str() {
        Some(id) if id.eq_ignore_ascii_case(group) => {
            if let Some(properties) = body["properties"].as_object_mut() {
                properties.remove("networkSecurityGroup");
            }
            Ok(true)
        }
        _ => Ok(false),
    };
    change(client, subnet, versions::NETWORK, detach).await.map(|_| ())
}

/// Whether machines of a subnet reach storage of a region without leaving Azure's network.
pub(crate) fn reaches_storage(subnet: &Value, region: &str) -> bool {
    items(&subnet["properties"], "serviceEndpoints").iter().any(|endpoint| {
        let here = |place: &Value| {
            place == "*" || place.as_str().is_some_and(|name| name.eq_ignore_ascii_case(region))
        };
        endpoint["service"].as_str().is_some_and(|name| name.eq_ignore_ascii_case("Microsoft.Storage"))
            && items(endpoint, "locations").iter().any(here)
    })
}
