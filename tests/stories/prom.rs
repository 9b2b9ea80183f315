//! PromQL: a real Prometheus behind a real Kubernetes, and one that misbehaves.

mod faults;
mod fleet;
mod real;
mod tools;

use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use tests_kit::{
    Answer, Aro, AroOptions, ControlPlane, FaultyPrometheus, InUse, Monitoring, Session, Shared,
};
use tokio::sync::RwLock;

/// How the faulty one misbehaves, each under an imported cluster `fault-HOW`.
const FAULTS: [&str; 12] =
    ["html", "starting", "cut", "hang", "busy", "huge", "utf8", "hostile", "syntax", "big", "names", "fine"];

/// What these stories share.
#[derive(Debug)]
struct World {
    aro: Aro,
    monitoring: Monitoring,
    faulty: FaultyPrometheus,
    /// The cluster with the real Prometheus.
    real: String,
    /// A test that stops a replica takes the lock exclusively.
    replicas: Arc<RwLock<()>>,
}

impl World {
    async fn get() -> Result<InUse<Self>> {
        static WORLD: Shared<World> = Shared::new();
        WORLD.get(Self::start).await
    }

    async fn start() -> Result<Self> {
        let plane = ControlPlane::shared().await?;
        let monitoring = Monitoring::start(plane).await?;
        let faulty = FaultyPrometheus::start()?;
        let ways = FAULTS.map(|how| format!("fault-{how}={}", faulty.url(how)));
        let env = vec![
            ("ARO_PROMETHEUS__WAYS".to_owned(), ways.join(",")),
            ("ARO_PROMETHEUS__FLEET_TIME".to_owned(), "5s".to_owned()),
        ];
        let aro = Aro::start(AroOptions { clusters: 30, env, ..AroOptions::default() }).await?;
        let service = plane.service_kubeconfig()?;
        for how in FAULTS {
            aro.import(&service, &format!("fault-{how}"), &[]).await?;
        }
        let real = aro.import_and_wait(&service, "real-prom", &["system:masters"]).await?;
        Ok(Self { aro, monitoring, faulty, real, replicas: Arc::default() })
    }

    fn fault(how: &str) -> String {
        format!(
            "/subscriptions/00000000-0000-0000-0000-000000000000/resourcegroups/imported/providers/microsoft.redhatopenshift/openshiftclusters/fault-{how}"
        )
    }

    async fn session(&self) -> Result<Session> {
        self.aro.session("sre").await
    }

    /// A tool: the proxy's host with a token for metrics.
    async fn tool(&self, resource: &str) -> Result<(Session, String)> {
        let body = json!({ "target": resource, "kind": "metrics", "rights": "read", "reason": "story of the tests" });
        let issued = self.session().await?.post("/api/v1/grants", &body).await?.ok()?.json()?;
        let token = issued["token"].as_str().context("no token")?.to_owned();
        Ok((self.aro.proxy()?.with_bearer(&token), token))
    }
}

/// The rows of a query's answer.
fn rows(answer: &Answer) -> Result<Vec<Value>> {
    let value = answer.json()?;
    ensure!(value["status"] == "success", "{value}");
    Ok(value["data"]["result"].as_array().context("no result")?.clone())
}

/// A failure's code, after a look at its shape.
fn failure(answer: &Answer) -> Result<Value> {
    let value = answer.json()?;
    ensure!(answer.status >= 400, "{}: {value}", answer.status);
    for member in ["errorType", "error", "code", "side", "request_id"] {
        ensure!(value[member].as_str().is_some_and(|text| !text.is_empty()), "no {member}: {value}");
    }
    Ok(value)
}
