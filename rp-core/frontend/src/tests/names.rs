//! Names that only one cluster may use: concurrent requests, and a process that dies.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use http::StatusCode;
use rp_base::{ManualClock, SystemRandom, Timestamp};
use rp_database::{Expect, SharedStore, StoreError, Typed, in_memory};
use rp_documents::{Collection, Reservation};
use rp_seal::Keyring;
use serde_json::{Value, json};
use tests_kit::{Delivery, Interposed, Method, StoreCall, StoreInterceptor, told_to_fail};

use super::{Api, id, path, wanted};
use crate::AdminParts;

const NOTHING: u8 = 0;
/// Between reserving the names and writing the cluster, the reservation expires and another cluster takes the name.
const TAKEN: u8 = 1;
/// After the next write of a cluster nothing more is done: the process has died.
const DIES: u8 = 2;
const DEAD: u8 = 3;

#[derive(Debug)]
struct Fate {
    next: AtomicU8,
    clock: ManualClock,
}

#[async_trait]
impl StoreInterceptor for Fate {
    async fn before(&self, store: &SharedStore, call: StoreCall<'_>) -> Result<Delivery, StoreError> {
        let cluster = call.method.writes() && call.collection == Some(Collection::OpenShiftClusters);
        match self.next.load(Ordering::Relaxed) {
            DEAD => return Err(told_to_fail()),
            TAKEN if cluster && call.method == Method::Create => {
                self.next.store(NOTHING, Ordering::Relaxed);
                let name = held_client(store).await.unwrap_or_default();
                self.clock.advance(Duration::from_secs(121));
                let reservations = Typed::<Reservation>::new(store.clone());
                let other = Reservation { id: name, cluster: "another".to_owned() };
                reservations.put(other, Expect::Any).await?;
            }
            _ => {}
        }
        Ok(Delivery::Delivered)
    }

    async fn after(&self, call: StoreCall<'_>) -> Result<(), StoreError> {
        let cluster = call.method.writes() && call.collection == Some(Collection::OpenShiftClusters);
        if cluster && self.next.load(Ordering::Relaxed) == DIES {
            self.next.store(DEAD, Ordering::Relaxed);
        }
        Ok(())
    }
}

/// The name of the first identity that is held.
async fn held_client(store: &SharedStore) -> Option<String> {
    let held = store.list(Collection::Reservations, None, None, 100).await.ok()?;
    held.items.iter().map(|one| one.id.clone()).find(|id| id.starts_with("client/"))
}

async fn api() -> (Api, Arc<Interposed<Fate>>) {
    let clock = ManualClock::at(Timestamp::from_seconds(1_795_230_720));
    let fate = Fate { next: AtomicU8::new(NOTHING), clock: clock.clone() };
    let store = Interposed::new(in_memory(Arc::new(clock.clone())), fate);
    let api =
        Api::over(Arc::clone(&store) as _, Keyring::generate(&SystemRandom), clock, AdminParts::default());
    assert_eq!(api.subscription("Registered").await.status, StatusCode::CREATED);
    (api, store)
}

/// Whose a name is, and whether it lasts.
async fn holder(store: &SharedStore, name: &str) -> Option<(String, bool)> {
    let found = Typed::<Reservation>::new(store.clone()).get(name).await.unwrap()?;
    Some((found.value.cluster, found.expires_at.is_none()))
}

fn identity(n: u32) -> String {
    let body = wanted(n);
    let client = body["properties"]["servicePrincipalProfile"]["clientId"].as_str().unwrap().to_lowercase();
    format!("client/{client}")
}

fn change(n: u32) -> Value {
    let client = wanted(n)["properties"]["servicePrincipalProfile"]["clientId"].clone();
    json!({"properties": {"servicePrincipalProfile": {"clientId": client, "clientSecret": "another"}}})
}

#[tokio::test]
async fn a_name_that_became_anothers_stays_anothers() {
    let (api, store) = api().await;
    store.next.store(TAKEN, Ordering::Relaxed);
    let told = api.call("PUT", &path("c"), Some(wanted(1))).await;
    assert_eq!(told.status, StatusCode::CREATED, "{}", told.text);
    // The backend fails this cluster before it makes anything.
    let held = holder(&store.inner, &identity(1)).await.unwrap();
    assert_eq!(held, ("another".to_owned(), true));
}

#[tokio::test]
async fn what_a_new_cluster_is_called_lasts() {
    let (api, store) = api().await;
    assert_eq!(api.call("PUT", &path("c"), Some(wanted(1))).await.status, StatusCode::CREATED);
    let own = id("c").to_lowercase();
    assert_eq!(holder(&store.inner, &identity(1)).await, Some((own, true)));
}

#[tokio::test]
async fn a_change_of_name_is_finished_by_whoever_takes_the_cluster_up() {
    let (api, store) = api().await;
    assert_eq!(api.call("PUT", &path("c"), Some(wanted(1))).await.status, StatusCode::CREATED);
    api.finish("Succeeded").await;
    let own = id("c").to_lowercase();
    store.next.store(DIES, Ordering::Relaxed);
    let told = api.call("PATCH", &path("c"), Some(change(2))).await;
    assert_eq!(told.status, StatusCode::SERVICE_UNAVAILABLE, "{}", told.text);
    store.next.store(NOTHING, Ordering::Relaxed);
    // Both names are this cluster's, the new one for a while; its document says what is left to do.
    assert_eq!(holder(&store.inner, &identity(1)).await, Some((own.clone(), true)));
    assert_eq!(holder(&store.inner, &identity(2)).await, Some((own.clone(), false)));
    let stored = api.stored().await;
    let name = |member: &str| format!("client/{}", stored[member].as_str().unwrap_or_default());
    assert_eq!((name("clientIdKey"), name("formerClientIdKey")), (identity(2), identity(1)));

    // Undisturbed, the change is complete with the answer.
    api.finish("Succeeded").await;
    let told = api.call("PATCH", &path("c"), Some(change(3))).await;
    assert_eq!(told.status, StatusCode::OK, "{}", told.text);
    assert_eq!(holder(&store.inner, &identity(3)).await, Some((own, true)));
    assert_eq!(holder(&store.inner, &identity(2)).await, None);
}
