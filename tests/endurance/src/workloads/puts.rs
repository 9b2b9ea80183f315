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
use tests_stand_ins::azure::{SUBSCRIPTION, subnet};

use crate::environment::Environment;
use crate::load::{Turn, Workload, is_excused};
use crate::part::Role;
use crate::promises::Promise;
use crate::settings::{ADMIN, ARM};
use crate::site::{SLOTS, Site};
use crate::windows::Dependency;

const VERSION: &str = "2025-07-25";
/// From a request to the end of its operation.
const OPERATION: Duration = Duration::from_secs(240);
/// What is needed besides the store.
const NEEDS: &[Dependency] = &[Dependency::Providers];
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

    /// An answer below 500 of either process. What fails by a fault is asked for again.
    async fn call(
        &self,
        environment: &Environment,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<ProviderAnswer> {
        let mut replica = 0;
        loop {
            replica += 1;
            let told = self.caller.send(replica, method.clone(), path, body).await;
            let told =
                told.and_then(|told| if told.status < 500 { Ok(told) } else { Err(told.unwanted().into()) });
            match told {
                Ok(answer) => return Ok(ProviderAnswer { answer, repeated: replica > 1 }),
                Err(error) if is_excused(&error, &environment.windows, NEEDS, Instant::now()) => {}
                Err(error) => return Err(error.context(format!("{method} {path}"))),
            }
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    }

    /// Waits until the cluster has a state; empty: until it is gone. Gives what is seen then.
    async fn comes_to(&self, environment: &Environment, path: &str, state: &str) -> Result<Value> {
        let deadline = Instant::now() + OPERATION;
        loop {
            let told = self.call(environment, Method::GET, path, None).await?.answer;
            let document = if told.status == 404 { Value::Null } else { told.ok()?.json()? };
            let seen = document["properties"]["provisioningState"].as_str().unwrap_or_default();
            if seen == state {
                return Ok(document);
            }
            let (path, _) = path.split_once('?').unwrap_or((path, ""));
            ensure!(Instant::now() < deadline, "{path} does not come to {state:?}: it is {seen:?}");
            // At the pace of a client that waits for an operation.
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }
}

/// An answer, and whether the request was sent before without one.
struct ProviderAnswer {
    answer: Answer,
    repeated: bool,
}

impl ProviderAnswer {
    /// Whether the request was accepted with one of these statuses. Where the answer to an earlier try was lost, that try
    /// may have been executed; the repetition is refused then, because of the state that the first one made
    /// (`contract/frontend.md` §6.3, §6.4). Nothing else excuses a refusal.
    fn accepted(&self, statuses: &[u16]) -> Result<()> {
        let Self { answer, repeated } = self;
        let done = *repeated && answer.status == 400 && answer.text.contains("RequestNotAllowed");
        ensure!(statuses.contains(&answer.status) || done, "{answer:?}, repeated: {repeated}");
        Ok(())
    }

    /// The path of the operation that the answer names; nothing after a repetition that was refused.
    fn operation(&self) -> Option<String> {
        let path = self.answer.header("azure-asyncoperation").strip_prefix("https://management.azure.com")?;
        Some(path.to_owned())
    }
}

/// What of a PUT must stand in the document as it was sent. Secrets are in no answer.
const KEPT: [&str; 16] = [
    "/location",
    "/tags",
    "/properties/clusterProfile/domain",
    "/properties/clusterProfile/version",
    "/properties/clusterProfile/resourceGroupId",
    "/properties/clusterProfile/fipsValidatedModules",
    "/properties/servicePrincipalProfile/clientId",
    "/properties/networkProfile/podCidr",
    "/properties/networkProfile/serviceCidr",
    "/properties/masterProfile/vmSize",
    "/properties/masterProfile/subnetId",
    "/properties/workerProfiles/0/vmSize",
    "/properties/workerProfiles/0/subnetId",
    "/properties/workerProfiles/0/count",
    "/properties/apiserverProfile/visibility",
    "/properties/ingressProfiles/0/visibility",
];

/// Fails unless a document has what was PUT.
///
/// # Errors
/// A member differs; with both values.
pub(crate) fn has_what_was_put(document: &Value, put: &Value) -> Result<()> {
    for pointer in KEPT {
        let (found, sent) = (document.pointer(pointer), put.pointer(pointer));
        ensure!(is_same(found, sent), "{pointer} is {found:?}, and {sent:?} was PUT");
    }
    Ok(())
}

/// Resource ids are the same in any case; that of the managed group is stored in lower case (`contract/api.md` §3).
fn is_same(found: Option<&Value>, sent: Option<&Value>) -> bool {
    match (found.and_then(Value::as_str), sent.and_then(Value::as_str)) {
        (Some(found), Some(sent)) if sent.starts_with("/subscriptions/") => found.eq_ignore_ascii_case(sent),
        _ => found == sent && sent.is_some(),
    }
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

    fn dependencies(&self) -> &'static [Dependency] {
        NEEDS
    }

    async fn attempt(&self, environment: &Environment, turn: Turn) -> Result<()> {
        let number = NUMBERS * (turn.worker as u64 + 1) + turn.number;
        let path = format!(
            "/subscriptions/{SUBSCRIPTION}/resourceGroups/App-RG/providers/Microsoft.RedHatOpenShift/openShiftClusters/c{number}?api-version={VERSION}"
        );
        let body = wanted(number, turn.worker);
        let answered = self.call(environment, Method::PUT, &path, Some(&body)).await?;
        answered.accepted(&[201]).context("PUT")?;
        if let Some(path) = answered.operation() {
            // It ends at its installer.
            environment.promises.note(Promise::Operation { path, status: "Failed", put: Some(body.clone()) });
        } else {
            ensure!(answered.repeated, "PUT: the answer names no operation: {:?}", answered.answer);
        }
        let document = self.comes_to(environment, &path, "Failed").await?;
        has_what_was_put(&document, &body).context("the cluster after its PUT")?;
        let answered = self.call(environment, Method::DELETE, &path, None).await?;
        // 204: it is gone already, by an earlier try.
        let statuses: &[u16] = if answered.repeated { &[202, 204] } else { &[202] };
        answered.accepted(statuses).context("DELETE")?;
        if let Some(operation) = answered.operation() {
            environment.promises.note(Promise::Operation { path: operation, status: "Succeeded", put: None });
            environment.promises.note(Promise::Deleted { path: path.clone(), number });
        } else {
            ensure!(answered.repeated, "DELETE: the answer names no operation: {:?}", answered.answer);
        }
        self.comes_to(environment, &path, "").await?;
        let left = environment.site.azure.left(number);
        ensure!(left.is_empty(), "left of cluster {number} in Azure: {left:?}");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;

    use super::*;

    fn answered(status: u16, code: &str, repeated: bool) -> ProviderAnswer {
        let text = json!({"error": {"code": code}}).to_string();
        ProviderAnswer { answer: Answer { status, headers: HeaderMap::new(), text }, repeated }
    }

    #[test]
    fn a_refusal_is_taken_for_success_only_after_an_answer_was_lost() {
        assert!(answered(201, "", false).accepted(&[201]).is_ok());
        assert!(answered(400, "RequestNotAllowed", true).accepted(&[201]).is_ok());
        assert!(answered(400, "RequestNotAllowed", false).accepted(&[201]).is_err());
        assert!(answered(400, "InvalidParameter", true).accepted(&[201]).is_err());
        assert!(answered(409, "RequestNotAllowed", true).accepted(&[201]).is_err());
        assert!(answered(429, "", true).accepted(&[202, 204]).is_err());
    }

    #[test]
    fn a_document_that_lost_or_changed_a_member_is_found() {
        let put = wanted(7, 1);
        let mut document = put.clone();
        document["properties"]["provisioningState"] = json!("Failed");
        has_what_was_put(&document, &put).unwrap();
        document["properties"]["masterProfile"]["vmSize"] = json!("Standard_D16s_v3");
        assert!(has_what_was_put(&document, &put).unwrap_err().to_string().contains("vmSize"));
        document = put.clone();
        document.as_object_mut().unwrap().remove("tags");
        assert!(has_what_was_put(&document, &put).is_err());
    }
}
