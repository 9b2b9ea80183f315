//! How answers and pods end.

use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use rp_base::chain;
use rp_investigate::{Investigator as _, KubernetesPods, MOST_ANSWER, PodTimes, Question};
use tests_kit::{ControlPlane, free_port};

use crate::sandbox::{Sandbox, cluster, private, private_kubeconfig, read};

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_is_text_as_it_comes() -> Result<()> {
    let sandbox = Sandbox::new(ControlPlane::shared().await?, "text").await?;
    let (mut investigation, pod) = sandbox.begin("is it red?").await?;
    sandbox.print(&pod, "\u{1b}[31mred\u{1b}[0m\r\n\u{1b}]0;owned\u{7}\u{9b}2J")?;
    let first = investigation.next().await?.context("a piece before the end")?;
    ensure!(first.starts_with(b"\x1b[31mred"), "{first:?}");
    sandbox.print(&pod, "\u{8}\u{0}größe\tx\n")?;
    sandbox.end(&pod, "Failed", "DeadlineExceeded").await?;
    let rest = read(&mut *investigation).await?;
    ensure!(
        rest.ends_with("größe\tx\n") && !rest.contains(['\u{1b}', '\u{7}', '\u{8}', '\0', '\u{9b}']),
        "{rest:?}"
    );
    let failed = investigation.end().await.err().context("it failed")?;
    ensure!(failed.to_string() == "the investigation pod failed: DeadlineExceeded", "{failed}");
    investigation.close().await?;
    sandbox.is_empty().await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_without_end_is_cut() -> Result<()> {
    let sandbox = Sandbox::new(ControlPlane::shared().await?, "flood").await?;
    let (mut investigation, pod) = sandbox.begin("how much?").await?;
    sandbox.print(&pod, &"x".repeat(3 << 20))?;
    ensure!(read(&mut *investigation).await?.len() == MOST_ANSWER);
    // The pod still runs, and is not waited for.
    investigation.close().await?;
    sandbox.is_empty().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_that_never_runs_is_removed() -> Result<()> {
    let sandbox = Sandbox::new(ControlPlane::shared().await?, "never").await?;
    let times = PodTimes { start: Duration::from_secs(2), ..sandbox.pods.times };
    let pods = KubernetesPods { times, ..sandbox.pods.clone() };
    let refused = pods.begin(&cluster("127.9.9.9")?, &Question::parse("when?")?).await;
    let refused = refused.err().context("it began")?.to_string();
    ensure!(refused == "the investigation pod did not run within 2 s: it waits for a node", "{refused}");
    sandbox.is_empty().await
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_way_there_is_no_pod() -> Result<()> {
    let sandbox = Sandbox::new(ControlPlane::shared().await?, "refused").await?;
    let question = Question::parse("x")?;
    let refusal = async |pods: &KubernetesPods, address: &str| {
        let error = pods.begin(&cluster(address)?, &question).await.err().context("it began")?;
        anyhow::Ok(chain(&error).to_string())
    };
    for address in ["", "not an address"] {
        let told = refusal(&sandbox.pods, address).await?;
        ensure!(told == "cluster does not have a private endpoint IP configured", "{told}");
    }
    // The management cluster is away.
    let plane = sandbox.plane;
    let text = std::fs::read_to_string(plane.user_kubeconfig("aro-investigations", &[])?)?;
    let away = text.replace(&format!(":{}", plane.port()), &format!(":{}", free_port()?));
    let pods = KubernetesPods { kubeconfig: private(plane, "away", &away)?, ..sandbox.pods.clone() };
    let told = refusal(&pods, "127.9.9.9").await?;
    ensure!(
        told.starts_with("the investigation cannot be created: the management cluster did not answer"),
        "{told}"
    );
    // Its kubeconfig is open to others, or is none.
    let open = private(plane, "open", &text)?;
    std::fs::set_permissions(open.path(), std::fs::Permissions::from_mode(0o644))?;
    let pods = KubernetesPods { kubeconfig: open, ..sandbox.pods.clone() };
    let told = refusal(&pods, "127.9.9.9").await?;
    ensure!(told.contains("can be read by every user"), "{told}");
    let pods = KubernetesPods { kubeconfig: private(plane, "none", "hush: {")?, ..sandbox.pods.clone() };
    let told = refusal(&pods, "127.9.9.9").await?;
    ensure!(
        told.contains("the kubeconfig of the management cluster cannot be used") && !told.contains("hush"),
        "{told}"
    );
    // It does not let us create anything.
    let kubeconfig = private_kubeconfig(plane, "nobody", "nobody")?;
    let pods = KubernetesPods { kubeconfig, ..sandbox.pods.clone() };
    let told = refusal(&pods, "127.9.9.9").await?;
    ensure!(told.contains("answered with status 403: secrets is forbidden"), "{told}");
    // The program's configuration is not there, or is no configuration.
    for (name, text) in [("missing", None), ("large", Some("#".repeat(300 << 10)))] {
        let file = plane.folder().path().join(name);
        if let Some(text) = text {
            std::fs::write(&file, text)?;
        }
        let mut pods = sandbox.pods.clone();
        pods.settings.investigate_config_file = Some(file);
        let told = refusal(&pods, "127.9.9.9").await?;
        ensure!(told.starts_with("the file of rp.investigate_config_file cannot be used: "), "{told}");
    }
    // The graph gives nothing.
    let pods = KubernetesPods { issuer: Arc::new(NoCredentials), ..sandbox.pods.clone() };
    let told = refusal(&pods, "127.9.9.9").await?;
    ensure!(told.contains("has no graph of its installation"), "{told}");
    sandbox.is_empty().await
}

/// The graph of the cluster is gone.
#[derive(Debug)]
struct NoCredentials;

#[async_trait::async_trait]
impl rp_investigate::KubeconfigIssuer for NoCredentials {
    async fn issue(
        &self,
        _: &rp_documents::ClusterDocument,
    ) -> Result<rp_investigate::DiagnosticsKubeconfig, rp_investigate::CredentialError> {
        Err(rp_investigate::CredentialError::NoGraph)
    }
}
