//! Selectors: which clusters a schedule chooses (`contract/mimo.md` §6.2).

use serde::{Deserialize, Serialize};

use super::Problem;
use crate::{ClusterDocument, SubscriptionState, Unknown};

/// One condition on a cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Selector {
    #[serde(default)]
    pub key: String,
    /// `eq`, `in` or `notin`; others are refused when the schedule is written.
    #[serde(default)]
    pub operator: String,
    /// Of `eq`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub value: String,
    /// Of `in` and `notin`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
    #[serde(flatten)]
    pub unknown: Unknown,
}

/// How a selector compares. Values are compared exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    Equal,
    In,
    NotIn,
}

/// A key that no cluster has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("requested non-existent '{0}' selector key")]
pub struct UnknownKey(pub String);

/// Why it cannot be said whether a cluster is chosen.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SelectorError {
    #[error(transparent)]
    Key(#[from] UnknownKey),
    #[error("empty selector list")]
    Empty,
    #[error("unknown selector operator '{0}'")]
    Operator(String),
}

/// What selectors see of a cluster. Serializes as the API shows it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ClusterFacts {
    /// Lower case.
    #[serde(rename = "resourceID")]
    pub resource_id: String,
    #[serde(rename = "bucketID")]
    pub bucket_id: String,
    #[serde(rename = "subscriptionID")]
    pub subscription_id: String,
    #[serde(rename = "subscriptionState")]
    pub subscription_state: String,
    #[serde(rename = "authenticationType")]
    pub authentication_type: &'static str,
    #[serde(rename = "architectureVersion")]
    pub architecture_version: String,
    #[serde(rename = "provisioningState")]
    pub provisioning_state: String,
    #[serde(rename = "outboundType")]
    pub outbound_type: String,
    #[serde(rename = "APIServerVisibility")]
    pub api_server_visibility: String,
    #[serde(rename = "isManagedDomain")]
    pub is_managed_domain: &'static str,
}

impl ClusterFacts {
    /// Of a stored cluster. `subscription`: the state of its subscription now; `None`: there is none. `domain`: the
    /// parent of domains that are ours to manage.
    pub fn of(document: &ClusterDocument, subscription: Option<SubscriptionState>, domain: &str) -> Self {
        let properties = &document.cluster.properties;
        let number = |number: i64| number.max(0).to_string();
        let managed = is_managed(&properties.cluster_profile.domain, domain);
        Self {
            resource_id: document.key.clone(),
            bucket_id: number(*document.bucket),
            subscription_id: document.partition_key.clone(),
            subscription_state: subscription.map_or("", SubscriptionState::name).to_owned(),
            authentication_type: match properties.is_workload_identity() {
                true => "WorkloadIdentity",
                false => "ServicePrincipal",
            },
            architecture_version: number(*properties.architecture_version),
            provisioning_state: properties.provisioning_state.word().to_owned(),
            outbound_type: properties.network_profile.outbound_type.to_string(),
            api_server_visibility: properties.apiserver_profile.visibility.to_string(),
            is_managed_domain: if managed { "true" } else { "false" },
        }
    }

    /// The value of a key.
    ///
    /// # Errors
    /// There is no such key.
    pub fn get(&self, key: &str) -> Result<&str, UnknownKey> {
        match key {
            "resourceID" => Ok(&self.resource_id),
            "bucketID" => Ok(&self.bucket_id),
            "subscriptionID" => Ok(&self.subscription_id),
            "subscriptionState" => Ok(&self.subscription_state),
            "authenticationType" => Ok(self.authentication_type),
            "architectureVersion" => Ok(&self.architecture_version),
            "provisioningState" => Ok(&self.provisioning_state),
            "outboundType" => Ok(&self.outbound_type),
            "APIServerVisibility" => Ok(&self.api_server_visibility),
            "isManagedDomain" => Ok(self.is_managed_domain),
            _ => Err(UnknownKey(rp_base::text::clean(key, 64))),
        }
    }

    /// Whether all selectors match.
    ///
    /// # Errors
    /// The list is empty, or a selector names an unknown key or operator.
    pub fn matches(&self, selectors: &[Selector]) -> Result<bool, SelectorError> {
        if selectors.is_empty() {
            return Err(SelectorError::Empty);
        }
        let mut all = true;
        for selector in selectors {
            all &= selector.matches(self)?;
        }
        Ok(all)
    }
}

/// A domain without a dot, or one below ours, is ours to manage.
fn is_managed(domain: &str, ours: &str) -> bool {
    !domain.contains('.') || domain.strip_suffix(ours).is_some_and(|rest| rest.ends_with('.'))
}

impl Selector {
    fn operator(&self) -> Option<Operator> {
        match self.operator.as_str() {
            "eq" => Some(Operator::Equal),
            "in" => Some(Operator::In),
            "notin" => Some(Operator::NotIn),
            _ => None,
        }
    }

    fn matches(&self, facts: &ClusterFacts) -> Result<bool, SelectorError> {
        let value = facts.get(&self.key)?;
        let listed = || self.values.iter().any(|listed| listed == value);
        match self.operator() {
            Some(Operator::Equal) => Ok(self.value == value),
            Some(Operator::In) => Ok(listed()),
            Some(Operator::NotIn) => Ok(!listed()),
            None => Err(SelectorError::Operator(rp_base::text::clean(&self.operator, 32))),
        }
    }

    /// Checks what a caller sent, in the contract's words.
    ///
    /// # Errors
    /// The first member that is wrong.
    pub(super) fn check(&self, most_values: usize) -> Result<(), Problem> {
        let told = &self.operator;
        let Some(operator) = self.operator() else {
            return Err(Problem::new("operator", "Must be one of ['eq', 'in', 'notin']"));
        };
        let must =
            |target: &str| Problem::new(target, format!("Must be provided for operator type '{told}'"));
        let must_not =
            |target: &str| Problem::new(target, format!("Must not be provided for operator type '{told}'"));
        match operator {
            Operator::Equal if self.value.is_empty() => return Err(must("value")),
            Operator::Equal if !self.values.is_empty() => return Err(must_not("values")),
            Operator::In | Operator::NotIn if !self.value.is_empty() => return Err(must_not("value")),
            Operator::In | Operator::NotIn if self.values.is_empty() => return Err(must("values")),
            Operator::In | Operator::NotIn if self.values.len() > most_values => {
                return Err(Problem::new("values", format!("Must be at most {most_values}")));
            }
            Operator::Equal | Operator::In | Operator::NotIn => {}
        }
        ClusterFacts::default()
            .get(&self.key)
            .map(drop)
            .map_err(|error| Problem::new("key", error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn facts() -> ClusterFacts {
        ClusterFacts {
            resource_id: "/subscriptions/s/c".into(),
            subscription_state: "Registered".into(),
            is_managed_domain: "true",
            ..ClusterFacts::default()
        }
    }

    fn selector(key: &str, operator: &str, value: &str, values: &[&str]) -> Selector {
        let values = values.iter().map(|value| (*value).to_owned()).collect();
        Selector {
            key: key.into(),
            operator: operator.into(),
            value: value.into(),
            values,
            ..Selector::default()
        }
    }

    #[test]
    fn all_must_match_exactly() {
        let matches = |selectors: &[Selector]| facts().matches(selectors);
        let registered = selector("subscriptionState", "eq", "Registered", &[]);
        assert_eq!(matches(std::slice::from_ref(&registered)), Ok(true));
        assert_eq!(matches(&[selector("subscriptionState", "eq", "registered", &[])]), Ok(false));
        assert_eq!(matches(&[selector("isManagedDomain", "in", "", &["true", "x"])]), Ok(true));
        assert_eq!(matches(&[selector("isManagedDomain", "notin", "", &["true"])]), Ok(false));
        assert_eq!(matches(&[registered, selector("isManagedDomain", "eq", "false", &[])]), Ok(false));
        assert_eq!(matches(&[]), Err(SelectorError::Empty));
        let unknown = matches(&[selector("x", "eq", "y", &[])]).unwrap_err();
        assert_eq!(unknown.to_string(), "requested non-existent 'x' selector key");
    }

    #[test]
    fn domains_of_ours_are_managed() {
        for (domain, managed) in
            [("c", true), ("c.aroapp.io", true), ("c.example", false), ("xaroapp.io", false)]
        {
            assert_eq!(is_managed(domain, "aroapp.io"), managed, "{domain}");
        }
    }

    proptest! {
        #[test]
        fn in_and_notin_are_opposites(values in proptest::collection::vec("[a-c]", 1..5), value in "[a-d]") {
            let facts = ClusterFacts { outbound_type: value, ..ClusterFacts::default() };
            let values: Vec<&str> = values.iter().map(String::as_str).collect();
            let within = facts.matches(&[selector("outboundType", "in", "", &values)]).unwrap();
            let without = facts.matches(&[selector("outboundType", "notin", "", &values)]).unwrap();
            prop_assert_ne!(within, without);
        }
    }
}
