//! A management cluster, which is also the cluster that is asked about.

use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rp_base::{Clock as _, ManualClock, Secret, SystemClock, SystemRandom};
use rp_config::{RpInvestigate, SecretFile};
use rp_documents::ClusterDocument;
use rp_install::state::InstallerState;
use rp_investigate::{
    CredentialError, DiagnosticsKubeconfig, Investigation, Investigator as _, KubeconfigIssuer,
    KubernetesPods, PodTimes, Question,
};
use serde_json::{Value, json};
use tests_kit::{ControlPlane, GENEROUS, Kubectl, until, workspace};

/// The resource id of the cluster that is asked about.
pub(crate) const CLUSTER: &str = "/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/g/providers/Microsoft.RedHatOpenShift/openShiftClusters/asked";
/// The user of the resource provider in the management cluster.
const USER: &str = "aro-investigations";

/// Issues kubeconfigs of a state that is at hand.
#[derive(Debug)]
struct StateCredentials(InstallerState);

#[async_trait]
impl KubeconfigIssuer for StateCredentials {
    async fn issue(&self, _: &ClusterDocument) -> Result<DiagnosticsKubeconfig, CredentialError> {
        DiagnosticsKubeconfig::of_state(&self.0, &SystemRandom, SystemClock.now())
    }
}

/// A namespace of a management cluster with the objects of `deploy/investigate`, and the provider over it.
pub(crate) struct Sandbox<'a> {
    pub(crate) plane: &'a ControlPlane,
    pub(crate) kubectl: Kubectl,
    pub(crate) namespace: String,
    pub(crate) pods: KubernetesPods,
    pub(crate) clock: ManualClock,
}

impl<'a> Sandbox<'a> {
    /// A namespace of that name, on the control plane.
    pub(crate) async fn new(plane: &'a ControlPlane, namespace: &str) -> Result<Self> {
        let kubectl = plane.admin()?;
        let manifest = workspace().join("deploy/investigate/management-cluster.yaml");
        let manifest = std::fs::read_to_string(manifest)?.replace("holmes-system", namespace);
        kubectl.with_input(manifest.as_bytes(), &["apply", "-f", "-"]).await?.ok()?;
        let kubeconfig = private_kubeconfig(plane, USER, namespace)?;
        let settings = RpInvestigate {
            investigate_namespace: namespace.to_owned(),
            investigate_image: "registry.example/holmes:1".to_owned(),
            investigate_model_url: Some("https://model.example/".parse()?),
            ..RpInvestigate::default()
        };
        let clock = ManualClock::at(SystemClock.now());
        let pods = KubernetesPods {
            settings,
            kubeconfig,
            issuer: Arc::new(StateCredentials(state(plane)?)),
            times: PodTimes { poll: Duration::from_millis(50), start: GENEROUS, ..PodTimes::default() },
            clock: Arc::new(clock.clone()),
            random: Arc::new(SystemRandom),
        };
        Ok(Self { plane, kubectl, namespace: namespace.to_owned(), pods, clock })
    }

    /// Begins an investigation, whose pod this sandbox puts on its node.
    pub(crate) async fn begin(&self, question: &str) -> Result<(Box<dyn Investigation>, String)> {
        let question = Question::parse(question)?;
        let cluster = cluster("127.9.9.9")?;
        let (begun, pod) = tokio::join!(self.pods.begin(&cluster, &question), self.schedule());
        Ok((begun?, pod?))
    }

    /// Puts the one pod that waits on the node; a scheduler is no part of this control plane. Gives its name.
    pub(crate) async fn schedule(&self) -> Result<String> {
        let pod = until("a pod of an investigation waits", GENEROUS, || async {
            let pods = self.all("pods").await?;
            let waits = |pod: &&Value| pod["spec"]["nodeName"].is_null();
            let pod = pods.iter().find(waits).with_context(|| format!("{} pods", pods.len()))?;
            Ok(pod["metadata"]["name"].as_str().unwrap_or_default().to_owned())
        })
        .await?;
        let binding = json!({"apiVersion": "v1", "kind": "Binding",
            "metadata": {"name": pod, "namespace": self.namespace},
            "target": {"apiVersion": "v1", "kind": "Node", "name": "node-1"}});
        let at = format!("/api/v1/namespaces/{}/pods/{pod}/binding", self.namespace);
        let create = ["create", "--raw", &at, "-f", "-"];
        self.kubectl.with_input(binding.to_string().as_bytes(), &create).await?.ok()?;
        Ok(pod)
    }

    /// What the program of a pod prints.
    pub(crate) fn print(&self, pod: &str, text: &str) -> Result<()> {
        self.plane.write_log(&self.namespace, pod, "holmes", text)
    }

    /// Ends the program of a pod in that phase: its log ends too.
    pub(crate) async fn end(&self, pod: &str, phase: &str, reason: &str) -> Result<()> {
        let status = json!({"status": {"phase": phase, "reason": reason}}).to_string();
        let patch = [
            "patch",
            "pod",
            pod,
            "-n",
            &self.namespace,
            "--subresource=status",
            "--type=merge",
            "-p",
            &status,
        ];
        self.kubectl.ok(&patch).await?;
        Ok(std::fs::remove_file(self.plane.container(&self.namespace, pod, "holmes").with_extension("log"))?)
    }

    /// Objects of investigations in the namespace.
    pub(crate) async fn all(&self, kind: &str) -> Result<Vec<Value>> {
        let label = "aro.openshift.io/investigation";
        let told = self.kubectl.ok(&["get", kind, "-n", &self.namespace, "-l", label, "-o", "json"]).await?;
        let mut list: Value = serde_json::from_str(&told)?;
        Ok(list["items"].as_array_mut().map(std::mem::take).unwrap_or_default())
    }

    /// Waits until nothing of any investigation is left.
    pub(crate) async fn is_empty(&self) -> Result<()> {
        until("nothing of an investigation is left", GENEROUS, || async {
            let left = self.all("secrets,configmaps,pods").await?;
            let names: Vec<&Value> = left.iter().map(|object| &object["metadata"]["name"]).collect();
            ensure!(left.is_empty(), "{names:?}");
            Ok(())
        })
        .await
    }
}

/// A kubeconfig of that user in a file of its own, which nobody else reads.
pub(crate) fn private_kubeconfig(plane: &ControlPlane, user: &str, name: &str) -> Result<SecretFile> {
    let text = std::fs::read_to_string(plane.user_kubeconfig(user, &[])?)?;
    private(plane, name, &text)
}

/// A file that nobody else reads.
pub(crate) fn private(plane: &ControlPlane, name: &str, text: &str) -> Result<SecretFile> {
    let file = plane.folder().write(&format!("{name}.{}.private", uuid()), text)?;
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600))?;
    Ok(SecretFile::new(file))
}

fn uuid() -> String {
    use rp_base::Random as _;
    SystemRandom.uuid().to_string()
}

/// The stored cluster, with that private endpoint.
pub(crate) fn cluster(address: &str) -> Result<ClusterDocument> {
    Ok(serde_json::from_value(json!({
        "id": "00000000-0000-4000-8000-00000000000c", "key": CLUSTER.to_lowercase(), "partitionKey": "s",
        "openShiftCluster": {"id": CLUSTER, "properties": {
            "networkProfile": {"privateEndpointIp": address}}}}))?)
}

/// The state of an installation whose authority is the control plane's.
fn state(plane: &ControlPlane) -> Result<InstallerState> {
    let authority = plane.authority();
    let (certificate, key) = (authority.pem(), Secret::new(authority.key()));
    let state = json!({
        "*tls.AdminKubeConfigSignerCertKey":
            {"CertRaw": STANDARD.encode(certificate), "KeyRaw": STANDARD.encode(key.expose())},
        "*kubeconfig.AdminInternalClient": {"Config": {"clusters": [{"name": "asked", "cluster": {
            "server": format!("https://api-int.asked.example:{}", plane.port()),
            "certificate-authority-data": STANDARD.encode(certificate)}}]}},
    });
    Ok(InstallerState::parse(state.to_string().as_bytes())?)
}

/// All that an investigation prints, as text.
pub(crate) async fn read(investigation: &mut dyn Investigation) -> Result<String> {
    let mut text = rp_investigate::AnswerText::default();
    let mut all = String::new();
    while let Some(piece) = investigation.next().await? {
        all.push_str(&text.push(&piece));
        if text.is_cut() {
            break;
        }
    }
    Ok(all + text.finish())
}
