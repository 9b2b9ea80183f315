//! Storage accounts and their containers (`contract/cluster.md` §8.2).

use serde_json::{Value, json};

use super::{ServiceEnvironment, after, id, resource};
use crate::document::Document;

const ACCOUNTS: &str = "Microsoft.Storage/storageAccounts";

/// Both accounts with their containers. `open_to`: ids of the cluster's subnets with the storage service endpoint.
/// Encryption can be told at birth only: `new` is whether the accounts are being made.
pub(crate) fn accounts(
    cluster: &Document,
    service: &ServiceEnvironment,
    open_to: &[String],
    new: bool,
) -> Vec<Value> {
    let state = cluster.state_account();
    let registry = cluster.registry_account();
    let mut all = vec![account(cluster, service, &state, open_to, new, true)];
    if new {
        all.extend(["ignition", "aro"].map(|name| container(cluster, &state, name)));
    }
    all.push(account(cluster, service, &registry, open_to, new, false));
    if new {
        all.push(container(cluster, &registry, "image-registry"));
    }
    all
}

/// Id of an account.
pub(crate) fn account_id(cluster: &Document, name: &str) -> String {
    id(cluster.group_id(), ACCOUNTS, name)
}

fn account(
    cluster: &Document,
    service: &ServiceEnvironment,
    name: &str,
    open_to: &[String],
    new: bool,
    state: bool,
) -> Value {
    let rules: Vec<Value> = service
        .storage_subnets(state)
        .iter()
        .chain(open_to)
        .map(|id| json!({ "id": id, "action": "Allow" }))
        .collect();
    let mut properties = json!({
        "allowBlobPublicAccess": false,
        "allowCrossTenantReplication": false,
        "supportsHttpsTrafficOnly": true,
        "minimumTlsVersion": "TLS1_2",
        "networkAcls": {
            "bypass": "AzureServices",
            "defaultAction": if service.development { "Allow" } else { "Deny" },
            "virtualNetworkRules": rules,
        },
    });
    if new {
        properties["encryption"] = encryption();
    }
    if cluster.is_workload_identity() {
        properties["allowSharedKeyAccess"] = json!(false);
        if state {
            properties["sasPolicy"] =
                json!({ "sasExpirationPeriod": "0.01:00:00", "expirationAction": "Log" });
        }
    }
    let mut body = resource(ACCOUNTS, name, Some(&cluster.location()), properties);
    body["kind"] = json!("StorageV2");
    body["sku"] = json!({ "name": "Standard_LRS" });
    body
}

fn encryption() -> Value {
    let service = json!({ "enabled": true, "keyType": "Account" });
    json!({
        "requireInfrastructureEncryption": true,
        "keySource": "Microsoft.Storage",
        "services": { "blob": service, "file": service, "table": service, "queue": service },
    })
}

fn container(cluster: &Document, account: &str, name: &str) -> Value {
    let kind = "Microsoft.Storage/storageAccounts/blobServices/containers";
    let body = resource(kind, &format!("{account}/default/{name}"), None, json!({}));
    after(body, &[account_id(cluster, account)])
}
