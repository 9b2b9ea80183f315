//! Subscriptions as ARM reports them (`contract/database.md` §2.2). Writer: the frontend; the backend ends
//! deletions.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{Collection, Document, Unknown};

/// State of a subscription.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum SubscriptionState {
    Registered,
    Unregistered,
    Warned,
    Suspended,
    Deleted,
}

impl SubscriptionState {
    const ALL: [Self; 5] =
        [Self::Registered, Self::Unregistered, Self::Warned, Self::Suspended, Self::Deleted];

    /// The name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Registered => "Registered",
            Self::Unregistered => "Unregistered",
            Self::Warned => "Warned",
            Self::Suspended => "Suspended",
            Self::Deleted => "Deleted",
        }
    }

    /// The state of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }
}

/// One subscription.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SubscriptionDocument {
    /// The subscription id, lower case.
    pub id: String,
    pub subscription: Subscription,
    #[serde(flatten)]
    pub unknown: Unknown,
}

/// What ARM sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Subscription {
    pub state: SubscriptionState,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub properties: Option<SubscriptionProperties>,
    #[serde(flatten)]
    pub unknown: Unknown,
}

/// What we read of its properties.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SubscriptionProperties {
    #[serde(default)]
    pub tenant_id: String,
    #[serde(flatten)]
    pub unknown: Unknown,
}

impl SubscriptionDocument {
    /// Its clusters are to be deleted.
    pub fn set_deleting(&mut self) {
        self.unknown.insert("deleting".to_owned(), Value::Bool(true));
    }

    /// Its clusters are gone.
    pub fn clear_deleting(&mut self) {
        self.unknown.remove("deleting");
    }

    /// The customer's directory, in ARM's casing; empty when it is not known.
    pub fn tenant(&self) -> &str {
        self.subscription.properties.as_ref().map_or("", |properties| &properties.tenant_id)
    }

    /// Whether a feature is registered; names in any case.
    pub fn has_feature(&self, name: &str) -> bool {
        let properties = self.subscription.properties.as_ref();
        let features =
            properties.and_then(|properties| properties.unknown.get("registeredFeatures")?.as_array());
        features.into_iter().flatten().any(|feature| {
            let member = |name: &str| feature.get(name).and_then(Value::as_str).unwrap_or_default();
            member("name").eq_ignore_ascii_case(name) && member("state") == "Registered"
        })
    }

    /// Number of consecutive times its deletion was postponed.
    pub fn retries(&self) -> u32 {
        let count = self.unknown.get("retry").and_then(|retry| retry.get("count")).and_then(Value::as_u64);
        u32::try_from(count.unwrap_or_default()).unwrap_or(u32::MAX)
    }

    /// Sets the number of times its deletion was postponed.
    pub fn set_retries(&mut self, retries: u32) {
        if retries == 0 {
            self.unknown.remove("retry");
        } else {
            self.unknown.insert("retry".to_owned(), json!({"count": retries}));
        }
    }
}

impl Document for SubscriptionDocument {
    const COLLECTION: Collection = Collection::Subscriptions;

    fn id(&self) -> &str {
        &self.id
    }
}
