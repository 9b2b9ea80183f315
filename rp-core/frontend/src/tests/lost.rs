//! Answers of the store that are lost after the write, a store that is away, and one whose driver panics.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use async_trait::async_trait;
use http::StatusCode;
use rp_base::{ManualClock, SystemRandom, Timestamp};
use rp_database::{SharedStore, StoreError, in_memory};
use rp_documents::Collection;
use rp_seal::Keyring;
use serde_json::json;
use tests_kit::{Delivery, Interposed, StoreCall, StoreInterceptor, told_to_fail};

use super::{Api, path, wanted};
use crate::AdminParts;

/// Loses the answers of the next writes to clusters, is away, or panics.
#[derive(Debug, Default)]
struct Lossy {
    lose: AtomicU32,
    away: AtomicBool,
    panics: AtomicBool,
}

#[async_trait]
impl StoreInterceptor for Lossy {
    async fn before(&self, _: &SharedStore, call: StoreCall<'_>) -> Result<Delivery, StoreError> {
        assert!(!self.panics.load(Ordering::Relaxed), "a secret of the store");
        if self.away.load(Ordering::Relaxed) {
            return Err(told_to_fail());
        }
        let asked = call.method.writes() && call.collection == Some(Collection::OpenShiftClusters);
        let lose = |left: u32| left.checked_sub(1);
        let lost = asked && self.lose.fetch_update(Ordering::Relaxed, Ordering::Relaxed, lose).is_ok();
        Ok(if lost { Delivery::Lost } else { Delivery::Delivered })
    }
}

async fn lossy() -> (Api, Arc<Interposed<Lossy>>) {
    let clock = ManualClock::at(Timestamp::from_seconds(1_795_230_720));
    let store = Interposed::new(in_memory(Arc::new(clock.clone())), Lossy::default());
    let api =
        Api::over(Arc::clone(&store) as _, Keyring::generate(&SystemRandom), clock, AdminParts::default());
    assert_eq!(api.subscription("Registered").await.status, StatusCode::CREATED);
    (api, store)
}

#[tokio::test]
async fn a_write_whose_answer_was_lost_is_accepted_once() {
    let (api, store) = lossy().await;
    store.lose.store(1, Ordering::Relaxed);
    let told = api.call("PUT", &path("c"), Some(wanted(1))).await;
    assert_eq!(told.status, StatusCode::CREATED, "{}", told.text);
    let followed =
        told.header("azure-asyncoperation").trim_start_matches("https://management.azure.com").to_owned();
    assert_eq!(api.call("GET", &followed, None).await.json()["status"], "Creating");
    let again = api.call("PUT", &path("c"), Some(wanted(1))).await;
    assert_eq!(again.refusal().1, "RequestNotAllowed", "it is there, and at work");
    api.finish("Succeeded").await;
    for (method, body, status) in
        [("PATCH", Some(json!({"tags": {"a": "b"}})), StatusCode::OK), ("DELETE", None, StatusCode::ACCEPTED)]
    {
        store.lose.store(1, Ordering::Relaxed);
        let told = api.call(method, &path("c"), body).await;
        assert_eq!(told.status, status, "{method}: {}", told.text);
        api.finish("Succeeded").await;
    }
}

#[tokio::test]
async fn a_store_that_is_away_is_a_503_that_says_when_to_come_again() {
    let (api, store) = lossy().await;
    assert_eq!(api.call("PUT", &path("c"), Some(wanted(1))).await.status, StatusCode::CREATED);
    store.away.store(true, Ordering::Relaxed);
    for (method, body) in
        [("GET", None), ("PUT", Some(wanted(1))), ("PATCH", Some(json!({}))), ("DELETE", None)]
    {
        let told = api.call(method, &path("c"), body).await;
        assert_eq!(told.refusal().1, "ServiceUnavailable", "{method}: {}", told.text);
        assert_eq!((told.status, told.header("retry-after")), (StatusCode::SERVICE_UNAVAILABLE, "10"));
    }
    assert_eq!(api.call("GET", "/healthz/ready", None).await.status, StatusCode::INTERNAL_SERVER_ERROR);
    store.away.store(false, Ordering::Relaxed);
    assert_eq!(api.call("GET", &path("c"), None).await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_panic_is_a_500_of_one_request_with_its_id() {
    let (api, store) = lossy().await;
    assert_eq!(api.call("PUT", &path("c"), Some(wanted(1))).await.status, StatusCode::CREATED);
    store.panics.store(true, Ordering::Relaxed);
    for (method, body) in [("GET", None), ("PUT", Some(wanted(1))), ("DELETE", None)] {
        let told = api.call(method, &path("c"), body).await;
        let (status, code, _) = told.refusal();
        assert_eq!((status, code.as_str()), (500, "InternalServerError"));
        assert!(!told.header("x-ms-request-id").is_empty() && !told.text.contains("secret"), "{}", told.text);
    }
    store.panics.store(false, Ordering::Relaxed);
    assert_eq!(api.call("GET", &path("c"), None).await.status, StatusCode::OK);
}
