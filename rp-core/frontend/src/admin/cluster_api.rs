//! Access to one cluster's API server, with the same directory, dialer and limits as elsewhere.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Limited};
use rp_actions::CallError;
use rp_api::CloudError;
use rp_base::chain;
use rp_documents::ResourceId;
use rp_kube::connect::{self, ClientOptions, Identity};
use rp_kube::lean::{LeanClient, LeanError, LeanOptions};
use rp_kube::{KubeBody, KubeClient, KubeError};
use rp_net::{Dialer, Directory, DirectoryError, Target};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::failed;
use crate::fault::{internal, unavailable};
use crate::path::ClusterPath;

/// The longest path that is asked for, in bytes.
const MOST_PATH: usize = 2048;

/// How clusters are found and reached.
#[derive(Debug, Clone)]
pub struct ClusterConnector {
    pub directory: Arc<dyn Directory>,
    pub dialer: Dialer,
}

/// Largest answer to a change, bytes: objects of etcd have at most 1.5 MiB, lists are read in pages.
const MOST_ANSWER: usize = 16 << 20;

/// One cluster's API server, accessed with the read-only credential.
pub(super) struct ClusterApi {
    lean: LeanClient,
}

/// One cluster's API server, accessed with the service's credential (`contract/frontend.md` §12.2).
#[derive(Clone)]
pub(super) struct AdminApi {
    pub(super) client: KubeClient,
    /// Our request id, which the cluster's own audit log then has (`Audit-ID`).
    request: HeaderValue,
}

impl ClusterConnector {
    /// The API server of a cluster. Nothing is dialled yet.
    pub(super) async fn api(&self, path: &ClusterPath) -> Result<ClusterApi, CloudError> {
        let target = self.target(path).await?;
        let options = LeanOptions { head: Duration::from_secs(30), ..LeanOptions::default() };
        let lean = LeanClient::new(self.dialer.clone(), target, Identity::Read, options);
        Ok(ClusterApi { lean: lean.map_err(|error| failed(chain(&error).to_string()))? })
    }

    /// The same with the service's credential, for what changes the cluster or runs in it. Nothing is dialled yet.
    pub(super) async fn admin(&self, path: &ClusterPath, request: &str) -> Result<AdminApi, CloudError> {
        self.with_client(path, request, Identity::Admin).await
    }

    /// The same with the credential that reads, for answers that are passed on as they come.
    pub(super) async fn reader(&self, path: &ClusterPath, request: &str) -> Result<AdminApi, CloudError> {
        self.with_client(path, request, Identity::Read).await
    }

    async fn with_client(
        &self,
        path: &ClusterPath,
        request: &str,
        identity: Identity,
    ) -> Result<AdminApi, CloudError> {
        let target = self.target(path).await?;
        let options = ClientOptions::default();
        let client = connect::client(self.dialer.clone(), target, identity, &options);
        let client = client.map_err(|error| failed(chain(&error).to_string()))?;
        Ok(AdminApi { client, request: HeaderValue::from_str(request).map_err(|_| internal())? })
    }

    async fn target(&self, path: &ClusterPath) -> Result<Arc<Target>, CloudError> {
        let id = ResourceId::parse(&path.original).map_err(|_| internal())?;
        self.directory.find(&id).await.map_err(|error| match error {
            DirectoryError::Unknown => path.missing(),
            DirectoryError::Unavailable(_) => unavailable(),
            DirectoryError::NotReachable(_) | DirectoryError::Unusable(_) => failed(error.to_string()),
        })
    }
}

/// The `Status` that an API server returns with an error.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Status {
    message: String,
    reason: String,
    details: Details,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Details {
    name: String,
    group: String,
    kind: String,
}

impl ClusterApi {
    /// GETs a path as [`ClusterApi::get`], and reads its JSON.
    ///
    /// # Errors
    /// As [`ClusterApi::get`], or 500: it cannot be read.
    pub(super) async fn get_as<T: DeserializeOwned>(&self, path: &str, most: usize) -> Result<T, CloudError> {
        let body = self.get(path, most).await?;
        serde_json::from_slice(&body).map_err(|_| failed("the API server's answer cannot be read"))
    }

    /// GETs a path; the body has at most `most` bytes.
    ///
    /// # Errors
    /// What the API server says, or why it says nothing (`contract/frontend.md` §2 Replies, "A").
    pub(super) async fn get(&self, path: &str, most: usize) -> Result<Vec<u8>, CloudError> {
        if path.len() > MOST_PATH {
            return Err(CloudError::invalid("", "The provided resource is invalid."));
        }
        let mut body = Vec::new();
        let got = self.lean.get(path, most, &mut body).await.map_err(unanswered)?;
        if got.status.is_success() {
            return Ok(body);
        }
        let told: Status = serde_json::from_slice(&body).unwrap_or_default();
        Err(refused(got.status.as_u16(), told))
    }
}

impl AdminApi {
    /// Makes a request and gives the whole answer. The body of a PATCH is a merge patch (RFC 7396).
    ///
    /// # Errors
    /// As [`ClusterApi::get`].
    pub(super) async fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Value, CloudError> {
        let answer = self.send(method, path, body).await?;
        let read = Limited::new(answer.into_body(), MOST_ANSWER).collect().await;
        let body = read.map_err(|_| failed("the API server's answer broke off or is too long"))?.to_bytes();
        serde_json::from_slice(&body).map_err(|_| failed("the API server's answer cannot be read"))
    }

    /// Makes a request and gives the answer as it comes, if its status is a success.
    ///
    /// # Errors
    /// As [`ClusterApi::get`].
    pub(super) async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Response<KubeBody>, CloudError> {
        let kind = if method == Method::PATCH { "application/merge-patch+json" } else { "application/json" };
        let bytes = body.map(serde_json::to_vec).transpose().map_err(|_| internal())?.unwrap_or_default();
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("content-type", kind)
            .header("audit-id", &self.request)
            .body(KubeBody::from(bytes))
            .map_err(|_| CloudError::invalid("", "The provided resource is invalid."))?;
        let answer = self.client.send(request).await.map_err(|error| unreached(&error))?;
        if answer.status().is_success() {
            return Ok(answer);
        }
        let status = answer.status();
        let told = Limited::new(answer.into_body(), 1 << 20).collect().await;
        Err(status_error(status, &told.map(http_body_util::Collected::to_bytes).unwrap_or_default()))
    }
}

impl rp_actions::ClusterApi for AdminApi {
    type Error = CloudError;

    async fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Value, CallError<CloudError>> {
        AdminApi::call(self, method, path, body).await.map_err(|error| CallError {
            // One that did not answer is our 500, which no action takes for an answer.
            status: Some(error.status),
            message: error.body.message.clone(),
            error,
        })
    }
}

fn status_error(status: StatusCode, body: &Bytes) -> CloudError {
    refused(status.as_u16(), serde_json::from_slice(body).unwrap_or_default())
}

/// An error of the Kubernetes client: what the API server said, or why it said nothing.
pub(super) fn unreached(error: &KubeError) -> CloudError {
    match error {
        KubeError::Api(status) => {
            let details = status.details.as_ref();
            let told = Status {
                message: status.message.clone(),
                reason: status.reason.clone(),
                details: Details {
                    name: details.map(|details| details.name.clone()).unwrap_or_default(),
                    group: details.map(|details| details.group.clone()).unwrap_or_default(),
                    kind: details.map(|details| details.kind.clone()).unwrap_or_default(),
                },
            };
            refused(status.code, told)
        }
        other => failed(rp_base::text::clean(&chain(other).to_string(), 4096)),
    }
}

fn unanswered(error: LeanError) -> CloudError {
    match error {
        LeanError::TooLong(most) => failed(format!("The answer has more than {most} bytes.")),
        other => failed(chain(&other).to_string()),
    }
}

/// `{status} {reason}` with the object as target and the API server's sentence.
fn refused(status: u16, told: Status) -> CloudError {
    let Details { name, group, kind } = told.details;
    let target = match (kind.is_empty(), group.is_empty()) {
        (true, _) => String::new(),
        (false, true) => format!("{kind}/{name}"),
        (false, false) => format!("{kind}.{group}/{name}"),
    };
    let message = if told.message.is_empty() {
        format!("the API server answered with status {status}")
    } else {
        rp_base::text::clean(&told.message, 4096)
    };
    let status = if (400..600).contains(&status) { status } else { 500 };
    CloudError::new(status, reason(&told.reason), &rp_base::text::clean(&target, 512), message)
}

/// Passes on the known reasons of API servers; any other becomes our own code.
fn reason(said: &str) -> &'static str {
    const KNOWN: [&str; 17] = [
        "AlreadyExists",
        "BadRequest",
        "Conflict",
        "Expired",
        "Forbidden",
        "Gone",
        "InternalError",
        "Invalid",
        "MethodNotAllowed",
        "NotAcceptable",
        "NotFound",
        "RequestEntityTooLarge",
        "ServerTimeout",
        "ServiceUnavailable",
        "Timeout",
        "TooManyRequests",
        "Unauthorized",
    ];
    KNOWN.into_iter().find(|known| *known == said).unwrap_or("InternalServerError")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_api_server_says_is_passed_on() {
        let told = r#"{"kind": "Status", "message": "configmaps \"nothing\" not found", "reason": "NotFound",
            "details": {"name": "nothing", "kind": "configmaps"}, "code": 404}"#;
        let error = refused(404, serde_json::from_str(told).unwrap());
        assert_eq!((error.status, error.body.code), (404, "NotFound"));
        assert_eq!(error.body.target, "configmaps/nothing");
        let group = Status {
            details: Details { name: "n".to_owned(), group: "g".to_owned(), kind: "k".to_owned() },
            reason: "Odd\n".to_owned(),
            ..Status::default()
        };
        let error = refused(302, group);
        assert_eq!((error.status, error.body.code), (500, "InternalServerError"));
        assert_eq!(error.body.target, "k.g/n");
    }
}
