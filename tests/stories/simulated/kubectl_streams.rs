//! The real kubectl on a pod of a simulated cluster: cp, exec, attach and port-forward by WebSocket and by SPDY; top and events.

use anyhow::{Context as _, Result, ensure};
use tests_kit::{GENEROUS, Kubectl};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::healthy;
use crate::world::World;

const NAMESPACE: &str = "openshift-monitoring";
const POD: &str = "prometheus-k8s-0";

async fn simulated(person: &str, rights: &str) -> Result<Kubectl> {
    let world = World::get().await?;
    let resource = healthy(&world.aro.session("sre").await?).await?;
    world.aro.kubectl(person, &resource, rights).await
}

#[tokio::test(flavor = "multi_thread")]
async fn files_shells_logs_and_ports_of_a_simulated_pod_work_both_ways() -> Result<()> {
    let kubectl = simulated("elevated", "write").await?;
    for (protocol, kubectl) in [("websocket", kubectl.clone()), ("spdy", kubectl.spdy())] {
        copy(protocol, &kubectl).await?;
        let script =
            "TERM=${TERM:-xterm}; export TERM; if command -v bash >/dev/null 2>&1; then exec bash; fi";
        let exec = ["exec", "-i", "-n", NAMESPACE, POD, "--", "sh", "-c", script];
        let output = kubectl.with_input(b"echo \"from $TERM\"; exit 3\n", &exec).await?;
        ensure!(output.status == 3 && output.stdout == "from xterm\n", "{protocol}: {output:?}");
        let attach = kubectl.start(&["attach", "-n", NAMESPACE, POD])?;
        attach.says("simulated").await?;
        attach.kill().await?;
        forward(protocol, &kubectl).await?;
    }
    Ok(())
}

/// A folder goes into the pod and comes back.
async fn copy(protocol: &str, kubectl: &Kubectl) -> Result<()> {
    let (there, back) = (format!("there-{protocol}"), format!("back-{protocol}"));
    let folder = kubectl.folder().join(&there);
    std::fs::create_dir_all(folder.join("inner"))?;
    let content: Vec<u8> = (0..300_000_u32).flat_map(u32::to_le_bytes).collect();
    std::fs::write(folder.join("inner/numbers"), &content)?;
    let inside = format!("{NAMESPACE}/{POD}:/tmp/{there}");
    kubectl.ok(&["cp", &there, &inside]).await?;
    let listed = kubectl.ok(&["exec", "-n", NAMESPACE, POD, "--", "ls", &format!("/tmp/{there}")]).await?;
    ensure!(listed == "inner\n", "{protocol}: {listed}");
    kubectl.ok(&["cp", &inside, &back]).await?;
    let returned = std::fs::read(kubectl.folder().join(back).join("inner/numbers"))?;
    ensure!(returned == content, "{protocol}: another content came back");
    Ok(())
}

/// Something speaks HTTP at the port of Prometheus, and nothing listens at another.
async fn forward(protocol: &str, kubectl: &Kubectl) -> Result<()> {
    let running = kubectl.start(&["port-forward", "-n", NAMESPACE, POD, ":9090", ":1"])?;
    running.says("-> 9090").await?;
    running.says("-> 1\n").await?;
    let said = running.stdout();
    let line = said.lines().find(|line| line.contains("127.0.0.1:") && line.ends_with("-> 9090"));
    let local = line.and_then(|line| line.split("127.0.0.1:").nth(1)).and_then(|rest| rest.split(' ').next());
    let local: u16 = local.with_context(|| format!("{protocol}: {said}"))?.parse()?;
    let exchange = async {
        let mut stream = TcpStream::connect(("127.0.0.1", local)).await?;
        stream.write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").await?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await?;
        ensure!(answer.starts_with(b"HTTP/1.1 "), "{protocol}: {}", String::from_utf8_lossy(&answer));
        Ok(())
    };
    tokio::time::timeout(GENEROUS, exchange).await.context("the stream stands still")??;
    running.kill().await
}

#[tokio::test(flavor = "multi_thread")]
async fn usage_events_and_identities_of_containers_are_shown() -> Result<()> {
    let kubectl = simulated("sre", "read").await?;
    let nodes = kubectl.ok(&["top", "nodes"]).await?;
    ensure!(nodes.contains("-master-0") && nodes.contains('%'), "{nodes}");
    let pods = kubectl.ok(&["top", "pods", "-n", NAMESPACE, "--containers"]).await?;
    ensure!(pods.contains(POD) && pods.contains("kube-rbac-proxy"), "{pods}");
    for resource in ["events", "events.events.k8s.io"] {
        let events = kubectl.ok(&["get", resource, "-A"]).await?;
        ensure!(events.contains("This cluster is simulated"), "{resource}: {events}");
    }
    let path = "jsonpath={.status.qosClass} {.status.podIP} {.status.containerStatuses[0].containerID} \
                {.status.containerStatuses[0].imageID} {.status.containerStatuses[0].state.running.startedAt}";
    let status = kubectl.ok(&["get", "pod", "-n", NAMESPACE, POD, "-o", path]).await?;
    let words: Vec<&str> = status.split(' ').collect();
    ensure!(words.len() == 5 && words[2].starts_with("cri-o://"), "{status}");
    Ok(())
}
