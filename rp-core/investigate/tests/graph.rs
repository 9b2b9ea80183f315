//! Credentials by the graph of an installation, in the stand-in for Azure.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use rp_azure::{Arm, ArmOptions, BlobAccess, BlobStore, Credential, Endpoints, RetryPolicy, Tenants};
use rp_base::{Secret, SystemClock, SystemRandom, chain};
use rp_documents::ClusterDocument;
use rp_install::graph;
use rp_install::state::InstallerState;
use rp_investigate::{GraphCredentials, KubeconfigIssuer as _};
use rp_seal::Keyring;
use rp_simulator_azure::{EmptyContents, LocalArm};
use serde_json::{Value, json};
use tests_kit::Authority;

const SUBSCRIPTION: &str = "00000000-0000-0000-0000-000000000001";
const TENANT: &str = "00000000-0000-0000-0000-0000000000f1";
const DOCUMENT: &str = "00000000-0000-4000-8000-00000000000c";

/// The tenant of the one subscription.
#[derive(Debug)]
struct OneTenant;

#[async_trait]
impl Tenants for OneTenant {
    async fn tenant(&self, subscription: &str) -> Option<String> {
        (subscription == SUBSCRIPTION).then(|| TENANT.to_owned())
    }
}

fn group() -> String {
    format!("/subscriptions/{SUBSCRIPTION}/resourceGroups/managed")
}

/// A cluster with that end of its accounts' names.
fn cluster(subscription: &str, suffix: &str, identity: bool) -> Result<ClusterDocument> {
    let id = format!(
        "/subscriptions/{subscription}/resourceGroups/g/providers/Microsoft.RedHatOpenShift/openShiftClusters/c"
    );
    let mut properties = json!({"clusterProfile": {"resourceGroupId": group()}, "storageSuffix": suffix});
    if identity {
        properties["platformWorkloadIdentityProfile"] = json!({"platformWorkloadIdentities": {}});
    }
    Ok(serde_json::from_value(
        json!({"id": DOCUMENT, "key": id.to_lowercase(), "partitionKey": subscription,
        "openShiftCluster": {"id": id, "properties": properties}}),
    )?)
}

fn state(server: &str) -> Result<InstallerState> {
    let authority = Authority::new("admin-kubeconfig-signer")?;
    let state = json!({
        "*tls.AdminKubeConfigSignerCertKey":
            {"CertRaw": STANDARD.encode(authority.pem()), "KeyRaw": STANDARD.encode(authority.key())},
        "*kubeconfig.AdminInternalClient": {"Config": {"clusters": [{"name": "c", "cluster": {
            "server": server, "certificate-authority-data": STANDARD.encode(authority.pem())}}]}},
    });
    Ok(InstallerState::parse(state.to_string().as_bytes())?)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_graph_of_a_cluster_gives_its_credential_and_nothing_else_does() -> Result<()> {
    rp_net::tls::install_provider();
    let local =
        LocalArm::start(&[("first-party", "s3cret")], Arc::new(EmptyContents), Arc::new(SystemClock)).await?;
    let (control, url) = (local.arm.control(), local.url.parse::<url::Url>()?);
    control.subscribe(SUBSCRIPTION, TENANT);
    ensure!(control.put(&group(), json!({"location": "eastus"})));
    let options = ArmOptions {
        endpoints: Endpoints::at(url.clone(), url),
        credential: Credential::Secret {
            client_id: "first-party".to_owned(),
            secret: Secret::new("s3cret".to_owned()),
        },
        ca_pem: None,
        clock: Arc::new(SystemClock),
        random: Arc::new(SystemRandom),
        registry: rp_metrics::Registry::new(),
        observer: None,
        retry: RetryPolicy::NONE,
        patience: Duration::from_secs(30),
    };
    let azure = Arm::new(options)?;
    let keyring = Keyring::generate(&SystemRandom);
    let issuer = GraphCredentials {
        azure: azure.clone(),
        tenants: Arc::new(OneTenant),
        keyring: keyring.clone(),
        clock: Arc::new(SystemClock),
        random: Arc::new(SystemRandom),
    };
    let put = async |suffix: &str, blob: Option<Vec<u8>>| {
        let account = format!("cluster{suffix}");
        let id = format!("{}/providers/Microsoft.Storage/storageAccounts/{account}", group());
        ensure!(control.put(&id, json!({"location": "eastus", "properties": {}})));
        let url = format!("{}/blob/{account}", local.url).parse()?;
        let blobs = BlobStore::new(azure.in_tenant(TENANT), url, BlobAccess::Token);
        blobs.create_container(graph::CONTAINER).await?;
        match blob {
            Some(blob) => Ok(blobs
                .put(graph::CONTAINER, graph::BLOB, Bytes::from(blob), "application/octet-stream")
                .await?),
            None => Ok(()),
        }
    };
    let good = state("https://api-int.c.example:6443")?;
    put("good", Some(graph::seal(&good, DOCUMENT, &keyring)?)).await?;
    put("other", Some(graph::seal(&good, "of-another", &keyring)?)).await?;
    put("bare", Some(graph::seal(&InstallerState::parse(b"{}")?, DOCUMENT, &keyring)?)).await?;
    put("odd", Some(graph::seal(&state("nowhere")?, DOCUMENT, &keyring)?)).await?;
    put("none", None).await?;
    for identity in [false, true] {
        let issued = issuer.issue(&cluster(SUBSCRIPTION, "good", identity)?).await?;
        ensure!(issued.host == "api-int.c.example");
        let file: Value = serde_json::from_str(issued.text.expose())?;
        ensure!(file["users"][0]["name"] == "system:aro-diagnostics" && file["clusters"][0]["name"] == "c");
        ensure!(!format!("{issued:?} {issuer:?}").contains("PRIVATE"));
    }
    for (subscription, suffix, told) in [
        ("00000000-0000-0000-0000-000000000009", "good", "the subscription of the cluster is not registered"),
        (SUBSCRIPTION, "missing", "the cluster's storage account has no graph of its installation"),
        (SUBSCRIPTION, "none", "the cluster's storage account has no graph of its installation"),
        (SUBSCRIPTION, "other", "the graph of the cluster's installation cannot be used"),
        (SUBSCRIPTION, "bare", "entry '*tls.AdminKubeConfigSignerCertKey' not found in persisted graph"),
        (SUBSCRIPTION, "odd", "the kubeconfig of the cluster names no server"),
    ] {
        let refused =
            issuer.issue(&cluster(subscription, suffix, false)?).await.err().context(suffix.to_owned())?;
        let words = chain(&refused).to_string();
        ensure!(words.contains(told) && !words.contains("PRIVATE"), "{suffix}: {words}");
    }
    Ok(())
}
