//! The monitor inside the development server, on SQLite: it looks at the simulated region, whose faults come and heal.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use parking_lot::Mutex;
use tests_kit::{Aro, AroOptions, Session, until};

/// A debug build that looks at a region beside other builds.
const LONG: Duration = Duration::from_secs(240);

/// The word about each cluster that was looked at: `ok`, `degraded`, `no answer`.
async fn words(session: &Session) -> Result<BTreeMap<String, String>> {
    let list = session.get("/api/v1/clusters?limit=200").await?.ok()?.json()?;
    let rows = list["items"].as_array().with_context(|| list.to_string())?;
    let looked = rows.iter().filter(|row| row["lastLook"].is_object());
    let word = |row: &serde_json::Value| {
        let (id, health) = (row["resourceId"].as_str()?, row["health"].as_str()?);
        Some((id.to_owned(), health.to_owned()))
    };
    Ok(looked.filter_map(word).collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn simulated_clusters_are_looked_at_and_their_faults_come_and_heal() -> Result<()> {
    let told = [
        ("ARO_MONITOR__ENABLED", "true"),
        ("ARO_MONITOR__INTERVAL", "4s"),
        ("ARO_MONITOR__START_DELAY", "2s"),
        ("ARO_MONITOR__RECORD_INTERVAL", "1s"),
        ("ARO_DEV_FAULTS", "30"),
        ("ARO_DEV_FAULT_PERIOD", "15"),
    ];
    let env = told.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    let aro = Aro::start(AroOptions { clusters: 12, env, ..AroOptions::default() }).await?;
    let session = aro.session("sre").await?;
    let before = Mutex::new(BTreeMap::new());
    // Cluster, and what became of it.
    let (came, healed) = (Mutex::new(Vec::new()), Mutex::new(Vec::new()));
    let lives = until("a fault comes and another heals", LONG, || async {
        let now = words(&session).await?;
        let mut before = before.lock();
        for (cluster, word) in &now {
            match (before.get(cluster).map(String::as_str), word.as_str()) {
                (Some("ok"), "ok") | (None, _) => {}
                (Some("ok"), _) => came.lock().push(cluster.clone()),
                (Some(_), "ok") => healed.lock().push(cluster.clone()),
                _ => {}
            }
        }
        *before = now;
        let (came, healed) = (came.lock(), healed.lock());
        ensure!(
            before.len() >= 8 && !came.is_empty() && !healed.is_empty(),
            "{came:?} {healed:?} {before:?}"
        );
        Ok(())
    });
    aro.explain(lives.await)
}
