//! kube-apiserver with etcd as a store of clusters: a custom resource whose `spec` is the body of our PUT.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context as _, Result};
use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use serde_json::{Value, json};
use tests_kit::{ControlPlane, GENEROUS, until};

use super::load::{RequestKind, Target};
use super::ours::body;
use crate::tls;

const GROUP: &str = "bench.example.com";
const PATH: &str = "/apis/bench.example.com/v1/namespaces/default/clusters";

/// A control plane whose etcd waits for the disk.
#[derive(Debug)]
pub(crate) struct Peer {
    plane: ControlPlane,
}

impl Peer {
    pub(crate) async fn start() -> Result<Self> {
        let mut plane = ControlPlane::start_durable().await?;
        plane.still();
        let admin = plane.admin()?;
        let kind = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("clusters.{GROUP}")},
            "spec": {
                "group": GROUP, "scope": "Namespaced",
                "names": {"plural": "clusters", "singular": "cluster", "kind": "Cluster", "listKind": "ClusterList"},
                "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                    "type": "object", "x-kubernetes-preserve-unknown-fields": true,
                }}}],
            },
        });
        admin.with_input(kind.to_string().as_bytes(), &["create", "-f", "-"]).await?.ok()?;
        until("the resource is served", GENEROUS, || admin.ok(&["get", "clusters", "--ignore-not-found"]))
            .await?;
        Ok(Self { plane })
    }

    /// Of the API server.
    pub(crate) fn pid(&self) -> u32 {
        self.plane.api_pid()
    }

    pub(crate) fn target(&self) -> Result<KubernetesTarget> {
        let url = self.plane.url();
        let address = url.strip_prefix("https://").context("https")?.parse()?;
        Ok(KubernetesTarget {
            address,
            tls: tls::client(self.plane.authority().pem(), &[b"http/1.1"])?,
            token: self.plane.admin_token().to_owned(),
            made: AtomicU64::new(0),
            asked: AtomicU64::new(0),
        })
    }
}

pub(crate) struct KubernetesTarget {
    address: SocketAddr,
    tls: Arc<rustls::ClientConfig>,
    token: String,
    made: AtomicU64,
    asked: AtomicU64,
}

impl Target for KubernetesTarget {
    fn name(&self) -> &str {
        "kube-apiserver and etcd"
    }

    fn address(&self) -> SocketAddr {
        self.address
    }

    fn tls(&self) -> Arc<rustls::ClientConfig> {
        Arc::clone(&self.tls)
    }

    fn request(&self, ask: RequestKind) -> Result<Request<Full<Bytes>>> {
        let request = Request::builder()
            .header("host", "127.0.0.1")
            .header("authorization", format!("Bearer {}", self.token))
            .header("content-type", "application/json");
        if ask == RequestKind::Put {
            let n = self.made.fetch_add(1, Ordering::Relaxed);
            let object: Value = json!({
                "apiVersion": format!("{GROUP}/v1"), "kind": "Cluster",
                "metadata": {"name": format!("c{n}")}, "spec": body(n),
            });
            return Ok(request.method("POST").uri(PATH).body(Full::new(Bytes::from(object.to_string())))?);
        }
        // The last ones may still be under way.
        let made = self.made.load(Ordering::Relaxed).saturating_sub(64).max(1);
        let n = self.asked.fetch_add(1, Ordering::Relaxed) % made;
        Ok(request.method("GET").uri(format!("{PATH}/c{n}")).body(Full::default())?)
    }
}
