//! Machines of a running cluster: started, and behind their load balancers (`contract/cluster.md` §6.15).

use rp_azure::{Client, Machines as _, Request, Resources, vm_body};
use serde_json::{Value, json};

use super::azure::{change, is, items, named, take};
use crate::context::Context;
use crate::document::Document;
use crate::errors::StepError;
use crate::templates::{balancers, reference, versions};

/// Starts what was stopped or deallocated, all at once.
pub(crate) async fn start_vms(context: &Context) -> Result<(), StepError> {
    let document = context.document();
    let client = context.customer();
    let path = format!("{}/providers/Microsoft.Compute/virtualMachines", document.group_id());
    let mut begun = Vec::new();
    for machine in client.list(&path, versions::COMPUTE).await? {
        let id = machine["id"].as_str().unwrap_or_default();
        if matches!(power(&client, id).await?.as_str(), "deallocated" | "stopped") {
            let start = format!("{id}/start");
            begun.extend(
                client.begin(&Request::new(http::Method::POST, &start, versions::COMPUTE)).await?.operation,
            );
        }
    }
    for operation in begun {
        client.wait(&operation).await?;
    }
    Ok(())
}

/// `running`, `deallocated` …, as the instance view of a machine says; empty: Azure does not say.
pub(crate) async fn power(client: &Client, id: &str) -> Result<String, StepError> {
    let view = client.instance_view(id).await?.unwrap_or_default();
    Ok(vm_body::power(&view).to_owned())
}

/// The resource id of the virtual machine of that name.
pub(crate) fn vm_id(document: &Document, name: &str) -> String {
    format!("{}/providers/Microsoft.Compute/virtualMachines/{name}", document.group_id())
}

/// Starts a machine that does not run, and waits.
pub(crate) async fn start_vm(client: &Client, id: &str) -> Result<(), StepError> {
    if power(client, id).await? != "running" {
        client.start(id).await?;
    }
    Ok(())
}

/// Runs the action that stops a machine, and waits. `done`: what its power is when there is nothing to do.
pub(crate) async fn stop_vm(client: &Client, id: &str, action: &str, done: &[&str]) -> Result<(), StepError> {
    if !done.contains(&power(client, id).await?.as_str()) {
        client.post(&format!("{id}/{action}"), versions::COMPUTE, None).await?;
    }
    Ok(())
}

/// SSH to every master goes through the internal load balancer; masters' cards are in the pools that they belong to.
pub(crate) async fn fix_ssh(context: &Context) -> Result<(), StepError> {
    let document = context.document();
    let client = context.customer();
    change(&client, &balancers::internal_id(&document), versions::NETWORK, |body| {
        Ok(add_ssh(&document, body))
    })
    .await?;
    let path = format!("{}/providers/Microsoft.Network/networkInterfaces", document.group_id());
    let cards = client.list(&path, versions::NETWORK).await?;
    if cards.is_empty() {
        let group = document.group();
        return Err(StepError::other(format!(
            "interfaces list call for resource group {group} returned an empty result"
        )));
    }
    for card in cards {
        let name = card["name"].as_str().unwrap_or_default();
        if let Some(n) = master_number(document.infra_id(), name) {
            fix_card(&client, &document, &card, n).await?;
        }
    }
    Ok(())
}

/// Adds what is missing of pools, probe and rules.
fn add_ssh(document: &Document, balancer: &mut Value) -> bool {
    let id = balancers::internal_id(document);
    let frontends = items(&balancer["properties"], "frontendIPConfigurations");
    let frontend = frontends.first().and_then(|frontend| frontend["name"].as_str());
    let frontend = frontend.unwrap_or(balancers::INTERNAL_FRONTEND).to_owned();
    let mut wanted = vec![("probes", balancers::ssh_probe())];
    for n in 0..3 {
        wanted.push(("backendAddressPools", json!({ "name": balancers::ssh_pool(n) })));
        wanted.push(("loadBalancingRules", balancers::ssh_rule(&id, &frontend, n)));
    }
    let mut changed = false;
    for (member, item) in wanted {
        let mut all = take(&mut balancer["properties"], member);
        if named(&all, item["name"].as_str().unwrap_or_default()).is_none() {
            all.push(item);
            changed = true;
        }
        balancer["properties"][member] = all.into();
    }
    changed
}

/// The number in `INFRA-masterN-nic`; the prefix may itself have that word in it, and counts for nothing.
fn master_number(infra: &str, name: &str) -> Option<usize> {
    let (_, after) = name.strip_prefix(infra).unwrap_or(name).split_once("master")?;
    let digit = after.strip_suffix("-nic")?.chars().next_back()?;
    digit.to_digit(10).filter(|n| *n < 3).and_then(|n| usize::try_from(n).ok())
}

async fn fix_card(client: &Client, document: &Document, card: &Value, n: usize) -> Result<(), StepError> {
    let id = card["id"].as_str().unwrap_or_default();
    if card["properties"]["virtualMachine"].is_null() {
        change(client, id, versions::NETWORK, |body| Ok(remove_from_pools(body))).await?;
        return Ok(client.delete(id, versions::NETWORK).await?);
    }
    let configuration = &card["properties"]["ipConfigurations"][0];
    if !is(&configuration["properties"]["subnet"], document.master_subnet()) {
        return Ok(());
    }
    change(client, id, versions::NETWORK, |body| Ok(add_to_pools(document, body, n))).await.map(|_| ())
}

/// Takes a card out of all pools.
fn remove_from_pools(card: &mut Value) -> bool {
    let mut configurations = take(&mut card["properties"], "ipConfigurations");
    let mut changed = false;
    for configuration in &mut configurations {
        changed |= !take(&mut configuration["properties"], "loadBalancerBackendAddressPools").is_empty();
        configuration["properties"]["loadBalancerBackendAddressPools"] = json!([]);
    }
    card["properties"]["ipConfigurations"] = configurations.into();
    changed
}

/// Puts a master's card into its pools: the API's, its own for SSH and no other's, the public one.
fn add_to_pools(document: &Document, card: &mut Value, n: usize) -> bool {
    let internal = balancers::internal_id(document);
    let (api, public) = balancers::api_pools(document);
    let mut wanted =
        vec![balancers::pool_id(&internal, &api), balancers::pool_id(&internal, &balancers::ssh_pool(n))];
    if document.is_outbound_balanced() {
        wanted.push(balancers::pool_id(&balancers::public_id(document), &public));
    }
    let mut configurations = take(&mut card["properties"], "ipConfigurations");
    let mut changed = false;
    if let Some(configuration) = configurations.first_mut() {
        let mut pools = take(&mut configuration["properties"], "loadBalancerBackendAddressPools");
        let before = pools.len();
        let others: Vec<String> = (0..3)
            .filter(|other| *other != n)
            .map(|other| balancers::pool_id(&internal, &balancers::ssh_pool(other)))
            .collect();
        pools.retain(|pool| !others.iter().any(|other| is(pool, other)));
        changed = pools.len() != before;
        for id in wanted {
            if !pools.iter().any(|pool| is(pool, &id)) {
                pools.push(reference(&id));
                changed = true;
            }
        }
        configuration["properties"]["loadBalancerBackendAddressPools"] = pools.into();
    }
    card["properties"]["ipConfigurations"] = configurations.into();
    changed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_cards_of_masters_have_a_number() {
        for (infra, name, n) in [
            ("shop-x7k2p", "shop-x7k2p-master0-nic", Some(0)),
            ("shop-x7k2p", "shop-x7k2p-master-b6c4d-2-nic", Some(2)),
            ("shop-x7k2p", "older-master1-nic", Some(1)),
            ("shop-x7k2p", "shop-x7k2p-master3-nic", None),
            ("shop-x7k2p", "shop-x7k2p-worker-eastus1-bcd20-nic", None),
            ("master-x7k2p", "master-x7k2p-worker-eastus1-bcd20-nic", None),
            ("master-x7k2p", "master-x7k2p-master2-nic", Some(2)),
        ] {
            assert_eq!(master_number(infra, name), n, "{name}");
        }
    }
}
