//! The lease of a document: who works on it, until when (`contract/database.md` §6). The members are in the
//! document's envelope.

use serde_json::Value;

use crate::{Document, SubscriptionDocument, Unknown};

/// The lease of a cluster's or a subscription's document. Writers: the process that takes or holds it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lease {
    /// Empty: not held.
    pub owner: String,
    /// Unix seconds of the store's clock; free from the second after. Without an owner: nobody takes it before.
    pub expires: i64,
    /// Grows with every take, and is never reset: the writes of a former holder are told by it.
    pub token: u64,
    /// How often it was taken without coming to an end.
    pub dequeues: u32,
}

/// A document that is worked on under a lease.
pub trait Leased: Document + PartialEq + std::fmt::Debug {
    /// The lease. Members with JSON of an unexpected type read as zero.
    fn lease(&self) -> Lease;

    /// Writes the lease. Zero members are left out, as everywhere in documents.
    fn set_lease(&mut self, lease: &Lease);
}

impl Lease {
    /// Whether that holder still has it.
    pub fn is_held_by(&self, owner: &str, token: u64) -> bool {
        self.owner == owner && self.token == token
    }
}

impl Leased for SubscriptionDocument {
    fn lease(&self) -> Lease {
        let member = |name: &str| self.unknown.get(name);
        let number = |name: &str| member(name).and_then(Value::as_i64).unwrap_or_default();
        Lease {
            owner: member("leaseOwner").and_then(Value::as_str).unwrap_or_default().to_owned(),
            expires: number("leaseExpires"),
            token: u64::try_from(number("leaseToken")).unwrap_or_default(),
            dequeues: u32::try_from(number("dequeues")).unwrap_or_default(),
        }
    }

    fn set_lease(&mut self, lease: &Lease) {
        let owner = (!lease.owner.is_empty()).then(|| Value::from(lease.owner.as_str()));
        set(&mut self.unknown, "leaseOwner", owner);
        set(&mut self.unknown, "leaseExpires", (lease.expires != 0).then(|| Value::from(lease.expires)));
        set(&mut self.unknown, "leaseToken", (lease.token != 0).then(|| Value::from(lease.token)));
        set(&mut self.unknown, "dequeues", (lease.dequeues != 0).then(|| Value::from(lease.dequeues)));
    }
}

fn set(members: &mut Unknown, name: &str, value: Option<Value>) {
    match value {
        Some(value) => members.insert(name.to_owned(), value),
        None => members.remove(name),
    };
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn subscription(members: &Value) -> SubscriptionDocument {
        let mut stored = json!({"id": "a", "future": [1], "subscription": {"state": "Deleted"}});
        for (name, value) in members.as_object().unwrap() {
            stored[name] = value.clone();
        }
        serde_json::from_value(stored).unwrap()
    }

    #[test]
    fn what_is_written_is_read_and_the_rest_stays() {
        let mut document = subscription(&json!({"leaseOwner": "x"}));
        let lease = Lease { owner: "w".into(), expires: 7, token: 3, dequeues: 2 };
        document.set_lease(&lease);
        assert_eq!(document.lease(), lease);
        document.set_lease(&Lease { token: 3, ..Lease::default() });
        assert_eq!(document, subscription(&json!({"leaseToken": 3})));
    }

    #[test]
    fn members_of_another_shape_are_nothing() {
        let odd = json!({"leaseOwner": 5, "leaseExpires": "soon", "leaseToken": -1, "dequeues": -3});
        assert_eq!(subscription(&odd).lease(), Lease::default());
    }
}
