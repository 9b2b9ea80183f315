//! SSH by JSON: the bastion, a cluster's machines and their host keys, and certificates to sign in with.

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::response::Response;
use portal_model::host_keys::{TrustKeyRequest, trust};
use portal_model::state::PortalState;
use portal_session::context::Ctx;
use portal_session::fault::Fault;
use portal_session::json::json;
use portal_session::refusals;
use portal_session::user::CurrentUser;
use proxy::ssh::host_keys::{fingerprint, fingerprint_of};
use proxy::ssh::keys::person_key;
use proxy::ssh::machines::MachineRoute;
use rp_base::{Timestamp, chain};
use rp_documents::HostKey;
use rp_documents::host_key::HostKeySource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::answer::{Items, body};
use crate::cluster_objects::known_cluster;
use crate::prom::ClusterPath;

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SshBastion")]
pub struct BastionView<'a> {
    host: &'a str,
    port: u16,
    /// The caller's SSH user.
    user: &'a str,
    known_hosts: Vec<String>,
}

/// The bastion's address.
pub async fn bastion(State(state): State<PortalState>, user: CurrentUser) -> Result<Response, Fault> {
    let parts = state.ssh()?;
    json(&BastionView {
        host: &parts.host,
        port: parts.port,
        user: rp_access::ssh_user(&user.caller.person.name),
        known_hosts: parts.keys.known_hosts(&parts.host, parts.port),
    })
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SshMachine")]
pub struct MachineView<'a> {
    name: &'a str,
    uid: &'a str,
    control_plane: bool,
    ready: bool,
    /// The way to it.
    #[schemars(extend("enum" = ["master", "through", "direct"]))]
    way: &'static str,
    /// Number of the balancer's pool, of masters.
    #[serde(skip_serializing_if = "Option::is_none")]
    master: Option<u8>,
}

/// The machines that people may sign in to, masters first.
pub async fn machines(State(state): State<PortalState>, Path(path): ClusterPath) -> Result<Response, Fault> {
    let id = known_cluster(&state, &path)?;
    let machines = state.ssh()?.list(&id).await?;
    let items: Vec<MachineView<'_>> = machines
        .iter()
        .map(|machine| {
            let (way, master) = match machine.way {
                MachineRoute::Master(number) => ("master", Some(number)),
                MachineRoute::Through { .. } => ("through", None),
                MachineRoute::Direct { .. } => ("direct", None),
            };
            let (control_plane, ready) = (machine.control_plane, machine.ready);
            MachineView { name: &machine.name, uid: &machine.uid, control_plane, ready, way, master }
        })
        .collect();
    json(&Items { total: Some(items.len()), items, next: None })
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "HostKey")]
pub struct HostKeyView {
    machine: String,
    uid: String,
    keys: Vec<String>,
    /// Who said that they are its keys.
    #[schemars(extend("enum" = ["cluster", "import", "person"]))]
    learned: &'static str,
    at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<RefusedKeyView>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "RefusedHostKey")]
struct RefusedKeyView {
    at: Timestamp,
    key: String,
    fingerprint: String,
}

impl From<HostKey> for HostKeyView {
    fn from(known: HostKey) -> Self {
        Self {
            uid: known.id.split_once('|').map(|(_, uid)| uid.to_owned()).unwrap_or_default(),
            machine: known.machine,
            keys: known.keys,
            learned: match known.learned {
                HostKeySource::Cluster => "cluster",
                HostKeySource::Import => "import",
                HostKeySource::Person => "person",
            },
            at: known.at,
            by: known.by,
            refused: known.refused.map(|refused| RefusedKeyView {
                at: refused.at,
                fingerprint: fingerprint_of(&refused.key).unwrap_or_default(),
                key: refused.key,
            }),
        }
    }
}

/// What is known of a cluster's machines.
pub async fn host_keys(State(state): State<PortalState>, Path(path): ClusterPath) -> Result<Response, Fault> {
    let id = known_cluster(&state, &path)?;
    let listed = state.ssh()?.host_keys.list(&id).await.map_err(|error| Fault::store(&error))?;
    let items: Vec<HostKeyView> = listed.into_iter().map(HostKeyView::from).collect();
    json(&Items { total: Some(items.len()), items, next: None })
}

/// Trusts a key that was refused.
pub async fn trust_key(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    user: CurrentUser,
    Path(path): ClusterPath,
    bytes: Bytes,
) -> Result<Response, Fault> {
    user.require_fresh(&state.session, &context.came_from)?;
    let asked: TrustKeyRequest = body(&bytes)?;
    let id = known_cluster(&state, &path)?;
    let now_known = trust(&state, &user, &id, &asked).await?;
    json(&HostKeyView::from(now_known))
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(
    rename = "SshCertificateRequest",
    extend("required" = ["public_key"]),
    example = serde_json::json!({"public_key": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGk7Yk0u1Z5d0m3fJmC1mVYt3m0JmTqJmN2wq8m1yQbC"})
)]
pub struct CertificateRequest {
    /// One line of OpenSSH: type and base64.
    public_key: String,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SshCertificate")]
pub struct CertificateResponse<'a> {
    certificate: String,
    /// The SSH user to sign in as: the machine, or the caller's where the grant names it.
    user: &'a str,
    not_after: Timestamp,
    host: &'a str,
    port: u16,
    known_hosts: Vec<String>,
}

/// A certificate of the caller's key for one's own SSH grant, good for some minutes.
pub async fn certificate(
    State(state): State<PortalState>,
    user: CurrentUser,
    Path(id): Path<String>,
    bytes: Bytes,
) -> Result<Response, Fault> {
    let parts = state.ssh()?;
    let asked: CertificateRequest = body(&bytes)?;
    let id = portal_model::grant_fields::parse(&id)?;
    let key = person_key(&asked.public_key, parts.keys.fips())
        .map_err(|why| Fault::bad_input("public_key is one line of an OpenSSH public key").why(why))?;
    let certified = state.session.access.certify(&id, &user.caller, &fingerprint(&key)).await;
    let (live, not_after) = certified.map_err(|error| refusals::renew(&error))?;
    let now = state.session.clock.now();
    let certificate = parts.keys.user_certificate(&key, &id, now, not_after).map_err(|error| {
        tracing::error!(error = %chain(&error), "a certificate could not be signed");
        Fault::internal()
    })?;
    json(&CertificateResponse {
        certificate: certificate.to_openssh().map_err(|_| Fault::internal())?,
        user: rp_access::ssh_user(&live.grant.owner.name),
        not_after,
        host: &parts.host,
        port: parts.port,
        known_hosts: parts.keys.known_hosts(&parts.host, parts.port),
    })
}
