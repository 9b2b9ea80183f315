//! The simulated region's documents into the store: at the first start, so that a second keeps what changed.

use std::collections::BTreeSet;

use anyhow::Context as _;
use rp_core::Services;
use rp_database::Draft;
use rp_documents::cluster::{ClusterSecret, Worker};
use rp_documents::subscription::{Subscription, SubscriptionProperties};
use rp_documents::{Collection, Document, Leased as _, SubscriptionDocument, SubscriptionState, Unknown};
use rp_simulator_azure::tenant_of;
use rp_simulator_region::Region;

/// Documents written in one transaction.
const BATCH: usize = 200;

/// Writes every cluster and its subscription, unless clusters are there. Not
/// `monitored`: also writes the results of a monitor's last look, because no monitor runs.
pub(crate) async fn seed(region: &Region, services: &Services, monitored: bool) -> anyhow::Result<()> {
    subscriptions(region, services).await?;
    if services.store.count(Collection::OpenShiftClusters).await? > 0 {
        return Ok(());
    }
    let (mut clusters, mut looks) = (Vec::new(), Vec::new());
    for (index, (mut document, look)) in region.documents()?.into_iter().enumerate() {
        if let Some(kubeconfigs) = region.kubeconfigs(index) {
            let keyring = &services.keyring;
            let worker = Worker::holding(&document.lease());
            for (secret, plain) in [
                (ClusterSecret::SreKubeconfig, kubeconfigs.sre.expose().as_bytes()),
                (ClusterSecret::ServiceKubeconfig, kubeconfigs.service.expose().as_bytes()),
                (ClusterSecret::SshKey, region.machine_key().expose().as_slice()),
            ] {
                let sealed = keyring.seal(plain, &secret.place(&document.id))?;
                if let Some(member) = secret.outcome_mut(&mut document.cluster) {
                    member.set(worker, sealed);
                }
            }
        }
        clusters.push(draft(&document)?);
        looks.extend(look.as_ref().filter(|_| !monitored).map(draft).transpose()?);
    }
    write(services, Collection::OpenShiftClusters, clusters).await?;
    write(services, Collection::ClusterHealth, looks).await
}

/// Folders of earlier versions have clusters and no subscriptions.
async fn subscriptions(region: &Region, services: &Services) -> anyhow::Result<()> {
    if services.store.count(Collection::Subscriptions).await? > 0 {
        return Ok(());
    }
    let ids: BTreeSet<String> = region.fleet().clusters().map(|cluster| cluster.subscription).collect();
    let document = |id: &String| {
        let properties = SubscriptionProperties { tenant_id: tenant_of(id), unknown: Unknown::new() };
        SubscriptionDocument {
            id: id.clone(),
            subscription: Subscription {
                state: SubscriptionState::Registered,
                properties: Some(properties),
                unknown: Unknown::new(),
            },
            unknown: Unknown::new(),
        }
    };
    let drafts = ids.iter().map(|id| draft(&document(id))).collect::<anyhow::Result<_>>()?;
    write(services, Collection::Subscriptions, drafts).await
}

async fn write(services: &Services, collection: Collection, mut drafts: Vec<Draft>) -> anyhow::Result<()> {
    while !drafts.is_empty() {
        let rest = drafts.split_off(drafts.len().min(BATCH));
        services.store.create_all(collection, drafts).await.context("cannot write the simulated region")?;
        drafts = rest;
    }
    Ok(())
}

fn draft<T: Document>(document: &T) -> anyhow::Result<Draft> {
    Ok(Draft {
        id: document.id().to_owned(),
        partition: document.partition().to_owned(),
        unique_key: document.unique_key().map(std::borrow::Cow::into_owned),
        body: serde_json::to_string(document)?,
        expires_at: None,
    })
}
