//! A member of a real etcd is replaced, over a real Kubernetes. What the kubelet does with the pod that moves data, and what
//! the etcd operator does when it deploys anew, is done by the test.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use rp_documents::cluster::ClusterSecret;
use rp_documents::maintenance::Task;
use serde_json::{Value, json};
use tests_kit::{Folder, GENEROUS, OpenShift, Process, free_port, part, until};
use tokio_util::sync::CancellationToken;

use super::super::TaskOrder;
use super::backup::{POD, SCRIPT};
use crate::environment::Periods;
use crate::harness::{DirectClients, UnreachableAzure, World};
use crate::manager::Operation;
use crate::manager_impl::ClusterManager;
use crate::metrics::StepMetrics;

const NAMESPACE: &str = "openshift-etcd";
const BROKEN: usize = 1;

/// One member, with a folder that stands for the root of its node.
struct Member {
    client: String,
    peer: String,
    root: PathBuf,
    process: Process,
}

/// Members `master-0` to `master-2`.
struct RealEtcd {
    folder: Folder,
    members: Vec<Member>,
}

fn name(n: usize) -> String {
    format!("master-{n}")
}

fn address() -> Result<String> {
    Ok(format!("http://127.0.0.1:{}", free_port()?))
}

impl RealEtcd {
    async fn start() -> Result<Self> {
        let folder = Folder::new("etcd-members")?;
        let addresses: Vec<_> =
            (0..3).map(|_| Ok((address()?, address()?))).collect::<Result<Vec<(String, String)>>>()?;
        let peers: Vec<_> =
            addresses.iter().enumerate().map(|(n, (_, peer))| format!("{}={peer}", name(n))).collect();
        let mut members = Vec::new();
        for (n, (client, peer)) in addresses.into_iter().enumerate() {
            let root = folder.path().join(name(n));
            for path in ["var/lib", "etc/kubernetes/manifests"] {
                std::fs::create_dir_all(root.join(path))?;
            }
            std::fs::write(root.join("etc/kubernetes/manifests/etcd-pod.yaml"), "kind: Pod")?;
            let mut command = etcd(n, &client, &peer, &root)?;
            command.args(["--initial-cluster", &peers.join(","), "--initial-cluster-state", "new"]);
            let process = Process::start(&folder, &name(n), &mut command)?;
            members.push(Member { client, peer, root, process });
        }
        let this = Self { folder, members };
        until("etcd has its members", GENEROUS, || async { this.etcdctl(0, &["put", "kept", "value"]) })
            .await?;
        Ok(this)
    }

    /// etcdctl, asking one member.
    fn etcdctl(&self, n: usize, arguments: &[&str]) -> Result<String> {
        let mut command = Command::new(part("etcdctl")?);
        let done = command.args(["--endpoints", &self.members[n].client]).args(arguments).output()?;
        ensure!(done.status.success(), "etcdctl {arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
        Ok(String::from_utf8(done.stdout)?)
    }

    fn ids(&self) -> Result<Vec<(String, u64)>> {
        let list: Value = serde_json::from_str(&self.etcdctl(0, &["member", "list", "--write-out=json"])?)?;
        let all = list["members"].as_array().context("no members")?.iter();
        let pair = |one: &Value| Some((one["name"].as_str()?.to_owned(), one["ID"].as_u64()?));
        Ok(all.filter_map(pair).collect())
    }

    /// What the operator does: a new member with the name of the broken one.
    async fn join(&mut self) -> Result<()> {
        let peer = format!("--peer-urls={}", self.members[BROKEN].peer);
        self.etcdctl(0, &["member", "add", &name(BROKEN), &peer])?;
        let peers: Vec<_> =
            self.members.iter().enumerate().map(|(n, one)| format!("{}={}", name(n), one.peer)).collect();
        let broken = &self.members[BROKEN];
        let mut command = etcd(BROKEN, &broken.client, &broken.peer, &broken.root)?;
        command.args(["--initial-cluster", &peers.join(","), "--initial-cluster-state", "existing"]);
        self.members[BROKEN].process = Process::start(&self.folder, "joined", &mut command)?;
        until("the new member serves", GENEROUS, || async { self.etcdctl(BROKEN, &["endpoint", "health"]) })
            .await?;
        Ok(())
    }
}

fn etcd(n: usize, client: &str, peer: &str, root: &Path) -> Result<Command> {
    let mut command = Command::new(part("etcd")?);
    command.args(["--name", &name(n), "--log-level=warn", "--unsafe-no-fsync"]);
    command.arg("--data-dir").arg(root.join("var/lib/etcd"));
    command.args(["--listen-client-urls", client, "--advertise-client-urls", client]);
    command.args(["--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer]);
    Ok(command)
}

fn pod(n: usize, ready: bool) -> Value {
    let container = |name: &str| json!({"name": name, "image": "quay.io/e@sha256:1"});
    let status = |name: &str| {
        json!({"name": name, "ready": ready || name != "etcd", "image": "e", "imageID": "e", "restartCount": 0,
            "state": {"running": {"startedAt": "2026-01-02T03:04:05Z"}}})
    };
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": format!("etcd-{}", name(n)), "namespace": NAMESPACE},
        "spec": {"nodeName": name(n), "containers": [container("etcdctl"), container("etcd")]},
        "status": {"phase": "Running", "containerStatuses": [status("etcdctl"), status("etcd")]}})
}

/// The objects of etcd in the cluster; commands in the containers of healthy members reach the real ones.
async fn put_objects(openshift: &OpenShift, etcd: &RealEtcd) -> Result<()> {
    openshift.take_maintenance().await?;
    let object = |version: &str, kind: &str, name: String| json!({"apiVersion": version, "kind": kind, "metadata": {"name": name}});
    let mut all = vec![object("v1", "Namespace", NAMESPACE.to_owned())];
    all.extend((0..3).map(|n| object("v1", "Node", name(n))));
    openshift.apply(&all).await?;
    // The pod that the small cluster comes with has no etcdctl.
    openshift
        .admin()
        .ok(&["delete", "pods", "--all", "-n", NAMESPACE, "--force", "--grace-period=0"])
        .await?;
    let mut operator = object("operator.openshift.io/v1", "Etcd", "cluster".to_owned());
    operator["spec"] = json!({"managementState": "Managed"});
    let operator = [operator];
    until("the kind is served", GENEROUS, || openshift.apply(&operator)).await?;
    for n in 0..3 {
        let mut bare = pod(n, true);
        bare.as_object_mut().context("an object")?.remove("status");
        openshift.apply(&[bare]).await?;
        let folder =
            openshift.plane.container(NAMESPACE, &format!("etcd-{}", name(n)), "etcdctl").join("bin");
        std::fs::create_dir_all(&folder)?;
        let program = folder.join("etcdctl");
        let text = format!(
            "#!/bin/sh\nexec {} --endpoints {} \"$@\"\n",
            part("etcdctl")?.display(),
            etcd.members[n].client
        );
        std::fs::write(&program, text)?;
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755))?;
    }
    until("the pods of etcd say how they are", GENEROUS, || async {
        for n in 0..3 {
            openshift.status(&pod(n, n != BROKEN)).await?;
        }
        let said = pods(openshift).await?;
        let ready = said.iter().filter(|pod| pod["status"]["containerStatuses"][1]["ready"] == true).count();
        ensure!(ready == 2, "{ready} are ready");
        Ok(())
    })
    .await
}

async fn pods(openshift: &OpenShift) -> Result<Vec<Value>> {
    let text = openshift.admin().ok(&["get", "pods", "-n", NAMESPACE, "-o", "json"]).await?;
    let list: Value = serde_json::from_str(&text)?;
    Ok(list["items"].as_array().context("no items")?.clone())
}

/// What the kubelet of the broken node does: it runs the pod's script as it stands in the pod.
async fn run_backup(openshift: &OpenShift, root: &Path) -> Result<()> {
    let pod = until("the pod that moves data is there", GENEROUS, || async {
        let all = pods(openshift).await?;
        all.into_iter().find(|pod| pod["metadata"]["name"] == POD).context("no such pod")
    })
    .await?;
    let container = &pod["spec"]["containers"][0];
    ensure!(container["command"][2] == SCRIPT && pod["spec"]["nodeName"] == name(BROKEN), "{pod}");
    let no_processes = root.join("proc");
    std::fs::create_dir_all(&no_processes)?;
    let mut command = Command::new("bash");
    command.args(["-c", SCRIPT]).env("HOST", root).env("PROC", no_processes).env("PATIENCE", "5");
    let done = command.output()?;
    let log = String::from_utf8_lossy(&done.stdout);
    ensure!(done.status.success(), "{log}{}", String::from_utf8_lossy(&done.stderr));
    openshift.plane.write_log(NAMESPACE, POD, "backup", &log)?;
    let ended = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": POD, "namespace": NAMESPACE},
        "status": {"phase": "Succeeded"}});
    openshift.status(&ended).await
}

/// What the etcd operator does: it deploys anew when it is told to, while it bears two members.
async fn deploy(openshift: &OpenShift, etcd: &mut RealEtcd) -> Result<()> {
    until("the operator is told to deploy", GENEROUS, || async {
        let object = operator(openshift).await?;
        let reason = object["spec"]["forceRedeploymentReason"].as_str().unwrap_or_default();
        ensure!(reason.starts_with("single-master-recovery-"), "{object}");
        let overrides = &object["spec"]["unsupportedConfigOverrides"];
        ensure!(overrides["useUnsupportedUnsafeNonHANonProductionUnstableEtcd"] == true, "{object}");
        Ok(())
    })
    .await?;
    ensure!(etcd.ids()?.len() == 2, "the broken member was not removed");
    etcd.join().await?;
    openshift.status(&pod(BROKEN, true)).await
}

async fn operator(openshift: &OpenShift) -> Result<Value> {
    let text = openshift.admin().ok(&["get", "etcds.operator.openshift.io", "cluster", "-o", "json"]).await?;
    Ok(serde_json::from_str(&text)?)
}

async fn recover(openshift: &OpenShift) -> Result<()> {
    let clusters = DirectClients::of(openshift);
    let periods = Periods { poll: Duration::from_millis(200), ..Periods::CONTRACT };
    let world =
        World::new(Arc::new(UnreachableAzure), false, periods).with(|env| env.clusters = Arc::new(clusters));
    let context = world.context(Operation::AdminUpdate);
    context.set("/properties/networkProfile/privateEndpointIp", "10.0.0.5").await?;
    let kubeconfig = std::fs::read(openshift.plane.service_kubeconfig()?)?;
    context.set_secret(ClusterSecret::ServiceKubeconfig, &kubeconfig).await?;
    let steps = StepMetrics::new(&rp_metrics::Registry::new(), rp_metrics::Statsd::none());
    let manager = ClusterManager::new(Arc::clone(&world.env), steps);
    let free = CancellationToken::new();
    let order = TaskOrder { machine: name(BROKEN), ..TaskOrder::default() };
    let job = world.job(Operation::AdminUpdate, &free, &free);
    let ended = manager.maintain(Task::RecoverEtcd, order, job).await;
    ended.map_err(|failure| anyhow::anyhow!("{failure:?}: {:?}", world.progress.events()))
}

#[tokio::test]
async fn a_member_of_a_real_etcd_is_replaced() -> Result<()> {
    let (openshift, mut etcd) = tokio::try_join!(OpenShift::start(), RealEtcd::start())?;
    put_objects(&openshift, &etcd).await?;
    let before = etcd.ids()?;
    etcd.members[BROKEN].process.kill()?;
    let root = etcd.members[BROKEN].root.clone();
    tokio::try_join!(recover(&openshift), run_backup(&openshift, &root), deploy(&openshift, &mut etcd))?;

    let (after, broken) = (etcd.ids()?, name(BROKEN));
    let id = |all: &[(String, u64)]| all.iter().find(|(name, _)| *name == broken).map(|(_, id)| *id);
    ensure!(after.len() == 3 && id(&after).is_some() && id(&after) != id(&before), "{before:?} {after:?}");
    ensure!(etcd.etcdctl(BROKEN, &["get", "kept", "--print-value-only"])?.trim() == "value", "data is lost");
    let aside = std::fs::read_dir(root.join("var/lib"))?.filter_map(Result::ok);
    let kept = aside
        .filter(|one| one.path().join("etcd/member").exists() && one.path().join("etcd-pod.yaml").exists());
    ensure!(kept.count() == 1, "the data of the broken member is not kept");
    let object = operator(&openshift).await?;
    ensure!(object["spec"]["unsupportedConfigOverrides"].is_null(), "{object}");
    ensure!(
        pods(&openshift).await?.iter().all(|pod| pod["metadata"]["name"] != POD),
        "the pod is still there"
    );
    Ok(())
}
