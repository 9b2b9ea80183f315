//! A small typed client of the resource provider's API (`contract/clients.md` §2): clusters, credentials,
//! what can be installed, and long-running operations, polled as ARM's own clients poll them.
//!
//! Entry rule: what a caller of the API needs to know, without details of its implementation.

mod error;
mod exchange;
mod id;
mod model;
mod operation;
mod tls;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use http::Method;
use serde::Serialize;
use serde_json::{Value, json};
use url::Url;

pub use error::{ClientError, ErrorBody, Refusal};
pub use exchange::{Exchange, Observer};
pub use id::ClusterId;
pub use model::{
    AdminKubeconfig, Cluster, ClusterProfile, Credentials, Endpoint, OpenShiftVersion, OperationStatus,
    OperatorRole, Page, Profile, Properties, ProviderOperation, RoleSet, RoleSetProperties,
    VersionProperties,
};
pub use operation::{AcceptedWrite, Operation, OperationResult};
pub use tls::Identity;

use exchange::{ApiResponse, Transport};

/// The version that the client speaks unless another is given.
pub const API_VERSION: &str = "2025-07-25";
/// Most pages of one list.
const MOST_PAGES: usize = 10_000;
const NAMESPACE: &str = "providers/Microsoft.RedHatOpenShift";

/// How the API is reached.
#[derive(Debug, Clone)]
pub struct ClientOptions {
    /// Scheme, host and port.
    pub url: Url,
    pub api_version: String,
    /// Authorities in PEM that are trusted beside the system's.
    pub ca_pem: Option<String>,
    /// The caller's certificate.
    pub identity: Option<Identity>,
    /// Sent with every request, e.g. what ARM adds for workload identity. Not for secrets: they are shown by `Debug`.
    pub headers: Vec<(String, String)>,
    /// Sees every exchange; its error makes the call fail.
    pub observer: Option<Arc<dyn Observer>>,
    /// Longest interval between two polls of an operation, whatever the service requests.
    pub patience: Duration,
}

impl ClientOptions {
    /// The API there, in the newest version.
    pub fn new(url: Url) -> Self {
        Self {
            url,
            api_version: API_VERSION.to_owned(),
            ca_pem: None,
            identity: None,
            headers: Vec::new(),
            observer: None,
            patience: Duration::from_secs(30),
        }
    }
}

/// The API of one resource provider in one version.
#[derive(Debug, Clone)]
pub struct Client {
    wire: Arc<Transport>,
    api_version: String,
}

impl Client {
    /// A client; nothing is connected yet.
    ///
    /// # Errors
    /// A certificate or a header cannot be used.
    pub fn new(options: ClientOptions) -> Result<Self, ClientError> {
        let api_version = options.api_version.clone();
        Ok(Self { wire: Arc::new(Transport::new(options)?), api_version })
    }

    /// The same with another version of the API.
    pub fn version(&self, api_version: &str) -> Self {
        Self { wire: self.wire.clone(), api_version: api_version.to_owned() }
    }

    /// One cluster.
    ///
    /// # Errors
    /// [`ClientError::Refused`] 404 when there is none.
    pub async fn get(&self, id: &ClusterId) -> Result<Cluster, ClientError> {
        self.send(Method::GET, &id.path(), None).await?.json()
    }

    /// One page of clusters of a subscription, or of a group in it; `next` is the link of the page before.
    ///
    /// # Errors
    /// The API's error.
    pub async fn page(
        &self,
        subscription: &str,
        group: Option<&str>,
        next: Option<&str>,
    ) -> Result<Page<Cluster>, ClientError> {
        match next {
            Some(link) => self.wire.send(Method::GET, self.wire.resolve_link(link)?, None).await?.json(),
            None => {
                let group = group.map(|group| format!("/resourceGroups/{group}")).unwrap_or_default();
                let path = format!("/subscriptions/{subscription}{group}/{NAMESPACE}/openShiftClusters");
                self.send(Method::GET, &path, None).await?.json()
            }
        }
    }

    /// Every cluster of a subscription, or of a group in it.
    ///
    /// # Errors
    /// As the API refuses; more pages than any fleet has.
    pub async fn list(&self, subscription: &str, group: Option<&str>) -> Result<Vec<Cluster>, ClientError> {
        let mut all = Vec::new();
        let mut next = None;
        for _ in 0..MOST_PAGES {
            let page = self.page(subscription, group, next.as_deref()).await?;
            all.extend(page.value);
            match page.next_link {
                Some(link) => next = Some(link),
                None => return Ok(all),
            }
        }
        Err(ClientError::Answer("the list does not end".to_owned()))
    }

    /// Creates a cluster, or replaces what may be changed of one.
    ///
    /// # Errors
    /// The API's error.
    pub async fn put(
        &self,
        id: &ClusterId,
        cluster: &(impl Serialize + Sync),
    ) -> Result<AcceptedWrite, ClientError> {
        self.write(Method::PUT, id, cluster).await
    }

    /// Changes members of a cluster.
    ///
    /// # Errors
    /// The API's error.
    pub async fn patch(
        &self,
        id: &ClusterId,
        change: &(impl Serialize + Sync),
    ) -> Result<AcceptedWrite, ClientError> {
        self.write(Method::PATCH, id, change).await
    }

    async fn write(
        &self,
        method: Method,
        id: &ClusterId,
        body: &(impl Serialize + Sync),
    ) -> Result<AcceptedWrite, ClientError> {
        let body = serde_json::to_value(body).map_err(|error| ClientError::Request(error.to_string()))?;
        let answer = self.send(method, &id.path(), Some(&body)).await?;
        let operation = Operation::from_response(self, id, &answer)?;
        Ok(AcceptedWrite { created: answer.status == 201, cluster: answer.json()?, operation })
    }

    /// Deletes a cluster; `None`: there was none.
    ///
    /// # Errors
    /// The API's error.
    pub async fn delete(&self, id: &ClusterId) -> Result<Option<Operation>, ClientError> {
        let answer = self.send(Method::DELETE, &id.path(), None).await?;
        if answer.status == 204 {
            return Ok(None);
        }
        Operation::from_response(self, id, &answer).map(Some)
    }

    /// The password of `kubeadmin`.
    ///
    /// # Errors
    /// The API's error.
    pub async fn credentials(&self, id: &ClusterId) -> Result<Credentials, ClientError> {
        self.send(Method::POST, &format!("{}/listCredentials", id.path()), None).await?.json()
    }

    /// An admin's kubeconfig.
    ///
    /// # Errors
    /// The API's error.
    pub async fn admin_kubeconfig(&self, id: &ClusterId) -> Result<AdminKubeconfig, ClientError> {
        self.send(Method::POST, &format!("{}/listAdminCredentials", id.path()), None).await?.json()
    }

    /// Versions of OpenShift that can be installed in a region.
    ///
    /// # Errors
    /// The API's error.
    pub async fn openshift_versions(
        &self,
        subscription: &str,
        location: &str,
    ) -> Result<Vec<OpenShiftVersion>, ClientError> {
        let path = region(subscription, location, "openShiftVersions");
        Ok(self.send(Method::GET, &path, None).await?.json::<Page<OpenShiftVersion>>()?.value)
    }

    /// Roles that the operators of each minor version need.
    ///
    /// # Errors
    /// The API's error.
    pub async fn role_sets(&self, subscription: &str, location: &str) -> Result<Vec<RoleSet>, ClientError> {
        let path = region(subscription, location, "platformWorkloadIdentityRoleSets");
        Ok(self.send(Method::GET, &path, None).await?.json::<Page<RoleSet>>()?.value)
    }

    /// What the resource provider can do.
    ///
    /// # Errors
    /// The API's error.
    pub async fn operations(&self) -> Result<Vec<ProviderOperation>, ClientError> {
        let path = format!("/{NAMESPACE}/operations");
        Ok(self.send(Method::GET, &path, None).await?.json::<Page<ProviderOperation>>()?.value)
    }

    /// Sets a subscription's state, as ARM does: `Registered`, `Warned`, …; its own version is `2.0`.
    ///
    /// # Errors
    /// The API's error.
    pub async fn subscription(&self, id: &str, state: &str, tenant: &str) -> Result<Value, ClientError> {
        let body = json!({"state": state, "properties": {"tenantId": tenant, "registeredFeatures": []}});
        let api = self.version("2.0");
        api.send(Method::PUT, &format!("/subscriptions/{id}"), Some(&body)).await?.json()
    }

    /// Any request of the API, for what has no method of its own: the answer's JSON, `null` when it has no body.
    ///
    /// # Errors
    /// The API's error.
    pub async fn call(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Value, ClientError> {
        let answer = self.send(method, path, body).await?;
        if answer.body.is_empty() { Ok(Value::Null) } else { answer.json() }
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<ApiResponse, ClientError> {
        let url = self.wire.url(path, &self.api_version)?;
        self.wire.send(method, url, body).await
    }
}

fn region(subscription: &str, location: &str, kind: &str) -> String {
    format!("/subscriptions/{subscription}/{NAMESPACE}/locations/{location}/{kind}")
}
