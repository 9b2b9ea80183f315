//! The API over a store in memory, called as ARM calls it.

mod admin;
mod azure_actions;
mod callers;
mod consoles;
mod fixture;
mod investigate;
mod life;
mod lost;
mod maintenance;
mod names;
mod refusals;
mod roles;

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use http::{HeaderMap, Request, StatusCode};
use http_body_util::BodyExt as _;
use rp_api::CloudError;
use rp_base::{ManualClock, SystemRandom, Timestamp};
use rp_database::{Expect, SharedStore, in_memory};
use rp_documents::Collection;
use rp_seal::Keyring;
use serde_json::{Value, json};
use tower::ServiceExt as _;

use crate::{AdminParts, AllowAll, Detectors, Edge, FrontendParts, Offers, OperatorRole, RoleSet, router};

pub(crate) const SUB: &str = "00000000-0000-0000-0000-000000000001";
pub(crate) const VERSION: &str = "2025-07-25";

#[derive(Debug)]
struct Diagnosis;

#[async_trait::async_trait]
impl Detectors for Diagnosis {
    async fn list(&self, _: &str) -> Result<Value, CloudError> {
        Ok(
            json!({"value": [{"metadata": {"id": "one"}, "x": 1}, {"metadata": {}}, {"metadata": {"id": ""}}]}),
        )
    }

    async fn get(&self, cluster: &str, detector: &str) -> Result<Option<Value>, CloudError> {
        Ok((detector == "one").then(|| json!({"of": cluster})))
    }
}

pub(crate) struct Api {
    router: Router,
    pub(crate) store: SharedStore,
    pub(crate) keyring: Keyring,
}

pub(crate) struct TestResponse {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl TestResponse {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap()
    }

    /// `code` and `target` of an error.
    pub(crate) fn refusal(&self) -> (u16, String, String) {
        let error = self.json()["error"].clone();
        let text = |name: &str| error[name].as_str().unwrap_or_default().to_owned();
        (self.status.as_u16(), text("code"), text("target"))
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map(|value| value.to_str().unwrap()).unwrap_or_default()
    }
}

impl Api {
    pub(crate) fn new() -> Self {
        let clock = ManualClock::at(Timestamp::from_seconds(1_795_230_720));
        let store = in_memory(Arc::new(clock.clone()));
        Self::over(store, Keyring::generate(&SystemRandom), clock, AdminParts::default())
    }

    /// An API over that store.
    pub(crate) fn over(store: SharedStore, keyring: Keyring, clock: ManualClock, admin: AdminParts) -> Self {
        Self::from_parts(parts(store, keyring, clock, admin))
    }

    pub(crate) fn from_parts(parts: FrontendParts) -> Self {
        let (store, keyring) = (parts.store.clone(), parts.keyring.clone());
        Self { router: router(parts), store, keyring }
    }

    /// An API whose subscription is registered.
    pub(crate) async fn registered() -> Self {
        let api = Self::new();
        let told = api.subscription("Registered").await;
        assert_eq!(told.status, StatusCode::CREATED);
        api
    }

    pub(crate) async fn subscription(&self, state: &str) -> TestResponse {
        let body = json!({"state": state, "properties": {"tenantId": "t", "accountOwner": {"email": "a@b"}, "x": 1}});
        self.call("PUT", &format!("/subscriptions/{SUB}?api-version=2.0"), Some(body)).await
    }

    pub(crate) async fn call(&self, method: &str, path: &str, body: Option<Value>) -> TestResponse {
        let body = body.map(|body| body.to_string()).unwrap_or_default();
        self.send(method, path, &[], body).await
    }

    pub(crate) async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: String,
    ) -> TestResponse {
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header("content-type", "application/json")
            .header("referer", format!("https://management.azure.com{path}"))
            .body(Body::from(body))
            .unwrap();
        for (name, value) in headers {
            let name: http::HeaderName = name.parse().unwrap();
            request.headers_mut().insert(name, value.parse().unwrap());
        }
        let answer = self.router.clone().oneshot(request).await.unwrap();
        let (head, body) = answer.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        described(method, path, head.status.as_u16(), &bytes);
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        TestResponse { status: head.status, headers: head.headers, text }
    }

    /// The stored document of the cluster.
    pub(crate) async fn stored(&self) -> Value {
        let stored =
            self.store.get_by_key(Collection::OpenShiftClusters, &id("c").to_lowercase()).await.unwrap();
        serde_json::from_str(&stored.unwrap().body).unwrap()
    }

    /// Ends the running operation as a backend would.
    pub(crate) async fn finish(&self, state: &str) {
        self.rewrite(|body| {
            body["openShiftCluster"]["properties"]["provisioningState"] = json!(state);
            body.as_object_mut().unwrap().remove("asyncOperationId");
        })
        .await;
    }

    /// Writes into the stored properties as a backend would.
    pub(crate) async fn learn(&self, change: impl FnOnce(&mut Value)) {
        self.rewrite(|body| change(&mut body["openShiftCluster"]["properties"])).await;
    }

    async fn rewrite(&self, change: impl FnOnce(&mut Value)) {
        let key = id("c").to_lowercase();
        let stored = self.store.get_by_key(Collection::OpenShiftClusters, &key).await.unwrap().unwrap();
        let mut body: Value = serde_json::from_str(&stored.body).unwrap();
        change(&mut body);
        let (expect, draft) = (Expect::Version(stored.version), stored.with_body(body.to_string()));
        self.store.replace(Collection::OpenShiftClusters, draft, expect).await.unwrap();
    }
}

/// Over that store; every caller is allowed.
pub(crate) fn parts(
    store: SharedStore,
    keyring: Keyring,
    clock: ManualClock,
    admin: AdminParts,
) -> FrontendParts {
    FrontendParts { admin, detectors: Some(Arc::new(Diagnosis)), ..fixture::parts(store, keyring, clock) }
}

/// An answer is what its version's published description says.
fn described(method: &str, path: &str, status: u16, body: &[u8]) {
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let version = url::form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == "api-version");
    let api_version = version.as_ref().map(|(_, value)| value.as_ref()).unwrap_or_default();
    let told = tests_kit::ApiExchange { method, path, api_version, status, body };
    tests_kit::Checker::shared().unwrap().check(&told).unwrap();
}

pub(crate) fn id(name: &str) -> String {
    format!(
        "/subscriptions/{SUB}/resourceGroups/Group/providers/Microsoft.RedHatOpenShift/openShiftClusters/{name}"
    )
}

pub(crate) fn path(name: &str) -> String {
    format!("{}?api-version={VERSION}", id(name))
}

/// A body that makes a cluster; `n` keeps what must be its own apart.
pub(crate) fn wanted(n: u32) -> Value {
    let mut body = tests_kit::cluster_body(SUB, n.into());
    let profile = &mut body["properties"]["clusterProfile"];
    profile["pullSecret"] = json!("{\"auths\": {\"q\": {}}}");
    profile["resourceGroupId"] = json!(format!("/subscriptions/{SUB}/resourceGroups/Managed{n}"));
    body
}
