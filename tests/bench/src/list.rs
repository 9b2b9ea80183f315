//! The list of 10,000 clusters: first byte, size and search, on SQLite and on PostgreSQL, and what the index costs.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use tests_kit::{Aro, AroOptions, Folder, Postgres, Session};

use crate::measure::{percentile, resident};
use crate::report::{line, progress, row, table, verdict};

/// How much to do.
#[derive(Debug, Clone, Args)]
pub(crate) struct ListScale {
    /// Clusters in the fleet
    #[arg(long, default_value_t = 10_000)]
    pub(crate) clusters: u32,
    /// Requests of each kind
    #[arg(long, default_value_t = 200)]
    pub(crate) requests: usize,
}

/// What is asked, and the aim in milliseconds.
const ASKED: [(&str, &str, f64); 8] = [
    ("page, worst first", "/", 20.0),
    ("page by last look", "/?sort=looked&columns=state,looked,operators,alerts", 20.0),
    ("search as one types", "/?q=prod", 50.0),
    ("search of two words", "/?q=weu+4.18", 50.0),
    ("search without a match", "/?q=no-such-cluster", 50.0),
    ("degraded operator, version range", "/?operator=any&version=4.14..4.18", 50.0),
    ("JSON, 500 rows", "/api/v1/clusters?limit=500", 50.0),
    ("palette", "/api/v1/jump?q=prod+nod", 50.0),
];

/// Both stores; the list is served from the same index, which follows either.
pub(crate) async fn run(scale: &ListScale) -> Result<()> {
    let small = memory(100).await?;
    let folder = Folder::new("list")?;
    let postgres = Postgres::start().await?;
    folder.write("database", postgres.database().await?)?;
    let url = folder.path().join("database").display().to_string();
    let on_postgres = [("ARO_STORE__KIND", "postgres"), ("ARO_STORE__URL_FILE", &url)];
    let on_postgres = on_postgres.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    for (store, env) in [("SQLite", Vec::new()), ("PostgreSQL", on_postgres)] {
        progress(format_args!("{} clusters on {store}", scale.clusters));
        let aro = Aro::start(AroOptions { clusters: scale.clusters, env, ..AroOptions::default() }).await?;
        measured(&aro, store, scale).await?;
        let large = resident(aro.dev.pid)?;
        let more = large.saturating_sub(small) / u64::from(scale.clusters.saturating_sub(100).max(1));
        line(format_args!(
            "\nMemory on {store}: {} MiB with {} clusters ({} MiB with 100 on SQLite): {more} bytes a cluster, of which the simulated region has its share.",
            large / 1_048_576,
            scale.clusters,
            small / 1_048_576,
        ));
    }
    Ok(())
}

async fn measured(aro: &Aro, store: &str, scale: &ListScale) -> Result<()> {
    let session = aro.session("sre").await?;
    let of = session.get("/api/v1/clusters?limit=1").await?.ok()?.json()?["of"].as_u64().context("of")?;
    ensure!(of >= u64::from(scale.clusters), "{of} clusters");
    let title = format!("The list of {} clusters, {store}", scale.clusters);
    table(&title, &["request", "first byte, median ms", "p99 ms", "KB gzip", "aim", ""]);
    for (what, path, aim) in ASKED {
        let (times, bytes) = times(&session, path, scale.requests).await?;
        row(&[
            what.to_owned(),
            format!("{:.1}", percentile(&times, 0.5)),
            format!("{:.1}", percentile(&times, 0.99)),
            format!("{:.1}", kilobytes(bytes)),
            format!("{aim:.0} ms, 60 KB"),
            verdict(percentile(&times, 0.5), aim),
        ]);
    }
    Ok(())
}

async fn memory(clusters: u32) -> Result<u64> {
    let aro = Aro::start(AroOptions { clusters, ..AroOptions::default() }).await?;
    resident(aro.dev.pid)
}

#[expect(clippy::cast_precision_loss, reason = "sizes of pages")]
fn kilobytes(bytes: usize) -> f64 {
    bytes as f64 / 1000.0
}

/// From the request to the head of the answer, sorted; and the size of one answer as it goes over the wire.
async fn times(session: &Session, path: &str, requests: usize) -> Result<(Vec<Duration>, usize)> {
    let mut times = Vec::with_capacity(requests);
    let mut bytes = 0;
    for at in 0..requests + 10 {
        let started = Instant::now();
        let (headed, size) = session.timed(path).await?;
        // The first warm up what is warm in a process that has served before.
        if at >= 10 {
            times.push(headed.duration_since(started));
        }
        bytes = size;
    }
    times.sort_unstable();
    Ok((times, bytes))
}
