//! The API over a store in memory, with clusters in whatever state a property needs.

#[path = "../../src/tests/fixture.rs"]
mod fixture;

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use http::Request;
use http_body_util::BodyExt as _;
use rp_base::{ManualClock, SystemRandom, Timestamp};
use rp_database::{Expect, SharedStore, StoreError, in_memory};
use rp_documents::Collection;
use rp_frontend::{AdminParts, AllowAll, Edge, FrontendParts, Offers, OperatorRole, RoleSet, router};
use rp_seal::Keyring;
use serde_json::{Value, json};
use tower::ServiceExt as _;

pub(crate) const SUB: &str = "00000000-0000-0000-0000-000000000001";
pub(crate) const NEWEST: &str = "2025-07-25";

/// Codes of refusals that a caller of the API may see.
pub(crate) const CODES: [&str; 20] = [
    "DuplicateClientID",
    "DuplicateResourceGroup",
    "InvalidCIDRRange",
    "InvalidLocation",
    "InvalidNetworkAddress",
    "InvalidOperationID",
    "InvalidParameter",
    "InvalidRequestContent",
    "InvalidResource",
    "InvalidResourceNamespace",
    "InvalidResourceType",
    "InvalidSubscriptionID",
    "InvalidSubscriptionState",
    "MismatchingResourceID",
    "MismatchingResourceName",
    "MismatchingResourceType",
    "PlatformWorkloadIdentityMismatch",
    "PropertyChangeNotAllowed",
    "RequestNotAllowed",
    "ResourceNotFound",
];

pub(crate) struct World {
    router: Router,
    pub(crate) store: SharedStore,
}

#[derive(Debug)]
pub(crate) struct TestResponse {
    pub(crate) status: u16,
    pub(crate) text: String,
}

impl TestResponse {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_default()
    }

    pub(crate) fn code(&self) -> String {
        self.json()["error"]["code"].as_str().unwrap_or_default().to_owned()
    }

    /// A success, or a refusal that the contract knows.
    pub(crate) fn is_documented(&self) -> bool {
        match self.status {
            200..300 => true,
            404 | 405 | 415 => true,
            400 => CODES.contains(&self.code().as_str()),
            _ => false,
        }
    }
}

impl World {
    /// With a registered subscription.
    pub(crate) async fn new() -> Self {
        let clock = ManualClock::at(Timestamp::from_seconds(1_795_230_720));
        let store = in_memory(Arc::new(clock.clone()));
        let parts = fixture::parts(store.clone(), Keyring::generate(&SystemRandom), clock);
        let world = Self { router: router(parts), store };
        assert_eq!(world.subscription("Registered").await.status, 201);
        world
    }

    /// With the cluster `c`, installed.
    pub(crate) async fn with_cluster() -> Self {
        let world = Self::new().await;
        let told = world.put("c", NEWEST, &wanted(1)).await;
        assert_eq!(told.status, 201, "{}", told.text);
        // Only one version asks for it; the backend finds out for all.
        world
            .change("c", |body| {
                let network = &mut body["openShiftCluster"]["properties"]["networkProfile"];
                network["softwareDefinedNetwork"] = json!("OVNKubernetes");
            })
            .await;
        world.settle("c", "Succeeded", "").await;
        world
    }

    pub(crate) async fn subscription(&self, state: &str) -> TestResponse {
        let body = json!({"state": state, "properties": {"tenantId": "t"}}).to_string();
        self.send("PUT", &format!("/subscriptions/{SUB}?api-version=2.0"), body.into_bytes()).await
    }

    pub(crate) async fn put(&self, name: &str, version: &str, body: &Value) -> TestResponse {
        self.send("PUT", &path(name, version), body.to_string().into_bytes()).await
    }

    pub(crate) async fn patch(&self, name: &str, version: &str, body: &Value) -> TestResponse {
        self.send("PATCH", &path(name, version), body.to_string().into_bytes()).await
    }

    pub(crate) async fn call(&self, method: &str, path: &str) -> TestResponse {
        self.send(method, path, Vec::new()).await
    }

    /// One request; a path that cannot be one of HTTP is answered as such.
    pub(crate) async fn send(&self, method: &str, path: &str, body: Vec<u8>) -> TestResponse {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("content-type", "application/json")
            .header("x-ms-identity-url", "https://identity.example/x")
            .header("x-ms-home-tenant-id", "t")
            .body(Body::from(body));
        let Ok(request) = request else { return TestResponse { status: 404, text: String::new() } };
        let answer = self.router.clone().oneshot(request).await.unwrap();
        let (head, body) = answer.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        TestResponse { status: head.status.as_u16(), text: String::from_utf8_lossy(&bytes).into_owned() }
    }

    /// Ends of the change feeds of all collections that a request may write; an unchanged end: nothing was written.
    pub(crate) async fn written(&self) -> Vec<i64> {
        let mut heads = Vec::new();
        for collection in
            [Collection::OpenShiftClusters, Collection::AsyncOperations, Collection::Subscriptions]
        {
            heads.push(self.store.head(collection).await.unwrap());
        }
        // A name may have been held and given back.
        let held = self.store.list(Collection::Reservations, None, None, 1000).await.unwrap();
        heads.push(i64::try_from(held.items.len()).unwrap());
        heads
    }

    /// The stored document of a cluster.
    pub(crate) async fn stored(&self, name: &str) -> Value {
        let found =
            self.store.get_by_key(Collection::OpenShiftClusters, &id(name).to_lowercase()).await.unwrap();
        serde_json::from_str(&found.unwrap().body).unwrap()
    }

    /// Changes the stored document as another writer would: again, when a request was faster.
    pub(crate) async fn change(&self, name: &str, change: impl Fn(&mut Value)) {
        let key = id(name).to_lowercase();
        loop {
            let found = self.store.get_by_key(Collection::OpenShiftClusters, &key).await.unwrap().unwrap();
            let mut body: Value = serde_json::from_str(&found.body).unwrap();
            change(&mut body);
            let expect = Expect::Version(found.version);
            let draft = found.with_body(body.to_string());
            match self.store.replace(Collection::OpenShiftClusters, draft, expect).await {
                Err(StoreError::Stale { .. }) => {}
                written => return drop(written.unwrap()),
            }
        }
    }

    /// Ends what is running, as a backend would.
    pub(crate) async fn settle(&self, name: &str, state: &str, failed: &str) {
        self.change(name, |body| {
            let properties = &mut body["openShiftCluster"]["properties"];
            properties["provisioningState"] = json!(state);
            properties["failedProvisioningState"] = json!(failed);
            properties.as_object_mut().unwrap().remove("lastProvisioningState");
            body.as_object_mut().unwrap().remove("asyncOperationId");
        })
        .await;
    }
}

pub(crate) fn id(name: &str) -> String {
    format!(
        "/subscriptions/{SUB}/resourceGroups/Group/providers/Microsoft.RedHatOpenShift/openShiftClusters/{name}"
    )
}

pub(crate) fn path(name: &str, version: &str) -> String {
    format!("{}?api-version={version}", id(name))
}

/// A body of the newest version that makes a cluster; `n` keeps what must be its own apart.
pub(crate) fn wanted(n: u32) -> Value {
    let mut body = tests_kit::cluster_body(SUB, n.into());
    let properties = &mut body["properties"];
    properties["clusterProfile"]["version"] = json!("4.18.2");
    properties["clusterProfile"]["resourceGroupId"] =
        json!(format!("/subscriptions/{SUB}/resourcegroups/managed{n}"));
    properties["networkProfile"]["softwareDefinedNetwork"] = json!("OVNKubernetes");
    body
}

/// The same for a cluster with workload identity.
pub(crate) fn wanted_with_identities(n: u32) -> Value {
    let identity = |name: &str| {
        format!(
            "/subscriptions/{SUB}/resourceGroups/Group/providers/Microsoft.ManagedIdentity/userAssignedIdentities/{name}{n}"
        )
    };
    let mut body = wanted(n);
    body["properties"].as_object_mut().unwrap().remove("servicePrincipalProfile");
    body["properties"]["clusterProfile"]["version"] = json!("4.19.1");
    body["identity"] = json!({"type": "UserAssigned", "userAssignedIdentities": {identity("cluster"): {}}});
    body["properties"]["platformWorkloadIdentityProfile"] = json!({"platformWorkloadIdentities": {
        "disk": {"resourceId": identity("disk")}, "file": {"resourceId": identity("file")}}});
    body
}

/// Every version that customers may name.
pub(crate) fn versions() -> Vec<&'static str> {
    rp_api::all().iter().map(|version| version.name).collect()
}

/// Runs an async property.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}
