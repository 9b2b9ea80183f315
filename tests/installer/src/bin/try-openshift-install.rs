//! Tries a release's own `openshift-install` on the inputs that the tests use: `try-openshift-install BINARY`. The installer
//! asks Azure about what it is given, so the credentials are those of `AZURE_AUTH_LOCATION`, a file
//! `osServicePrincipal.json`.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use rp_base::{Secret, SystemClock, SystemRandom};
use rp_install::runner::{AzureCredentials, InstallOrder, InstallRunner as _, LocalProcess, Proof};
use rp_node_config::ignition::Config;
use serde_json::Value;
use tests_installer::inputs;

const ID: &str = "dddddddd-dddd-4ddd-8ddd-dddddddddddd";

#[tokio::main]
async fn main() -> Result<()> {
    let mut arguments = std::env::args_os().skip(1);
    let binary = PathBuf::from(arguments.next().context("usage: try-openshift-install BINARY")?);
    let file = std::env::var_os("AZURE_AUTH_LOCATION").context("AZURE_AUTH_LOCATION is not set")?;
    let file: Value = serde_json::from_slice(&std::fs::read(file)?)?;
    let text = |member: &str| file[member].as_str().unwrap_or_default().to_owned();
    let order = InstallOrder {
        id: ID.to_owned(),
        facts: inputs::facts(),
        release_image: std::env::var("OPENSHIFT_INSTALL_RELEASE_IMAGE_OVERRIDE")?,
        credentials: AzureCredentials {
            tenant: text("tenantId"),
            subscription: text("subscriptionId"),
            client_id: text("clientId"),
            proof: Proof::Secret(Secret::new(text("clientSecret"))),
        },
        custom_manifests: Vec::new(),
        bound_signing_key: None,
        logging: None,
    };
    let root = std::env::temp_dir().join(format!("try-openshift-install-{}", std::process::id()));
    let runner = LocalProcess::new(
        binary,
        root.clone(),
        Duration::from_secs(600),
        Arc::new(SystemClock),
        Arc::new(SystemRandom),
    );
    let tried = runner.assets(&order).await;
    runner.remove(ID).await?;
    std::fs::remove_dir(root)?;
    let assets = tried?;
    let files = Config::parse(assets.bootstrap.expose())?.storage.files.len();
    let network = assets.state.network_type()?;
    assets.state.admin_kubeconfig_signer()?;
    assets.state.kubeadmin_password()?;
    assets.state.master_ignition()?;
    let mut out = std::io::stdout().lock();
    std::io::Write::write_all(
        &mut out,
        format!(
            "the bootstrap machine has {files} files; the network is {network}; the state has what we read\n"
        )
        .as_bytes(),
    )?;
    Ok(())
}
