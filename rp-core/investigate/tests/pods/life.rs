//! What is left of investigations that nobody waits for, and of processes that ended.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use rp_investigate::{Investigator as _, KubernetesPods, PodTimes, Question};
use serde_json::json;
use tests_kit::{ControlPlane, GENEROUS, until};

use crate::sandbox::{Sandbox, cluster};

#[tokio::test(flavor = "multi_thread")]
async fn an_investigation_that_is_dropped_is_removed() -> Result<()> {
    let sandbox = Sandbox::new(ControlPlane::shared().await?, "dropped").await?;
    // While its pod waits for a node.
    let (question, cluster) = (Question::parse("x")?, cluster("127.9.9.9")?);
    let waiting = tokio::time::timeout(GENEROUS, sandbox.pods.begin(&cluster, &question));
    tokio::select! {
        begun = waiting => ensure!(begun.is_err(), "a pod without a node ran"),
        there = until("its pod is there", GENEROUS, || async {
            ensure!(sandbox.all("pods").await?.len() == 1, "none");
            Ok(())
        }) => there?,
    }
    sandbox.is_empty().await?;
    // While it answers.
    let (mut investigation, pod) = sandbox.begin("y").await?;
    sandbox.print(&pod, "begun\n")?;
    investigation.next().await?.context("a piece")?;
    drop(investigation);
    sandbox.is_empty().await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_left_goes_when_it_has_expired() -> Result<()> {
    let plane = ControlPlane::start().await?;
    let sandbox = Sandbox::new(&plane, "left").await?;
    let times = PodTimes { cleanup: Duration::from_secs(2), ..sandbox.pods.times };
    let sandbox = Sandbox { pods: KubernetesPods { times, ..sandbox.pods.clone() }, ..sandbox };
    // Somebody's own, and one whose label is none.
    for (name, expires) in [("theirs", None), ("odd", Some("soon"))] {
        let mut object = json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": name, "namespace": "left", "labels": {}}});
        if let Some(expires) = expires {
            object["metadata"]["labels"] = json!({"aro.openshift.io/investigation": "x",
                "aro.openshift.io/investigation-expires": expires});
        }
        sandbox.kubectl.with_input(object.to_string().as_bytes(), &["create", "-f", "-"]).await?.ok()?;
    }
    let (investigation, first) = sandbox.begin("x").await?;
    plane.stop_api()?;
    let told = investigation.close().await.err().context("it was removed without an API server")?;
    ensure!(told.to_string() == "objects of the investigation stay until they expire", "{told}");
    plane.start_api().await?;
    ensure!(sandbox.all("secrets,configmaps,pods").await?.len() == 4);
    // Another investigation leaves alone what may still run, and takes away what cannot.
    let (investigation, second) = sandbox.begin("y").await?;
    investigation.close().await?;
    until("the second is gone", GENEROUS, || async {
        let left = sandbox.all("pods").await?;
        ensure!(left.iter().all(|pod| pod["metadata"]["name"] != second.as_str()), "{second}");
        Ok(())
    })
    .await?;
    ensure!(
        sandbox.all("pods").await?.iter().any(|pod| pod["metadata"]["name"] == first.as_str()),
        "{first}"
    );
    sandbox.clock.advance(Duration::from_secs(600 + 60 + 40 + 600 + 60));
    let (investigation, third) = sandbox.begin("z").await?;
    until("what expired is gone", GENEROUS, || async {
        let left = sandbox.all("secrets,configmaps,pods").await?;
        let names: Vec<String> = left.iter().map(|object| object["metadata"]["name"].to_string()).collect();
        ensure!(left.len() == 4, "{names:?}");
        Ok(())
    })
    .await?;
    ensure!(sandbox.all("pods").await?[0]["metadata"]["name"] == third.as_str());
    investigation.close().await?;
    let kept = sandbox.kubectl.ok(&["get", "configmap", "-n", "left", "-o", "name"]).await?;
    ensure!(kept.contains("theirs") && kept.contains("odd") && !kept.contains("holmes"), "{kept}");
    Ok(())
}
