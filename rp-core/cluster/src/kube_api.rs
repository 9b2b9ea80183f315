//! The cluster's API server, with objects as plain JSON: their kinds are many and what we change of them is little.

use http::Request;
use rp_kube::{KubeClient, KubeError, api_status};
use serde_json::{Value, json};

use crate::context::Context;
use crate::errors::StepError;

/// Pages of a list, and objects of a page.
const MOST_PAGES: usize = 40;
const PAGE: usize = 250;
/// Attempts of a change that conflicts with changes of others.
const TRIES: usize = 10;
/// Our field manager in server-side apply.
const MANAGER: &str = "aro-rp";

/// A client of one cluster.
pub(crate) struct Kube(KubeClient);

impl Kube {
    /// Of the operation's cluster.
    pub(crate) fn connect(context: &Context) -> Result<Self, StepError> {
        context.kube().map(Self)
    }

    /// An object; `None`: it, or its kind, is not there.
    pub(crate) async fn get(&self, path: &str) -> Result<Option<Value>, StepError> {
        match self.send(Request::get(path), &Value::Null, path).await {
            Err(error) if error.is_missing() => Ok(None),
            found => found.map(Some),
        }
    }

    /// An object that must be there.
    pub(crate) async fn get_required(&self, path: &str) -> Result<Value, StepError> {
        self.send(Request::get(path), &Value::Null, path).await
    }

    /// All objects of a collection, e.g. `/api/v1/nodes`, with a selector of labels or none.
    pub(crate) async fn list(&self, path: &str, selector: &str) -> Result<Vec<Value>, StepError> {
        let selector = selector.replace('=', "%3D").replace('/', "%2F");
        let (mut items, mut next) = (Vec::new(), String::new());
        for _ in 0..MOST_PAGES {
            let uri = format!("{path}?limit={PAGE}&labelSelector={selector}&continue={next}");
            let mut page = self.send(Request::get(&uri), &Value::Null, path).await?;
            if let Some(Value::Array(found)) = page.get_mut("items").map(Value::take) {
                items.extend(found);
            }
            match page.pointer("/metadata/continue").and_then(Value::as_str) {
                Some(token) if !token.is_empty() => next = percent(token),
                _ => return Ok(items),
            }
        }
        Err(StepError::other(format!("the list {path} has no end")))
    }

    /// Creates an object unless it exists; returns whether it was created.
    pub(crate) async fn create(&self, path: &str, object: &Value) -> Result<bool, StepError> {
        match self.send(Request::post(path), object, path).await {
            Err(StepError::Kube { error, .. }) if api_status(&error) == Some(409) => Ok(false),
            made => made.map(|_| true),
        }
    }

    /// Deletes an object; succeeds when there is none.
    pub(crate) async fn delete(&self, path: &str) -> Result<(), StepError> {
        match self.send(Request::delete(path), &Value::Null, path).await {
            Err(error) if !error.is_missing() => Err(error),
            _ => Ok(()),
        }
    }

    /// Changes an object that is there, by its version, and again while others get ahead. `change` says whether there
    /// is anything to write. Gives `false` when the object is not there.
    pub(crate) async fn change(
        &self,
        path: &str,
        change: impl Fn(&mut Value) -> bool + Send + Sync,
    ) -> Result<bool, StepError> {
        for _ in 0..TRIES {
            let Some(mut object) = self.get(path).await? else { return Ok(false) };
            if !change(&mut object) {
                return Ok(true);
            }
            match self.send(Request::put(path), &object, path).await {
                Err(StepError::Kube { error, .. }) if api_status(&error) == Some(409) => {}
                written => return written.map(|_| true),
            }
        }
        Err(StepError::other(format!("{path}: others write it all the time")))
    }

    /// Makes the object as it is to be, or changes the one that is there; members that it does not name stay
    /// (`contract/cluster.md` §1.3). `collection` is the path of its kind in its namespace.
    pub(crate) async fn ensure(&self, collection: &str, object: &Value) -> Result<(), StepError> {
        let name = object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
        let path = format!("{collection}/{name}");
        for _ in 0..TRIES {
            if self.change(&path, |found| merge_into(found, object)).await?
                || self.create(collection, object).await?
            {
                return Ok(());
            }
        }
        Err(StepError::other(format!("{path}: it comes and goes")))
    }

    /// Writes members and takes their ownership (server-side apply, forced).
    pub(crate) async fn apply(&self, path: &str, object: &Value) -> Result<(), StepError> {
        let uri = format!("{path}?fieldManager={MANAGER}&force=true");
        let request = Request::patch(&uri).header("content-type", "application/apply-patch+yaml");
        self.send_as(request, object, path).await.map(drop)
    }

    async fn send(
        &self,
        request: http::request::Builder,
        body: &Value,
        what: &str,
    ) -> Result<Value, StepError> {
        self.send_as(request.header("content-type", "application/json"), body, what).await
    }

    async fn send_as(
        &self,
        request: http::request::Builder,
        body: &Value,
        what: &str,
    ) -> Result<Value, StepError> {
        let bytes = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        let request = request.body(bytes).map_err(|error| StepError::other(error.to_string()))?;
        self.0.request(request).await.map_err(|error: KubeError| StepError::kube(what, error))
    }
}

impl std::fmt::Debug for Kube {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Kube")
    }
}

/// Puts the members of `wanted` over those of `found`; gives whether anything changed. Arrays and texts are replaced
/// whole; `status` and what the server keeps in `metadata` is not ours.
pub(crate) fn merge_into(found: &mut Value, wanted: &Value) -> bool {
    match (found, wanted) {
        (Value::Object(found), Value::Object(wanted)) => {
            let mut changed = false;
            for (key, value) in wanted {
                changed |= merge_into(found.entry(key.as_str()).or_insert(Value::Null), value);
            }
            changed
        }
        (found, wanted) if found == wanted => false,
        (found, wanted) => {
            *found = wanted.clone();
            true
        }
    }
}

fn percent(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    text.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

/// A condition of `status.conditions` by its type: its status.
pub(crate) fn condition<'a>(object: &'a Value, kind: &str) -> Option<&'a str> {
    let conditions = object.pointer("/status/conditions")?.as_array()?;
    conditions.iter().find(|condition| condition["type"] == kind)?["status"].as_str()
}

/// Why a condition is as it is, for people.
pub(crate) fn reason(object: &Value, kind: &str) -> String {
    let conditions = object.pointer("/status/conditions").and_then(Value::as_array);
    let found = conditions.into_iter().flatten().find(|condition| condition["type"] == kind);
    let text = |member: &str| found.and_then(|found| found[member].as_str()).unwrap_or_default();
    match (text("reason"), text("message")) {
        ("", message) => message.to_owned(),
        (reason, "") => reason.to_owned(),
        (reason, message) => format!("{reason}: {message}"),
    }
}

/// A Secret with texts, which the server encodes.
pub(crate) fn secret(namespace: &str, name: &str, kind: &str, texts: &[(&str, &str)]) -> Value {
    use base64::Engine as _;
    let encode = |text: &str| base64::engine::general_purpose::STANDARD.encode(text);
    let data: serde_json::Map<String, Value> =
        texts.iter().map(|(key, text)| ((*key).to_owned(), Value::from(encode(text)))).collect();
    json!({
        "apiVersion": "v1", "kind": "Secret", "type": kind,
        "metadata": {"name": name, "namespace": namespace}, "data": data
    })
}

/// The path of a namespace's Secrets.
pub(crate) fn secrets(namespace: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/secrets")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wanted_lies_over_what_is_there() {
        let mut found = json!({"a": {"b": 1, "c": [1, 2]}, "status": "x"});
        assert!(!merge_into(&mut found, &json!({"a": {"b": 1}})));
        assert!(merge_into(&mut found, &json!({"a": {"c": [3]}, "d": {"e": 1}})));
        assert_eq!(found, json!({"a": {"b": 1, "c": [3]}, "status": "x", "d": {"e": 1}}));
    }

    #[test]
    fn conditions_are_found_by_type_wherever_they_stand() {
        let mut object = json!({"status": {"conditions": [
            {"type": "Degraded", "status": "False"},
            {"type": "Available", "status": "True", "reason": "AsExpected"},
        ]}});
        assert_eq!(condition(&object, "Available"), Some("True"));
        object["status"]["conditions"].as_array_mut().unwrap().reverse();
        assert_eq!(condition(&object, "Available"), Some("True"));
        assert_eq!(reason(&object, "Available"), "AsExpected");
        assert_eq!(condition(&json!({"status": {"conditions": 7}}), "Available"), None);
    }
}
