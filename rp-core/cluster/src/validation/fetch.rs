//! What Azure has of a cluster's surroundings, as the checks want it.

use rp_azure::{Client, Resources};
use serde_json::Value;

use super::networks::{Subnet, network_of};
use super::subjects::{ResourceKind, Subject, missing, not_in_network};
use crate::document::Document;
use crate::errors::StepError;
use crate::resources::azure::{is, items};
use crate::templates::versions;

/// A network that subnets of the cluster are in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Network {
    pub(crate) id: String,
    pub(crate) location: String,
}

/// Networks of the cluster's subnets, each once, in any case.
pub(crate) fn network_ids(document: &Document) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for subnet in document.named_subnets() {
        let id = network_of(&subnet.id).unwrap_or(&subnet.id);
        if !all.iter().any(|known| known.eq_ignore_ascii_case(id)) {
            all.push(id.to_owned());
        }
    }
    all
}

/// Reads networks and subnets, as `reader`, who is `subject` or asks on its behalf.
pub(crate) async fn networks(
    reader: &Client,
    subject: &Subject,
    document: &Document,
) -> Result<(Vec<Network>, Vec<Subnet>), StepError> {
    let (mut networks, mut listed) = (Vec::new(), Vec::new());
    for id in network_ids(document) {
        let body = read(reader, subject, ResourceKind::Network, &id).await?;
        listed.extend(items(&body["properties"], "subnets").to_vec());
        networks.push(Network { location: body["location"].as_str().unwrap_or_default().to_owned(), id });
    }
    let mut subnets = Vec::new();
    for named in document.named_subnets() {
        let body = read(reader, subject, ResourceKind::Subnet, &named.id).await?;
        if !listed.is_empty() && !listed.iter().any(|subnet| is(subnet, &named.id)) {
            return Err(not_in_network(&named.id).into());
        }
        subnets.push(Subnet::read(named, &body));
    }
    Ok((networks, subnets))
}

/// A network or a subnet.
async fn read(reader: &Client, subject: &Subject, kind: ResourceKind, id: &str) -> Result<Value, StepError> {
    match reader.get(id, versions::NETWORK).await {
        Ok(Some(body)) => Ok(body),
        Ok(None) => Err(missing(kind, id, "").into()),
        Err(error) if error.status == Some(403) => {
            Err(subject.refused(kind, id, "", Some(&error.message)).into())
        }
        Err(error) => Err(error.into()),
    }
}

/// A route table or NAT gateway is there. Who may not read it has the rights that are needed, or was told before.
pub(crate) async fn is_there(reader: &Client, kind: ResourceKind, id: &str) -> Result<(), StepError> {
    match reader.get(id, versions::NETWORK).await {
        Ok(None) => Err(missing(kind, id, "").into()),
        Err(error) if error.status != Some(403) => Err(error.into()),
        _ => Ok(()),
    }
}

/// Location of a disk encryption set.
pub(crate) async fn encryption_set(reader: &Client, id: &str, path: &str) -> Result<String, StepError> {
    let body = reader.get(id, versions::ENCRYPTION_SETS).await?;
    let body = body.ok_or_else(|| missing(ResourceKind::EncryptionSet, id, path))?;
    Ok(body["location"].as_str().unwrap_or_default().to_owned())
}
