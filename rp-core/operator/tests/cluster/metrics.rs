//! Metrics by TLS, for those who have the right to them.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use serde_json::json;
use tests_kit::{Authority, Folder, GENEROUS, until};

use crate::world::{Operator, PATIENCE, World, spec};

const NAMESPACE: &str = "openshift-azure-operator";

/// Accounts, of which one may read metrics as the Prometheus of the platform may.
async fn accounts(world: &World) -> Result<()> {
    let rbac = "rbac.authorization.k8s.io";
    let account = |name: &str| json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": name, "namespace": NAMESPACE } });
    world.openshift.apply(&[
        account("prometheus"),
        account("somebody"),
        json!({
            "apiVersion": format!("{rbac}/v1"), "kind": "ClusterRole", "metadata": { "name": "reads-metrics" },
            "rules": [{ "nonResourceURLs": ["/metrics"], "verbs": ["get"] }],
        }),
        json!({
            "apiVersion": format!("{rbac}/v1"), "kind": "ClusterRoleBinding", "metadata": { "name": "reads-metrics" },
            "roleRef": { "apiGroup": rbac, "kind": "ClusterRole", "name": "reads-metrics" },
            "subjects": [{ "kind": "ServiceAccount", "name": "prometheus", "namespace": NAMESPACE }],
        }),
    ])
    .await
}

async fn token(world: &World, account: &str) -> Result<String> {
    let text = world.openshift.admin().ok(&["create", "token", account, "-n", NAMESPACE]).await?;
    Ok(text.trim().to_owned())
}

/// A certificate for this machine, in the form that the platform mounts.
fn certify(authority: &Authority, folder: &Path) -> Result<()> {
    let pair = authority.server(&["localhost"])?;
    std::fs::write(folder.join("tls.key"), &pair.key)?;
    std::fs::write(folder.join("tls.crt"), &pair.certificate)?;
    Ok(())
}

/// A reader who trusts one authority.
struct Reader<'a> {
    authority: &'a Authority,
    port: u16,
}

impl Reader<'_> {
    /// Status and text of the page; on a connection of its own, because one that is open keeps its certificate.
    async fn read(&self, token: Option<&str>) -> Result<(u16, String)> {
        rp_net::tls::install_provider();
        let client = rp_net::http::client(Some(self.authority.pem()), GENEROUS)?;
        let mut request = client.get(format!("https://localhost:{}/metrics", self.port));
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        let answer = request.send().await?;
        Ok((answer.status().as_u16(), answer.text().await?))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_are_read_by_tls_with_the_right_to_them() -> Result<()> {
    let (world, _turn) = World::enter().await?;
    accounts(world).await?;
    world.set_cluster(&spec(&[])).await?;
    let folder = Folder::new("certificate")?;
    let path = folder.path().to_str().context("a path")?;
    let operator = Operator::start_with(world, "worker", &[("ARO_METRICS_TLS", path)])?;
    // The controllers do not wait for the certificate, which the platform signs later.
    operator.ready().await?;
    let first = Authority::new("first")?;
    let reader = Reader { authority: &first, port: operator.metrics };
    ensure!(reader.read(None).await.is_err(), "metrics are served without a certificate");
    certify(&first, folder.path())?;
    until("metrics are served by TLS", PATIENCE, || reader.read(None)).await?;

    let (allowed, other) = (token(world, "prometheus").await?, token(world, "somebody").await?);
    for (token, wanted) in
        [(None, 401), (Some("unknown"), 401), (Some(other.as_str()), 403), (Some(allowed.as_str()), 200)]
    {
        let (status, text) = reader.read(token).await?;
        ensure!(status == wanted, "{wanted} was to come: {status} {text}");
        ensure!(text.contains("controller_runtime_reconcile_total") == (wanted == 200), "{text}");
    }
    let plain = rp_net::http::client(None, GENEROUS)?;
    let plain = plain.get(format!("http://127.0.0.1:{}/metrics", operator.metrics)).bearer_auth(&allowed);
    ensure!(plain.send().await.is_err(), "plain HTTP is answered");
    ensure!(operator.health(reqwest::Method::GET, "/healthz/ready").await?.0 == 200, "health needs no TLS");

    // Another certificate takes over without a new start.
    let second = Authority::new("second")?;
    certify(&second, folder.path())?;
    let reader = Reader { authority: &second, port: operator.metrics };
    until("the new certificate is served", PATIENCE, || async {
        let (status, text) = reader.read(Some(&allowed)).await?;
        ensure!(status == 200, "{status} {text}");
        Ok(())
    })
    .await?;
    let log = operator.process.log();
    for token in [&allowed, &other] {
        ensure!(!log.contains(token.as_str()), "the log has a token");
    }
    Ok(())
}
