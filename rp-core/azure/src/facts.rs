//! Sizes, quota, features and providers of a subscription.

use async_trait::async_trait;
use serde_json::Value;

use crate::error::AzureError;
use crate::resources::Resources;

/// A size of virtual machines in a region.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sku {
    pub name: String,
    pub family: String,
    /// Availability zones, sorted.
    pub zones: Vec<String>,
    /// Locations in which the subscription may not have it.
    pub restricted: Vec<String>,
    /// Names and values: `EncryptionAtHostSupported`, `True`.
    pub capabilities: Vec<(String, String)>,
}

impl Sku {
    /// Whether a capability is `True`.
    pub fn has(&self, capability: &str) -> bool {
        let found = self.capabilities.iter().find(|(name, _)| name.eq_ignore_ascii_case(capability));
        found.is_some_and(|(_, value)| value.eq_ignore_ascii_case("true"))
    }
}

/// How much of something a subscription uses in a region.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Usage {
    /// `cores`, `standardDSv5Family`, `PublicIPAddresses` …
    pub name: String,
    pub current: i64,
    pub limit: i64,
}

/// Sizes, quota, features and providers of a subscription. Implemented for everything with [`Resources`].
#[async_trait]
pub trait SubscriptionFacts {
    /// Sizes of virtual machines that the region offers.
    ///
    /// # Errors
    /// [`AzureError`].
    async fn vm_skus(&self, subscription: &str, location: &str) -> Result<Vec<Sku>, AzureError>;

    /// Usages of a provider (`Microsoft.Compute`, `Microsoft.Network`) in a region.
    ///
    /// # Errors
    /// [`AzureError`].
    async fn usages(
        &self,
        subscription: &str,
        provider: &str,
        location: &str,
    ) -> Result<Vec<Usage>, AzureError>;

    /// The state of a feature (`Microsoft.Compute`, `EncryptionAtHost`): `Registered` …; `None`: it tells none.
    ///
    /// # Errors
    /// [`AzureError`].
    async fn feature_state(
        &self,
        subscription: &str,
        provider: &str,
        feature: &str,
    ) -> Result<Option<String>, AzureError>;

    /// Providers of the subscription with their registration states.
    ///
    /// # Errors
    /// [`AzureError`].
    async fn provider_states(&self, subscription: &str) -> Result<Vec<(String, String)>, AzureError>;
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn texts(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().map(text).collect()
}

#[async_trait]
impl<T: Resources + ?Sized> SubscriptionFacts for T {
    async fn vm_skus(&self, subscription: &str, location: &str) -> Result<Vec<Sku>, AzureError> {
        let path = format!("/subscriptions/{subscription}/providers/Microsoft.Compute/skus");
        let filter = format!("location eq '{location}'");
        let all = self.list_with(&path, "2021-07-01", &[("$filter", &filter)]).await?;
        let machines = all.iter().filter(|sku| sku["resourceType"] == "virtualMachines");
        Ok(machines.map(sku).collect())
    }

    async fn usages(
        &self,
        subscription: &str,
        provider: &str,
        location: &str,
    ) -> Result<Vec<Usage>, AzureError> {
        let path = format!("/subscriptions/{subscription}/providers/{provider}/locations/{location}/usages");
        let version =
            if provider.eq_ignore_ascii_case("microsoft.network") { "2024-05-01" } else { "2024-03-01" };
        let all = self.list(&path, version).await?;
        let usage = |told: &Value| Usage {
            name: text(&told["name"]["value"]),
            current: told["currentValue"].as_i64().unwrap_or_default(),
            limit: told["limit"].as_i64().unwrap_or_default(),
        };
        Ok(all.iter().map(usage).collect())
    }

    async fn feature_state(
        &self,
        subscription: &str,
        provider: &str,
        feature: &str,
    ) -> Result<Option<String>, AzureError> {
        let id = format!(
            "/subscriptions/{subscription}/providers/Microsoft.Features/providers/{provider}/features/{feature}"
        );
        let found = self.get(&id, "2021-07-01").await?;
        Ok(found.and_then(|found| found["properties"]["state"].as_str().map(str::to_owned)))
    }

    async fn provider_states(&self, subscription: &str) -> Result<Vec<(String, String)>, AzureError> {
        let all = self.list(&format!("/subscriptions/{subscription}/providers"), "2021-04-01").await?;
        Ok(all.iter().map(|told| (text(&told["namespace"]), text(&told["registrationState"]))).collect())
    }
}

fn sku(told: &Value) -> Sku {
    let each = |name: &str| told[name].as_array().into_iter().flatten();
    let mut zones: Vec<String> = each("locationInfo").flat_map(|info| texts(&info["zones"])).collect();
    zones.sort_unstable();
    zones.dedup();
    // A restriction of zones takes those zones away; the size may be had in the others.
    let in_zones = |of: &&Value| of["type"].as_str().is_some_and(|kind| kind.eq_ignore_ascii_case("zone"));
    let had_zones = !zones.is_empty();
    for of in each("restrictions").filter(in_zones) {
        let barred = texts(&of["restrictionInfo"]["zones"]);
        zones.retain(|zone| !barred.contains(zone));
    }
    let everywhere = had_zones && zones.is_empty();
    let restricted = each("restrictions").filter(|of| everywhere || !in_zones(of));
    let restricted = restricted
        .flat_map(|of| texts(&of["values"]).into_iter().chain(texts(&of["restrictionInfo"]["locations"])));
    Sku {
        name: text(&told["name"]),
        family: text(&told["family"]),
        zones,
        restricted: restricted.collect(),
        capabilities: each("capabilities").map(|of| (text(&of["name"]), text(&of["value"]))).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_restriction_of_zones_leaves_the_others() {
        let of = |zones: &[&str], restrictions: Value| {
            sku(&json!({"name": "S", "locationInfo": [{"location": "eastus", "zones": zones}],
                "restrictions": restrictions}))
        };
        let zone = |zones: &[&str]| {
            json!({"type": "Zone", "values": ["eastus"], "reasonCode": "NotAvailableForSubscription",
                "restrictionInfo": {"locations": ["eastus"], "zones": zones}})
        };
        let one = of(&["3", "1", "2"], json!([zone(&["2"])]));
        assert_eq!(
            (one.zones.as_slice(), one.restricted.len()),
            (["1", "3"].map(String::from).as_slice(), 0)
        );
        let all = of(&["1", "2"], json!([zone(&["1"]), zone(&["2"])]));
        assert!(all.zones.is_empty() && all.restricted.contains(&"eastus".to_owned()), "{all:?}");
        let place =
            json!([{"type": "Location", "values": ["eastus"], "restrictionInfo": {"locations": ["eastus"]}}]);
        let none = of(&["1"], place);
        assert_eq!(
            (none.zones, none.restricted.first().map(String::as_str)),
            (vec!["1".to_owned()], Some("eastus"))
        );
        assert!(of(&[], json!([])).restricted.is_empty());
    }
}
