//! A cluster of a test system, called through the proxy.

use anyhow::{Context as _, Result};
use tests_kit::{Answer, Aro, Session, Upstream, Wire, kubeconfig_server, kubeconfig_token};

/// A cluster of a test system that is called through the proxy with a grant.
pub(crate) struct ProxiedCluster {
    pub(crate) proxy: Session,
    pub(crate) path: String,
    pub(crate) kubeconfig: String,
}

impl ProxiedCluster {
    /// With a grant to read.
    pub(crate) async fn open(aro: &Aro, resource: &str) -> Result<Self> {
        Self::with_grant(aro, resource, "sre", "read").await
    }

    /// With a grant that this person takes.
    pub(crate) async fn with_grant(aro: &Aro, resource: &str, person: &str, rights: &str) -> Result<Self> {
        let kubeconfig =
            aro.session(person).await?.kubeconfig(resource, rights, "story of faults", None).await?;
        let server = kubeconfig_server(&kubeconfig)?;
        let path =
            server.strip_prefix(aro.dev.proxy_url.trim_end_matches('/')).context("our proxy")?.to_owned();
        Ok(Self { proxy: aro.proxy()?.with_bearer(&kubeconfig_token(&kubeconfig)?), path, kubeconfig })
    }

    pub(crate) async fn import(aro: &Aro, upstream: &Upstream, name: &str) -> Result<Self> {
        let kubeconfig = upstream.kubeconfig(aro.folder(), name)?;
        let resource = aro.import_and_wait(&kubeconfig, name, &[]).await?;
        Self::open(aro, &resource).await
    }

    /// Sends a request by bytes.
    pub(crate) async fn send(&self, aro: &Aro, path: &str) -> Result<Wire> {
        let host = aro.dev.proxy_url.trim_start_matches("https://").trim_end_matches('/');
        let mut wire = Wire::connect(&aro.dev.proxy_url, &aro.ca_pem()?).await?;
        let (mount, token) = (&self.path, kubeconfig_token(&self.kubeconfig)?);
        let line = format!("GET {mount}{path} HTTP/1.1\r\nHost: {host}");
        wire.send(format!("{line}\r\nAuthorization: Bearer {token}\r\n\r\n")).await?;
        Ok(wire)
    }

    pub(crate) async fn get(&self, path: &str) -> Result<Answer> {
        self.proxy.get(&format!("{}{path}", self.path)).await
    }
}
