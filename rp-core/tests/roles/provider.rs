//! The resource provider alone, on SQLite.

use std::net::{Ipv4Addr, TcpListener};

use rp_core::{Services, provider};
use rp_database::Typed;
use rp_documents::{SubscriptionDocument, SubscriptionState};
use rp_runtime::Lifecycle;
use tokio::time::timeout;

use crate::site::{GENEROUS, Site};

const SUBSCRIPTION: &str = "00000000-0000-0000-0000-00000000a001";

fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    listener.local_addr().unwrap().port()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_serves_and_ends_without_portal_and_proxy() {
    let site = Site::new();
    let port = free_port();
    let settings = site.settings(port, "");
    let life = Lifecycle::new();
    let services = Services::open(&settings).await.unwrap();
    let running = provider::start(services, &life, None, None).await.unwrap();

    let http = rp_net::http::client(Some(&site.ca_pem), GENEROUS).unwrap();
    let ask = |path: &str| http.get(format!("https://localhost:{port}{path}")).send();
    let ready = async {
        while !ask("/healthz/ready").await.unwrap().status().is_success() {
            tokio::task::yield_now().await;
        }
    };
    timeout(GENEROUS, ready).await.expect("the provider is ready");
    // Nobody in particular is no caller.
    let path = format!("/subscriptions/{SUBSCRIPTION}?api-version=2.0");
    assert_eq!(ask(&path).await.unwrap().status().as_u16(), 403);

    life.stop();
    timeout(GENEROUS, running.finished()).await.expect("the provider ends");
    // It has let go of the store: another process may have it.
    Services::open(&settings).await.unwrap().close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_frontend_alone_records_what_it_is_told() {
    use rp_core::frontend::{self, Callers, FrontendInputs};
    let site = Site::new();
    let port = free_port();
    let services = Services::open(&site.settings(port, "")).await.unwrap();
    let life = Lifecycle::new();
    let inputs = FrontendInputs { callers: Callers::Everybody, ..FrontendInputs::default() };
    let role = frontend::start(&services, &life, inputs).await.unwrap();

    let http = rp_net::http::client(Some(&site.ca_pem), GENEROUS).unwrap();
    let url = format!("https://localhost:{port}/subscriptions/{SUBSCRIPTION}?api-version=2.0");
    let body = format!(r#"{{"state":"Registered","properties":{{"tenantId":"{SUBSCRIPTION}"}}}}"#);
    let told = http.put(url).header("content-type", "application/json").body(body).send().await.unwrap();
    assert!(told.status().is_success(), "{told:?}");
    let stored = Typed::<SubscriptionDocument>::new(services.store.clone());
    let stored = stored.get(SUBSCRIPTION).await.unwrap().expect("the subscription");
    assert_eq!(stored.value.subscription.state, SubscriptionState::Registered);

    life.stop();
    timeout(GENEROUS, role.listener).await.expect("the listener ends").unwrap();
    services.close().await;
}
