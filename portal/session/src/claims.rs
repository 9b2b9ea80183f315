//! What we read of an ID token beside the standard claims.

use openidconnect::AdditionalClaims;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Every claim that the library does not know.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExtraClaims {
    #[serde(flatten)]
    all: Map<String, Value>,
}

impl AdditionalClaims for ExtraClaims {}

/// The groups of a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Groups {
    Named(Vec<String>),
    /// More than fit into a token: the provider left them out and indicates that
    /// (`contract/portal.md` "Do better" 5).
    TooMany,
}

/// More groups than any provider puts into a token.
pub const MOST: usize = 2000;

impl ExtraClaims {
    /// Groups by the claim of that name; a lone string is one group.
    pub fn groups(&self, claim: &str) -> Groups {
        match self.all.get(claim) {
            Some(Value::Array(values)) => {
                Groups::Named(values.iter().take(MOST).filter_map(Value::as_str).map(str::to_owned).collect())
            }
            Some(Value::String(one)) => Groups::Named(vec![one.clone()]),
            _ if self.overage(claim) => Groups::TooMany,
            _ => Groups::Named(Vec::new()),
        }
    }

    /// Whether it says anything of groups, be it that there are none or too many.
    pub fn names_groups(&self, claim: &str) -> bool {
        matches!(self.all.get(claim), Some(Value::Array(_) | Value::String(_))) || self.overage(claim)
    }

    /// A claim that is text.
    pub fn text(&self, claim: &str) -> Option<&str> {
        self.all.get(claim).and_then(Value::as_str)
    }

    fn overage(&self, claim: &str) -> bool {
        let has = |name: &str| match self.all.get(name) {
            Some(Value::Bool(yes)) => *yes,
            Some(Value::String(text)) => text == "true",
            _ => false,
        };
        let names = self.all.get("_claim_names").and_then(Value::as_object);
        has("hasgroups") || names.is_some_and(|names| names.contains_key(claim))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn groups(claims: Value) -> Groups {
        serde_json::from_value::<ExtraClaims>(claims).unwrap().groups("groups")
    }

    #[test]
    fn reads_groups_and_sees_overage() {
        assert_eq!(groups(json!({"groups": ["a", 1, "b"]})), Groups::Named(vec!["a".into(), "b".into()]));
        assert_eq!(groups(json!({"groups": "a"})), Groups::Named(vec!["a".into()]));
        assert_eq!(groups(json!({})), Groups::Named(vec![]));
        assert_eq!(groups(json!({"hasgroups": true})), Groups::TooMany);
        let names =
            json!({"_claim_names": {"groups": "src1"}, "_claim_sources": {"src1": {"endpoint": "x"}}});
        assert_eq!(groups(names), Groups::TooMany);
    }
}
