//! Workers of the resource provider beside a well-known job queue, on one PostgreSQL that keeps its promises (fsync on), in
//! one run: trivial operations, pick-up latency of an idle queue, and what an operation costs among many documents.
//!
//! One of our operations is a whole one: claimed by a fenced lease, its asynchronous operation and its log written, the
//! cluster's document ended. A job of the peer is claimed and removed.

mod fleet;

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use serde::Deserialize;
use tests_kit::{Postgres, part};
use tokio::time::Instant;

use crate::measure::{Spread, percentile};
use crate::report::{Part, progress, row, table, verdict};
use fleet::{Fleet, Workers};

/// Milliseconds: the aim for an idle queue.
const PICKUP: f64 = 20.0;
/// Of the peer's jobs.
const AIM_RATE: f64 = 1.0;

#[derive(Debug, Clone, Args)]
pub(crate) struct DispatchScale {
    /// Operations, and jobs of the peer, of one round
    #[arg(long, default_value_t = 5000)]
    pub(crate) operations: usize,
    /// Rounds of each
    #[arg(long, default_value_t = 3)]
    pub(crate) rounds: usize,
    /// At once
    #[arg(long, default_value_t = 100)]
    pub(crate) concurrency: usize,
    /// Operations that come one by one
    #[arg(long, default_value_t = 200)]
    pub(crate) singles: usize,
    /// Most documents of the growth table
    #[arg(long, default_value_t = 100_000)]
    pub(crate) documents: usize,
}

impl Default for DispatchScale {
    fn default() -> Self {
        Self { operations: 5000, rounds: 3, concurrency: 100, singles: 200, documents: 100_000 }
    }
}

/// How graphile-worker is set: as it is, and with the options of its own page on performance.
const PEERS: [(&str, &str); 2] = [("graphile-worker", "plain"), ("graphile-worker in batches", "batches")];

/// What the peer's script prints.
#[derive(Debug, Deserialize)]
struct Peer {
    seconds: f64,
    /// Milliseconds.
    latencies: Vec<f64>,
}

/// Rounds of one program.
#[derive(Debug, Default)]
struct Rounds {
    /// Operations or jobs a second.
    rates: Vec<f64>,
    /// Milliseconds.
    latencies: Vec<f64>,
}

/// Gives the part's table.
pub(crate) async fn run(scale: &DispatchScale) -> Result<Part> {
    ensure!(scale.operations > 0 && scale.rounds > 0 && scale.concurrency > 1, "nothing to do");
    let settings = ["fsync=on", "full_page_writes=on", "synchronous_commit=on", "shared_buffers=256MB"];
    let postgres = Postgres::start_with(&settings, None).await?;
    let title = format!("{} trivial operations, {} at once", scale.operations, scale.concurrency);
    let mut part = Part::new("dispatch", title)?;
    let (mut ours, mut theirs) = (Rounds::default(), PEERS.map(|_| Rounds::default()));
    for round in 0..scale.rounds {
        for ((name, mode), rounds) in PEERS.iter().zip(&mut theirs) {
            progress(format_args!("round {round}: {name}"));
            let peer = peer(&postgres, scale, mode).await?;
            rounds.rates.push(rate(scale.operations, peer.seconds));
            rounds.latencies.extend(peer.latencies);
        }
        progress(format_args!("round {round}: our workers"));
        let fleet = Fleet::new(&postgres.database().await?).await?;
        ours.rates.push(rate(scale.operations, queued(&fleet, scale.operations, scale).await?));
        ours.latencies.extend(one_by_one(&fleet, scale).await?);
        fleet.close().await;
    }
    rates(scale, &ours, &theirs, &mut part)?;
    latencies(ours, theirs, &mut part);
    growth(&postgres, scale, &mut part).await?;
    Ok(part)
}

/// Seconds until so many operations, queued beforehand, have ended.
async fn queued(fleet: &Fleet, operations: usize, scale: &DispatchScale) -> Result<f64> {
    fleet.add("queued", operations, "Updating").await?;
    let began = Instant::now();
    let workers = Workers::start(fleet, scale.concurrency);
    workers.wait_until_ended(operations).await?;
    let took = began.elapsed().as_secs_f64();
    workers.stop().await?;
    let left = fleet.unfinished("queued", operations).await?;
    ensure!(left == 0, "{left} operations were not ended");
    Ok(took)
}

/// From each operation's write to the start of its work, milliseconds, one at a time.
async fn one_by_one(fleet: &Fleet, scale: &DispatchScale) -> Result<Vec<f64>> {
    let workers = Workers::start(fleet, scale.concurrency);
    let mut all = Vec::new();
    for number in 0..scale.singles {
        tokio::time::sleep(Duration::from_millis(20)).await;
        let began = Instant::now();
        fleet.add(&format!("single-{number}"), 1, "Updating").await?;
        all.push(workers.begun(number + 1).await?.duration_since(began).as_secs_f64() * 1000.0);
    }
    workers.wait_until_ended(scale.singles).await?;
    workers.stop().await?;
    Ok(all)
}

async fn peer(postgres: &Postgres, scale: &DispatchScale, mode: &str) -> Result<Peer> {
    let url = postgres.database().await?;
    let mut node = tokio::process::Command::new(part("node")?);
    node.arg(part("graphile")?).arg(&url).kill_on_drop(true);
    node.args([scale.operations, scale.concurrency, scale.singles].map(|number| number.to_string()));
    node.arg(mode);
    let out = node.output().await?;
    ensure!(out.status.success(), "the peer: {}", String::from_utf8_lossy(&out.stderr));
    serde_json::from_slice(&out.stdout).context("the peer's figures")
}

/// What an operation costs among so many documents at rest, with workers that follow them all.
async fn growth(postgres: &Postgres, scale: &DispatchScale, part: &mut Part) -> Result<()> {
    table(
        "Operations among documents at rest",
        &["documents", "operations/s", "ms per operation", "start-up, s"],
    );
    for documents in [10, 1000, 100_000].into_iter().filter(|count| *count <= scale.documents) {
        progress(format_args!("{documents} documents"));
        let fleet = Fleet::new(&postgres.database().await?).await?;
        fleet.add("rest", documents, "Succeeded").await?;
        postgres.sql(fleet.database(), "ANALYZE").await?;
        let began = Instant::now();
        let workers = Workers::start(&fleet, scale.concurrency);
        // Picked up when everything before it was read.
        fleet.add("first", 1, "Updating").await?;
        workers.wait_until_ended(1).await?;
        let start_up = began.elapsed().as_secs_f64();
        let began = Instant::now();
        fleet.add("work", scale.operations, "Updating").await?;
        workers.wait_until_ended(1 + scale.operations).await?;
        let took = began.elapsed().as_secs_f64();
        workers.stop().await?;
        fleet.close().await;
        let each = took * 1000.0 / count(scale.operations);
        part.stated(
            format_args!("an operation among {documents} documents at rest; start-up"),
            format_args!("{each:.2} ms; {start_up:.2} s"),
        );
        row(&[
            documents.to_string(),
            format!("{:.0}", rate(scale.operations, took)),
            format!("{each:.2}"),
            format!("{start_up:.2}"),
        ]);
    }
    Ok(())
}

fn rates(scale: &DispatchScale, ours: &Rounds, theirs: &[Rounds], part: &mut Part) -> Result<()> {
    table(
        &format!("{} trivial operations, {} at once", scale.operations, scale.concurrency),
        &["", "median /s", "least /s", "ours ÷ its (medians)", "aim", ""],
    );
    let ours = Spread::from_samples(&ours.rates)?;
    let cells = |name: &str, spread: Spread| {
        vec![name.to_owned(), format!("{:.0}", spread.median), format!("{:.0}", spread.least)]
    };
    part.stated("operations of our workers", format_args!("{:.0} /s", ours.median));
    let mut own = cells("operations of our workers", ours);
    own.extend([String::new(), String::new(), String::new()]);
    row(&own);
    for ((name, _), rounds) in PEERS.iter().zip(theirs) {
        let its = Spread::from_samples(&rounds.rates)?;
        let ratio = ours.median / its.median;
        let what = format!("operations of our workers ÷ jobs of {name} ({:.0} /s)", its.median);
        part.least(what, ratio, AIM_RATE, "×");
        let mut cells = cells(&format!("jobs of {name}"), its);
        // Less is better there.
        cells.extend([format!("{ratio:.2}"), format!("≥ {AIM_RATE}"), verdict(AIM_RATE, ratio)]);
        row(&cells);
    }
    Ok(())
}

fn latencies(ours: Rounds, theirs: [Rounds; 2], part: &mut Part) {
    table("From the write to the start of the work, idle queue", &["", "p50 ms", "p99 ms"]);
    let names = ["our workers"].into_iter().chain(PEERS.map(|(name, _)| name));
    for (at, (name, rounds)) in names.zip(std::iter::once(ours).chain(theirs)).enumerate() {
        let mut times: Vec<Duration> =
            rounds.latencies.iter().map(|millis| Duration::from_secs_f64(millis / 1000.0)).collect();
        times.sort_unstable();
        let (half, most) = (percentile(&times, 0.5), percentile(&times, 0.99));
        row(&[name.to_owned(), format!("{half:.1}"), format!("{most:.1}")]);
        if at == 0 {
            part.most("from the write to the start of the work, idle queue, p50", half, PICKUP, "ms");
            part.stated("the same, p99", format_args!("{most:.1} ms"));
        } else {
            part.stated(
                format_args!("the same of {name}, p50 and p99"),
                format_args!("{half:.1}, {most:.1} ms"),
            );
        }
    }
}

fn rate(operations: usize, seconds: f64) -> f64 {
    count(operations) / seconds
}

#[expect(clippy::cast_precision_loss, reason = "numbers of operations")]
fn count(operations: usize) -> f64 {
    operations as f64
}
