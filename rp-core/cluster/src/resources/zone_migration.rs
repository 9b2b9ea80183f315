//! The internal load balancer's frontend gets zones and keeps its address (`contract/cluster.md` §6.17). Each
//! stage reads the present state, so that an interrupted run can be continued; between the removal of the
//! old frontend and the new one the API server cannot be reached.

use rp_azure::Client;
use serde_json::{Value, json};

use super::addresses;
use super::azure::{change, is, items, must_get, named, take};
use super::zones::skus;
use crate::context::Context;
use crate::document::Document;
use crate::errors::StepError;
use crate::templates::{balancers, network, reference, versions};
use crate::validation::zones::of_size;

/// What names of temporary frontends end in.
const TEMPORARY: &str = "-ip";

/// Makes the frontend zone-redundant; nothing to do where it is, or where the machines know no zones.
pub(crate) async fn migrate_internal_load_balancer_zones(context: &Context) -> Result<(), StepError> {
    let document = context.document();
    let expanded = context.env.features.expanded_zones;
    let zones = of_size(&skus(context).await?, document.master_size(), &document.location(), expanded);
    let zones = zones.unwrap_or_default();
    if zones.is_empty() || document.is_first_architecture() {
        return Ok(());
    }
    // Before the frontend that has it goes.
    addresses::populate_database_int_ip(context).await?;
    let document = context.document();
    let client = context.customer();
    let id = balancers::internal_id(&document);
    let before = must_get(&client, &id, versions::NETWORK).await?;
    let frontend =
        named(items(&before["properties"], "frontendIPConfigurations"), balancers::INTERNAL_FRONTEND);
    if frontend.is_some_and(|frontend| items(frontend, "zones").is_empty()) {
        add_temporary_frontend(context, &client, &document, &zones).await?;
    }
    if let Err(error) = restore_frontend(&client, &document, &zones).await {
        tracing::error!(error = %error, "FAILURE IN CRITICAL SECTION of the load balancer's migration");
        return Err(error);
    }
    change(&client, &id, versions::NETWORK, |body| Ok(drop_temporary(body))).await?;
    if document.zones() != zones.iter().map(String::as_str).collect::<Vec<_>>() {
        super::zones::set_zones(context, zones).await?;
    }
    Ok(())
}

/// Adds a temporary frontend, leads the link service to it, and removes the old one with all rules.
async fn add_temporary_frontend(
    context: &Context,
    client: &Client,
    document: &Document,
    zones: &[String],
) -> Result<(), StepError> {
    let id = balancers::internal_id(document);
    let name = format!("{}{TEMPORARY}", context.env.clock.now().seconds());
    let body = change(client, &id, versions::NETWORK, |body| {
        let mut frontends = take(&mut body["properties"], "frontendIPConfigurations");
        let missing = !frontends.iter().any(is_temporary);
        if missing {
            let properties = json!({ "privateIPAllocationMethod": "Dynamic", "subnet": reference(document.master_subnet()) });
            frontends.push(json!({ "name": name, "zones": zones, "properties": properties }));
        }
        body["properties"]["frontendIPConfigurations"] = frontends.into();
        Ok(missing)
    });
    let body = body.await?;
    let temporary =
        items(&body["properties"], "frontendIPConfigurations").iter().find(|one| is_temporary(one));
    let temporary = temporary.and_then(|one| one["name"].as_str()).unwrap_or(&name).to_owned();
    set_link_frontend(client, document, &temporary).await?;
    let removed = change(client, &id, versions::NETWORK, |body| {
        let mut frontends = take(&mut body["properties"], "frontendIPConfigurations");
        frontends.retain(|one| one["name"] != balancers::INTERNAL_FRONTEND);
        body["properties"]["frontendIPConfigurations"] = frontends.into();
        body["properties"]["loadBalancingRules"] = json!([]);
        Ok(true)
    });
    removed.await.map(|_| ())
}

/// Frontend with zones and the old address, rules, link service: whatever is missing of them.
async fn restore_frontend(client: &Client, document: &Document, zones: &[String]) -> Result<(), StepError> {
    let id = balancers::internal_id(document);
    let address = &*document.properties.apiserver_profile.int_ip;
    let added = change(client, &id, versions::NETWORK, |body| {
        let properties = &mut body["properties"];
        let mut changed = false;
        let mut frontends = take(properties, "frontendIPConfigurations");
        if named(&frontends, balancers::INTERNAL_FRONTEND).is_none() {
            frontends.push(json!({
                "name": balancers::INTERNAL_FRONTEND,
                "zones": zones,
                "properties": {
                    "privateIPAllocationMethod": "Static",
                    "privateIPAddress": address,
                    "subnet": reference(document.master_subnet()),
                },
            }));
            changed = true;
        }
        properties["frontendIPConfigurations"] = frontends.into();
        let mut rules = take(properties, "loadBalancingRules");
        for rule in balancers::api_rules(&id, balancers::INTERNAL_FRONTEND, document.infra_id()) {
            if named(&rules, rule["name"].as_str().unwrap_or_default()).is_none() {
                rules.push(rule);
                changed = true;
            }
        }
        properties["loadBalancingRules"] = rules.into();
        Ok(changed)
    });
    added.await?;
    set_link_frontend(client, document, balancers::INTERNAL_FRONTEND).await
}

/// Moves the link service to that frontend.
async fn set_link_frontend(client: &Client, document: &Document, frontend: &str) -> Result<(), StepError> {
    let wanted = balancers::frontend_id(&balancers::internal_id(document), frontend);
    let link = network::link_id(document);
    let led = change(client, &link, versions::NETWORK, |body| {
        let there = items(&body["properties"], "loadBalancerFrontendIpConfigurations");
        if matches!(there, [one] if is(one, &wanted)) {
            return Ok(false);
        }
        body["properties"]["loadBalancerFrontendIpConfigurations"] = json!([reference(&wanted)]);
        Ok(true)
    });
    led.await.map(|_| ())
}

fn is_temporary(frontend: &Value) -> bool {
    let number = frontend["name"].as_str().and_then(|name| name.strip_suffix(TEMPORARY));
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

fn drop_temporary(balancer: &mut Value) -> bool {
    let mut frontends = take(&mut balancer["properties"], "frontendIPConfigurations");
    let before = frontends.len();
    frontends.retain(|frontend| !is_temporary(frontend));
    let changed = frontends.len() != before;
    balancer["properties"]["frontendIPConfigurations"] = frontends.into();
    changed
}
