//! From the import of a cluster to the end of the access to it, all by pages.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use tests_kit::{ControlPlane, Kubectl};

use super::served::Served;

const ALICE: &str = "alice@example.test";

#[tokio::test(flavor = "multi_thread")]
async fn a_pasted_cluster_is_used_until_its_grant_is_revoked() -> Result<()> {
    let plane = ControlPlane::shared().await?;
    let served = Served::start().await?;
    let reason = "taken by way of a real provider";
    let kubeconfig = std::fs::read_to_string(plane.service_kubeconfig()?)?;
    let import = json!({ "name": "real", "kubeconfig": kubeconfig, "as_groups": "system:masters" });
    let seen = served.browse("import", ALICE, &json!({ "import": import })).await?;
    ensure!(seen["landed"] == "/imported", "the deep link is lost: {seen}");
    ensure!(
        !seen["page"].as_str().unwrap_or_default().contains("client-key-data"),
        "the page shows the file"
    );

    let more = json!({ "cluster": "real", "reason": reason });
    let seen = served.browse("main-job", ALICE, &more).await?;
    ensure!(seen["violations"] == json!([]), "{seen}");
    ensure!(seen["after_sign_out"] == 401 && seen["asked_again"] == true, "{seen}");
    let file = Path::new(seen["file"].as_str().context("a file")?);

    let kubectl = Kubectl::new(&served.folder, file)?;
    let whoami: Value = serde_json::from_str(&kubectl.ok(&["auth", "whoami", "-o", "json"]).await?)?;
    ensure!(whoami["status"]["userInfo"]["username"] == ALICE, "{whoami}");
    ensure!(kubectl.ok(&["get", "pods", "-o", "name"]).await?.contains("pod/web"));
    let said = kubectl.refused(&["delete", "pod", "web"]).await?;
    ensure!(said.contains("write"), "{said}");

    // The browser takes longer to leave than the second in which a revocation reaches everybody.
    let seen = served.browse("revoke", ALICE, &json!({ "reason": reason })).await?;
    ensure!(seen["rows"] == 0 && seen["ended"] == true, "{seen}");
    let said = kubectl.refused(&["get", "pods"]).await?;
    ensure!(said.contains("revoked") || said.contains("Unauthorized"), "{said}");
    Ok(())
}
