//! The data of a broken member is moved aside on its node, by a pod with the rights of the node.

use rp_actions::etcd::{NAMESPACE, PODS, image_without};
use rp_base::text::clean;
use serde_json::{Value, json};

use super::super::nodes::node_name;
use super::members::pods;
use crate::context::Context;
use crate::errors::StepError;
use crate::kube_api::Kube;

/// The contract's name of the pod.
pub(super) const POD: &str = "etcd-recovery-data-backup";
pub(super) const SCRIPT: &str = include_str!("backup.sh");
/// How long the script waits for the end of the member, and the node for the end of the pod, seconds.
const PATIENCE: u32 = 180;
const POD_LIMIT: u32 = 300;
/// Read of the pod's log, bytes.
const MOST_LOG: usize = 16 << 10;

/// How far the pod is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Runs,
    Succeeded,
    Failed,
    /// It is being deleted: another attempt is done with it.
    Leaves,
    Gone,
}

impl Phase {
    fn of(pod: Option<&Value>) -> Self {
        let Some(pod) = pod else { return Self::Gone };
        match pod["status"]["phase"].as_str() {
            _ if pod["metadata"]["deletionTimestamp"].is_string() => Self::Leaves,
            Some("Succeeded") => Self::Succeeded,
            Some("Failed") => Self::Failed,
            _ => Self::Runs,
        }
    }
}

/// Runs the pod, or waits for the one of an attempt that died, and keeps its log.
pub(super) async fn back_up_data(context: &Context) -> Result<(), StepError> {
    let kube = Kube::connect(context)?;
    let path = format!("{PODS}/{POD}");
    let mut created = false;
    loop {
        let found: Option<Value> = kube.get(&path).await?;
        match Phase::of(found.as_ref()) {
            Phase::Gone if created => return Err(StepError::other(format!("Pod {POD} was deleted."))),
            Phase::Gone => {
                let node = node_name(context, &kube).await?;
                let members = pods(&kube).await?;
                let image = image_without(&members, &node).map_err(StepError::other)?;
                created = kube.create(PODS, &pod(&node, image)).await?;
            }
            phase @ (Phase::Succeeded | Phase::Failed) => return ended(context, &kube, &path, phase).await,
            Phase::Runs => context.waiting(&format!("pod {POD} runs")),
            Phase::Leaves => context.waiting(&format!("pod {POD} of an earlier attempt is being deleted")),
        }
        context.sleep(context.env.periods.poll).await?;
    }
}

async fn ended(context: &Context, kube: &Kube, path: &str, phase: Phase) -> Result<(), StepError> {
    let log = kube.log(path, MOST_LOG).await?;
    kube.delete(path).await?;
    let lines = || log.lines().filter(|line| !line.is_empty()).map(|line| clean(line, 300));
    if phase == Phase::Failed {
        let told: Vec<String> = lines().collect();
        return Err(StepError::other(format!("Pod {POD} failed: {}", told.join("; "))));
    }
    lines().take(5).for_each(|line| context.record_line("info", &line));
    Ok(())
}

/// The pod. Its image is that of the members (`contract/frontend.md` "Do better" 26), which the node has already.
fn pod(node: &str, image: &str) -> Value {
    let variable = |name: &str, value: String| json!({"name": name, "value": value});
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": POD, "namespace": NAMESPACE, "labels": {"app": POD}},
        "spec": {
            "nodeName": node, "restartPolicy": "Never", "hostPID": true, "activeDeadlineSeconds": POD_LIMIT,
            "automountServiceAccountToken": false, "enableServiceLinks": false,
            "tolerations": [{"operator": "Exists"}], "priorityClassName": "system-node-critical",
            "containers": [{
                "name": "backup", "image": image, "imagePullPolicy": "IfNotPresent",
                "command": ["/bin/bash", "-c", SCRIPT],
                "env": [variable("HOST", "/host".to_owned()), variable("PROC", "/proc".to_owned()),
                    variable("PATIENCE", PATIENCE.to_string())],
                "securityContext": {"privileged": true, "runAsUser": 0},
                "resources": {"requests": {"cpu": "10m", "memory": "32Mi"}},
                "volumeMounts": [{"name": "host", "mountPath": "/host"}],
            }],
            "volumes": [{"name": "host", "hostPath": {"path": "/", "type": "Directory"}}],
        },
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};
    use std::process::{Command, Output};

    use super::*;

    /// A folder that stands for a node's root and its processes.
    struct Node(PathBuf);

    impl Node {
        fn new(name: &str) -> Self {
            let root = std::env::temp_dir().join(format!("aro-etcd-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&root);
            for folder in ["host/etc/kubernetes/manifests", "host/var/lib/etcd/member", "proc/1"] {
                fs::create_dir_all(root.join(folder)).unwrap();
            }
            fs::write(root.join("host/etc/kubernetes/manifests/etcd-pod.yaml"), "kind: Pod").unwrap();
            fs::write(root.join("host/var/lib/etcd/member/snap"), "data").unwrap();
            fs::write(root.join("proc/1/comm"), "systemd\n").unwrap();
            Self(root)
        }

        fn run(&self) -> Output {
            let mut command = Command::new("bash");
            command.args(["-c", SCRIPT]).env("HOST", self.0.join("host")).env("PROC", self.0.join("proc"));
            command.env("PATIENCE", "1").output().unwrap()
        }

        fn has(&self, path: &str) -> bool {
            self.0.join("host").join(path).exists()
        }

        /// Whether any folder of those that were put aside has that file.
        fn is_aside(&self, name: &str) -> bool {
            let all = fs::read_dir(self.0.join("host/var/lib")).unwrap();
            let mut aside = all.map(|entry| entry.unwrap().path());
            aside.any(|path| is_backup(&path) && path.join(name).exists())
        }
    }

    fn is_backup(path: &Path) -> bool {
        path.file_name().unwrap().to_string_lossy().starts_with("etcd-backup-")
    }

    impl Drop for Node {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn manifest_and_data_are_moved_aside_once() {
        let node = Node::new("moved");
        for told in ["moved", "there is neither a manifest nor data"] {
            let done = node.run();
            assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
            assert!(String::from_utf8_lossy(&done.stdout).contains(told));
            assert!(!node.has("var/lib/etcd") && !node.has("etc/kubernetes/manifests/etcd-pod.yaml"));
            assert!(node.is_aside("etcd-pod.yaml") && node.is_aside("etcd/member/snap"));
        }
    }

    #[test]
    fn data_in_use_stays_and_another_attempt_moves_it() {
        let node = Node::new("used");
        fs::create_dir_all(node.0.join("proc/77")).unwrap();
        fs::write(node.0.join("proc/77/comm"), "etcd\n").unwrap();
        let done = node.run();
        assert!(!done.status.success() && node.has("var/lib/etcd/member/snap"));
        assert_eq!(String::from_utf8_lossy(&done.stderr), "etcd still runs on this node after 1 s\n");
        assert!(!node.has("etc/kubernetes/manifests/etcd-pod.yaml"), "the kubelet must end the member");
        fs::remove_dir_all(node.0.join("proc/77")).unwrap();
        assert!(node.run().status.success());
        assert!(node.is_aside("etcd/member/snap") && node.is_aside("etcd-pod.yaml"));
    }
}
