//! What subscriptions may have: sizes, quota, features, providers.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

/// A size of machines: name, family, cores.
pub type Size = (String, String, u32);

const SIZES: [(&str, &str, u32); 12] = [
    ("Standard_D2s_v3", "standardDSv3Family", 2),
    ("Standard_D4s_v3", "standardDSv3Family", 4),
    ("Standard_D8s_v3", "standardDSv3Family", 8),
    ("Standard_D16s_v3", "standardDSv3Family", 16),
    ("Standard_D2s_v5", "standardDSv5Family", 2),
    ("Standard_D4s_v5", "standardDSv5Family", 4),
    ("Standard_D8s_v5", "standardDSv5Family", 8),
    ("Standard_D16s_v5", "standardDSv5Family", 16),
    ("Standard_D32s_v5", "standardDSv5Family", 32),
    ("Standard_E4s_v5", "standardESv5Family", 4),
    ("Standard_E8s_v5", "standardESv5Family", 8),
    ("Standard_E16s_v5", "standardESv5Family", 16),
];
const PROVIDERS: [&str; 9] = [
    "Microsoft.Authorization",
    "Microsoft.Compute",
    "Microsoft.Features",
    "Microsoft.KeyVault",
    "Microsoft.ManagedIdentity",
    "Microsoft.Network",
    "Microsoft.RedHatOpenShift",
    "Microsoft.Resources",
    "Microsoft.Storage",
];
/// Default core quota of a subscription, per family and in total.
const CORES: i64 = 10_000;
const ADDRESSES: i64 = 1_000;

#[derive(Debug)]
pub(super) struct Facts {
    sizes: Vec<Size>,
    /// (subscription or empty, size in lower case).
    restricted: BTreeSet<(String, String)>,
    /// (subscription, quota in lower case) → usage in addition to the tree, limit.
    quota: BTreeMap<(String, String), (i64, i64)>,
    features: BTreeMap<(String, String), String>,
    providers: BTreeMap<(String, String), String>,
}

impl Default for Facts {
    fn default() -> Self {
        let sizes = SIZES.iter().map(|(name, family, cores)| ((*name).into(), (*family).into(), *cores));
        Self {
            sizes: sizes.collect(),
            restricted: BTreeSet::new(),
            quota: BTreeMap::new(),
            features: BTreeMap::new(),
            providers: BTreeMap::new(),
        }
    }
}

fn pair(subscription: &str, name: &str) -> (String, String) {
    (subscription.to_ascii_lowercase(), name.to_ascii_lowercase())
}

impl Facts {
    pub(super) fn offer(&mut self, sizes: Vec<Size>) {
        self.sizes = sizes;
    }

    pub(super) fn restrict(&mut self, subscription: &str, size: &str) {
        self.restricted.insert(pair(subscription, size));
    }

    pub(super) fn set_quota(&mut self, subscription: &str, name: &str, used: i64, limit: i64) {
        self.quota.insert(pair(subscription, name), (used, limit));
    }

    pub(super) fn set_feature(&mut self, subscription: &str, feature: &str, state: &str) {
        self.features.insert(pair(subscription, feature), state.to_owned());
    }

    pub(super) fn set_provider(&mut self, subscription: &str, provider: &str, state: &str) {
        self.providers.insert(pair(subscription, provider), state.to_owned());
    }

    /// Family and cores of a size.
    pub(super) fn size(&self, name: &str) -> Option<(String, i64)> {
        let found = self.sizes.iter().find(|(known, ..)| known.eq_ignore_ascii_case(name))?;
        Some((found.1.clone(), i64::from(found.2)))
    }

    /// Usage in addition to the tree, and the limit.
    pub(super) fn quota(&self, subscription: &str, name: &str) -> (i64, i64) {
        let otherwise = if name.eq_ignore_ascii_case("PublicIPAddresses") { ADDRESSES } else { CORES };
        self.quota.get(&pair(subscription, name)).copied().unwrap_or((0, otherwise))
    }

    pub(super) fn families(&self) -> BTreeSet<String> {
        self.sizes.iter().map(|(_, family, _)| family.clone()).collect()
    }

    pub(super) fn skus(&self, subscription: &str, location: &str) -> Vec<Value> {
        let sku = |(name, family, cores): &Size| {
            let closed = self.restricted.contains(&pair(subscription, name))
                || self.restricted.contains(&pair("", name));
            let restrictions = match closed {
                true => json!([{"type": "Location", "values": [location],
                    "restrictionInfo": {"locations": [location]}, "reasonCode": "NotAvailableForSubscription"}]),
                false => json!([]),
            };
            json!({"resourceType": "virtualMachines", "name": name, "tier": "Standard", "family": family,
                "size": name.trim_start_matches("Standard_"), "locations": [location],
                "locationInfo": [{"location": location, "zones": ["3", "1", "2"]}],
                "capabilities": [{"name": "vCPUs", "value": cores.to_string()},
                    {"name": "AcceleratedNetworkingEnabled", "value": "True"},
                    {"name": "EncryptionAtHostSupported", "value": if name.contains("_v3") { "False" } else { "True" }},
                    {"name": "HyperVGenerations", "value": "V1,V2"}],
                "restrictions": restrictions})
        };
        self.sizes.iter().map(sku).collect()
    }

    /// `Microsoft.Compute/EncryptionAtHost`; empty when the state was never set.
    pub(super) fn feature(&self, subscription: &str, provider: &str, name: &str) -> Value {
        let state = self.features.get(&pair(subscription, &format!("{provider}/{name}")));
        let id = format!(
            "/subscriptions/{subscription}/providers/Microsoft.Features/providers/{provider}/features/{name}"
        );
        let properties = match state.map(String::as_str) {
            Some("") => json!({}),
            state => json!({"state": state.unwrap_or("NotRegistered")}),
        };
        json!({"id": id, "name": format!("{provider}/{name}"), "type": "Microsoft.Features/providers/features",
            "properties": properties})
    }

    pub(super) fn provider(&self, subscription: &str, provider: &str) -> Value {
        let known = PROVIDERS.iter().find(|known| known.eq_ignore_ascii_case(provider));
        let shown = known.copied().unwrap_or(provider);
        let state = self.providers.get(&pair(subscription, provider));
        let state =
            state.map_or(if known.is_some() { "Registered" } else { "NotRegistered" }, String::as_str);
        json!({"id": format!("/subscriptions/{subscription}/providers/{shown}"), "namespace": shown,
            "registrationState": state, "registrationPolicy": "RegistrationRequired", "resourceTypes": []})
    }

    pub(super) fn providers(&self, subscription: &str) -> Vec<Value> {
        PROVIDERS.iter().map(|provider| self.provider(subscription, provider)).collect()
    }
}
