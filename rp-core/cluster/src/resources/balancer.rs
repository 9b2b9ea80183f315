//! Outbound addresses of the public load balancer (`contract/cluster.md` §6.16).

use rp_azure::{Client, Resources};
use rp_documents::OpenShiftCluster;
use rp_documents::cluster::{EffectiveOutboundIp, Outcome, Worker};
use serde_json::{Value, json};

use super::azure::{change, is, items, must_get, named, take};
use crate::context::Context;
use crate::document::Document;
use crate::errors::StepError;
use crate::templates::{addresses, balancers, id, reference, versions};

/// As many managed addresses as the document wants, and no others left over.
pub(crate) async fn reconcile_load_balancer_profile(context: &Context) -> Result<(), StepError> {
    let document = context.document();
    if !document.is_outbound_balanced() || document.is_first_architecture() {
        return Ok(());
    }
    let client = context.customer();
    let balancer = must_get(&client, &balancers::public_id(&document), versions::NETWORK).await?;
    record_effective(context, &effective(&balancer)).await?;
    let outbound = outbound(context, &client, &document).await;
    // A worker that lost the lease must not delete anything.
    if outbound.as_ref().is_err_and(StepError::is_interruption) {
        return outbound;
    }
    let swept = delete_unused_addresses(&client, &document).await;
    match (outbound, swept) {
        (Err(first), Err(second)) => Err(StepError::other(format!(
            "multiple errors occurred while updating outbound-rule-v4\n{first}\n{second}"
        ))),
        (first, second) => first.and(second),
    }
}

/// Brings the outbound rule to the wanted addresses.
async fn outbound(context: &Context, client: &Client, document: &Document) -> Result<(), StepError> {
    let balancer = must_get(client, &balancers::public_id(document), versions::NETWORK).await?;
    let wanted = wanted(client, document, &effective(&balancer)).await?;
    if same(&effective(&balancer), &wanted) {
        return Ok(());
    }
    let id = balancers::public_id(document);
    let written = change(client, &id, versions::NETWORK, |body| {
        rebuild(&id, body, &wanted);
        Ok(true)
    });
    record_effective(context, &effective(&written.await?)).await
}

/// Writes the addresses in use where the document differs.
async fn record_effective(context: &Context, effective: &[String]) -> Result<(), StepError> {
    let document = context.document();
    let known: Vec<String> = document.effective_addresses().into_iter().map(str::to_owned).collect();
    if same(&known, effective) {
        return Ok(());
    }
    set_effective(context, effective.to_vec()).await
}

/// Writes which outbound addresses are in use.
pub(crate) async fn set_effective(context: &Context, ids: Vec<String>) -> Result<(), StepError> {
    let change = move |cluster: &mut OpenShiftCluster, by: Worker| {
        let address = |id: &String| {
            let address = EffectiveOutboundIp { id: Outcome::new(by, id.as_str()), ..Default::default() };
            Outcome::new(by, address)
        };
        let all: Vec<_> = ids.iter().map(address).collect();
        cluster.properties.network_profile.load_balancer_profile.effective_outbound_ips.set(by, all);
    };
    context.patch(change).await.map(|_| ())
}

fn same(a: &[String], b: &[String]) -> bool {
    let within =
        |a: &[String], b: &[String]| a.iter().all(|id| b.iter().any(|other| other.eq_ignore_ascii_case(id)));
    within(a, b) && within(b, a)
}

/// Ids of the addresses of the outbound rule, in the rule's order.
pub(crate) fn effective(balancer: &Value) -> Vec<String> {
    let of = &balancer["properties"];
    let frontends = items(of, "frontendIPConfigurations");
    let rule = named(items(of, "outboundRules"), balancers::OUTBOUND_RULE);
    let used = rule.map(|rule| items(&rule["properties"], "frontendIPConfigurations")).unwrap_or_default();
    let address = |reference: &Value| {
        let name = reference["id"].as_str()?.rsplit('/').next()?;
        let frontend = named(frontends, name)?;
        frontend["properties"]["publicIPAddress"]["id"].as_str().map(str::to_owned)
    };
    used.iter().filter_map(address).collect()
}

/// Ids of the addresses that should be used; missing ones are made. Those in use stay, oldest first.
async fn wanted(client: &Client, document: &Document, used: &[String]) -> Result<Vec<String>, StepError> {
    let managed = managed(client, document).await?;
    let chosen = choose(document, &managed, used);
    let mut all = Vec::with_capacity(chosen.len());
    for name in chosen {
        let id = addresses::address_id(document, &name);
        if !managed.iter().any(|known| known.eq_ignore_ascii_case(&name)) {
            let mut body = addresses::address(document, &name);
            if let Some(body) = body.as_object_mut() {
                body.retain(|member, _| !matches!(member.as_str(), "type" | "name" | "apiVersion"));
            }
            client.put(&id, versions::NETWORK, &body).await?;
        }
        all.push(id);
    }
    Ok(all)
}

/// Names of the wanted addresses: the API's own, those in use, others that are there, then new ones.
pub(crate) fn choose(document: &Document, managed: &[String], used: &[String]) -> Vec<String> {
    let count = document.managed_addresses();
    let known = |wanted: &str| managed.iter().find(|name| name.eq_ignore_ascii_case(wanted)).cloned();
    let mut order: Vec<String> = known(&addresses::api_name(document)).into_iter().collect();
    order.extend(used.iter().filter_map(|id| known(id.rsplit('/').next().unwrap_or_default())));
    order.extend(managed.iter().cloned());
    order.extend(
        (0..count.saturating_mul(2).saturating_add(1)).map(|n| addresses::outbound_name(document, n)),
    );
    let mut chosen: Vec<String> = Vec::new();
    for name in order {
        if chosen.len() < count && !chosen.iter().any(|known| known.eq_ignore_ascii_case(&name)) {
            chosen.push(name);
        }
    }
    chosen
}

/// Names of the group's managed addresses, by name.
async fn managed(client: &Client, document: &Document) -> Result<Vec<String>, StepError> {
    let path = format!("{}/providers/{}", document.group_id(), addresses::KIND);
    let all = client.list(&path, versions::NETWORK).await?;
    let api = addresses::api_name(document);
    let ours = |name: &&str| name.eq_ignore_ascii_case(&api) || name.contains(addresses::OUTBOUND);
    let mut names: Vec<String> =
        all.iter().filter_map(|address| address["name"].as_str()).filter(ours).map(str::to_owned).collect();
    names.sort();
    Ok(names)
}

/// Puts the wanted addresses in place of the rule's; frontends of load-balancing rules stay.
fn rebuild(id: &str, balancer: &mut Value, wanted: &[String]) {
    let properties = &mut balancer["properties"];
    let outbound: Vec<Value> = named(items(properties, "outboundRules"), balancers::OUTBOUND_RULE)
        .map(|rule| items(&rule["properties"], "frontendIPConfigurations").to_vec())
        .unwrap_or_default();
    let serving: Vec<Value> = items(properties, "loadBalancingRules")
        .iter()
        .map(|rule| rule["properties"]["frontendIPConfiguration"].clone())
        .collect();
    let mut frontends = take(properties, "frontendIPConfigurations");
    frontends.retain(|frontend| {
        let own = balancers::frontend_id(id, frontend["name"].as_str().unwrap_or_default());
        let of = |references: &[Value]| references.iter().any(|reference| is(reference, &own));
        !of(&outbound) || of(&serving)
    });
    let mut of_rule = Vec::new();
    for address in wanted {
        let there = frontends.iter().find(|frontend| is(&frontend["properties"]["publicIPAddress"], address));
        let name = match there.and_then(|frontend| frontend["name"].as_str()) {
            Some(name) => name.to_owned(),
            None => {
                let name = address.rsplit('/').next().unwrap_or_default().to_owned();
                frontends.push(balancers::public_frontend(&name, address));
                name
            }
        };
        of_rule.push(reference(&balancers::frontend_id(id, &name)));
    }
    properties["frontendIPConfigurations"] = frontends.into();
    let mut rules = take(properties, "outboundRules");
    for rule in &mut rules {
        if rule["name"] == balancers::OUTBOUND_RULE {
            rule["properties"]["frontendIPConfigurations"] = json!(of_rule);
        }
    }
    properties["outboundRules"] = rules.into();
}

/// Deletes managed addresses that the balancer does not use; the API's own stays while it is public.
async fn delete_unused_addresses(client: &Client, document: &Document) -> Result<(), StepError> {
    let balancer = must_get(client, &balancers::public_id(document), versions::NETWORK).await?;
    let used = items(&balancer["properties"], "frontendIPConfigurations");
    let api = addresses::api_name(document);
    let mut begun = Vec::new();
    for name in managed(client, document).await? {
        let id = id(document.group_id(), addresses::KIND, &name);
        let needed = used.iter().any(|frontend| is(&frontend["properties"]["publicIPAddress"], &id))
            || (document.is_api_public() && name.eq_ignore_ascii_case(&api));
        if !needed {
            begun.extend(client.begin_delete(&id, versions::NETWORK).await?);
        }
    }
    for operation in begun {
        client.wait(&operation).await?;
    }
    Ok(())
}
