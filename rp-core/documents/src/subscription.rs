//! Subscriptions as ARM tells them (`contract/database.md` §2.2). Writer: the frontend; the backend ends
//! deletions.

use serde::{Deserialize, Serialize};

use crate::{Collection, Document, Unknown};

/// Where a subscription is in its life.
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

impl Document for SubscriptionDocument {
    const COLLECTION: Collection = Collection::Subscriptions;

    fn id(&self) -> &str {
        &self.id
    }
}
