//! The cluster's API server. What is read are the types of `rp_openshift`; what is written is JSON, of which members that
//! we do not name stay.

use std::time::Duration;

use http::{Method, Request};
use rp_actions::{CallError, ClusterApi};
use rp_base::text::clean;
use rp_kube::{KubeClient, KubeError, api_status};
use rp_openshift::List;
use serde::de::{DeserializeOwned, IgnoredAny};
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
/// Longest pause between two attempts of a call that failed for reasons that pass.
const PAUSE: Duration = Duration::from_secs(2);

/// A client of one cluster.
pub(crate) struct Kube(KubeClient);

impl Kube {
    /// Of the operation's cluster.
    pub(crate) fn connect(context: &Context) -> Result<Self, StepError> {
        context.kube().map(Self)
    }

    /// An object; `None`: it, or its kind, is not there.
    pub(crate) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<Option<T>, StepError> {
        match self.send(Request::get(path), &Value::Null, path).await {
            Err(error) if error.is_missing() => Ok(None),
            found => found.map(Some),
        }
    }

    /// An object that must be there.
    pub(crate) async fn get_required<T: DeserializeOwned>(&self, path: &str) -> Result<T, StepError> {
        self.send(Request::get(path), &Value::Null, path).await
    }

    /// Whether an object is there.
    pub(crate) async fn exists(&self, path: &str) -> Result<bool, StepError> {
        Ok(self.get::<IgnoredAny>(path).await?.is_some())
    }

    /// The log of a pod's only container from its beginning, at most that many bytes.
    pub(crate) async fn log(&self, pod: &str, most: usize) -> Result<String, StepError> {
        let path = format!("{pod}/log?limitBytes={most}");
        let request = Request::get(&path).body(Vec::new());
        let request = request.map_err(|error| StepError::other(error.to_string()))?;
        let text = self.0.request_text(request).await;
        text.map_err(|error: KubeError| StepError::kube(format!("the log of {pod}"), error))
    }

    /// All objects of a collection, e.g. `/api/v1/nodes`, with a selector of labels or none.
    pub(crate) async fn list<T: DeserializeOwned>(
        &self,
        path: &str,
        selector: &str,
    ) -> Result<Vec<T>, StepError> {
        let selector = selector.replace('=', "%3D").replace('/', "%2F");
        let (mut items, mut next) = (Vec::new(), String::new());
        for _ in 0..MOST_PAGES {
            let uri = format!("{path}?limit={PAGE}&labelSelector={selector}&continue={next}");
            let page: List<T> = self.send(Request::get(&uri), &Value::Null, path).await?;
            items.extend(page.items);
            match page.metadata.token.as_str() {
                "" => return Ok(items),
                token => next = percent(token),
            }
        }
        Err(StepError::other(format!("the list {path} has no end")))
    }

    /// Creates an object unless it exists; returns whether it was created.
    pub(crate) async fn create(&self, path: &str, object: &Value) -> Result<bool, StepError> {
        match self.send::<IgnoredAny>(Request::post(path), object, path).await {
            Err(StepError::Kube { error, .. }) if api_status(&error) == Some(409) => Ok(false),
            made => made.map(|_| true),
        }
    }

    /// Deletes an object; succeeds when there is none.
    pub(crate) async fn delete(&self, path: &str) -> Result<(), StepError> {
        match self.send::<IgnoredAny>(Request::delete(path), &Value::Null, path).await {
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
            let Some(mut object) = self.get::<Value>(path).await? else { return Ok(false) };
            if !change(&mut object) {
                return Ok(true);
            }
            match self.send::<IgnoredAny>(Request::put(path), &object, path).await {
                Err(StepError::Kube { error, .. }) if api_status(&error) == Some(409) => {}
                written => return written.map(|_| true),
            }
        }
        Err(StepError::other(format!("{path}: others write it all the time")))
    }

    /// Changes members of an object that must be there.
    pub(crate) async fn set(
        &self,
        path: &str,
        change: impl Fn(&mut Value) -> bool + Send + Sync,
    ) -> Result<(), StepError> {
        match self.change(path, change).await? {
            true => Ok(()),
            false => Err(StepError::other(format!("{path}: it is not there"))),
        }
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

    /// Writes members and takes their ownership (server-side apply, forced). Members that we own and that the object
    /// names no longer are removed; those of others stay. The same object again changes nothing.
    pub(crate) async fn apply(&self, path: &str, object: &Value) -> Result<(), StepError> {
        self.apply_as(MANAGER, path, object).await
    }

    /// The same under another name: for members of an object of which [`Kube::apply`] writes the rest.
    pub(crate) async fn apply_as(&self, manager: &str, path: &str, object: &Value) -> Result<(), StepError> {
        let uri = format!("{path}?fieldManager={manager}&force=true");
        let request = Request::patch(&uri).header("content-type", "application/apply-patch+yaml");
        self.send_as::<IgnoredAny>(request, object, path).await.map(drop)
    }

    async fn send<T: DeserializeOwned>(
        &self,
        request: http::request::Builder,
        body: &Value,
        what: &str,
    ) -> Result<T, StepError> {
        self.send_as(request.header("content-type", "application/json"), body, what).await
    }

    async fn send_as<T: DeserializeOwned>(
        &self,
        request: http::request::Builder,
        body: &Value,
        what: &str,
    ) -> Result<T, StepError> {
        let bytes = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        let request = request.body(bytes).map_err(|error| StepError::other(error.to_string()))?;
        self.0.request(request).await.map_err(|error: KubeError| StepError::kube(what, error))
    }
}

/// The actions on objects of a cluster, as steps do them.
impl ClusterApi for Kube {
    type Error = StepError;

    async fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Value, CallError<StepError>> {
        let patch = method == Method::PATCH;
        let kind = if patch { "application/merge-patch+json" } else { "application/json" };
        let request = Request::builder().method(method).uri(path).header("content-type", kind);
        let answered = self.send_as(request, body.unwrap_or(&Value::Null), path).await;
        answered.map_err(|error| {
            let status = match &error {
                StepError::Kube { error, .. } => api_status(error),
                _ => None,
            };
            CallError { status, message: clean(&error.to_string(), 500), error }
        })
    }
}

impl std::fmt::Debug for Kube {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Kube")
    }
}

/// How often a call is made in all, and the longest pause between two.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tries {
    pub(crate) most: u32,
    pub(crate) pause: Duration,
}

impl Tries {
    /// With the pause of most calls.
    pub(crate) const fn of(most: u32) -> Self {
        Self { most, pause: PAUSE }
    }
}

/// Makes a call again while it fails for reasons that pass.
///
/// # Errors
/// The last error; or the lease is lost, or the process stops.
pub(crate) async fn retry<F: Future<Output = Result<(), StepError>>>(
    context: &Context,
    tries: Tries,
    passes: fn(&StepError) -> bool,
    attempt: impl Fn() -> F,
) -> Result<(), StepError> {
    let mut tried = 1;
    loop {
        match attempt().await {
            Err(error) if tried < tries.most && passes(&error) => {
                tried += 1;
                context.waiting(&clean(&error.to_string(), 500));
                context.sleep(tries.pause.min(context.env.periods.poll)).await?;
            }
            done => return done,
        }
    }
}

/// The path of an object. The plural of every kind that we write is its name in lower case with an `s`.
pub(crate) fn path_of(object: &Value) -> String {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let api = text("/apiVersion");
    let root = if api.contains('/') { format!("/apis/{api}") } else { format!("/api/{api}") };
    let scope = match text("/metadata/namespace") {
        "" => String::new(),
        namespace => format!("/namespaces/{namespace}"),
    };
    format!("{root}{scope}/{}s/{}", text("/kind").to_ascii_lowercase(), text("/metadata/name"))
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
}
