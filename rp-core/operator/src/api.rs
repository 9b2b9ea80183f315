//! Requests to the API server of the cluster. Answers are bounded in size and time by the client below, lists in number
//! here; every request is counted.

mod error;

use std::sync::Arc;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{Method, Request};
use http_body_util::BodyExt as _;
use parking_lot::RwLock;
use rp_kube::{KubeBody, KubeClient};
use rp_operator_api::FIELD_MANAGER;
use serde_json::{Value, json};

pub use error::ApiError;

use crate::kinds::{Kind, ObjectName};
use crate::metrics::{ClientMetrics, Host, RequestLabels};

/// Objects of one page of a list.
const PAGE: usize = 250;
/// Attempts of a write that meets other writers (`contract/operator.md` §6).
const ATTEMPTS: u32 = 5;

const JSON: &str = "application/json";
const MERGE: &str = "application/merge-patch+json";
const APPLY: &str = "application/apply-patch+yaml";
/// Only the metadata of objects.
const METADATA_LIST: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
const METADATA: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";

/// The API server. A cheap clone.
#[derive(Clone)]
pub struct Api {
    client: Arc<RwLock<KubeClient>>,
    host: Host,
    metrics: ClientMetrics,
}

impl std::fmt::Debug for Api {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Api").field("host", &self.host).finish_non_exhaustive()
    }
}

/// One page of metadata of a list.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) items: Vec<Value>,
    pub(crate) version: String,
    pub(crate) more: Option<String>,
}

/// What a merge patch changes, decided on the object as it is; `None`: nothing.
pub type Change<E> = Result<Option<Value>, E>;

impl Api {
    /// Requests through this client; `host` is the label of their metric.
    pub fn new(client: KubeClient, host: &str, metrics: ClientMetrics) -> Self {
        Self { client: Arc::new(RwLock::new(client)), host: Host(host.into()), metrics }
    }

    /// Another client, with a fresh credential: requests that begin from now on use it.
    pub fn replace_client(&self, client: KubeClient) {
        *self.client.write() = client;
    }

    /// Reads an object; `None`: it is not there.
    ///
    /// # Errors
    /// [`ApiError`], also where the kind is not served.
    pub async fn get(&self, name: ObjectName<'_>) -> Result<Option<Value>, ApiError> {
        absent_is_none(self.send("get", &name, Method::GET, &name.path(), JSON, None).await)
    }

    /// Reads all objects of a kind with these labels, at most `most`; namespace empty: all namespaces.
    ///
    /// # Errors
    /// [`ApiError`]; there are more than `most`.
    pub async fn list(
        &self,
        kind: &'static Kind,
        namespace: &str,
        labels: &str,
        most: usize,
    ) -> Result<Vec<Value>, ApiError> {
        self.all(kind, namespace, &[("labelSelector", labels)], most, JSON).await
    }

    /// Reads all objects of a kind that a field selector chooses, at most `most`.
    ///
    /// # Errors
    /// As [`Api::list`].
    pub async fn list_where(
        &self,
        kind: &'static Kind,
        namespace: &str,
        fields: &str,
        most: usize,
    ) -> Result<Vec<Value>, ApiError> {
        self.all(kind, namespace, &[("fieldSelector", fields)], most, JSON).await
    }

    /// The metadata of all objects of a kind, at most `most`.
    ///
    /// # Errors
    /// As [`Api::list`].
    pub async fn list_metadata(
        &self,
        kind: &'static Kind,
        namespace: &str,
        most: usize,
    ) -> Result<Vec<Value>, ApiError> {
        self.all(kind, namespace, &[], most, METADATA_LIST).await
    }

    async fn all(
        &self,
        kind: &'static Kind,
        namespace: &str,
        query: &[(&str, &str)],
        most: usize,
        accept: &str,
    ) -> Result<Vec<Value>, ApiError> {
        let (mut out, mut more) = (Vec::new(), None);
        loop {
            let page = self.page(kind, namespace, query, more.as_deref(), accept).await?;
            out.extend(page.items);
            if out.len() > most {
                let object = kind.plural.to_owned();
                return Err(ApiError::TooMany { verb: "list", object, most });
            }
            more = page.more;
            if more.is_none() {
                return Ok(out);
            }
        }
    }

    /// One page of metadata.
    pub(crate) async fn metadata_page(
        &self,
        kind: &'static Kind,
        namespace: &str,
        query: &[(&str, &str)],
        more: Option<&str>,
    ) -> Result<Page, ApiError> {
        self.page(kind, namespace, query, more, METADATA_LIST).await
    }

    async fn page(
        &self,
        kind: &'static Kind,
        namespace: &str,
        query: &[(&str, &str)],
        more: Option<&str>,
        accept: &str,
    ) -> Result<Page, ApiError> {
        let limit = PAGE.to_string();
        let mut pairs = vec![("limit", limit.as_str())];
        pairs.extend(query.iter().filter(|(_, value)| !value.is_empty()));
        pairs.extend(more.map(|more| ("continue", more)));
        let path = with_query(&list_path(kind, namespace), &pairs);
        let name = ObjectName { kind, namespace, name: "" };
        let mut list = self.send("list", &name, Method::GET, &path, accept, None).await?;
        let text = |at: &str| list.pointer(at).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (version, more) = (text("/metadata/resourceVersion"), text("/metadata/continue"));
        let mut items = match list.get_mut("items").map(Value::take) {
            Some(Value::Array(items)) => items,
            _ => Vec::new(),
        };
        for item in items.iter_mut().filter_map(Value::as_object_mut) {
            // Items of a list do not name their kind.
            item.insert("apiVersion".to_owned(), json!(kind.api_version()));
            item.insert("kind".to_owned(), json!(kind.kind));
        }
        Ok(Page { items, version, more: Some(more).filter(|more| !more.is_empty()) })
    }

    /// Opens a watch of metadata that begins after `version` and that the server ends after `seconds`.
    pub(crate) async fn watch_metadata(
        &self,
        kind: &'static Kind,
        namespace: &str,
        query: &[(&str, &str)],
        version: &str,
        seconds: u64,
    ) -> Result<KubeBody, ApiError> {
        let seconds = seconds.to_string();
        let mut pairs = vec![
            ("watch", "true"),
            ("allowWatchBookmarks", "true"),
            ("resourceVersion", version),
            ("timeoutSeconds", seconds.as_str()),
        ];
        pairs.extend(query.iter().filter(|(_, value)| !value.is_empty()));
        let path = with_query(&list_path(kind, namespace), &pairs);
        let name = ObjectName { kind, namespace, name: "" };
        let answer = self.exchange("watch", &name, Method::GET, &path, METADATA, None).await?;
        Ok(answer.into_body())
    }

    /// Creates an object.
    ///
    /// # Errors
    /// [`ApiError`]; see [`ApiError::already_exists`].
    pub async fn create(&self, object: &Value) -> Result<Value, ApiError> {
        let name = name_of("create", object)?;
        let path = with_query(&list_path(name.kind, name.namespace), &[("fieldManager", FIELD_MANAGER)]);
        self.send("create", &name, Method::POST, &path, JSON, Some((JSON, object))).await
    }

    /// Asks a question that is an object of its own, without a name, and gives the answer.
    ///
    /// # Errors
    /// [`ApiError`].
    pub async fn review(&self, kind: &'static Kind, question: &Value) -> Result<Value, ApiError> {
        let name = ObjectName::of_cluster(kind, "");
        self.send("create", &name, Method::POST, &kind.path(None), JSON, Some((JSON, question))).await
    }

    /// Applies the members of an object that the operator owns (server-side apply); other members stay.
    ///
    /// # Errors
    /// [`ApiError`].
    pub async fn apply(&self, object: &Value) -> Result<Value, ApiError> {
        let name = name_of("apply", object)?;
        let path = with_query(&name.path(), &[("fieldManager", FIELD_MANAGER), ("force", "true")]);
        let mut attempt = 1;
        loop {
            let sent = self.send("apply", &name, Method::PATCH, &path, JSON, Some((APPLY, object))).await;
            match sent {
                Err(error) if error.is_conflict() && attempt < ATTEMPTS => attempt += 1,
                sent => return sent,
            }
        }
    }

    /// Patches an object (RFC 7396). A `metadata.resourceVersion` in the patch makes it conditional.
    ///
    /// # Errors
    /// [`ApiError`].
    pub async fn merge(&self, name: ObjectName<'_>, patch: &Value) -> Result<Value, ApiError> {
        self.merge_at(name, "", patch).await
    }

    /// Patches the status of an object.
    ///
    /// # Errors
    /// [`ApiError`].
    pub async fn merge_status(&self, name: ObjectName<'_>, patch: &Value) -> Result<Value, ApiError> {
        self.merge_at(name, "/status", patch).await
    }

    async fn merge_at(&self, name: ObjectName<'_>, door: &str, patch: &Value) -> Result<Value, ApiError> {
        let path = with_query(&format!("{}{door}", name.path()), &[("fieldManager", FIELD_MANAGER)]);
        self.send("patch", &name, Method::PATCH, &path, JSON, Some((MERGE, patch))).await
    }

    /// Changes an object of somebody else: `decide` gets it as it is (`None`: it is not there) and gives the merge patch.
    /// The patch holds for that version only; when another writer was first, it is decided again, five times. Gives
    /// whether something was written.
    ///
    /// # Errors
    /// What `decide` refuses, or [`ApiError`].
    pub async fn edit<E: From<ApiError>>(
        &self,
        name: ObjectName<'_>,
        decide: impl Fn(Option<&Value>) -> Change<E>,
    ) -> Result<bool, E> {
        let mut attempt = 1;
        loop {
            let live = self.get(name).await?;
            let Some(mut patch) = decide(live.as_ref())? else { return Ok(false) };
            let Some(live) = live else { return Ok(false) };
            patch["metadata"]["resourceVersion"] = live["metadata"]["resourceVersion"].clone();
            match self.merge(name, &patch).await {
                Ok(_) => {
                    tracing::info!(object = %name, "Update");
                    return Ok(true);
                }
                Err(error) if error.is_conflict() && attempt < ATTEMPTS => attempt += 1,
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Replaces an object; its `metadata.resourceVersion` makes it conditional.
    ///
    /// # Errors
    /// [`ApiError`].
    pub async fn replace(&self, object: &Value) -> Result<Value, ApiError> {
        let name = name_of("update", object)?;
        let path = with_query(&name.path(), &[("fieldManager", FIELD_MANAGER)]);
        self.send("update", &name, Method::PUT, &path, JSON, Some((JSON, object))).await
    }

    /// Deletes an object; gives whether it was there. One that is not there, or whose kind is not served, is a success.
    ///
    /// # Errors
    /// [`ApiError`].
    pub async fn delete(&self, name: ObjectName<'_>) -> Result<bool, ApiError> {
        self.delete_with(name, &json!({})).await
    }

    /// Deletes an object with options (`DeleteOptions`), as [`Api::delete`].
    ///
    /// # Errors
    /// [`ApiError`].
    pub async fn delete_with(&self, name: ObjectName<'_>, options: &Value) -> Result<bool, ApiError> {
        let sent =
            self.send("delete", &name, Method::DELETE, &name.path(), JSON, Some((JSON, options))).await;
        match sent {
            Ok(_) => {
                tracing::info!(object = %name, "Delete");
                Ok(true)
            }
            Err(error) if error.code() == Some(404) => Ok(false),
            Err(error) => Err(error),
        }
    }

    async fn send(
        &self,
        verb: &'static str,
        name: &ObjectName<'_>,
        method: Method,
        path: &str,
        accept: &str,
        body: Option<(&str, &Value)>,
    ) -> Result<Value, ApiError> {
        let answer = self.exchange(verb, name, method, path, accept, body).await?;
        let unreadable = || ApiError::Unreadable { verb, object: name.to_string() };
        let body = answer.into_body().collect().await.map_err(|_| unreadable())?.to_bytes();
        serde_json::from_slice(&body).map_err(|_| unreadable())
    }

    /// The answer of a request that was not refused.
    async fn exchange(
        &self,
        verb: &'static str,
        name: &ObjectName<'_>,
        method: Method,
        path: &str,
        accept: &str,
        body: Option<(&str, &Value)>,
    ) -> Result<http::Response<KubeBody>, ApiError> {
        let label = label_of(&method);
        let mut request = Request::builder().method(method).uri(path).header(ACCEPT, accept);
        let mut bytes = Bytes::new();
        if let Some((kind, value)) = body {
            request = request.header(CONTENT_TYPE, kind);
            bytes = value.to_string().into();
        }
        let request = request.body(KubeBody::from(bytes.to_vec()));
        let request = request.map_err(|_| ApiError::Request { verb, object: name.to_string() })?;
        let client = self.client.read().clone();
        let answer = client.send(request).await;
        let code = answer.as_ref().map_or(0, |answer| answer.status().as_u16());
        let labels = RequestLabels { code, method: label, host: self.host.clone() };
        self.metrics.requests.with(&labels).inc();
        let answer = answer.map_err(|cause| ApiError::Failed {
            verb,
            object: name.to_string(),
            cause: Box::new(cause),
        })?;
        if answer.status().is_success() { Ok(answer) } else { Err(refusal(verb, name, answer).await) }
    }
}

/// The error of an answer that refuses.
async fn refusal(verb: &'static str, name: &ObjectName<'_>, answer: http::Response<KubeBody>) -> ApiError {
    let code = answer.status().as_u16();
    let body =
        answer.into_body().collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    let status: Value = serde_json::from_slice(&body).unwrap_or_default();
    let text = |at: &str| status.pointer(at).and_then(Value::as_str).unwrap_or_default();
    let object = name.to_string();
    // An object that is absent is named; a path that is not served is not.
    if code == 404 && text("/details/name").is_empty() {
        return ApiError::NotServed { verb, object };
    }
    let message = match text("/message") {
        "" => format!("status {code}"),
        message => bounded(message),
    };
    ApiError::Refused { verb, object, code, reason: bounded(text("/reason")), message }
}

fn bounded(text: &str) -> String {
    const MOST: usize = 1024;
    text.get(..text.floor_char_boundary(MOST)).unwrap_or_default().to_owned()
}

fn absent_is_none(answer: Result<Value, ApiError>) -> Result<Option<Value>, ApiError> {
    match answer {
        Ok(object) => Ok(Some(object)),
        Err(ApiError::Refused { code: 404, .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

fn name_of<'a>(verb: &'static str, object: &'a Value) -> Result<ObjectName<'a>, ApiError> {
    ObjectName::of(object).ok_or_else(|| {
        let kind = object.get("kind").and_then(Value::as_str).unwrap_or_default();
        ApiError::Request { verb, object: kind.to_owned() }
    })
}

fn list_path(kind: &Kind, namespace: &str) -> String {
    kind.path((!namespace.is_empty()).then_some(namespace))
}

fn with_query(path: &str, pairs: &[(&str, &str)]) -> String {
    let query = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish();
    format!("{path}?{query}")
}

fn label_of(method: &Method) -> &'static str {
    match method.as_str() {
        "GET" => "GET",
        "POST" => "POST",
        "PUT" => "PUT",
        "PATCH" => "PATCH",
        _ => "DELETE",
    }
}
