//! A real Kubernetes: etcd, kube-apiserver, kwok for nodes and pods, a kubelet for what runs in them.

mod installed;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use crate::authority::{Authority, Pair};
use crate::{Folder, GENEROUS, Kubectl, Process, free_port, part, until};

/// A cold disk and two busy cores need their time.
const START: Duration = Duration::from_secs(180);
const ADMIN_TOKEN: &str = "admin-token-of-this-control-plane";

/// One control plane with the node `node-1` and the running pod `default/web`, container `web`.
#[derive(Debug)]
pub struct ControlPlane {
    folder: Folder,
    authority: Authority,
    port: u16,
    etcd_port: u16,
    api: Mutex<Process>,
    _processes: Vec<Process>,
}

impl ControlPlane {
    /// The one of this test process, started at its first use.
    ///
    /// # Errors
    /// A part is missing or does not come up.
    pub async fn shared() -> Result<&'static Self> {
        static SHARED: OnceCell<ControlPlane> = OnceCell::const_new();
        SHARED.get_or_try_init(Self::start).await
    }

    /// Starts one.
    ///
    /// # Errors
    /// A part is missing or does not come up.
    pub async fn start() -> Result<Self> {
        Self::start_with(false).await
    }

    /// Starts one whose etcd waits for the disk with every write.
    ///
    /// # Errors
    /// A part is missing or does not come up.
    pub async fn start_durable() -> Result<Self> {
        Self::start_with(true).await
    }

    async fn start_with(durable: bool) -> Result<Self> {
        let folder = Folder::new("kubernetes")?;
        let authority = Authority::new("test-kubernetes")?;
        write_files(&folder, &authority)?;
        let (port, etcd_port, kubelet_port) = (free_port()?, free_port()?, free_port()?);
        let etcd = Process::start(&folder, "etcd", &mut etcd(&folder, etcd_port, durable)?)?;
        let api = Process::start(&folder, "kube-apiserver", &mut api_server(&folder, port, etcd_port)?)?;
        let kubelet = Process::start(&folder, "kubelet", &mut kubelet(&folder, kubelet_port)?)?;
        let file = kubeconfig(
            &format!("https://127.0.0.1:{port}"),
            authority.pem(),
            &json!({ "token": ADMIN_TOKEN }),
        );
        let admin = Kubectl::new(&folder, &folder.write("admin.kubeconfig", file)?)?;
        api.ready(START, || async { admin.ok(&["get", "--raw=/readyz"]).await }).await?;
        kubelet
            .ready(GENEROUS, || async {
                ensure!(kubelet.log().contains("\"listen\""), "no address");
                Ok(())
            })
            .await?;
        let kwok = Process::start(&folder, "kwok", &mut kwok(&folder, kubelet_port)?)?;
        let mut plane =
            Self { folder, authority, port, etcd_port, api: Mutex::new(api), _processes: Vec::new() };
        plane.populate(&admin, &kwok).await?;
        plane._processes = vec![etcd, kubelet, kwok];
        Ok(plane)
    }

    /// Ends the API server at once; etcd keeps what it wrote.
    ///
    /// # Errors
    /// The kernel does not say.
    pub fn stop_api(&self) -> Result<()> {
        self.api.lock().kill()
    }

    /// Lets the API server hang (`true`), or go on: connections stay open and nothing is answered.
    ///
    /// # Errors
    /// It is gone.
    pub fn hang_api(&self, hang: bool) -> Result<()> {
        self.api.lock().signal(if hang { "STOP" } else { "CONT" })
    }

    /// Starts the API server again at its address, and waits until it is ready.
    ///
    /// # Errors
    /// It does not come up.
    pub async fn start_api(&self) -> Result<()> {
        self.run_api(api_server(&self.folder, self.port, self.etcd_port)?).await
    }

    async fn run_api(&self, mut command: Command) -> Result<()> {
        *self.api.lock() = Process::start(&self.folder, "kube-apiserver", &mut command)?;
        let admin = self.admin()?;
        until("the API server is ready again", START, || async { admin.ok(&["get", "--raw=/readyz"]).await })
            .await?;
        Ok(())
    }

    async fn populate(&self, admin: &Kubectl, kwok: &Process) -> Result<()> {
        until("the namespace default", GENEROUS, || admin.ok(&["get", "namespace", "default"])).await?;
        let objects = json!({ "apiVersion": "v1", "kind": "List", "items": objects() });
        let created = admin.with_input(objects.to_string().as_bytes(), &["create", "-f", "-"]).await?;
        created.ok().context("objects of the control plane")?;
        // A pod that is created while kwok takes up its node can be missed; it looks again at one that changes.
        let look = || async {
            let changed = format!("looked-at={:?}", Instant::now());
            admin.ok(&["annotate", "pod/web", &changed, "--overwrite"]).await?;
            admin.ok(&["wait", "--for=condition=Ready", "pod/web", "--timeout=5s"]).await
        };
        kwok.ready(START, look).await?;
        self.write_log("default", "web", "web", "first line\nsecond line\n")
    }

    /// Ends kwok: nodes and pods stay as they are written from here on.
    pub fn still(&mut self) {
        self._processes.pop();
    }

    /// The API server's process.
    pub fn api_pid(&self) -> u32 {
        self.api.lock().pid()
    }

    /// The bearer token of `admin` (system:masters).
    pub fn admin_token(&self) -> &str {
        ADMIN_TOKEN
    }

    /// The API server's port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// `https://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("https://127.0.0.1:{}", self.port)
    }

    /// Who signed its certificate, and who may sign clients'.
    pub fn authority(&self) -> &Authority {
        &self.authority
    }

    /// Where its files are; the pods' in `pods/NAMESPACE/POD/CONTAINER/`.
    pub fn folder(&self) -> &Folder {
        &self.folder
    }

    /// kubectl as cluster administrator, past our proxy.
    ///
    /// # Errors
    /// kubectl is missing.
    pub fn admin(&self) -> Result<Kubectl> {
        Kubectl::new(&self.folder, &self.folder.path().join("admin.kubeconfig"))
    }

    /// A kubeconfig of `admin` (system:masters) with a token.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn admin_kubeconfig(&self) -> Result<PathBuf> {
        let user = json!({ "token": ADMIN_TOKEN });
        self.folder.replace("admin.kubeconfig", kubeconfig(&self.url(), self.authority.pem(), &user))
    }

    /// A kubeconfig with a fresh client certificate for that user and those groups.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn user_kubeconfig(&self, user: &str, groups: &[&str]) -> Result<PathBuf> {
        let pair = self.authority.client(user, groups)?;
        let file = format!("{}.kubeconfig", user.replace(|c: char| !c.is_ascii_alphanumeric(), "-"));
        self.folder.replace(&file, kubeconfig(&self.url(), self.authority.pem(), &certificate_user(&pair)))
    }

    /// A kubeconfig of `system:aro-sre`: reads, and may impersonate itself with the extras that name a
    /// person (`contract/portal.md` §11.2).
    ///
    /// # Errors
    /// It cannot be written.
    pub fn sre_kubeconfig(&self) -> Result<PathBuf> {
        self.user_kubeconfig("system:aro-sre", &[])
    }

    /// A kubeconfig of `system:aro-service` in `system:masters`.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn service_kubeconfig(&self) -> Result<PathBuf> {
        self.user_kubeconfig("system:aro-service", &["system:masters"])
    }

    /// The folder of a pod. A file `ports/PORT` in it names the port of this machine that stands for the pod's.
    pub fn pod_folder(&self, namespace: &str, pod: &str) -> PathBuf {
        self.folder.path().join("pods").join(namespace).join(pod)
    }

    /// The folder in which exec runs its commands.
    pub fn container(&self, namespace: &str, pod: &str, container: &str) -> PathBuf {
        self.pod_folder(namespace, pod).join(container)
    }

    /// Appends to a container's log.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write_log(&self, namespace: &str, pod: &str, container: &str, text: &str) -> Result<()> {
        use std::io::Write as _;
        let path = self.container(namespace, pod, container).with_extension("log");
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        Ok(std::fs::File::options().create(true).append(true).open(path)?.write_all(text.as_bytes())?)
    }

    /// The cluster's own audit log so far.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn audit_log(&self) -> Result<Vec<Value>> {
        let text = std::fs::read_to_string(self.folder.path().join("audit.log"))?;
        // The last line may be half-written.
        Ok(text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect())
    }

    /// What reached the kubelet so far, as `METHOD TARGET`.
    ///
    /// # Errors
    /// Its log cannot be read.
    pub fn kubelet_requests(&self) -> Result<Vec<String>> {
        let text = std::fs::read_to_string(self.folder.path().join("kubelet.log"))?;
        let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        Ok(lines.filter_map(|line| line["request"].as_str().map(str::to_owned)).collect())
    }

    /// Waits for an entry of the cluster's own audit log.
    ///
    /// # Errors
    /// It did not come.
    pub async fn audited(&self, what: &str, is_it: impl Fn(&Value) -> bool) -> Result<Value> {
        until(&format!("the cluster's audit log has {what}"), GENEROUS, || async {
            let log = self.audit_log()?;
            let last = log.last().map(Value::to_string).unwrap_or_default();
            log.into_iter().find(|entry| is_it(entry)).ok_or_else(|| anyhow!("last entry: {last}"))
        })
        .await
    }
}

/// A kubeconfig in JSON, which is YAML.
pub(crate) fn kubeconfig(server: &str, ca_pem: &str, user: &Value) -> String {
    json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "context",
        "clusters": [{ "name": "cluster", "cluster": {
            "server": server, "certificate-authority-data": STANDARD.encode(ca_pem) } }],
        "users": [{ "name": "user", "user": user }],
        "contexts": [{ "name": "context", "context": { "cluster": "cluster", "user": "user" } }],
    })
    .to_string()
}

fn certificate_user(pair: &Pair) -> Value {
    json!({
        "client-certificate-data": STANDARD.encode(&pair.certificate),
        "client-key-data": STANDARD.encode(&pair.key),
    })
}

fn write_files(folder: &Folder, authority: &Authority) -> Result<()> {
    let path = folder.path();
    folder.write("ca.crt", authority.pem())?;
    authority.server(&["127.0.0.1", "localhost", "kubernetes"])?.write(path, "server")?;
    authority.server(&["127.0.0.1"])?.write(path, "kubelet")?;
    authority.server(&["service-accounts"])?.write(path, "sa")?;
    folder.write("tokens.csv", format!("{ADMIN_TOKEN},admin,admin,\"system:masters\"\n"))?;
    let policy = json!({
        "apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"],
        "rules": [{ "level": "Metadata" }],
    });
    folder.write("audit.yaml", policy.to_string())?;
    let kwok = json!({
        "apiVersion": "config.kwok.x-k8s.io/v1alpha1", "kind": "KwokConfiguration",
        "options": { "podPlayStageParallelism": 4, "nodePlayStageParallelism": 4, "nodeLeaseParallelism": 4 },
    });
    folder.write("kwok.yaml", kwok.to_string())?;
    Ok(())
}

fn etcd(folder: &Folder, port: u16, durable: bool) -> Result<Command> {
    let (client, peer) = (format!("http://127.0.0.1:{port}"), format!("http://127.0.0.1:{}", free_port()?));
    let mut command = Command::new(part("etcd")?);
    command.arg("--data-dir").arg(folder.path().join("etcd")).arg("--log-level=warn");
    if !durable {
        command.arg("--unsafe-no-fsync");
    }
    command.args(["--listen-client-urls", &client, "--advertise-client-urls", &client]);
    command.args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer]);
    command.arg("--initial-cluster").arg(format!("default={peer}"));
    Ok(command)
}

fn api_server(folder: &Folder, port: u16, etcd: u16) -> Result<Command> {
    let mut command = Command::new(part("kube-apiserver")?);
    command.current_dir(folder.path());
    command.arg(format!("--etcd-servers=http://127.0.0.1:{etcd}"));
    command.args(["--bind-address=127.0.0.1", &format!("--secure-port={port}")]);
    command.args([
        "--tls-cert-file=server.crt",
        "--tls-private-key-file=server.key",
        "--client-ca-file=ca.crt",
        "--token-auth-file=tokens.csv",
        "--authorization-mode=RBAC",
        "--service-account-key-file=sa.crt",
        "--service-account-signing-key-file=sa.key",
        "--service-account-issuer=https://kubernetes.default.svc",
        "--service-cluster-ip-range=10.0.0.0/24",
        "--kubelet-certificate-authority=ca.crt",
        "--kubelet-preferred-address-types=InternalIP",
        // As OpenShift has it.
        "--allow-privileged=true",
        "--disable-admission-plugins=ServiceAccount",
        "--endpoint-reconciler-type=none",
        "--audit-policy-file=audit.yaml",
        "--audit-log-path=audit.log",
        "--audit-log-format=json",
    ]);
    Ok(command)
}

fn kubelet(folder: &Folder, port: u16) -> Result<Command> {
    let mut command = Command::new(part("kubelet")?);
    command.current_dir(folder.path()).arg("--listen").arg(format!("127.0.0.1:{port}"));
    command.args(["--cert", "kubelet.crt", "--key", "kubelet.key", "--root"]).arg(pods(folder.path())?);
    Ok(command)
}

fn pods(folder: &Path) -> Result<PathBuf> {
    let pods = folder.join("pods");
    std::fs::create_dir_all(&pods)?;
    Ok(pods)
}

fn kwok(folder: &Folder, kubelet: u16) -> Result<Command> {
    let mut command = Command::new(part("kwok")?);
    command.current_dir(folder.path());
    command.args(["--kubeconfig=admin.kubeconfig", "--config=kwok.yaml", "--manage-all-nodes"]);
    command.arg("--config").arg(part("kwok-stages")?).arg("--node-ip=127.0.0.1");
    command.arg(format!("--node-port={kubelet}")).arg(format!("--server-address=127.0.0.1:{}", free_port()?));
    Ok(command)
}

/// A node, a pod, and the rights of `system:aro-sre`.
fn objects() -> Vec<Value> {
    let extras = ["person", "grant", "reason"].map(|key| format!("userextras/aro.openshift.io/{key}"));
    let rbac = "rbac.authorization.k8s.io";
    let sre = json!({ "kind": "User", "apiGroup": rbac, "name": "system:aro-sre" });
    vec![
        json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": "node-1" } }),
        json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": { "name": "web", "namespace": "default", "labels": { "app": "web" } },
            "spec": { "nodeName": "node-1", "containers": [{ "name": "web", "image": "web" }] },
        }),
        json!({
            "apiVersion": format!("{rbac}/v1"), "kind": "ClusterRole", "metadata": { "name": "system:aro-sre" },
            "rules": [
                { "apiGroups": ["", "apps", "batch", "config.openshift.io"], "verbs": ["get", "list", "watch"],
                  "resources": ["nodes", "pods", "pods/log", "namespaces", "events", "configmaps", "services",
                                "deployments", "daemonsets", "jobs", "clusterversions", "clusteroperators"] },
                { "nonResourceURLs": ["*"], "verbs": ["get"] },
                { "apiGroups": [""], "resources": ["users"], "verbs": ["impersonate"],
                  "resourceNames": ["system:aro-sre"] },
                { "apiGroups": ["authentication.k8s.io"], "resources": extras, "verbs": ["impersonate"] },
            ],
        }),
        json!({
            "apiVersion": format!("{rbac}/v1"), "kind": "ClusterRoleBinding",
            "metadata": { "name": "system:aro-sre" },
            "roleRef": { "apiGroup": rbac, "kind": "ClusterRole", "name": "system:aro-sre" },
            "subjects": [sre],
        }),
    ]
}
