//! How the process reaches the API server: as a pod of the cluster, or by a kubeconfig from outside.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rp_base::Secret;
use rp_documents::ResourceId;
use rp_kube::connect::{ClientError, ClientOptions, Identity, client};
use rp_kube::{ImportError, KubeClient, kubeconfig};
use rp_net::{Credential, Dialer, DialerOptions, Endpoint, Networks, PrivateWay, Source, Target};
use tokio::time::interval;
use url::Url;

use crate::api::Api;

/// Where a pod finds its account.
const ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
/// How often the token of the account is read again: it is renewed when 80 % of its hour are over.
const REFRESH: Duration = Duration::from_secs(60);
/// The largest file that is read.
const MOST_FILE: u64 = 1024 * 1024;
/// A target has the resource id of a cluster; this one is never shown.
const ID: &str = "/subscriptions/00000000-0000-0000-0000-000000000000/resourcegroups/operator/providers/microsoft.redhatopenshift/openshiftclusters/cluster";

/// Why the API server cannot be reached at all.
#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    #[error("cannot read {path}")]
    Read {
        path: PathBuf,
        #[source]
        cause: std::io::Error,
    },
    #[error("{path} has more than {MOST_FILE} bytes")]
    TooLarge { path: PathBuf },
    #[error("the kubeconfig {path} cannot be used")]
    Kubeconfig {
        path: PathBuf,
        #[source]
        cause: ImportError,
    },
    #[error(
        "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set: outside a cluster a kubeconfig is needed"
    )]
    OutsideCluster,
    #[error("the address of the API server is not valid")]
    Address,
    #[error("the access to the API server cannot be used")]
    Client(#[source] ClientError),
}

/// The access of this process.
#[derive(Debug, Clone)]
pub enum Access {
    /// As a pod: address from the environment, account from its folder.
    InCluster { server: Url },
    /// By a kubeconfig, its current context.
    Kubeconfig { path: PathBuf },
}

impl Access {
    /// By the kubeconfig, or as a pod if there is none.
    ///
    /// # Errors
    /// There is none, and this is not a pod.
    pub fn find(kubeconfig: Option<PathBuf>) -> Result<Self, AccessError> {
        if let Some(path) = kubeconfig {
            return Ok(Self::Kubeconfig { path });
        }
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let host = variable("KUBERNETES_SERVICE_HOST").ok_or(AccessError::OutsideCluster)?;
        let port = variable("KUBERNETES_SERVICE_PORT").ok_or(AccessError::OutsideCluster)?;
        // An IPv6 address stands in brackets in a URL.
        let host = if host.contains(':') { format!("[{host}]") } else { host };
        let server = Url::parse(&format!("https://{host}:{port}/")).map_err(|_| AccessError::Address)?;
        Ok(Self::InCluster { server })
    }

    /// The address, as label of metrics.
    ///
    /// # Errors
    /// The kubeconfig cannot be used.
    pub fn host(&self) -> Result<String, AccessError> {
        let target = self.target()?;
        let Endpoint::Direct { url } = &target.endpoint else { return Ok(String::new()) };
        let host = url.host_str().unwrap_or_default();
        Ok(url.port_or_known_default().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}")))
    }

    /// A client with the credential as it is now.
    ///
    /// # Errors
    /// A file cannot be read or used.
    pub fn client(&self, user_agent: &str) -> Result<KubeClient, AccessError> {
        self.client_for(self.target()?, user_agent)
    }

    #[expect(clippy::unused_self, reason = "the access decides how a client is made")]
    fn client_for(&self, target: Target, user_agent: &str) -> Result<KubeClient, AccessError> {
        let everywhere = ["0.0.0.0/0", "::/0"].into_iter().filter_map(|net| net.parse().ok()).collect();
        let dialer = Dialer::new(DialerOptions {
            private: PrivateWay::Direct,
            networks: Networks::new(everywhere, Vec::new()),
            keepalive: Duration::from_secs(30),
        });
        let options = ClientOptions {
            // Bookmarks come every minute: a watch that is silent for longer is broken.
            stream_silence: Duration::from_secs(180),
            answer_bytes: 32 * 1024 * 1024,
            idle_connections: 2,
            user_agent: user_agent.to_owned(),
            ..ClientOptions::default()
        };
        client(dialer, Arc::new(target), Identity::Admin, &options).map_err(AccessError::Client)
    }

    fn target(&self) -> Result<Target, AccessError> {
        match self {
            Self::InCluster { server } => {
                let folder = Path::new(ACCOUNT);
                let token = read(&folder.join("token"))?.trim().to_owned();
                let ca = read(&folder.join("ca.crt"))?;
                target(server.clone(), None, ca, Credential::Token(Secret::new(token)))
            }
            Self::Kubeconfig { path } => {
                let plan = kubeconfig::read(&read(path)?, None)
                    .map_err(|cause| AccessError::Kubeconfig { path: path.clone(), cause })?;
                target(plan.server, plan.tls_server_name, plan.ca_pem, plan.credential)
            }
        }
    }

    /// Gives the client a fresh token when the file of the account has one; for ever.
    pub async fn refresh(self, api: Api, user_agent: String) {
        let mut known = self.target().ok().map(|target| target.fingerprint);
        let mut ticks = interval(REFRESH);
        loop {
            ticks.tick().await;
            // A file that cannot be read for a moment is read again; the old token works for a while.
            let Ok(target) = self.target() else { continue };
            let print = Some(target.fingerprint);
            if print != known
                && let Ok(client) = self.client_for(target, &user_agent)
            {
                known = print;
                api.replace_client(client);
                tracing::debug!("the credential for the API server was renewed");
            }
        }
    }
}

/// The text of a file that is not too large.
pub(crate) fn read(path: &Path) -> Result<String, AccessError> {
    let failed = |cause| AccessError::Read { path: path.to_owned(), cause };
    if std::fs::metadata(path).map_err(failed)?.len() > MOST_FILE {
        return Err(AccessError::TooLarge { path: path.to_owned() });
    }
    std::fs::read_to_string(path).map_err(failed)
}

fn target(
    server: Url,
    name: Option<String>,
    ca: String,
    credential: Credential,
) -> Result<Target, AccessError> {
    let host = server.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']').to_owned();
    let target = Target {
        id: ResourceId::parse(ID).map_err(|_| AccessError::Address)?,
        source: Source::Imported,
        endpoint: Endpoint::Direct { url: server },
        server_name: name.unwrap_or(host),
        ca_pem: ca,
        read: credential.clone(),
        admin: credential,
        as_groups: Vec::new(),
        ssh: None,
        fingerprint: 0,
    };
    Ok(target.fingerprinted())
}
