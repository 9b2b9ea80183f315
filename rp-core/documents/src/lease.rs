//! Who works on a document, until when (`contract/database.md` §6). The members stand in the document's
//! envelope.

use serde_json::{Map, Value};

/// The lease of a cluster's or a subscription's document. Writer: whoever takes it or holds it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lease {
    /// Empty: nobody's.
    pub owner: String,
    /// Unix seconds of the store's clock; free from the second after. Without an owner: nobody takes it before.
    pub expires: i64,
    /// Grows with every take, and is never reset: the writes of a former holder are told by it.
    pub token: u64,
    /// How often it was taken without coming to an end.
    pub dequeues: u32,
}

impl Lease {
    /// The lease of a stored body. What is absent or no number is nothing.
    pub fn of(body: &Value) -> Self {
        let number = |name: &str| body.get(name).and_then(Value::as_i64).unwrap_or_default();
        Self {
            owner: body.get("leaseOwner").and_then(Value::as_str).unwrap_or_default().to_owned(),
            expires: number("leaseExpires"),
            token: u64::try_from(number("leaseToken")).unwrap_or_default(),
            dequeues: u32::try_from(number("dequeues")).unwrap_or_default(),
        }
    }

    /// Writes it into a body. Empty members are left out, as everywhere in documents.
    pub fn write(&self, body: &mut Value) {
        let Value::Object(envelope) = body else { return };
        set(envelope, "leaseOwner", (!self.owner.is_empty()).then(|| Value::from(self.owner.as_str())));
        set(envelope, "leaseExpires", (self.expires != 0).then(|| Value::from(self.expires)));
        set(envelope, "leaseToken", (self.token != 0).then(|| Value::from(self.token)));
        set(envelope, "dequeues", (self.dequeues != 0).then(|| Value::from(self.dequeues)));
    }

    /// Whether that holder still has it.
    pub fn is_held_by(&self, owner: &str, token: u64) -> bool {
        self.owner == owner && self.token == token
    }
}

fn set(envelope: &mut Map<String, Value>, name: &str, value: Option<Value>) {
    match value {
        Some(value) => envelope.insert(name.to_owned(), value),
        None => envelope.remove(name),
    };
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_written_is_read_and_the_rest_stays() {
        let mut body = json!({"id": "a", "future": [1], "leaseOwner": "x"});
        let lease = Lease { owner: "w".into(), expires: 7, token: 3, dequeues: 2 };
        lease.write(&mut body);
        assert_eq!(Lease::of(&body), lease);
        Lease { token: 3, ..Lease::default() }.write(&mut body);
        assert_eq!(body, json!({"id": "a", "future": [1], "leaseToken": 3}));
    }

    #[test]
    fn members_of_another_shape_are_nothing() {
        let body = json!({"leaseOwner": 5, "leaseExpires": "soon", "leaseToken": -1, "dequeues": -3});
        assert_eq!(Lease::of(&body), Lease::default());
        assert_eq!(Lease::of(&json!([])), Lease::default());
    }
}
