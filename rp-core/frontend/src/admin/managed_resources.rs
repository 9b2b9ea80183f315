//! Resources of a cluster in Azure: listed, and deleted one at a time (`contract/frontend.md` §11.7).

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use http::StatusCode;
use rp_api::CloudError;
use rp_azure::{Resources, api_version};
use serde_json::{Value, json};

use super::azure::{ManagedGroup, NETWORK, changed, etag, is_id, put_back, read};
use super::context::ActionContext;
use super::stream::{Output, Verdict, permit, streamed};
use crate::fault::Fault;
use crate::response::{Change, HttpResponse, empty};

/// Time limit of a list.
const WITHIN: Duration = Duration::from_mins(10);
/// Resources that are read at once.
const AT_ONCE: usize = 6;
/// Most resources of a list.
const MOST: usize = 5000;
/// Of lists of a group.
const LIST_VERSION: &str = "2021-04-01";

/// The network of the cluster, then all of its managed group, as one JSON array that is written as it is read.
pub(super) async fn list(of: ActionContext<'_>) -> Result<HttpResponse, Fault> {
    let managed = ManagedGroup::find(&of).await?;
    let permit = permit(&of.parts.edge)?;
    // An error of these is answered before the first byte.
    let listed = read(managed.azure.list(&format!("{}/resources", managed.group), LIST_VERSION)).await?;
    let subnets = Subnets::of(&managed);
    let azure = Arc::clone(&managed.azure);
    Ok(streamed("application/json", WITHIN, permit, |out: Output| async move {
        let around = around(&azure, &subnets).await;
        let short = |id: &String| json!({"id": id});
        let around = around.iter().map(|id| (id.clone(), short(id)));
        let own = listed.into_iter().take(MOST).filter_map(|one| Some((one["id"].as_str()?.to_owned(), one)));
        let all: Vec<(String, Value)> = around.chain(own).collect();
        let reads = all.into_iter().filter_map(|(id, short)| {
            let version = api_version(&kind_of(&id))?;
            let azure = Arc::clone(&azure);
            Some(async move { whole(&azure, &id, version).await.unwrap_or(short) })
        });
        let mut reads = stream::iter(reads).buffered(AT_ONCE);
        let mut before = "[";
        while let Some(one) = reads.next().await {
            out.write(format!("{before}{one}")).await?;
            before = ",";
        }
        out.write(if before == "[" { "[]\n" } else { "]\n" }).await?;
        Ok(Verdict::Good)
    }))
}

/// The cluster's subnets and disk encryption sets.
struct Subnets {
    ids: BTreeSet<String>,
    encryption: BTreeSet<String>,
    group: String,
}

impl Subnets {
    fn of(managed: &ManagedGroup) -> Self {
        let properties = &managed.cluster.value.cluster.properties;
        let workers = properties.workers().iter();
        let mut of = Self { ids: BTreeSet::new(), encryption: BTreeSet::new(), group: managed.group.clone() };
        let mut take = |subnet: &str, set: &str| {
            // Stored ids were checked when they were accepted; they are paths here, so once more.
            of.ids.extend(Some(subnet.to_owned()).filter(|id| is_id(id)));
            of.encryption.extend(Some(set.to_owned()).filter(|id| is_id(id)));
        };
        let master = &properties.master_profile;
        take(&master.subnet_id, &master.disk_encryption_set_id);
        workers.for_each(|worker| take(&worker.subnet_id, &worker.disk_encryption_set_id));
        of
    }
}

/// Ids of what the cluster uses outside of its group: the network, its route tables and security groups, disk encryption.
async fn around(azure: &Arc<dyn Resources>, subnets: &Subnets) -> Vec<String> {
    let vnet = subnets.ids.iter().find_map(|id| Some(id.rsplit_once("/subnets/")?.0.to_owned()));
    let mut ids: Vec<String> = vnet.iter().cloned().collect();
    let found = match &vnet {
        Some(vnet) => azure.get(vnet, NETWORK).await.ok().flatten().unwrap_or_default(),
        None => Value::Null,
    };
    let all = found["properties"]["subnets"].as_array().into_iter().flatten();
    let ours = |subnet: &&Value| {
        let id = subnet["id"].as_str().unwrap_or_default();
        subnets.ids.iter().any(|own| own.eq_ignore_ascii_case(id))
    };
    for subnet in all.filter(ours) {
        let of = |name: &str| subnet["properties"][name]["id"].as_str().unwrap_or_default().to_owned();
        let foreign = |id: &String| !is_in(id, &subnets.group);
        ids.extend(Some(of("routeTable")));
        ids.extend(Some(of("networkSecurityGroup")).filter(foreign));
    }
    ids.extend(subnets.encryption.iter().cloned());
    let mut seen = BTreeSet::new();
    ids.retain(|id| is_id(id) && seen.insert(id.to_ascii_lowercase()));
    ids
}

/// A resource with all that a read gives; `None`: it cannot be read.
async fn whole(azure: &Arc<dyn Resources>, id: &str, version: &str) -> Option<Value> {
    let machine = kind_of(id).eq_ignore_ascii_case("microsoft.compute/virtualmachines");
    let query: &[(&str, &str)] = if machine { &[("$expand", "instanceView")] } else { &[] };
    azure.get_with(id, version, query).await.ok().flatten()
}

/// `provider/type`, with the types of children.
fn kind_of(id: &str) -> String {
    let after = id.to_ascii_lowercase();
    let after = after.rsplit_once("/providers/").map(|(_, rest)| rest.to_owned()).unwrap_or_default();
    let mut parts = after.split('/');
    let provider = parts.next().unwrap_or_default().to_owned();
    parts.step_by(2).fold(provider, |kind, part| format!("{kind}/{part}"))
}

/// Whether a resource is in that group, by its parsed subscription and group (`contract/frontend.md` "Do better" 20).
fn is_in(id: &str, group: &str) -> bool {
    let first = |text: &str| text.split('/').take(5).map(str::to_ascii_lowercase).collect::<Vec<_>>();
    id.split('/').count() > 5 && first(id) == first(group)
}

/// Deletes one resource of the managed group.
pub(super) async fn delete(of: ActionContext<'_>) -> Result<HttpResponse, Fault> {
    let id = of.text("managedResourceID");
    let managed = ManagedGroup::find(&of).await?;
    let name = rp_base::text::clean(id, 1024);
    if !is_id(id) || !is_in(id, &managed.group) {
        let message = format!(
            "The resource {name} is not within the cluster's managed resource group {}.",
            managed.group
        );
        return Err(CloudError::invalid("", message).into());
    }
    let kind = kind_of(id);
    if is_protected(&kind) {
        return Err(CloudError::invalid("", format!("deletion of resource {name} is forbidden")).into());
    }
    let missing =
        || CloudError::new(404, "NotFound", "", format!("The resource '{name}' could not be found."));
    let version = api_version(&kind).ok_or_else(missing)?;
    let _signal = of.signal();
    match parent_balancer(id) {
        Some((balancer, list, child)) => {
            let before = read(managed.azure.get(balancer, NETWORK)).await?.ok_or_else(missing)?;
            let after = without(&before, list, child, id)?.ok_or_else(missing)?;
            changed(put_back(&managed.azure, balancer, NETWORK, &after, etag(&before))).await?;
        }
        None => {
            read(managed.azure.get(id, version)).await?.ok_or_else(missing)?;
            changed(managed.azure.delete(id, version)).await?;
        }
    }
    let mut answer = empty(StatusCode::OK);
    answer.extensions_mut().insert(Change::new("present", "deleted"));
    Ok(answer)
}

/// What the cluster is reached by, and where its state lies.
fn is_protected(kind: &str) -> bool {
    matches!(kind, "microsoft.network/privatelinkservices" | "microsoft.network/privateendpoints")
        || kind.starts_with("microsoft.network/privatelinkservices/")
        || kind.starts_with("microsoft.network/privateendpoints/")
        || kind.split('/').next() == Some("microsoft.storage")
}

/// The load balancer, the list and the name of a part of it that only exists inside.
fn parent_balancer(id: &str) -> Option<(&str, &'static str, &str)> {
    const LISTS: [&str; 3] = ["frontendIPConfigurations", "probes", "loadBalancingRules"];
    let (rest, name) = id.rsplit_once('/')?;
    let (balancer, word) = rest.rsplit_once('/')?;
    let list = LISTS.into_iter().find(|list| list.eq_ignore_ascii_case(word))?;
    (kind_of(balancer) == "microsoft.network/loadbalancers").then_some((balancer, list, name))
}

/// The load balancer without that part; `None`: it has none of that name.
///
/// # Errors
/// 400: rules use it, so that Azure would refuse the rest.
fn without(balancer: &Value, list: &str, name: &str, id: &str) -> Result<Option<Value>, CloudError> {
    let mut after = balancer.clone();
    let Some(items) = after["properties"][list].as_array_mut() else { return Ok(None) };
    let count = items.len();
    items.retain(|item| !item["name"].as_str().is_some_and(|own| own.eq_ignore_ascii_case(name)));
    if items.len() == count {
        return Ok(None);
    }
    let user = users(&after, list).find(|(_, used)| used.eq_ignore_ascii_case(id));
    match user {
        Some((rule, _)) => {
            let message = format!("The resource {name} is used by the rule {rule}. Delete the rule first.");
            Err(CloudError::bad("RequestNotAllowed", "", rp_base::text::clean(&message, 1024)))
        }
        None => Ok(Some(after)),
    }
}

/// Rules, each with the id of what it uses of that list.
fn users<'a>(balancer: &'a Value, list: &str) -> impl Iterator<Item = (&'a str, &'a str)> {
    let (one, many) = match list {
        "frontendIPConfigurations" => ("frontendIPConfiguration", "frontendIPConfigurations"),
        "probes" => ("probe", ""),
        _ => ("", ""),
    };
    let rules = ["loadBalancingRules", "outboundRules", "inboundNatRules", "inboundNatPools"];
    let rules = rules.into_iter().filter_map(|kind| balancer["properties"][kind].as_array()).flatten();
    rules.flat_map(move |rule| {
        let name = rule["name"].as_str().unwrap_or_default();
        let of = &rule["properties"];
        let used = of[many].as_array().into_iter().flatten().chain([&of[one]]);
        used.filter_map(move |used| Some((name, used["id"].as_str()?)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const GROUP: &str = "/subscriptions/s/resourceGroups/Orion";

    #[test]
    fn a_group_is_compared_whole() {
        let of = |group: &str| {
            format!("/subscriptions/S/resourcegroups/{group}/providers/Microsoft.Compute/disks/d")
        };
        assert!(is_in(&of("orion"), GROUP));
        assert!(!is_in(&of("orion-2"), GROUP) && !is_in(GROUP, GROUP));
        assert_eq!(kind_of(&of("x")), "microsoft.compute/disks");
    }

    #[test]
    fn what_the_cluster_lives_by_is_protected() {
        for kind in [
            "microsoft.network/privatelinkservices",
            "microsoft.network/privatelinkservices/privateendpointconnections",
            "microsoft.network/privateendpoints",
            "microsoft.storage/storageaccounts",
        ] {
            assert!(is_protected(kind), "{kind}");
        }
        assert!(!is_protected("microsoft.network/loadbalancers") && !is_protected("microsoft.compute/disks"));
    }

    #[test]
    fn parts_of_a_load_balancer_go_when_nothing_uses_them() {
        let lb = format!("{GROUP}/providers/Microsoft.Network/loadBalancers/lb");
        let front = format!("{lb}/frontendipconfigurations/a");
        assert_eq!(parent_balancer(&front), Some((lb.as_str(), "frontendIPConfigurations", "a")));
        assert_eq!(parent_balancer(&lb), None);
        assert_eq!(parent_balancer(&format!("{lb}/backendAddressPools/a")), None);
        let body = |rules: Value| json!({"properties": {"frontendIPConfigurations": [{"name": "A"}, {"name": "b"}], "outboundRules": rules}});
        let used = json!([{"name": "out", "properties": {"frontendIPConfigurations": [{"id": front}]}}]);
        let told = without(&body(used), "frontendIPConfigurations", "a", &front).unwrap_err();
        assert_eq!(told.body.message, "The resource a is used by the rule out. Delete the rule first.");
        let left = without(&body(json!([])), "frontendIPConfigurations", "a", &front).unwrap().unwrap();
        assert_eq!(left["properties"]["frontendIPConfigurations"], json!([{"name": "b"}]));
        assert_eq!(without(&left, "frontendIPConfigurations", "a", &front), Ok(None));
    }
}
