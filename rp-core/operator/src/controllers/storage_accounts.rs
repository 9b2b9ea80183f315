//! Firewalls of the storage accounts of the cluster (`contract/operator.md` §8.28).

use rp_azure::{Client, ErrorKind, Resources as _};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::subnets;
use crate::azure::{ATTEMPTS, BETWEEN, subscription};
use crate::controller::{Outcome, ReconcileError, Reconciled, Run};
use crate::kinds::{ObjectName, REGISTRY_CONFIG};

const API_VERSION: &str = "2021-09-01";

pub(super) async fn reconcile(run: &Run<'_>) -> Reconciled {
    let azure = run.context.azure.client(run.cluster)?;
    let mut allowed = run.cluster.spec.service_subnets.clone();
    for subnet in subnets::of_cluster(run).await? {
        let present = azure.get(&subnet.id, subnets::API_VERSION).await?;
        if present.is_some_and(|present| has_endpoint(&present, &run.cluster.spec.location)) {
            allowed.push(subnet.id);
        }
    }
    for account in accounts(run).await? {
        let id = account_id(run, &account)?;
        if allow(&azure, &account, &id, &allowed).await? {
            tracing::info!(account, "subnets were added to the firewall");
        }
    }
    Ok(Outcome::done())
}

/// Adds the subnets that an account's firewall lacks; gives whether there were any.
///
/// Accounts have no etag and take no `If-Match`. So an account is read directly before it is written, nothing is written
/// where nothing lacks, and it is read again afterwards: what somebody else took away in between is added again. What
/// somebody else adds between that reading and the writing is lost, as with every other client of Azure.
async fn allow(azure: &Client, account: &str, id: &str, allowed: &[String]) -> Result<bool, ReconcileError> {
    for attempt in 0..=ATTEMPTS {
        let present = azure.get(id, API_VERSION).await?;
        let present = present
            .ok_or_else(|| ReconcileError::invalid(format!("storage account {account} is not there")))?;
        let Some(rules) = with_rules(&present, allowed) else { return Ok(attempt > 0) };
        let body = json!({ "properties": { "networkAcls": rules } });
        match azure.patch(id, API_VERSION, &body).await {
            Ok(_) => {}
            // Another change of the account runs.
            Err(error) if error.kind == ErrorKind::Conflict && attempt < ATTEMPTS => sleep(BETWEEN).await,
            Err(error) => return Err(error.into()),
        }
    }
    Err(ReconcileError::invalid(format!(
        "others change the firewall of storage account {account} all the time"
    )))
}

/// That of the cluster, and that of the image registry.
async fn accounts(run: &Run<'_>) -> Result<Vec<String>, ReconcileError> {
    let config = run.api().get(ObjectName::of_cluster(&REGISTRY_CONFIG, "cluster")).await?;
    let name = config
        .and_then(|config| Some(config.pointer("/spec/storage/azure/accountName")?.as_str()?.to_owned()));
    let name = name.filter(|name| !name.is_empty());
    let name =
        name.ok_or_else(|| ReconcileError::invalid("azure storage field is nil in image registry config"))?;
    Ok(vec![format!("cluster{}", run.cluster.spec.storage_suffix), name])
}

fn account_id(run: &Run<'_>, account: &str) -> Result<String, ReconcileError> {
    // Names of accounts are lower-case letters and digits: one of another form would change the path.
    if account.is_empty() || !account.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit()) {
        return Err(ReconcileError::invalid(format!("{account:?} is no name of a storage account")));
    }
    let group = &run.cluster.spec.cluster_resource_group_id;
    subscription(group)?;
    Ok(format!("{group}/providers/Microsoft.Storage/storageAccounts/{account}"))
}

fn has_endpoint(subnet: &Value, location: &str) -> bool {
    let all = subnet.pointer("/properties/serviceEndpoints").and_then(Value::as_array);
    all.into_iter().flatten().any(|endpoint| {
        let mut locations = endpoint["locations"].as_array().into_iter().flatten().filter_map(Value::as_str);
        endpoint["service"].as_str().is_some_and(|name| name.eq_ignore_ascii_case("Microsoft.Storage"))
            && locations.any(|one| one == "*" || one.eq_ignore_ascii_case(location))
    })
}

/// The rules with the subnets that are missing; `None`: none is. No rule is removed.
fn with_rules(account: &Value, allowed: &[String]) -> Option<Value> {
    let present = account.pointer("/properties/networkAcls").filter(|acls| acls.is_object()).cloned();
    let mut acls = present.unwrap_or_else(|| json!({}));
    let mut rules = acls["virtualNetworkRules"].as_array().cloned().unwrap_or_default();
    let before = rules.len();
    for id in allowed {
        if !rules.iter().any(|rule| rule["id"].as_str().is_some_and(|known| known.eq_ignore_ascii_case(id))) {
            rules.push(json!({ "id": id, "action": "Allow" }));
        }
    }
    if rules.len() == before {
        return None;
    }
    acls["virtualNetworkRules"] = Value::Array(rules);
    Some(acls)
}

#[cfg(test)]
mod tests {
    use rp_simulator_azure::{Fault, FaultResponse};

    use super::*;
    use crate::testing::{Cloud, GROUP};

    /// What a firewall allows once `/ours` was added, and the answers to the writes; the first write has this answer.
    async fn after(first: FaultResponse) -> (Result<bool, ReconcileError>, Value, Vec<u16>) {
        let cloud = Cloud::start().await;
        let id = format!("{GROUP}/providers/Microsoft.Storage/storageAccounts/clusterabc");
        let acls = json!({ "defaultAction": "Deny", "bypass": "AzureServices", "ipRules": [{ "value": "192.0.2.1" }],
            "virtualNetworkRules": [{ "id": "/theirs", "action": "Allow" }] });
        assert!(cloud.control.put(
            &id,
            json!({ "location": "eastus", "tags": { "a": "b" }, "properties": { "networkAcls": acls } })
        ));
        cloud.control.fail(Fault {
            method: Some(http::Method::PATCH),
            path: "storageAccounts".to_owned(),
            times: Some(1),
            answer: first,
        });
        let allowed = ["/ours".to_owned()];
        let added = allow(&cloud.client, "clusterabc", &id, &allowed).await;
        let account = cloud.control.get(&id).unwrap();
        assert_eq!(account["tags"], json!({ "a": "b" }));
        let writes = cloud.answers("PATCH");
        if added.is_ok() {
            assert!(!allow(&cloud.client, "clusterabc", &id, &allowed).await.unwrap());
            assert_eq!(cloud.answers("PATCH"), writes, "what is right is not written");
        }
        (added, account["properties"]["networkAcls"].clone(), writes)
    }

    #[tokio::test]
    async fn a_write_that_met_another_or_was_undone_is_repeated() {
        let conflict = FaultResponse::status(409, "StorageAccountOperationInProgress");
        // The second: Azure takes the write, and somebody else's comes after it.
        for (first, status) in [(conflict, 409), (FaultResponse::Body(json!({})), 200)] {
            let (added, acls, writes) = after(first).await;
            assert!(added.unwrap());
            assert_eq!(writes, [status, 200]);
            assert_eq!(
                acls["virtualNetworkRules"],
                json!([{ "id": "/theirs", "action": "Allow" }, { "id": "/ours", "action": "Allow" }])
            );
            assert_eq!(
                (&acls["bypass"], &acls["ipRules"][0]["value"]),
                (&json!("AzureServices"), &json!("192.0.2.1"))
            );
        }
    }

    #[tokio::test]
    async fn a_refusal_is_an_error_and_is_not_repeated() {
        let (added, acls, writes) = after(FaultResponse::status(403, "AuthorizationFailed")).await;
        assert!(added.unwrap_err().to_string().contains("AuthorizationFailed"));
        assert_eq!(writes, [403]);
        assert_eq!(acls["virtualNetworkRules"].as_array().unwrap().len(), 1);
    }

    #[test]
    fn missing_subnets_are_added_and_nothing_is_removed() {
        let account = json!({ "properties": { "networkAcls": { "defaultAction": "Deny", "bypass": "AzureServices",
            "virtualNetworkRules": [{ "id": "/A", "action": "Allow" }, { "id": "/theirs", "action": "Allow" }] } } });
        let acls = with_rules(&account, &["/a".to_owned(), "/b".to_owned()]).unwrap();
        let ids: Vec<_> =
            acls["virtualNetworkRules"].as_array().unwrap().iter().map(|rule| &rule["id"]).collect();
        assert_eq!(ids, ["/A", "/theirs", "/b"]);
        assert_eq!(acls["bypass"], "AzureServices");
        assert_eq!(with_rules(&account, &["/a".to_owned()]), None);
        let empty = json!({ "properties": { "networkAcls": null } });
        assert_eq!(
            with_rules(&empty, &["/a".to_owned()]).unwrap()["virtualNetworkRules"][0]["action"],
            "Allow"
        );
    }

    #[test]
    fn only_subnets_with_an_endpoint_for_the_region_count() {
        let subnet = |location: &str| json!({ "properties": { "serviceEndpoints": [{ "service": "Microsoft.Storage", "locations": [location] }] } });
        assert!(has_endpoint(&subnet("*"), "eastus"));
        assert!(has_endpoint(&subnet("EastUS"), "eastus"));
        assert!(!has_endpoint(&subnet("westus"), "eastus"));
        assert!(!has_endpoint(&json!({ "properties": {} }), "eastus"));
    }
}
