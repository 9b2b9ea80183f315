//! Access to one cluster's API server, with the same directory, dialer and limits as elsewhere.

use std::sync::Arc;
use std::time::Duration;

use rp_api::CloudError;
use rp_base::chain;
use rp_documents::ResourceId;
use rp_kube::connect::Identity;
use rp_kube::lean::{LeanClient, LeanError, LeanOptions};
use rp_net::{Dialer, Directory, DirectoryError};
use serde::Deserialize;

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

/// One cluster's API server, accessed with the read-only credential.
pub(super) struct ClusterApi {
    lean: LeanClient,
}

impl ClusterConnector {
    /// The API server of a cluster. Nothing is dialled yet.
    pub(super) async fn api(&self, path: &ClusterPath) -> Result<ClusterApi, CloudError> {
        let id = ResourceId::parse(&path.original).map_err(|_| internal())?;
        let target = self.directory.find(&id).await.map_err(|error| match error {
            DirectoryError::Unknown => path.missing(),
            DirectoryError::Unavailable(_) => unavailable(),
            DirectoryError::NotReachable(_) | DirectoryError::Unusable(_) => failed(error.to_string()),
        })?;
        let options = LeanOptions { head: Duration::from_secs(30), ..LeanOptions::default() };
        let lean = LeanClient::new(self.dialer.clone(), target, Identity::Read, options);
        Ok(ClusterApi { lean: lean.map_err(|error| failed(chain(&error).to_string()))? })
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
