//! Our proxy: `aro-dev` as it ships, one worker, with a far side imported as a cluster.

use std::net::SocketAddr;

use anyhow::{Context as _, Result};
use base64::Engine as _;
use serde_json::json;
use tests_kit::{Aro, AroOptions, Folder, GENEROUS, kubeconfig_server, kubeconfig_token, until};

/// A kubeconfig of ours, taken apart.
#[derive(Debug)]
pub(crate) struct Ours {
    pub(crate) aro: Aro,
    pub(crate) address: SocketAddr,
    pub(crate) ca_pem: String,
    /// What stands before the API server's path.
    pub(crate) mount: String,
    pub(crate) token: String,
}

impl Ours {
    /// Starts it, imports `https://SERVER`, and takes a kubeconfig as `account` with `rights`. People are
    /// impersonated in a group, so that every request carries the identity headers.
    pub(crate) async fn start(server: SocketAddr, ca_pem: &str, account: &str, rights: &str) -> Result<Self> {
        // One worker; and one person opens what many would, from one address.
        let env = [
            ("TOKIO_WORKER_THREADS", "1"),
            ("ARO_ACCESS__MAX_STREAMS", "1000000"),
            ("ARO_LIMITS__STREAMS_PER_MINUTE", "0"),
            ("ARO_LIMITS__CONNECTIONS_PER_MINUTE", "0"),
            ("ARO_LIMITS__CONNECTIONS", "100000"),
            ("ARO_LIMITS__PER_ADDRESS", "100000"),
            ("ARO_LIMITS__STRANGERS", "100000"),
            ("ARO_LIMITS__STRANGERS_PER_ADDRESS", "100000"),
        ];
        let env = env.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        let aro = Aro::start(AroOptions { clusters: 1, env, ..AroOptions::default() }).await?;
        let file = aro.folder().write("far.kubeconfig", kubeconfig(server, ca_pem))?;
        let resource = aro.import(&file, "far", &["bench:readers"]).await?;
        let session = aro.session(account).await?;
        let take = || session.kubeconfig(&resource, rights, "benchmark of the proxy", None);
        // The portal's list of clusters follows the store.
        let text = until("a kubeconfig is given", GENEROUS, take).await?;
        let url = kubeconfig_server(&text)?;
        let rest = url.strip_prefix("https://").context("a kubeconfig's server is https")?;
        let (host, mount) = rest.split_once('/').context("a kubeconfig's server has a path")?;
        Ok(Self {
            address: host.parse().with_context(|| url.clone())?,
            mount: format!("/{}", mount.trim_end_matches('/')),
            token: kubeconfig_token(&text)?,
            ca_pem: aro.ca_pem()?,
            aro,
        })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.aro.process().pid()
    }
}

/// A kubeconfig for a fake API server that does not authenticate callers.
pub(crate) fn kubeconfig(server: SocketAddr, ca_pem: &str) -> String {
    let ca = base64::engine::general_purpose::STANDARD.encode(ca_pem);
    json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "far",
        "clusters": [{ "name": "far", "cluster": { "server": format!("https://{server}"), "certificate-authority-data": ca } }],
        "users": [{ "name": "far", "user": { "token": "the-far-side-asks-nobody" } }],
        "contexts": [{ "name": "far", "context": { "cluster": "far", "user": "far" } }],
    })
    .to_string()
}

/// A folder with a CA's certificate and a server's pair for 127.0.0.1.
#[derive(Debug, Clone)]
pub(crate) struct Certificates {
    pub(crate) folder: Folder,
    pub(crate) ca_pem: String,
    pub(crate) ca: String,
    pub(crate) cert: String,
    pub(crate) key: String,
    /// Certificate and key in one file, as HAProxy wants them.
    pub(crate) bundle: String,
}

impl Certificates {
    pub(crate) fn new() -> Result<Self> {
        let folder = Folder::new("bench")?;
        let authority = tests_kit::Authority::new("benchmark")?;
        let pair = authority.server(&["127.0.0.1", "localhost"])?;
        let file = |name: &str, text: &str| -> Result<String> {
            Ok(folder.write(name, text)?.to_string_lossy().into_owned())
        };
        Ok(Self {
            ca: file("ca.pem", authority.pem())?,
            cert: file("server.crt", &pair.certificate)?,
            key: file("server.key", &pair.key)?,
            bundle: file("server.pem", &format!("{}{}", pair.certificate, pair.key))?,
            ca_pem: authority.pem().to_owned(),
            folder,
        })
    }
}
