//! Orders about etcd, on a real API server. The test plays the actuator of maintenance; what the tasks do is tested where
//! they are.

use anyhow::{Context as _, Result, ensure};
use reqwest::Method;
use rp_database::{Span, Typed, Versioned, update_if};
use rp_documents::ManifestDocument;
use rp_documents::maintenance::{ManifestState, ManifestStep, OPEN, Task};
use serde_json::json;
use tests_kit::{GENEROUS, OpenShift, until};

use super::real::{Api, message};

const NAMESPACE: &str = "openshift-etcd";

/// The three pods of etcd; the container of one is not ready.
async fn put_pods(openshift: &OpenShift, broken: Option<usize>) -> Result<()> {
    for n in 0..3 {
        let (name, node) = (format!("etcd-master-{n}"), format!("master-{n}"));
        let node_object = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": node}});
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": NAMESPACE},
            "spec": {"nodeName": node, "containers": [{"name": "etcd", "image": "quay.io/e@sha256:1"}]}});
        openshift.apply(&[node_object, pod.clone()]).await?;
        let container = json!({"name": "etcd", "ready": broken != Some(n), "image": "e", "imageID": "e", "restartCount": 0,
            "state": {"running": {"startedAt": "2026-01-02T03:04:05Z"}}});
        let mut said = pod;
        said["status"] = json!({"phase": "Running", "containerStatuses": [container]});
        openshift.status(&said).await?;
    }
    Ok(())
}

/// The only order that is not over.
async fn order(manifests: &Typed<ManifestDocument>) -> Result<ManifestDocument> {
    until("the order is there", GENEROUS, || async {
        let page = manifests.scan(Span::Keys(OPEN), None, 10).await?;
        page.items.into_iter().next().map(|found| found.value).context("no order")
    })
    .await
}

/// Changes the order as the actuator does.
async fn move_to(
    api: &Api,
    manifests: &Typed<ManifestDocument>,
    id: &str,
    state: ManifestState,
    text: &str,
    step: &str,
) -> Result<()> {
    let now = api.store.now().await?;
    let change = |found: Versioned<ManifestDocument>| {
        found.try_map(|mut one| {
            let name = step.to_owned();
            one.maintenance_manifest.add_steps(&[ManifestStep {
                name,
                milliseconds: 1500,
                ..ManifestStep::default()
            }]);
            one.with_state(state, text, now)
        })
    };
    update_if(manifests, id, change).await?.context("the order does not take that state")?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_member_is_found_and_its_recovery_is_followed_to_its_end() -> Result<()> {
    let openshift = OpenShift::start().await?;
    openshift
        .admin()
        .ok(&["delete", "pods", "--all", "-n", NAMESPACE, "--force", "--grace-period=0"])
        .await?;
    let api = Api::over(&openshift).await?;
    let manifests = Typed::<ManifestDocument>::new(api.store.clone());
    let post = async |what: &str| api.send(Method::POST, what, &[], None).await;

    put_pods(&openshift, None).await?;
    until("a healthy etcd is refused", GENEROUS, || async {
        let (status, text) = post("etcdrecovery").await?;
        let told = message(&text);
        ensure!(
            status == 500 && told == "Every etcd pod is ready: there is no member to recover.",
            "{status} {text}"
        );
        Ok(())
    })
    .await?;
    until("one member is not ready", GENEROUS, || async {
        put_pods(&openshift, Some(1)).await?;
        let ready = [
            "get",
            "pod",
            "etcd-master-1",
            "-n",
            NAMESPACE,
            "-o",
            "jsonpath={.status.containerStatuses[0].ready}",
        ];
        ensure!(openshift.admin().ok(&ready).await? == "false", "ready");
        Ok(())
    })
    .await?;

    let mut answer = api.begin(Method::POST, "etcdrecovery", &[], None).await?;
    ensure!(answer.status() == 200, "{answer:?}");
    let place = answer.headers().get("location").context("no Location")?.to_str()?.to_owned();
    let made = order(&manifests).await?;
    let asked = &made.maintenance_manifest;
    ensure!(asked.maintenance_task_id == Task::RecoverEtcd.id() && asked.machine == "master-1", "{made:?}");
    ensure!(place.ends_with(&made.id), "{place}");
    let (status, text) = post("etcdrecovery").await?;
    ensure!(status == 409 && message(&text).contains(&made.id), "{status} {text}");

    move_to(&api, &manifests, &made.id, ManifestState::InProgress, "", "action.backUpData").await?;
    let mut shown = String::new();
    while !shown.contains("backUpData (1.5s)") {
        let piece = answer.chunk().await?.with_context(|| format!("it ended: {shown}"))?;
        shown.push_str(&String::from_utf8_lossy(&piece));
    }
    move_to(
        &api,
        &manifests,
        &made.id,
        ManifestState::Completed,
        "removed etcd member 2a (master-1)",
        "action.removeMember",
    )
    .await?;
    while let Some(piece) = answer.chunk().await? {
        shown.push_str(&String::from_utf8_lossy(&piece));
    }
    let wanted = format!(
        "Maintenance manifest {}: etcd recovery on node master-1\nbackUpData (1.5s)\nremoveMember (1.5s)\n\
         removed etcd member 2a (master-1)\nDone.\n",
        made.id
    );
    ensure!(shown == wanted, "{shown}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn certificates_of_etcd_are_renewed_in_old_clusters_only() -> Result<()> {
    let openshift = OpenShift::shared().await?;
    let api = Api::over(openshift).await?;
    let (status, text) = api.send(Method::POST, "etcdcertificaterenew", &[], None).await?;
    let told = message(&text);
    ensure!(
        status == 403 && told == "etcd certificate renewal is not needed for cluster running version 4.9+",
        "{status} {text}"
    );
    let manifests = Typed::<ManifestDocument>::new(api.store.clone());
    ensure!(manifests.scan(Span::Keys(OPEN), None, 10).await?.items.is_empty(), "nothing is ordered");
    Ok(())
}
