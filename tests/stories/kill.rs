//! Ourselves killed in the middle.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use rp_audit::{Audit, AuditOptions, CheckpointKey};
use rp_base::SystemClock;
use rp_database::{SharedStore, SqliteOptions, SqliteStore};
use tests_kit::{Aro, AroOptions, Behaviour, GENEROUS, Session, Upstream, kubeconfig_token, until};

use crate::proxied_cluster::ProxiedCluster;

/// Requests kubeconfigs until the server does not answer; returns those that were issued.
async fn issue_until_dead(session: Session, resource: String, round: usize, n: usize) -> Vec<String> {
    let mut taken = Vec::new();
    while taken.len() < 8 {
        let reason = format!("issued {round}-{n}-{} before the kill", taken.len());
        match session.kubeconfig(&resource, "read", &reason, None).await {
            Ok(text) => taken.push(text),
            Err(_) => break,
        }
    }
    taken
}

/// Opens the audit log of a system that does not run, and checks every chain.
async fn verify(data: &Path) -> Result<()> {
    let clock = Arc::new(SystemClock);
    let options = SqliteOptions::new(data.join("audit.db"), clock.clone());
    let store: SharedStore = Arc::new(SqliteStore::open(options).await?);
    let key = CheckpointKey::open_or_create(&data.join("checkpoint.key"))?;
    let audit = Audit::start(Arc::clone(&store), clock, AuditOptions::new(key)).await?;
    let verdict = audit.verify().await?;
    audit.close().await;
    store.close().await;
    ensure!(verdict.is_intact() && verdict.entries > 0, "{verdict:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn kill_9_leaves_nothing_half_written_and_loses_nothing_promised() -> Result<()> {
    let mut aro = Aro::start(AroOptions::default()).await?;
    let echo = Upstream::start(Behaviour::Echo(vec![])).await?;
    let watched = Upstream::start(Behaviour::Watch(10)).await?;
    let door = ProxiedCluster::import(&aro, &echo, "echo").await?;
    let stream = ProxiedCluster::import(&aro, &watched, "watched").await?;
    let resource = door.path.strip_suffix("/kubeconfig/proxy").context("a proxy's path")?.to_owned();
    let mut taken = Vec::new();
    for (round, moment) in [2, 5, 11].into_iter().enumerate() {
        // A stream is open: its start was promised.
        let mut wire =
            stream.send(&aro, &format!("/api/v1/pods?watch=true&labelSelector=promised-{round}")).await?;
        wire.says("\"ADDED\"").await?;
        let before = aro.session("sre").await?.grants().await?.len();
        let mut tasks = Vec::new();
        for n in 0..4 {
            tasks.push(tokio::spawn(issue_until_dead(aro.session("sre").await?, resource.clone(), round, n)));
        }
        let session = aro.session("sre").await?;
        until("some were issued", GENEROUS, || async {
            let grants = session.grants().await?.len();
            ensure!(grants >= before + moment, "{grants} grants");
            Ok(())
        })
        .await?;
        aro.process().kill()?;
        for task in tasks {
            taken.extend(task.await?);
        }
        verify(&aro.data()).await.with_context(|| format!("round {round}"))?;
        aro.restart().await?;
        let checked = check(&aro, &door, &taken, round).await;
        aro.explain(checked)?;
    }
    aro.process().signal("TERM")?;
    aro.process().wait(GENEROUS).await?;
    verify(&aro.data()).await
}

/// What was answered is there and opens its cluster; what was promised is on record.
async fn check(aro: &Aro, door: &ProxiedCluster, taken: &[String], round: usize) -> Result<()> {
    ensure!(!taken.is_empty(), "nothing was issued");
    let auditor = aro.session("auditor").await?;
    for text in taken {
        let token = kubeconfig_token(text)?;
        let answer = aro.proxy()?.with_bearer(&token).get(&format!("{}/api/v1/pods", door.path)).await?;
        answer.ok().context("a token that was handed out")?;
        let id = token.split('_').nth(2).context("an id")?;
        // Its uses and questions about it name it too: what counts is that it was given.
        let entries = auditor.audit(id).await?;
        let given = entries.iter().any(|entry| entry["verb"] == "grant.issue" && entry["grant"] == id);
        ensure!(given, "no entry says that grant {id} was given: {entries:?}");
    }
    let promised = format!("promised-{round}");
    let entries = auditor.audit(&promised).await?;
    let started = entries.iter().any(|entry| entry["phase"] == "start" && entry["verb"] == "watch");
    ensure!(started, "the start of the stream {promised} is lost: {entries:?}");
    Ok(())
}
