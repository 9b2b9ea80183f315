//! Imports of clusters: an admin puts a cluster under the portal, and takes it out again (`contract/rules.md` §1, §5.6).

use std::net::{IpAddr, SocketAddr};

use http::StatusCode;
use portal_session::fault::Fault;
use portal_session::refusals::access as refusal;
use portal_session::user::CurrentUser;
use rp_access::imports::seal_credential;
use rp_base::{Secret, Timestamp, chain};
use rp_database::{Expect, StoreError, Typed};
use rp_documents::imported::CredentialKind;
use rp_documents::{ImportedCluster, ResourceId, Side, Unknown};
use rp_kube::{ImportPlan, ImportedCredential};
use schemars::JsonSchema;
use serde::Deserialize;
use url::{Host, Url};

use crate::import_ssh::{self, ImportSshError, ImportSshRequest};
use crate::state::PortalState;
use crate::tunnels::ImportTunnelError;

/// Imports a portal holds.
const MOST: u64 = 10_000;
/// The port of an API server that names none.
const HTTPS: u16 = 443;

/// The body of an import request.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(example = serde_json::json!({
    "name": "lab-01", "kubeconfig": "apiVersion: v1\nkind: Config\n", "as_groups": ["cluster-admins"]
}))]
pub struct ImportRequest {
    pub name: String,
    /// A kubeconfig in YAML, with the credential in it; 1 MiB at most.
    pub kubeconfig: Secret<String>,
    /// The context that is taken; without, the current one.
    #[serde(default)]
    pub context: Option<String>,
    /// Groups to impersonate for a person with more than read rights.
    #[serde(default)]
    pub as_groups: Option<Vec<String>>,
    /// What tunnels may reach.
    #[serde(default)]
    pub tunnel: crate::tunnels::ImportTunnelRequest,
    /// How its machines are signed in to.
    #[serde(default)]
    pub ssh: Option<ImportSshRequest>,
}

/// Why nothing was imported.
#[derive(Debug)]
pub enum ImportError {
    Name(String),
    Groups(String),
    Ssh(ImportSshError),
    Tunnel(ImportTunnelError),
    Kubeconfig { code: &'static str, message: String, action: String },
    Other(Fault),
}

impl From<ImportError> for Fault {
    fn from(refused: ImportError) -> Self {
        let invalid = |code, what: String| Self::new(StatusCode::UNPROCESSABLE_ENTITY, code, Side::You, what);
        match refused {
            ImportError::Name(why) => invalid("bad_name", why),
            ImportError::Groups(why) => invalid("bad_groups", why),
            ImportError::Tunnel(why) => invalid("bad_tunnel", why.to_string()),
            ImportError::Kubeconfig { code, message, action } => invalid(code, message).action(action),
            ImportError::Ssh(wrong) => wrong.into(),
            ImportError::Other(fault) => fault,
        }
    }
}

/// The stored imports.
pub fn store(state: &PortalState) -> Typed<ImportedCluster> {
    Typed::new(std::sync::Arc::clone(&state.session.store))
}

/// Reads, checks, seals, records, stores.
pub async fn import(
    state: &PortalState,
    user: &CurrentUser,
    ask: ImportRequest,
) -> Result<ImportedCluster, ImportError> {
    let name = name(&ask.name)?;
    let resource_id = ResourceId::imported(&name).map_err(|error| ImportError::Name(error.to_string()))?;
    let as_groups = groups(ask.as_groups.unwrap_or_default())?;
    let tunnel = ask.tunnel.checked().map_err(ImportError::Tunnel)?;
    let now = state.session.clock.now();
    let context = ask.context.as_deref().filter(|context| !context.is_empty());
    let plan = rp_kube::kubeconfig::read_at(ask.kubeconfig.expose(), context, now).map_err(|error| {
        ImportError::Kubeconfig { code: error.code(), message: error.to_string(), action: error.action() }
    })?;
    address(state, &plan.server).await?;
    let store = store(state);
    let held = store.count().await.map_err(|error| ImportError::Other(Fault::store(&error)))?;
    if held >= MOST {
        return Err(ImportError::Name(format!(
            "The portal holds {MOST} imported clusters and takes no more."
        )));
    }
    let ssh = ask
        .ssh
        .map(|ssh| import_ssh::checked(&state.session.keyring, &state.model.clusters.networks, &name, ssh));
    let ssh = ssh.transpose().map_err(ImportError::Ssh)?;
    let cluster =
        ImportedCluster { tunnel, ssh, ..document(state, user, name, resource_id, as_groups, plan, now)? };
    record(state, user, &cluster, "cluster.import").await.map_err(ImportError::Other)?;
    match store.create(cluster).await {
        Ok(created) => {
            let id = &created.value.resource_id;
            state.model.index.settle(|clusters| clusters.get(id).is_some()).await;
            Ok(created.value)
        }
        Err(StoreError::Exists { .. }) => {
            Err(ImportError::Name("A cluster of this name is imported already; remove it first.".to_owned()))
        }
        Err(error) => Err(ImportError::Other(Fault::store(&error))),
    }
}

fn document(
    state: &PortalState,
    user: &CurrentUser,
    name: String,
    resource_id: ResourceId,
    as_groups: Vec<String>,
    plan: ImportPlan,
    now: Timestamp,
) -> Result<ImportedCluster, ImportError> {
    let sealed = seal_credential(&state.session.keyring, &name, &plan.credential).map_err(|error| {
        tracing::error!(error = %chain(&error), "a credential cannot be sealed");
        ImportError::Other(Fault::internal())
    })?;
    Ok(ImportedCluster {
        id: name,
        resource_id,
        server: plan.server.to_string(),
        tls_server_name: plan.tls_server_name,
        ca_pem: plan.ca_pem,
        credential: match plan.credential {
            ImportedCredential::Certificate { .. } => CredentialKind::Certificate,
            ImportedCredential::Token(_) => CredentialKind::Token,
        },
        sealed,
        as_groups,
        ssh: None,
        tunnel: None,
        version: String::new(),
        imported_by: user.caller.person.name.clone(),
        imported_at: now,
        unknown: Unknown::new(),
    })
}

async fn record(
    state: &PortalState,
    user: &CurrentUser,
    cluster: &ImportedCluster,
    verb: &str,
) -> Result<(), Fault> {
    state
        .session
        .promise(&user.caller, verb, |entry| {
            entry.target = Some(cluster.resource_id.clone());
            entry.query.clone_from(&cluster.server);
            entry.group = cluster.as_groups.join(",");
        })
        .await
        .map_err(|error| Fault::audit(&error))
}

/// A lower-case name that a path may have: letters, digits, dashes, dots within.
fn name(text: &str) -> Result<String, ImportError> {
    let name = text.trim().to_ascii_lowercase();
    let inner = name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-.".contains(&b));
    let ends = |at: Option<char>| at.is_some_and(|c| c.is_ascii_alphanumeric());
    if inner && name.len() <= 60 && ends(name.chars().next()) && ends(name.chars().last()) {
        Ok(name)
    } else {
        Err(ImportError::Name(
            "A name has 1 to 60 lower-case letters, digits, dashes and dots, and starts and ends with a letter or digit."
                .to_owned(),
        ))
    }
}

fn groups(groups: Vec<String>) -> Result<Vec<String>, ImportError> {
    let good = |group: &String| {
        (1..=200).contains(&group.len())
            && group.bytes().all(|b| b.is_ascii_graphic())
            && !group.contains(',')
    };
    if groups.len() <= 20 && groups.iter().all(good) {
        Ok(groups)
    } else {
        Err(ImportError::Groups(
            "At most 20 groups of plain characters, without blanks and commas.".to_owned(),
        ))
    }
}

/// Every address that the name resolves to must be allowed; this is checked again at each dial.
async fn address(state: &PortalState, server: &Url) -> Result<(), ImportError> {
    let refused = |message: String, action: &str| ImportError::Kubeconfig {
        code: "address_not_allowed",
        message,
        action: action.to_owned(),
    };
    let port = server.port().unwrap_or(HTTPS);
    let addresses: Vec<SocketAddr> = match server.host() {
        Some(Host::Ipv4(ip)) => vec![SocketAddr::new(IpAddr::V4(ip), port)],
        Some(Host::Ipv6(ip)) => vec![SocketAddr::new(IpAddr::V6(ip), port)],
        Some(Host::Domain(name)) => match tokio::net::lookup_host((name, port)).await {
            Ok(found) => found.collect(),
            Err(_) => Vec::new(),
        },
        None => Vec::new(),
    };
    if addresses.is_empty() {
        let text = "The server's name has no address that this portal can find.".to_owned();
        return Err(refused(text, "Use a name or an address that is known where the portal runs."));
    }
    for address in addresses {
        if let Err(why) = state.model.clusters.networks.check(address) {
            let text = format!("The server {} may not be dialled: {why}.", address.ip());
            return Err(refused(text, "Ask the operators of the portal to allow its network."));
        }
    }
    Ok(())
}

/// Removes an import and what was opened with it.
pub async fn forget(state: &PortalState, user: &CurrentUser, name: &str) -> Result<(), Fault> {
    let store = store(state);
    let id = name.to_ascii_lowercase();
    let found = store.get(&id).await.map_err(|error| Fault::store(&error))?.ok_or_else(Fault::no_cluster)?;
    record(state, user, &found.value, "cluster.remove").await?;
    // Grants end first, so that they cannot open another cluster of the same name.
    end_grants(state, user, &found.value.resource_id).await?;
    match store.delete(&id, Expect::Version(found.version)).await {
        Ok(()) | Err(StoreError::Gone { .. }) => {
            let id = &found.value.resource_id;
            if let Some(ssh) = &state.model.clusters.ssh
                && let Err(error) = ssh.host_keys.forget(id).await
            {
                tracing::warn!(error = %chain(&error), "host keys of a removed cluster are left over");
            }
            state.model.index.settle(|clusters| clusters.get(id).is_none()).await;
            Ok(())
        }
        Err(StoreError::Stale { .. }) => Err(Fault::new(
            StatusCode::CONFLICT,
            "changed",
            Side::You,
            "Somebody changed this cluster at the same moment",
        )
        .action("Look at it again.")),
        Err(error) => Err(Fault::store(&error)),
    }
}

async fn end_grants(state: &PortalState, user: &CurrentUser, target: &ResourceId) -> Result<(), Fault> {
    let scope = rp_access::RevokeScope::Cluster(target.clone());
    let why = Some("the imported cluster was removed".to_owned());
    state.session.access.revoke_all(&user.caller, scope, why).await.map_err(|error| refusal(&error))?;
    Ok(())
}
