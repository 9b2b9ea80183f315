//! Clusters that are made and removed through the resource providers' API.
//!
//! Nothing here installs OpenShift on machines: a creation makes everything in the stand-in for Azure, fails at its
//! installer, and is deleted.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use async_trait::async_trait;
use reqwest::Method;
use rp_base::Secret;
use rp_net::Credential;
use rp_net::tls::client_config;
use serde_json::{Value, json};
use tests_kit::{Answer, Authority, GENEROUS, cluster_body, until};

use crate::azure::{SLOTS, SUBSCRIPTION, subnet};
use crate::environment::Environment;
use crate::load::{Turn, Workload};
use crate::part::Role;
use crate::promises::Promise;
use crate::settings::{ADMIN, ARM};
use crate::site::Site;

const VERSION: &str = "2025-07-25";
/// From a request to the end of its operation.
const OPERATION: Duration = Duration::from_secs(240);
/// Clusters of a worker have numbers of its own.
const NUMBERS: u64 = 1_000_000;

/// A caller with a client certificate.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    http: reqwest::Client,
    /// Of each resource provider.
    bases: Vec<String>,
}

impl Caller {
    /// As ARM.
    ///
    /// # Errors
    /// A certificate cannot be made.
    pub(crate) fn arm(site: &Site) -> Result<Self> {
        Self::new(site, &site.arm, ARM)
    }

    fn new(site: &Site, authority: &Authority, name: &str) -> Result<Self> {
        let pair = authority.client(name, &[])?;
        let credential =
            Credential::Certificate { chain_pem: pair.certificate, key_pem: Secret::new(pair.key) };
        let tls = client_config(site.authority.pem(), Some(&credential), &[b"http/1.1"])?;
        let http = reqwest::Client::builder().tls_backend_preconfigured(tls).no_proxy().timeout(GENEROUS);
        let base = |port: u16| format!("https://localhost:{port}");
        let bases = site.with_role(Role::Provider).into_iter().map(|part| base(part.ports.web)).collect();
        Ok(Self { http: http.build()?, bases })
    }

    /// A request to one of the resource providers, by its number.
    ///
    /// # Errors
    /// No answer.
    pub(crate) async fn send(
        &self,
        replica: usize,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Answer> {
        let base = self.bases.get(replica % self.bases.len().max(1)).context("a resource provider")?;
        let mut request = self.http.request(method, format!("{base}{path}"));
        // As ARM says where the customer asked.
        if path.starts_with("/subscriptions/") {
            request = request.header("referer", format!("https://management.azure.com{path}"));
        }
        if let Some(body) = body {
            request = request.header("content-type", "application/json").body(body.to_string());
        }
        let answer = request.send().await.with_context(|| path.to_owned())?;
        let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
        Ok(Answer { status, headers, text: answer.text().await? })
    }

    /// GET at one of them.
    ///
    /// # Errors
    /// No answer.
    pub(crate) async fn get(&self, replica: usize, path: &str) -> Result<Answer> {
        self.send(replica, Method::GET, path, None).await
    }
}

pub(crate) struct Puts {
    caller: Caller,
}

impl Puts {
    /// Registers the subscription, and offers a version to install.
    pub(crate) async fn new(environment: &Environment) -> Result<Self> {
        let site = &environment.site;
        let caller = Caller::arm(site)?;
        let body = json!({"state": "Registered", "properties": {"tenantId": SUBSCRIPTION}});
        let path = format!("/subscriptions/{SUBSCRIPTION}?api-version=2.0");
        caller.send(0, Method::PUT, &path, Some(&body)).await?.ok()?;
        let body = json!({"properties": {"version": "4.17.27", "openShiftPullspec": "o", "installerPullspec": "i",
            "enabled": true, "default": true}});
        let admin = Caller::new(site, &site.admin, ADMIN)?;
        admin.send(0, Method::PUT, "/admin/versions?api-version=admin", Some(&body)).await?.ok()?;
        let path = format!(
            "/subscriptions/{SUBSCRIPTION}/providers/microsoft.redhatopenshift/locations/eastus/openshiftversions?api-version={VERSION}"
        );
        for replica in 0..caller.bases.len() {
            until("a version is offered", GENEROUS, || async {
                let told = caller.get(replica, &path).await?.ok()?.json()?;
                ensure!(told["value"].as_array().is_some_and(|list| !list.is_empty()), "{told}");
                Ok(())
            })
            .await?;
        }
        Ok(Self { caller })
    }

    /// An answer below 500 of either process; while something is broken, it is asked for again.
    async fn call(
        &self,
        environment: &Environment,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Answer> {
        let mut replica = 0;
        loop {
            replica += 1;
            let began = Instant::now();
            let told = self.caller.send(replica, method.clone(), path, body).await;
            let told = told.and_then(|told| {
                ensure!(told.status < 500 && told.status != 429, "{method} {path}: {told:?}");
                Ok(told)
            });
            if told.is_ok() || !environment.windows.touches(began, Instant::now()) {
                return told;
            }
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    }

    /// Waits until the cluster has a state; empty: until it is gone.
    async fn comes_to(&self, environment: &Environment, path: &str, state: &str) -> Result<()> {
        let deadline = Instant::now() + OPERATION;
        loop {
            let told = self.call(environment, Method::GET, path, None).await?;
            let seen = if told.status == 404 { Value::Null } else { told.ok()?.json()? };
            let seen = seen["properties"]["provisioningState"].as_str().unwrap_or_default();
            if seen == state {
                return Ok(());
            }
            let (path, _) = path.split_once('?').unwrap_or((path, ""));
            ensure!(Instant::now() < deadline, "{path} does not come to {state:?}: it is {seen:?}");
            // At the pace of a client that waits for an operation.
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }
}

/// The path of an operation that an answer names, when it does.
fn operation(told: &Answer) -> Option<Promise> {
    let path = told.header("azure-asyncoperation").strip_prefix("https://management.azure.com")?;
    Some(Promise::Operation { path: path.to_owned() })
}

/// A body that makes a cluster in the subnets of a slot; `number` keeps apart what must be its own.
fn wanted(number: u64, slot: usize) -> Value {
    let mut body = cluster_body(SUBSCRIPTION, number);
    let properties = &mut body["properties"];
    properties["clusterProfile"]["pullSecret"] = json!("");
    properties["clusterProfile"]["version"] = json!("4.17.27");
    properties["clusterProfile"]["resourceGroupId"] =
        json!(format!("/subscriptions/{SUBSCRIPTION}/resourceGroups/managed-{number}"));
    properties["masterProfile"]["subnetId"] = json!(subnet("master", slot));
    properties["workerProfiles"][0]["subnetId"] = json!(subnet("worker", slot));
    body
}

#[async_trait]
impl Workload for Puts {
    fn name(&self) -> &'static str {
        "PUTs"
    }

    fn workers(&self) -> usize {
        SLOTS
    }

    fn pause(&self) -> Duration {
        Duration::from_secs(2)
    }

    fn limit(&self) -> Duration {
        2 * OPERATION + GENEROUS
    }

    async fn attempt(&self, environment: &Environment, turn: Turn) -> Result<()> {
        let number = NUMBERS * (turn.worker as u64 + 1) + turn.number;
        let path = format!(
            "/subscriptions/{SUBSCRIPTION}/resourceGroups/App-RG/providers/Microsoft.RedHatOpenShift/openShiftClusters/c{number}?api-version={VERSION}"
        );
        let body = wanted(number, turn.worker);
        let told = self.call(environment, Method::PUT, &path, Some(&body)).await?;
        // A request whose answer was lost may have been executed, and is then refused when it is repeated.
        ensure!(told.status == 201 || told.text.contains("RequestNotAllowed"), "PUT: {told:?}");
        if let Some(promise) = operation(&told) {
            environment.promises.note(promise);
        }
        self.comes_to(environment, &path, "Failed").await?;
        let told = self.call(environment, Method::DELETE, &path, None).await?;
        let heard = matches!(told.status, 202 | 204) || told.text.contains("RequestNotAllowed");
        ensure!(heard, "DELETE: {told:?}");
        if let Some(promise) = operation(&told) {
            environment.promises.note(promise);
            environment.promises.note(Promise::Deleted { path: path.clone(), number });
        }
        self.comes_to(environment, &path, "").await?;
        let left = environment.site.azure.left(number);
        ensure!(left.is_empty(), "left of cluster {number} in Azure: {left:?}");
        Ok(())
    }
}
