//! Whether the subscription can have three machines of another size.

use std::collections::BTreeMap;

use rp_api::{CloudError, vm_sizes};
use rp_azure::{Sku, SubscriptionFacts as _, Usage};
use tokio::try_join;

use super::super::azure::{ManagedGroup, read};
use super::super::context::ActionContext;
use super::super::failed;
use super::at;
use crate::azure_checks;

/// What Azure offers the subscription in the region.
pub(super) struct Offer {
    location: String,
    skus: Vec<Sku>,
    usages: Vec<Usage>,
}

impl Offer {
    /// # Errors
    /// Azure's, with the target `vmSize`.
    pub(super) async fn read(of: &ActionContext<'_>, managed: &ManagedGroup) -> Result<Self, CloudError> {
        let location = managed.cluster.value.cluster.location.to_string();
        let subscription = &of.path.subscription;
        let (skus, usages) = try_join!(
            read(managed.azure.vm_skus(subscription, &location)),
            read(managed.azure.usages(subscription, "Microsoft.Compute", &location)),
        )
        .map_err(|error| at("vmSize", error))?;
        Ok(Self { location, skus, usages })
    }

    /// Whether the region has the size, and the subscription may have it.
    pub(super) fn check_sku(&self, size: &str) -> Result<(), CloudError> {
        azure_checks::offered(&self.skus, size, &self.location, "vmSize").map(drop)
    }

    /// Whether the quota bears the machines of these sizes with the size `wanted`.
    pub(super) fn check_quota<'a>(
        &self,
        wanted: &str,
        sizes: impl Iterator<Item = &'a str>,
    ) -> Result<(), CloudError> {
        let more = additional(wanted, sizes)?;
        azure_checks::quota(&more, &self.usages).map_err(|error| at("vmSize", error))
    }
}

/// What the machines need in addition, by quota; what becomes free is not counted.
fn additional<'a>(
    wanted: &str,
    sizes: impl Iterator<Item = &'a str>,
) -> Result<BTreeMap<&'static str, i64>, CloudError> {
    let Some(new) = vm_sizes::any(wanted) else {
        let message = format!("The provided VM SKU '{wanted}' is not supported.");
        return Err(CloudError::invalid("vmSize", message));
    };
    let mut more: BTreeMap<&'static str, i64> = BTreeMap::new();
    for size in sizes.filter(|size| !size.eq_ignore_ascii_case(wanted)) {
        let unknown = || failed(format!("The current VM SKU '{size}' could not be resolved."));
        let old = vm_sizes::any(size).ok_or_else(|| at("currentVMSize", unknown()))?;
        let cores = i64::from(new.cores) - i64::from(old.cores);
        let of_family = if new.family == old.family { cores } else { i64::from(new.cores) };
        *more.entry(new.family).or_default() += of_family;
        *more.entry("cores").or_default() += cores;
    }
    more.retain(|_, more| *more > 0);
    Ok(more)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(wanted: &str, sizes: [&'static str; 3]) -> Vec<(&'static str, i64)> {
        additional(wanted, sizes.into_iter()).unwrap().into_iter().collect()
    }

    #[test]
    fn only_what_is_needed_in_addition_counts() {
        let old = "Standard_D8s_v3";
        assert_eq!(of("Standard_D8s_v3", [old; 3]), []);
        assert_eq!(of("Standard_D16s_v3", [old; 3]), [("cores", 24), ("standardDSv3Family", 24)]);
        // One was resized before.
        let two = [old, "Standard_D16s_v3", old];
        assert_eq!(of("Standard_D16s_v3", two), [("cores", 16), ("standardDSv3Family", 16)]);
        // Another family: all its cores, but as many cores in all.
        assert_eq!(of("Standard_D8s_v5", [old; 3]), [("standardDSv5Family", 24)]);
        assert_eq!(of("Standard_D8s_v3", ["Standard_D16s_v3"; 3]), []);
    }

    #[test]
    fn sizes_that_nobody_knows_are_named() {
        let error = additional("Standard_D8s_v3", ["odd"].into_iter()).unwrap_err();
        assert_eq!((error.status, error.body.target.as_str()), (500, "currentVMSize"));
        assert_eq!(error.body.message, "The current VM SKU 'odd' could not be resolved.");
    }

    #[test]
    fn a_quota_that_is_too_small_is_refused_with_its_figures() {
        let usage = |name: &str, current: i64| Usage { name: name.to_owned(), current, limit: 100 };
        let offer = |current: i64| Offer {
            location: "eastus".to_owned(),
            skus: Vec::new(),
            usages: vec![usage("cores", current)],
        };
        let three = || ["Standard_D8s_v3"; 3].into_iter();
        assert_eq!(offer(76).check_quota("Standard_D16s_v3", three()), Ok(()));
        let error = offer(77).check_quota("Standard_D16s_v3", three()).unwrap_err();
        assert_eq!((error.status, error.body.code), (400, "ResourceQuotaExceeded"));
        assert_eq!(error.body.target, "vmSize");
        assert!(error.body.message.ends_with("Current in use: 77, Additional requested: 24."));
        assert!(offer(0).check_sku("Standard_D16s_v3").is_err(), "it is not offered");
    }
}
