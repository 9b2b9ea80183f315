//! Many clusters made at once in the simulated region: how long, and what it costs of memory. The process has everything
//! in it: portal, workers, store, the stand-in for Azure and the clusters themselves.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use rp_client::{Client, ClientOptions, ClusterId};
use serde_json::Value;
use tests_kit::{Aro, AroOptions};

use crate::measure::resident;
use crate::report::{Part, line, progress, row, table};

/// Requests on their way at once.
const AT_ONCE: usize = 16;
const VERSION: &str = "2025-07-25";

#[derive(Debug, Clone, Args)]
pub(crate) struct CreateScale {
    /// Clusters
    #[arg(long, default_value_t = 1000)]
    pub(crate) clusters: usize,
    /// Installations under way at once
    #[arg(long, default_value_t = 1000)]
    pub(crate) workers: usize,
    /// What the installation of one takes, milliseconds
    #[arg(long, default_value_t = 60_000)]
    pub(crate) install: u64,
    /// For all of them, seconds
    #[arg(long, default_value_t = 7200)]
    pub(crate) patience: u64,
}

/// Gives the part's table.
pub(crate) async fn run(scale: &CreateScale) -> Result<Part> {
    let mut part = Part::new("creates", format!("{} clusters made at once", scale.clusters))?;
    ensure!((1..=2000).contains(&scale.clusters), "--clusters: 1 to 2000");
    let set = |name: &str, value: String| (name.to_owned(), value);
    let workers = scale.workers.max(1).to_string();
    let env = vec![
        set("ARO_DEV_PAIRS", scale.clusters.to_string()),
        set("ARO_DEV_INSTALL_MILLIS", scale.install.to_string()),
        set("ARO_DEV_FAULTS", "0".to_owned()),
        set("ARO_BACKEND__WORKERS", workers.clone()),
        set("ARO_BACKEND__PER_SUBSCRIPTION", workers),
    ];
    let aro = Aro::start(AroOptions { clusters: 1, env, ..AroOptions::default() }).await?;
    let client = Client::new(ClientOptions {
        ca_pem: Some(aro.ca_pem()?),
        ..ClientOptions::new(aro.dev.rp_url.parse()?)
    })?
    .version(VERSION);
    let before = resident(aro.dev.pid)?;
    let began = Instant::now();
    let asked = ask(&aro, &client, scale.clusters).await?;
    progress(format_args!(
        "{} clusters are asked for, after {:.0} s",
        asked.len(),
        began.elapsed().as_secs_f64()
    ));
    let (peak, failed) = watch(&aro, &client, &asked, Duration::from_secs(scale.patience)).await?;
    let took = began.elapsed();
    let after = resident(aro.dev.pid)?;
    table("Creations at once", &["", ""]);
    let each = peak.saturating_sub(before) / u64::try_from(asked.len())?;
    for (what, value) in [
        ("clusters", asked.len().to_string()),
        ("under way at once, at most", scale.workers.to_string()),
        ("failed", failed.to_string()),
        ("seconds for all", format!("{:.0}", took.as_secs_f64())),
        ("memory before, MiB", mib(before)),
        ("memory at most, MiB", mib(peak)),
        ("memory afterwards, with the clusters there, MiB", mib(after)),
        ("memory of one more, KiB", (each / 1024).to_string()),
    ] {
        part.stated(what, &value);
        row(&[what.to_owned(), value]);
    }
    line(format_args!("\nOf one process with everything in it, the simulated clusters too."));
    ensure!(failed == 0, "{failed} creations failed");
    Ok(part)
}

/// Asks for clusters, each in subnets of its own.
async fn ask(aro: &Aro, client: &Client, clusters: usize) -> Result<Vec<ClusterId>> {
    let numbers: Vec<usize> = (1..=clusters).collect();
    let mut asked = Vec::new();
    for some in numbers.chunks(AT_ONCE) {
        let puts = some.iter().map(|number| async move {
            let (name, pair) = (format!("many-{number}"), number.to_string());
            let told = aro.verb("cluster", &["--name", &name, "--subnets", &pair, "--json"]).await?;
            let told: Value = serde_json::from_str(&told)?;
            let id = told["id"].as_str().context("an id")?;
            let parts: Vec<&str> = id.split('/').collect();
            let (subscription, group) =
                (parts.get(2).context("a subscription")?, parts.get(4).context("a group")?);
            let id = ClusterId::new(subscription, group, &name);
            client.put(&id, &told["body"]).await?;
            anyhow::Ok(id)
        });
        asked.extend(futures_util::future::try_join_all(puts).await?);
    }
    Ok(asked)
}

/// Until none is being made any more; gives the most memory that was seen, and how many failed.
async fn watch(aro: &Aro, client: &Client, asked: &[ClusterId], patience: Duration) -> Result<(u64, usize)> {
    let end = Instant::now() + patience;
    let (mut peak, mut left, mut failed) = (0, asked.to_vec(), 0);
    let mut told = Instant::now();
    while !left.is_empty() {
        ensure!(Instant::now() < end, "{} clusters are still being made", left.len());
        peak = peak.max(resident(aro.dev.pid)?);
        // A few at a time: it is not the API that is measured.
        let mut still = Vec::new();
        for (at, id) in left.iter().enumerate() {
            if at % 50 == 0 {
                peak = peak.max(resident(aro.dev.pid)?);
            }
            match client.get(id).await?.properties.provisioning_state.as_str() {
                "Creating" => still.push(id.clone()),
                "Succeeded" => {}
                _ => failed += 1,
            }
        }
        left = still;
        if told.elapsed() > Duration::from_secs(30) {
            told = Instant::now();
            progress(format_args!("{} left, {failed} failed, {} MiB at most", left.len(), mib(peak)));
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    Ok((peak, failed))
}

fn mib(bytes: u64) -> String {
    (bytes / 1024 / 1024).to_string()
}
