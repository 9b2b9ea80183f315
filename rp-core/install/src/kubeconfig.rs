//! Kubeconfigs of clients that the cluster's own authority signs (`contract/cluster.md` §12).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rp_base::{Random, Secret, Timestamp};
use serde_json::{Value, json};

use crate::authority::{Authority, AuthorityError, Client};
use crate::state::{InstallerState, StateError};

/// Why there is no kubeconfig. No text holds a key.
#[derive(Debug, thiserror::Error)]
pub enum KubeconfigError {
    /// The state lacks something.
    #[error(transparent)]
    State(#[from] StateError),
    /// The authority signs nothing.
    #[error(transparent)]
    Authority(#[from] AuthorityError),
    /// The installer's own kubeconfig is not what it should be; the parser's own words may quote keys.
    #[error("the kubeconfig of the installer has an unknown form")]
    Form,
}

/// The cluster of the installer's kubeconfig, with a new client. `public`: a server whose certificate the world knows, in
/// the place of the internal one.
///
/// # Errors
/// The state has no authority or no kubeconfig, or they cannot be used.
pub fn client_kubeconfig(
    state: &InstallerState,
    client: Client<'_>,
    public: Option<&str>,
    random: &dyn Random,
    now: Timestamp,
) -> Result<Secret<String>, KubeconfigError> {
    let signer = state.admin_kubeconfig_signer()?;
    let pair = Authority::read("the signer of clients", &signer)?.client(client, random, now)?;
    let admin = state.admin_kubeconfig()?;
    let mut file: Value = serde_json::from_str(admin.expose()).map_err(|_| KubeconfigError::Form)?;
    let mut clusters = file["clusters"].take();
    let first = clusters.get_mut(0).ok_or(KubeconfigError::Form)?;
    let name = first["name"].clone();
    if let Some(server) = public {
        let cluster = first["cluster"].as_object_mut().ok_or(KubeconfigError::Form)?;
        cluster.insert("server".to_owned(), json!(server));
        cluster.remove("certificate-authority-data");
    }
    let text = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "preferences": {},
        "clusters": clusters,
        "users": [{"name": client.user, "user": {
            "client-certificate-data": STANDARD.encode(&pair.certificate),
            "client-key-data": STANDARD.encode(pair.key.expose()),
        }}],
        "contexts": [{"name": client.user, "context": {"cluster": name, "user": client.user}}],
        "current-context": client.user,
    });
    Ok(Secret::new(text.to_string()))
}
