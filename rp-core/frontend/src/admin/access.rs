//! Grants for automation that cannot use a browser (`contract/portal.md` §20,
//! `contract/frontend.md` §11.9). The calling tool has approved them; here they become grants like any other:
//! listed, limited, audited and revoked in one place.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use http::{HeaderValue, Response, StatusCode};
use rp_access::{Access, Caller, IssueError, IssueRequest, IssuedGrant};
use rp_api::CloudError;
use rp_base::text::clean;
use rp_base::{Id, chain};
use rp_documents::{GrantKind, Rights};
use serde::Deserialize;
use serde_json::json;

use crate::call::Call;
use crate::dependencies::FrontendParts;
use crate::document::{self, StoredCluster};
use crate::fault::{Fault, internal, unavailable};
use crate::path::ClusterPath;
use crate::response::{HttpResponse, json_response};

/// Life of a kubeconfig.
const KUBECONFIG: Duration = Duration::from_hours(6);
/// Life of a shell (`contract/portal.md` §16.4); its password opens it within `access.password_life`.
const SHELL: Duration = Duration::from_hours(1);
/// The longest name of a person, in characters.
const MOST_NAME: usize = 256;

/// Issues grants.
#[derive(Debug, Clone)]
pub struct Issuer {
    pub access: Arc<Access>,
    /// Where the proxy of clusters' API servers is: scheme, host and port.
    pub proxy: String,
    /// PEM of the CA that signed the proxy's certificate; `None`: publicly trusted.
    pub ca_pem: Option<String>,
    /// Where machines are reached by SSH; `None`: nowhere.
    pub ssh: Option<SshEndpoint>,
}

/// Where machines are reached by SSH.
#[derive(Debug, Clone)]
pub struct SshEndpoint {
    pub host: String,
    pub port: u16,
    /// Its line of a `known_hosts` file.
    pub known_host: String,
    /// It offers the algorithms of `contract/portal.md` §16.1 and no others, so the command may name them.
    pub fips: bool,
}

/// A kubeconfig for the proxy of a cluster's API server.
pub(super) async fn kubeconfig(
    parts: &FrontendParts,
    call: &Call,
    path: &ClusterPath,
    elevated: bool,
) -> Result<HttpResponse, Fault> {
    let found = document::find(&parts.store, &path.key()).await?.ok_or_else(|| path.missing())?;
    let issuer = parts.admin.issuer.as_ref().ok_or_else(|| {
        not_configured("Portal serving certificate is not available; the kubeconfig endpoint is disabled.")
    })?;
    let person = person(parts, call)?;
    let rights = if elevated { Rights::Admin } else { Rights::Read };
    let life = KUBECONFIG.min(issuer.access.policy().longest(rights));
    tracing::info!(
        component = "admin",
        username = person,
        resource_id = path.key(),
        elevated,
        ttl_seconds = life.as_secs(),
        "admin kubeconfig create"
    );
    let ask = issue_request(GrantKind::Kubeconfig, &found, rights, life);
    let issued = issuer.issue(parts, call, &person, ask).await?;
    let server = format!("{}{}/kubeconfig/proxy", issuer.proxy, path.key());
    let text = rp_kube::write::issued(&server, issuer.ca_pem.as_deref(), &issued.token);
    let suffix = if elevated { "-elevated" } else { "" };
    let file = format!("attachment; filename=\"{}{suffix}.kubeconfig\"", path.name);
    let mut answer = Response::new(Body::from(text));
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CONTENT_DISPOSITION, HeaderValue::from_str(&file).map_err(|_| internal())?);
    Ok(answer)
}

#[derive(Deserialize)]
struct SshRequest {
    #[serde(default)]
    master: Option<i64>,
}

/// A password for a shell on a machine of the control plane.
pub(super) async fn ssh(
    parts: &FrontendParts,
    call: &Call,
    path: &ClusterPath,
) -> Result<HttpResponse, Fault> {
    let found = document::find(&parts.store, &path.key()).await?.ok_or_else(|| path.missing())?;
    let off = || not_configured("Portal SSH host key is not available; the SSH endpoint is disabled.");
    let issuer = parts.admin.issuer.as_ref().ok_or_else(off)?;
    let door = issuer.ssh.as_ref().ok_or_else(off)?;
    let wanted: SshRequest = serde_json::from_slice(&call.body).map_err(|error| {
        let message = format!("The request body could not be parsed: {error}.");
        CloudError::bad("InvalidRequestContent", "", message)
    })?;
    let master = wanted.master.unwrap_or_default();
    if !(0..=2).contains(&master) {
        return Err(CloudError::invalid("master", "master must be 0, 1, or 2.").into());
    }
    let person = person(parts, call)?;
    let user = user(&person)?;
    tracing::info!(
        component = "admin",
        username = person,
        resource_id = path.key(),
        master,
        ttl_seconds = issuer.access.policy().access.password_life.as_secs(),
        "admin ssh create"
    );
    let life = SHELL.min(issuer.access.policy().longest(Rights::Write));
    let ask = issue_request(GrantKind::Ssh, &found, Rights::Write, life);
    let ask = IssueRequest { machine: Some(format!("master-{master}")), ..ask };
    let issued = issuer.issue(parts, call, &person, ask).await?;
    let command = door.command(user);
    Ok(json_response(StatusCode::OK, &json!({"command": command, "password": issued.token.expose()})))
}

impl SshEndpoint {
    /// The command to paste. With FIPS it names the algorithms, because the server accepts no others.
    fn command(&self, user: &str) -> String {
        let Self { host, port, known_host, fips } = self;
        let pins = if *fips {
            " -o Ciphers=aes256-ctr -o HostKeyAlgorithms=rsa-sha2-512 -o KexAlgorithms=ecdh-sha2-nistp256 -o \
             MACs=hmac-sha2-256-etm@openssh.com"
        } else {
            ""
        };
        let port = if *port == 22 { String::new() } else { format!(" -p {port}") };
        format!(
            "echo '{known_host}' > {host}_known_host ; ssh -o UserKnownHostsFile={host}_known_host{pins}{port} {user}@{host}"
        )
    }
}

fn not_configured(message: &str) -> CloudError {
    CloudError::new(503, "InternalServerError", "", message)
}

fn issue_request(kind: GrantKind, found: &StoredCluster, rights: Rights, life: Duration) -> IssueRequest {
    let target = found.value.cluster.id.clone();
    let reason = "asked for by automation over the admin API".to_owned();
    IssueRequest { life: Some(life), ..IssueRequest::new(kind, Some(target), rights, reason) }
}

impl Issuer {
    async fn issue(
        &self,
        parts: &FrontendParts,
        call: &Call,
        person: &str,
        ask: IssueRequest,
    ) -> Result<IssuedGrant, CloudError> {
        // The request's id ties the grant's entry in the trail to the request's.
        let request = Id::parse(&call.correlation.request).unwrap_or_else(|_| Id::random(&*parts.random));
        let caller = Caller::automated(person, call.peer.clone(), request);
        self.access.issue(&caller, ask).await.map_err(|error| issue_error(&error))
    }
}

fn issue_error(error: &IssueError) -> CloudError {
    match error {
        IssueError::TooMany { .. } | IssueError::TooOften(_) => {
            CloudError::new(429, "ThrottlingLimitExceeded", "", error.to_string())
        }
        IssueError::Store(_) | IssueError::Audit(_) => {
            tracing::error!(error = %chain(error), "no access was given");
            unavailable()
        }
        IssueError::NotAllowed { .. }
        | IssueError::ElevationNeeded { .. }
        | IssueError::Rights { .. }
        | IssueError::OutOfScope { .. }
        | IssueError::Reason { .. }
        | IssueError::Ticket { .. }
        | IssueError::Life { .. }
        | IssueError::NoKey => {
            tracing::error!(error = %chain(error), "no access was given");
            internal()
        }
    }
}

/// The person for whom it is issued, as ARM reports (`contract/frontend.md` "Do better" 22: nobody is refused).
fn person(parts: &FrontendParts, call: &Call) -> Result<String, CloudError> {
    let data = call.system_data.as_ref();
    let names = data.map(|data| [data.last_modified_by.trim(), data.created_by.trim()]);
    let name = names.into_iter().flatten().find(|name| !name.is_empty());
    let name = name.map(|name| clean(name, MOST_NAME)).filter(|name| !name.is_empty()).ok_or_else(|| {
        CloudError::invalid("", "The caller identity could not be determined from the request.")
    })?;
    parts.admin.roles.check_recipient(call.principal.as_deref(), &name)?;
    Ok(name)
}

/// The part of the name before `@`, as the name of a user of SSH.
fn user(person: &str) -> Result<&str, CloudError> {
    let user = person.split('@').next().unwrap_or_default();
    let good = |b: u8| b.is_ascii_alphanumeric() || b"._%+-".contains(&b);
    if !user.is_empty() && !user.starts_with('-') && user.bytes().all(good) {
        return Ok(user);
    }
    Err(CloudError::invalid("", "The caller identity contains unsupported characters."))
}
