//! The resource provider's API as it ships, on one store.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use rp_client::{Client, ClientOptions, ClusterId};
use serde_json::{Value, json};
use tests_kit::{Aro, AroOptions, Folder, Postgres, cluster_body};

use super::load::{RequestKind, Target};
use crate::tls;

const VERSION: &str = "2025-07-25";
/// Of the rounds that are compared, and of the list.
const COMPARED: &str = "00000000-0000-0000-0000-00000000be01";
const LISTED: &str = "00000000-0000-0000-0000-00000000be02";

/// A server that waits for the disk.
pub(crate) async fn postgres() -> Result<Postgres> {
    let durable = ["fsync=on", "full_page_writes=on", "synchronous_commit=on", "shared_buffers=256MB"];
    Postgres::start_with(&durable, None).await
}

/// One process.
#[derive(Debug)]
pub(crate) struct Provider {
    aro: Aro,
    client: Client,
    name: &'static str,
    address: SocketAddr,
    _folder: Folder,
}

impl Provider {
    pub(crate) async fn start(postgres: Option<&Postgres>) -> Result<Self> {
        let folder = Folder::new("provider")?;
        let mut env = Vec::new();
        let mut set = |name: &str, value: String| env.push((name.to_owned(), value));
        // What is measured is the API: the work that it queues is done by one worker at most.
        set("ARO_BACKEND__WORKERS", "1".to_owned());
        set("ARO_BACKEND__PER_SUBSCRIPTION", "1".to_owned());
        // One address opens what many would, and idles.
        for limit in ["CONNECTIONS", "PER_ADDRESS", "STRANGERS", "STRANGERS_PER_ADDRESS"] {
            set(&format!("ARO_LIMITS__{limit}"), "100000".to_owned());
        }
        set("ARO_LIMITS__CONNECTIONS_PER_MINUTE", "0".to_owned());
        if let Some(postgres) = postgres {
            folder.write("database", postgres.database().await?)?;
            set("ARO_STORE__KIND", "postgres".to_owned());
            set("ARO_STORE__URL_FILE", folder.path().join("database").display().to_string());
        }
        let aro = Aro::start(AroOptions { clusters: 1, env, ..AroOptions::default() }).await?;
        let url: url::Url = aro.dev.rp_url.parse()?;
        // Without the comparison of answers: it is the server that is measured.
        let client =
            Client::new(ClientOptions { ca_pem: Some(aro.ca_pem()?), ..ClientOptions::new(url.clone()) })?;
        for subscription in [COMPARED, LISTED] {
            client.subscription(subscription, "Registered", "tenant").await?;
        }
        let name = if postgres.is_some() { "aro on PostgreSQL" } else { "aro on SQLite" };
        let port = url.port().context("a port")?;
        Ok(Self { aro, client, name, address: ([127, 0, 0, 1], port).into(), _folder: folder })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.aro.dev.pid
    }

    pub(crate) fn target(&self) -> Result<ProviderTarget> {
        self.target_in(COMPARED, 0, u64::MAX)
    }

    /// Makes the clusters of the list.
    pub(crate) fn filling(&self, clusters: usize) -> Result<ProviderTarget> {
        // Numbers of their own: nothing of a cluster may be used twice in a region.
        self.target_in(LISTED, 1_000_000_000, u64::try_from(clusters)?)
    }

    fn target_in(&self, subscription: &'static str, first: u64, most: u64) -> Result<ProviderTarget> {
        Ok(ProviderTarget {
            name: self.name,
            address: self.address,
            tls: tls::client(&self.aro.ca_pem()?, &[b"http/1.1"])?,
            subscription,
            first,
            most,
            made: AtomicU64::new(0),
            asked: AtomicU64::new(0),
        })
    }

    /// The time of each page of the list, sorted.
    pub(crate) async fn pages(&self, clusters: usize) -> Result<Vec<Duration>> {
        let (mut times, mut seen, mut next) = (Vec::new(), 0, None::<String>);
        loop {
            let asked = Instant::now();
            let page = self.client.page(LISTED, None, next.as_deref()).await?;
            times.push(asked.elapsed());
            seen += page.value.len();
            match page.next_link {
                Some(link) => next = Some(link),
                None => break,
            }
        }
        ensure!(seen >= clusters, "{seen} clusters, not {clusters}");
        times.sort_unstable();
        Ok(times)
    }
}

pub(crate) struct ProviderTarget {
    name: &'static str,
    address: SocketAddr,
    tls: Arc<rustls::ClientConfig>,
    subscription: &'static str,
    first: u64,
    /// After so many it reads instead.
    most: u64,
    made: AtomicU64,
    asked: AtomicU64,
}

impl ProviderTarget {
    /// How many were asked for.
    pub(crate) fn made(&self) -> usize {
        usize::try_from(self.made.load(Ordering::Relaxed)).unwrap_or(usize::MAX)
    }

    fn path(&self, n: u64) -> String {
        let id = ClusterId::new(self.subscription, "bench", &format!("c{n}"));
        format!("{}?api-version={VERSION}", id.path())
    }
}

impl Target for ProviderTarget {
    fn name(&self) -> &str {
        self.name
    }

    fn address(&self) -> SocketAddr {
        self.address
    }

    fn tls(&self) -> Arc<rustls::ClientConfig> {
        Arc::clone(&self.tls)
    }

    fn request(&self, ask: RequestKind) -> Result<Request<Full<Bytes>>> {
        let request =
            Request::builder().header("host", "localhost").header("content-type", "application/json");
        if ask == RequestKind::Put && self.made.load(Ordering::Relaxed) < self.most {
            let n = self.first + self.made.fetch_add(1, Ordering::Relaxed);
            let body = Full::new(Bytes::from(body_in(self.subscription, n).to_string()));
            return Ok(request.method("PUT").uri(self.path(n)).body(body)?);
        }
        // The last ones may still be under way.
        let made = self.made.load(Ordering::Relaxed).saturating_sub(64).max(1);
        let n = self.first + self.asked.fetch_add(1, Ordering::Relaxed) % made;
        Ok(request.method("GET").uri(self.path(n)).body(Full::default())?)
    }
}

/// What makes a cluster.
pub(crate) fn body(n: u64) -> Value {
    body_in(COMPARED, n)
}

fn body_in(subscription: &str, n: u64) -> Value {
    // A pull secret of the usual size: it is sealed with each cluster.
    let auth = "QUJDRA==".repeat(64);
    let registries = ["cloud.openshift.com", "quay.io", "registry.connect.redhat.com", "registry.redhat.io"];
    let auths: serde_json::Map<String, Value> =
        registries.iter().map(|name| ((*name).to_owned(), json!({"auth": auth}))).collect();
    let mut body = cluster_body(subscription, n);
    body["location"] = json!("westeurope");
    body["tags"] = json!({"team": "bench", "number": n.to_string()});
    let properties = &mut body["properties"];
    properties["clusterProfile"]["pullSecret"] = json!(json!({"auths": auths}).to_string());
    properties["servicePrincipalProfile"]["clientId"] = json!(format!("33333333-3333-3333-3333-{n:012}"));
    properties["workerProfiles"][0]["vmSize"] = json!("Standard_D2s_v3");
    body
}
