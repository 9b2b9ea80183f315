//! In which zones a new cluster lives (`contract/cluster.md` §6.2).

use rp_azure::{Sku, SubscriptionFacts};
use rp_documents::OpenShiftCluster;
use rp_documents::cluster::{Outcome, Worker};

use crate::context::Context;
use crate::errors::StepError;
use crate::validation::zones::{SizeZones, choose, of_size};

/// Looks up both sizes among the location's offers and writes the zones.
pub(crate) async fn validate_zones(context: &Context) -> Result<(), StepError> {
    let document = context.document();
    let location = document.location();
    let skus = skus(context).await?;
    let expanded = context.env.features.expanded_zones;
    let worker = document.properties.worker_profiles.first().map_or("", |profile| &profile.vm_size);
    let masters = of_size(&skus, document.master_size(), &location, expanded);
    let workers = of_size(&skus, worker, &location, expanded);
    let zones = choose(
        SizeZones { size: document.master_size(), zones: masters.as_deref() },
        SizeZones { size: worker, zones: workers.as_deref() },
        &location,
    )?;
    set_zones(context, zones).await
}

/// Writes the zones of the cluster's own resources.
pub(crate) async fn set_zones(context: &Context, zones: Vec<String>) -> Result<(), StepError> {
    let change = move |cluster: &mut OpenShiftCluster, by: Worker| {
        let zones: Vec<_> = zones.iter().map(|zone| Outcome::new(by, zone.as_str())).collect();
        cluster.properties.zones.set(by, zones);
    };
    context.patch(change).await.map(|_| ())
}

/// Sizes that the subscription can have in the cluster's location.
pub(crate) async fn skus(context: &Context) -> Result<Vec<Sku>, StepError> {
    let document = context.document();
    Ok(context.customer().vm_skus(document.subscription_id(), &document.location()).await?)
}
