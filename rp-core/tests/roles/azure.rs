//! One token for everything in a process that asks Azure with one credential.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use rp_azure::{CallPolicy, Resources as _, RetryPolicy, Subnets as _};
use rp_core::{Services, monitor};
use rp_database::Typed;
use rp_documents::subscription::{Subscription, SubscriptionProperties};
use rp_documents::{SubscriptionDocument, SubscriptionState, Unknown};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::site::Site;

const SUBSCRIPTION: &str = "00000000-0000-0000-0000-00000000a001";
const TENANT: &str = "00000000-0000-0000-0000-00000000b001";

/// What was asked of a token endpoint and a resource manager in one, which has nothing.
#[derive(Debug, Default)]
struct RequestCounts {
    tokens: AtomicUsize,
    resources: AtomicUsize,
}

async fn answer(State(counts): State<Arc<RequestCounts>>, uri: Uri) -> (StatusCode, String) {
    if uri.path().ends_with("/oauth2/v2.0/token") {
        let number = counts.tokens.fetch_add(1, Ordering::SeqCst);
        return (StatusCode::OK, format!(r#"{{"access_token":"token-{number}","expires_in":3600}}"#));
    }
    counts.resources.fetch_add(1, Ordering::SeqCst);
    (StatusCode::NOT_FOUND, r#"{"error":{"code":"ResourceNotFound"}}"#.to_owned())
}

async fn start() -> (Arc<RequestCounts>, String) {
    let counts = Arc::new(RequestCounts::default());
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let router = Router::new().fallback(answer).with_state(Arc::clone(&counts));
    tokio::spawn(async move { axum::serve(listener, router).await });
    (counts, url)
}

async fn services(site: &Site, url: &str) -> Services {
    site.write("federated", "a.b.c");
    let azure = format!(
        "credential = \"workload_identity\"\nclient_id = \"{TENANT}\"\nfederated_token_file = \"federated\"\n\
         resource_manager = \"{url}\"\nauthority = \"{url}\"\n"
    );
    let services = Services::open(&site.settings(1, &azure)).await.unwrap();
    let properties = SubscriptionProperties { tenant_id: TENANT.to_owned(), unknown: Unknown::new() };
    let subscription = Subscription {
        state: SubscriptionState::Registered,
        properties: Some(properties),
        unknown: Unknown::new(),
    };
    let document =
        SubscriptionDocument { id: SUBSCRIPTION.to_owned(), subscription, unknown: Unknown::new() };
    Typed::<SubscriptionDocument>::new(Arc::clone(&services.store)).create(document).await.unwrap();
    services
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_fetches_one_token_for_all_who_ask_azure() {
    let ((counts, url), site) = (start().await, Site::new());
    let services = services(&site, &url).await;
    let group = format!("/subscriptions/{SUBSCRIPTION}/resourceGroups/g");
    let subnet = format!("{group}/providers/Microsoft.Network/virtualNetworks/v/subnets/s");

    // Pages, the API's checks, machines' consoles, the monitor, and workers with their patience; many at once.
    let mut users = JoinSet::new();
    for _ in 0..5 {
        let arm = services.azure.client().unwrap().clone();
        let (id, page) = (group.clone(), arm.in_tenant(TENANT));
        users.spawn(async move { page.get(&id, "2021-04-01").await.map(|found| found.is_none()) });
        let policy = CallPolicy::new(RetryPolicy::STEPS, Duration::from_secs(60));
        let (id, worker) = (group.clone(), arm.with_policy(policy).in_tenant(TENANT));
        users.spawn(async move { worker.get(&id, "2021-04-01").await.map(|found| found.is_none()) });
        let (id, consoles) = (group.clone(), services.azure.boot_diagnostics().unwrap());
        users.spawn(async move { Ok(consoles.serial_log(&id, "m").await.is_err_and(|e| e.is_missing())) });
        let id = subnet.clone();
        users.spawn(async move { Ok(arm.subnet(TENANT, &id).await.is_err_and(|e| e.is_missing())) });
    }
    for missing in users.join_all().await {
        assert!(missing.unwrap(), "there is nothing in this Azure");
    }
    assert_eq!(counts.resources.load(Ordering::SeqCst), 20);
    assert_eq!(counts.tokens.load(Ordering::SeqCst), 1, "one token serves them all");
    assert!(monitor::subnets(&services, Arc::new(|_| {})).is_some());

    // Another identity has tokens of its own, over the same connections.
    let other = services.azure.without_identity().unwrap();
    let arm = services.azure.client().unwrap();
    let patient = arm.with_policy(CallPolicy::new(RetryPolicy::STEPS, Duration::from_secs(60)));
    assert!(arm.shares_tokens_with(&patient) && !arm.shares_tokens_with(&other));
    let other = other.in_tenant(TENANT);
    assert!(other.get(&group, "2021-04-01").await.unwrap().is_none());
    assert_eq!(counts.tokens.load(Ordering::SeqCst), 2);
    services.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_process_has_one_of_is_the_same_for_every_role() {
    let site = Site::new();
    let services = Services::open(&site.settings(1, "")).await.unwrap();
    let role = services.clone();
    let (access, directory) = (services.access().await.unwrap(), services.directory().await.unwrap());
    assert!(Arc::ptr_eq(&access, &role.access().await.unwrap()));
    assert!(Arc::ptr_eq(&directory, &role.directory().await.unwrap()));
    assert!(Arc::ptr_eq(&services.store, &role.store));
    services.close().await;
}
