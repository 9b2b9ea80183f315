//! JSON objects of Kubernetes, changed by pointer.

use serde_json::{Map, Value};

/// Sets a member by pointer, making objects on the way. An array's members must be there.
pub(crate) fn set(at: &mut Value, pointer: &str, value: Value) {
    let mut at = at;
    for part in pointer.split('/').skip(1) {
        at = match at {
            Value::Array(items) => match part.parse::<usize>().ok().and_then(|index| items.get_mut(index)) {
                Some(item) => item,
                None => return,
            },
            other => {
                if !other.is_object() {
                    *other = Value::Object(Map::new());
                }
                &mut other[part]
            }
        };
    }
    *at = value;
}
