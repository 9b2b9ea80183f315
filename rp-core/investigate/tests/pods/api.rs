//! The route over the provider: a caller's question, answered by a pod, over HTTP.

use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use rp_base::{SystemClock, SystemRandom};
use rp_database::{Draft, in_memory};
use rp_documents::Collection;
use rp_frontend::{AdminParts, AllowAll, Edge, FrontendParts, Investigations, Offers, StoreOffers, router};
use rp_investigate::KubernetesPods;
use rp_seal::Keyring;
use serde_json::json;
use tests_kit::{ControlPlane, GENEROUS};

use crate::sandbox::{CLUSTER, Sandbox, cluster};

/// The API with that provider, which answers one question at a time; the address of the route.
async fn serve(pods: KubernetesPods) -> Result<String> {
    let store = in_memory(Arc::new(SystemClock));
    let stored = cluster("127.9.9.9")?;
    let draft = Draft {
        id: stored.id.clone(),
        partition: stored.partition_key.clone(),
        unique_key: Some(stored.key.clone()),
        body: serde_json::to_string(&stored)?,
        expires_at: None,
    };
    store.create(Collection::OpenShiftClusters, draft).await?;
    let offers: Arc<dyn Offers> = StoreOffers::start(Arc::clone(&store)).await;
    let parts = FrontendParts {
        store,
        keyring: Keyring::generate(&SystemRandom),
        clock: Arc::new(SystemClock),
        random: Arc::new(SystemRandom),
        authorizer: Arc::new(AllowAll),
        offers,
        checks: None,
        region: "eastus".to_owned(),
        domain: "eastus.aroapp.io".to_owned(),
        commit: "commit".to_owned(),
        development_workers: false,
        gateway: true,
        edge: Edge::default(),
        admin: AdminParts {
            investigations: Some(Investigations::new(Arc::new(pods), 1)),
            ..AdminParts::default()
        },
        detectors: None,
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let at = format!("http://{}/admin{CLUSTER}/investigate", listener.local_addr()?);
    tokio::spawn(async move { axum::serve(listener, router(parts)).await });
    Ok(at)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_gets_the_answer_and_takes_the_pod_along_when_it_leaves() -> Result<()> {
    let sandbox = Sandbox::new(ControlPlane::shared().await?, "api").await?;
    let at = serve(sandbox.pods.clone()).await?;
    let http = reqwest::Client::builder().timeout(GENEROUS).build()?;
    let ask = || async {
        let body = json!({"question": "why is dns degraded?"}).to_string();
        anyhow::Ok(http.post(&at).header("content-type", "application/json").body(body).send().await?)
    };
    let (answer, pod) = tokio::join!(ask(), sandbox.schedule());
    let (mut answer, pod): (reqwest::Response, String) = (answer?, pod?);
    ensure!(answer.status() == 200, "{}", answer.status());
    sandbox.print(&pod, "looking\u{1b}[5m...\n")?;
    ensure!(answer.chunk().await?.context("a piece before the end")? == "looking...\n");
    ensure!(ask().await?.status() == 429, "one at a time");
    sandbox.print(&pod, "its pods are evicted\n")?;
    ensure!(answer.chunk().await?.context("the next piece")? == "its pods are evicted\n");
    sandbox.end(&pod, "Succeeded", "").await?;
    ensure!(answer.chunk().await?.is_none());
    sandbox.is_empty().await?;

    let (answer, pod) = tokio::join!(ask(), sandbox.schedule());
    let mut answer: reqwest::Response = answer?;
    sandbox.print(&pod?, "begun\n")?;
    ensure!(answer.chunk().await?.context("the first piece")? == "begun\n");
    drop(answer);
    sandbox.is_empty().await
}
