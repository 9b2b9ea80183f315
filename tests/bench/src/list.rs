//! The list of 10,000 clusters: first byte, size and search, on SQLite and on PostgreSQL, and what the index costs.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use tests_kit::{Aro, AroOptions, Folder, Postgres, Session};

use crate::measure::{percentile, resident};
use crate::report::{Part, line, progress, row, table, verdict};

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

/// Of a page as it goes over the wire.
const PAGE_KB: f64 = 60.0;

/// What is asked, and the aim in milliseconds.
const ASKED: [(&str, &str, u32); 8] = [
    ("page, worst first", "/", 20),
    ("page by last look", "/?sort=looked&columns=state,looked,operators,alerts", 20),
    ("search as one types", "/?q=prod", 50),
    ("search of two words", "/?q=weu+4.18", 50),
    ("search without a match", "/?q=no-such-cluster", 50),
    ("degraded operator, version range", "/?operator=any&version=4.14..4.18", 50),
    ("JSON, 500 rows", "/api/v1/clusters?limit=500", 50),
    ("palette", "/api/v1/jump?q=prod+nod", 50),
];

/// Both stores; the list is served from the same index, which follows either.
pub(crate) async fn run(scale: &ListScale) -> Result<Part> {
    let mut part = Part::new("list", format!("The list of {} clusters", scale.clusters))?;
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
        measured(&aro, store, scale, &mut part).await?;
        let large = resident(aro.dev.pid)?;
        let more = large.saturating_sub(small) / u64::from(scale.clusters.saturating_sub(100).max(1));
        line(format_args!(
            "\nMemory on {store}: {} MiB with {} clusters ({} MiB with 100 on SQLite): {more} bytes a cluster, of which the simulated region has its share.",
            large / 1_048_576,
            scale.clusters,
            small / 1_048_576,
        ));
        part.stated(format_args!("memory of a cluster, {store}"), format_args!("{more} bytes"));
    }
    Ok(part)
}

async fn measured(aro: &Aro, store: &str, scale: &ListScale, part: &mut Part) -> Result<()> {
    let session = aro.session("sre").await?;
    let of = session.get("/api/v1/clusters?limit=1").await?.ok()?.json()?["of"].as_u64().context("of")?;
    ensure!(of >= u64::from(scale.clusters), "{of} clusters");
    let title = format!("The list of {} clusters, {store}", scale.clusters);
    table(&title, &["request", "first byte, median ms", "p99 ms", "KB gzip", "aim", ""]);
    let (mut pages, mut slowest) = (0, Vec::<(&str, f64, u32)>::new());
    for (what, path, aim) in ASKED {
        let (times, bytes) = times(&session, path, scale.requests).await?;
        let median = percentile(&times, 0.5);
        match slowest.iter_mut().find(|slow| slow.2 == aim) {
            Some(slow) if slow.1 >= median => {}
            Some(slow) => (slow.0, slow.1) = (what, median),
            None => slowest.push((what, median, aim)),
        }
        if !path.starts_with("/api/") {
            pages = pages.max(bytes);
        }
        row(&[
            what.to_owned(),
            format!("{median:.1}"),
            format!("{:.1}", percentile(&times, 0.99)),
            format!("{:.1}", kilobytes(bytes)),
            format!("{aim} ms, {PAGE_KB:.0} KB"),
            verdict(median, aim.into()),
        ]);
    }
    for (what, median, aim) in slowest {
        part.most(format_args!("first byte of the slowest ({what}), {store}"), median, aim.into(), "ms");
    }
    part.most(format_args!("the largest page over the wire, {store}"), kilobytes(pages), PAGE_KB, "KB");
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
