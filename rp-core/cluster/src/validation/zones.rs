//! In which zones a cluster's machines can be (`contract/cluster.md` §6.2). Pure.

use std::collections::BTreeSet;

use rp_api::CloudError;
use rp_azure::Sku;

use crate::errors::StepError;

/// Zones that a cluster needs, when it is in zones at all.
const NEEDED: usize = 3;

/// Whether a size is of that name, and the subscription can have it in the location.
pub(crate) fn is_offered(sku: &Sku, size: &str, location: &str) -> bool {
    let barred = sku.restricted.iter().any(|place| place.eq_ignore_ascii_case(location));
    sku.name.eq_ignore_ascii_case(size) && !barred
}

/// Zones of a size among a location's offers, sorted; `None`: the subscription cannot have it there.
pub(crate) fn of_size(skus: &[Sku], size: &str, location: &str, expanded: bool) -> Option<Vec<String>> {
    let sku = skus.iter().find(|sku| is_offered(sku, size, location))?;
    let counts = |zone: &&String| expanded || matches!(zone.as_str(), "1" | "2" | "3");
    let zones: BTreeSet<String> = sku.zones.iter().filter(counts).cloned().collect();
    Some(zones.into_iter().collect())
}

/// A size of a cluster, and where it is offered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SizeZones<'a> {
    pub(crate) size: &'a str,
    pub(crate) zones: Option<&'a [String]>,
}

/// The zones of the cluster: the union of both, sorted; none where the sizes know no zones.
///
/// # Errors
/// A size is not offered, only one of them knows zones, or one has too few.
pub(crate) fn choose(
    masters: SizeZones<'_>,
    workers: SizeZones<'_>,
    location: &str,
) -> Result<Vec<String>, StepError> {
    let unavailable = |of: SizeZones<'_>, target: &str| {
        let message = format!("The selected SKU '{}' is unavailable in region '{location}'", of.size);
        StepError::Cloud(CloudError::invalid(target, message))
    };
    let master = masters.zones.ok_or_else(|| unavailable(masters, "properties.masterProfile.VMSize"))?;
    let worker = workers.zones.ok_or_else(|| unavailable(workers, "properties.workerProfiles[0].VMSize"))?;
    if master.is_empty() != worker.is_empty() {
        return Err(StepError::other(format!(
            "cluster creation with mix of zonal and non-zonal resources is unsupported (control plane zones: {}, worker zones: {})",
            master.len(),
            worker.len()
        )));
    }
    for (who, of, zones) in [("control plane", masters, master), ("worker", workers, worker)] {
        if !zones.is_empty() && zones.len() < NEEDED {
            let text =
                format!("{who} SKU '{}' only available in {} zones, need {NEEDED}", of.size, zones.len());
            return Err(StepError::other(text));
        }
    }
    let union: BTreeSet<String> = master.iter().chain(worker).cloned().collect();
    Ok(union.into_iter().collect())
}
