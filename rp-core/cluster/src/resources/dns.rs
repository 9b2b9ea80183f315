//! Public names of clusters in the service's zone (`contract/cluster.md` §6.4).

use rp_api::CloudError;
use rp_azure::{Precondition, Resources};
use serde_json::{Value, json};

use super::azure::items;
use crate::context::Context;
use crate::errors::StepError;
use crate::templates::versions;

const TTL: u32 = 300;
/// Attempts to write a record that others change.
const TRIES: usize = 5;

/// A record set of this cluster.
pub(crate) struct Record {
    pub(crate) id: String,
    name: String,
}

/// Record sets of API server and router; `None`: the domain is the customer's own.
pub(crate) fn records(context: &Context) -> Result<Option<(Record, Record)>, StepError> {
    let env = &context.env;
    let document = context.document();
    let Some(prefix) = document.managed_prefix(&env.domain)? else { return Ok(None) };
    let service = context.service_environment();
    let record = |name: String| Record {
        id: format!("{}/providers/Microsoft.Network/dnsZones/{}/A/{name}", service.group_id(), env.domain),
        name,
    };
    Ok(Some((record(format!("api.{prefix}")), record(format!("*.apps.{prefix}")))))
}

/// Reserves the cluster's name, without an address.
pub(crate) async fn create_dns(context: &Context) -> Result<(), StepError> {
    let Some((api, _)) = records(context)? else { return Ok(()) };
    let document = context.document();
    let client = context.own();
    let body = body(document.cluster_id(), None);
    match client.put_when(&api.id, versions::DNS, &body, Precondition::Absent).await {
        Err(error) if matches!(error.status, Some(409 | 412)) => {}
        done => return Ok(done.map(|_| ())?),
    }
    let found = client.get(&api.id, versions::DNS).await?;
    if found.as_ref().is_some_and(|record| is_owned(record, document.cluster_id())) {
        return Ok(());
    }
    let domain = &*document.properties.cluster_profile.domain;
    let message = format!("The provided domain '{domain}' is already in use by a cluster.");
    Err(CloudError::bad("DuplicateDomain", "", message).into())
}

/// Points the API server's name to that address.
pub(crate) async fn update_api(context: &Context, address: &str) -> Result<(), StepError> {
    let Some((api, _)) = records(context)? else { return Ok(()) };
    let document = context.document();
    let client = context.own();
    let body = body(document.cluster_id(), Some(address));
    let mut tried = 1;
    loop {
        let found = client.get(&api.id, versions::DNS).await?;
        let when = match &found {
            None => Precondition::Absent,
            Some(record) if !is_owned(record, document.cluster_id()) => {
                return Err(StepError::other(format!("recordset {:?} already registered", api.name)));
            }
            Some(record) if leads_to(record, address) => return Ok(()),
            Some(record) => Precondition::Unchanged(record["etag"].as_str().unwrap_or_default()),
        };
        match client.put_when(&api.id, versions::DNS, &body, when).await {
            // Another write was faster: perhaps our own, whose answer was lost.
            Err(error) if matches!(error.status, Some(409 | 412)) && tried < TRIES => tried += 1,
            done => return Ok(done.map(|_| ())?),
        }
    }
}

/// Points the router's names to that address.
pub(crate) async fn update_apps(context: &Context, address: &str) -> Result<(), StepError> {
    let Some((_, apps)) = records(context)? else { return Ok(()) };
    let client = context.own();
    if let Some(record) = client.get(&apps.id, versions::DNS).await?
        && leads_to(&record, address)
    {
        return Ok(());
    }
    client.put(&apps.id, versions::DNS, &body(context.document().cluster_id(), Some(address))).await?;
    Ok(())
}

/// Whether a record set was made for that cluster.
pub(crate) fn is_owned(record: &Value, cluster: &str) -> bool {
    let owner = record["properties"]["metadata"]["resourceId"].as_str();
    owner.is_some_and(|owner| owner.eq_ignore_ascii_case(cluster))
}

fn leads_to(record: &Value, address: &str) -> bool {
    items(&record["properties"], "ARecords").iter().any(|record| record["ipv4Address"] == address)
}

fn body(cluster: &str, address: Option<&str>) -> Value {
    let records: Vec<Value> = address.map(|address| json!({ "ipv4Address": address })).into_iter().collect();
    json!({ "properties": { "TTL": TTL, "metadata": { "resourceId": cluster }, "ARecords": records } })
}
