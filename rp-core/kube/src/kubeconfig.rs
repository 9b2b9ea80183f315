//! Reads a kubeconfig that a person supplies and reduces it to one server and one credential.
//!
//! The file is not trusted: no file, program or server that it names is opened, run or called. Anything that would
//! have to be ignored (a plug-in, a proxy, another identity) is refused with an error that explains it.

mod credential;
mod error;
mod file;
#[cfg(test)]
mod tests;

use std::fmt;

use rp_base::{Clock, Secret, SystemClock, Timestamp};
pub use rp_net::Credential as ImportedCredential;
use rustls::pki_types::ServerName;
use url::Url;

pub use self::error::ImportError;
use self::error::shown_names;
use self::file::{Cluster, Context, File, User};

/// The largest kubeconfig that is read, in bytes.
pub const MAX_BYTES: usize = 1024 * 1024;

/// The result of an import: one server, its trusted authorities, one credential.
pub struct ImportPlan {
    /// `https://host:port[/path]`, without user, query and fragment.
    pub server: Url,
    /// Name the server's certificate must carry, when it is not the host of `server`.
    pub tls_server_name: Option<String>,
    /// PEM certificates that may have signed the server's certificate; at least one.
    pub ca_pem: String,
    pub credential: ImportedCredential,
    /// Name of the context that was used.
    pub context: String,
    /// The context's namespace, where it names one.
    pub namespace: Option<String>,
}

impl fmt::Debug for ImportPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ImportPlan")
            .field("server", &self.server.as_str())
            .field("tls_server_name", &self.tls_server_name)
            .field("credential", &self.credential)
            .field("context", &self.context)
            .field("namespace", &self.namespace)
            .finish_non_exhaustive()
    }
}

/// Reads a kubeconfig in YAML or JSON and uses `context`, or else the current context.
///
/// # Errors
/// The file cannot be used as it is; the error says why and what to do, and repeats no secret.
pub fn read(text: &str, context: Option<&str>) -> Result<ImportPlan, ImportError> {
    read_at(text, context, SystemClock.now())
}

/// [`read`] at a given instant: certificates must be valid then.
///
/// # Errors
/// As [`read`].
pub fn read_at(text: &str, context: Option<&str>, now: Timestamp) -> Result<ImportPlan, ImportError> {
    let file = File::parse(text)?;
    let (name, chosen) = choose_context(&file, context)?;
    let cluster = find_cluster(&file, &name, chosen)?;
    let user = find_user(&file, &name, chosen)?;
    let namespace = chosen.namespace.clone().filter(|n| !n.is_empty());
    plan(cluster, user, name, namespace, now)
}

/// The plan of one cluster and one user of a file.
fn plan(
    cluster: &Cluster,
    user: &User,
    context: String,
    namespace: Option<String>,
    now: Timestamp,
) -> Result<ImportPlan, ImportError> {
    refuse_cluster_options(cluster)?;
    refuse_user_options(user)?;
    let server = server(cluster)?;
    let tls_server_name = server_name(cluster)?;
    let ca_pem = credential::authorities(text(cluster.ca_data.as_ref()).ok_or(ImportError::NoAuthority)?)?;
    let credential = credential::parse(user, now)?;
    Ok(ImportPlan { server, tls_server_name, ca_pem, credential, context, namespace })
}

/// As [`read_at`], but takes the first user and the first cluster, as the portal does with the
/// kubeconfigs in cluster documents (`contract/portal.md` §11.2).
pub(crate) fn read_first(text: &str, now: Timestamp) -> Result<ImportPlan, ImportError> {
    let file = File::parse(text)?;
    let cluster =
        file.clusters().iter().find_map(|named| named.cluster.as_ref()).ok_or(ImportError::NoCluster)?;
    let user = file.users().iter().find_map(|named| named.user.as_ref()).ok_or(ImportError::NoUser)?;
    plan(cluster, user, file.current_context.clone().unwrap_or_default(), None, now)
}

fn choose_context<'a>(file: &'a File, wanted: Option<&str>) -> Result<(String, &'a Context), ImportError> {
    let contexts = file.contexts();
    if contexts.is_empty() {
        return Err(ImportError::NoContexts);
    }
    let names = || shown_names(contexts.iter().filter_map(|named| named.name.as_deref()));
    let current = file.current_context.as_deref().filter(|name| !name.is_empty());
    let name = match (wanted.or(current), contexts) {
        (Some(name), _) => name,
        (None, [only]) => only.name.as_deref().unwrap_or_default(),
        (None, _) => return Err(ImportError::NoCurrentContext { names: names() }),
    };
    contexts
        .iter()
        .find(|named| named.name.as_deref().unwrap_or_default() == name)
        .and_then(|named| named.context.as_ref())
        .map(|context| (name.to_owned(), context))
        .ok_or_else(|| ImportError::ContextNotFound { wanted: shown_names([name]), names: names() })
}

fn find_cluster<'a>(file: &'a File, name: &str, context: &Context) -> Result<&'a Cluster, ImportError> {
    let wanted = context.cluster.as_deref().unwrap_or_default();
    file.clusters()
        .iter()
        .find(|named| named.name.as_deref() == Some(wanted))
        .and_then(|named| named.cluster.as_ref())
        .ok_or_else(|| ImportError::ClusterNotFound {
            context: shown_names([name]),
            cluster: shown_names([wanted]),
        })
}

fn find_user<'a>(file: &'a File, name: &str, context: &Context) -> Result<&'a User, ImportError> {
    let wanted = context.user.as_deref().unwrap_or_default();
    file.users()
        .iter()
        .find(|named| named.name.as_deref() == Some(wanted))
        .and_then(|named| named.user.as_ref())
        .ok_or_else(|| ImportError::UserNotFound {
            context: shown_names([name]),
            user: shown_names([wanted]),
        })
}

/// A value that is there and not empty.
fn text(value: Option<&String>) -> Option<&str> {
    value.map(String::as_str).filter(|text| !text.is_empty())
}

fn secret(value: Option<&Secret<String>>) -> Option<&Secret<String>> {
    value.filter(|secret| !secret.expose().is_empty())
}

fn refuse_cluster_options(cluster: &Cluster) -> Result<(), ImportError> {
    if cluster.insecure == Some(true) {
        return Err(ImportError::Insecure);
    }
    if text(cluster.ca_path.as_ref()).is_some() {
        return Err(ImportError::PathBased { field: "certificate-authority" });
    }
    if text(cluster.proxy_url.as_ref()).is_some() {
        return Err(ImportError::ProxyUrl);
    }
    Ok(())
}

fn refuse_user_options(user: &User) -> Result<(), ImportError> {
    let paths = [
        ("client-certificate", &user.certificate_path),
        ("client-key", &user.key_path),
        ("tokenFile", &user.token_path),
    ];
    if let Some((field, _)) = paths.into_iter().find(|(_, path)| text(path.as_ref()).is_some()) {
        return Err(ImportError::PathBased { field });
    }
    if user.exec.is_some() {
        return Err(ImportError::Exec);
    }
    if user.auth_provider.is_some() {
        return Err(ImportError::AuthProvider);
    }
    if text(user.username.as_ref()).is_some() || secret(user.password.as_ref()).is_some() {
        return Err(ImportError::BasicAuth);
    }
    let groups = user.impersonate_groups.as_ref().is_some_and(|groups| !groups.is_empty());
    let other = text(user.impersonate.as_ref()).or(text(user.impersonate_uid.as_ref())).is_some();
    if groups || other || user.impersonate_extra.is_some() {
        return Err(ImportError::Impersonates);
    }
    Ok(())
}

fn server(cluster: &Cluster) -> Result<Url, ImportError> {
    let text = text(cluster.server.as_ref()).ok_or(ImportError::NoServer)?;
    let url = Url::parse(text.trim()).map_err(|_| ImportError::BadServer)?;
    if url.scheme() != "https" {
        return Err(ImportError::NotHttps);
    }
    let plain = url.username().is_empty()
        && url.password().is_none()
        && url.query().is_none()
        && url.fragment().is_none()
        && url.host_str().is_some_and(|host| !host.is_empty());
    if plain { Ok(url) } else { Err(ImportError::BadServer) }
}

fn server_name(cluster: &Cluster) -> Result<Option<String>, ImportError> {
    let Some(name) = text(cluster.tls_server_name.as_ref()) else { return Ok(None) };
    ServerName::try_from(name).map_err(|_| ImportError::BadServerName)?;
    Ok(Some(name.to_owned()))
}
