//! The resource provider's API beside kube-apiserver with etcd, which stores a custom resource of the same size: PUT and GET a
//! second, all of them waiting for the disk. Then the list of many clusters, memory under load, idle connections.

mod kubernetes;
mod load;
mod ours;

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use clap::Args;

use crate::measure::{Spread, percentile, resident};
use crate::report::{Part, line, progress, row, table, verdict};
use load::{Load, RequestKind, Target};
use ours::Provider;

/// Of the peer's PUT and GET a second.
const AIM_PUT: f64 = 2.0;
const AIM_GET: f64 = 3.0;
/// Milliseconds of a page of the list.
const AIM_PAGE: f64 = 50.0;

/// How much to do.
#[derive(Debug, Clone, Args)]
pub(crate) struct ProviderScale {
    /// Rounds of everything that is compared; the table has the median
    #[arg(long, default_value_t = 3)]
    pub(crate) rounds: usize,
    /// Length of one round, seconds
    #[arg(long, default_value_t = 6)]
    pub(crate) seconds: u64,
    /// Connections of a round
    #[arg(long, default_value_t = 32)]
    pub(crate) connections: usize,
    /// Clusters of the list
    #[arg(long, default_value_t = 10_000)]
    pub(crate) clusters: usize,
    /// Connections that stay open and say nothing
    #[arg(long, default_value_t = 2000)]
    pub(crate) idle: usize,
}

/// One program under load, with what its rounds gave.
struct Subject {
    target: Box<dyn Target>,
    pid: u32,
    puts: Vec<f64>,
    gets: Vec<f64>,
    /// Of the last round, sorted.
    put_times: Vec<Duration>,
    get_times: Vec<Duration>,
    /// Resident bytes after each round.
    memory: Vec<u64>,
}

/// Gives the part's table.
pub(crate) async fn run(scale: &ProviderScale) -> Result<Part> {
    ensure!(scale.rounds > 0 && scale.connections > 0, "nothing to do");
    let title = format!("PUT and GET of a cluster, TLS, fsync on, {} connections", scale.connections);
    let mut part = Part::new("provider", title)?;
    progress("starting kube-apiserver with etcd, and ours on SQLite and on PostgreSQL");
    let peer = kubernetes::Peer::start().await?;
    let sqlite = Provider::start(None).await?;
    let postgres = ours::postgres().await?;
    let on_postgres = Provider::start(Some(&postgres)).await?;
    let mut subjects = vec![
        Subject::new(Box::new(peer.target()?), peer.pid()),
        Subject::new(Box::new(sqlite.target()?), sqlite.pid()),
        Subject::new(Box::new(on_postgres.target()?), on_postgres.pid()),
    ];
    for subject in &subjects {
        // Connections and caches; and there is something to get.
        Load { connections: 4, length: Duration::from_millis(500) }
            .run(&*subject.target, RequestKind::Put)
            .await?;
    }
    for round in 1..=scale.rounds {
        for subject in &mut subjects {
            subject.round(round, scale).await?;
        }
    }
    compared(&subjects, &mut part)?;
    for (subject, provider) in subjects.iter().skip(1).zip([&sqlite, &on_postgres]) {
        listed(subject, provider, scale, &mut part).await?;
        idle(subject, scale.idle, &mut part).await?;
    }
    Ok(part)
}

impl Subject {
    fn new(target: Box<dyn Target>, pid: u32) -> Self {
        let (puts, gets, memory) = (Vec::new(), Vec::new(), Vec::new());
        Self { target, pid, puts, gets, put_times: Vec::new(), get_times: Vec::new(), memory }
    }

    async fn round(&mut self, round: usize, scale: &ProviderScale) -> Result<()> {
        let load = Load { connections: scale.connections, length: Duration::from_secs(scale.seconds) };
        let (rate, times) = load.run(&*self.target, RequestKind::Put).await?;
        self.puts.push(rate);
        self.put_times = times;
        let (rate, times) = load.run(&*self.target, RequestKind::Get).await?;
        self.gets.push(rate);
        self.get_times = times;
        self.memory.push(resident(self.pid)?);
        let (put, get) = (self.puts.last().copied(), self.gets.last().copied());
        progress(format_args!(
            "round {round}: {:<24} {:7.0} PUT/s {:7.0} GET/s",
            self.target.name(),
            put.unwrap_or_default(),
            get.unwrap_or_default()
        ));
        Ok(())
    }
}

fn compared(subjects: &[Subject], part: &mut Part) -> Result<()> {
    let title = "PUT and GET of a cluster, TLS, fsync on";
    let columns = ["server", "PUT/s", "p99 ms", "GET/s", "p99 ms", "PUT ÷ its", "GET ÷ its", "aims 2 and 3"];
    table(title, &columns);
    let peer = subjects.first().context("the peer")?;
    let (its_puts, its_gets) =
        (Spread::from_samples(&peer.puts)?.median, Spread::from_samples(&peer.gets)?.median);
    for (at, subject) in subjects.iter().enumerate() {
        let (puts, gets) =
            (Spread::from_samples(&subject.puts)?.median, Spread::from_samples(&subject.gets)?.median);
        let name = subject.target.name();
        let slow = [&subject.put_times, &subject.get_times].map(|times| percentile(times, 0.99));
        let mut cells = vec![
            name.to_owned(),
            format!("{puts:.0}"),
            format!("{:.1}", slow[0]),
            format!("{gets:.0}"),
            format!("{:.1}", slow[1]),
        ];
        part.stated(
            format_args!("{name}: PUT and GET a second"),
            format_args!("{puts:.0}, {gets:.0} (p99 {:.0}, {:.0} ms)", slow[0], slow[1]),
        );
        if at > 0 {
            part.least(format_args!("{name}: PUT ÷ kube-apiserver's"), puts / its_puts, AIM_PUT, "×");
            part.least(format_args!("{name}: GET ÷ kube-apiserver's"), gets / its_gets, AIM_GET, "×");
        }
        cells.extend(match at {
            0 => Default::default(),
            _ => {
                // Less is better there: the aim against the measured share.
                let met = |ours: f64, its: f64, aim: f64| verdict(aim * its, ours);
                let told = format!("{}, {}", met(puts, its_puts, AIM_PUT), met(gets, its_gets, AIM_GET));
                [format!("{:.2}", puts / its_puts), format!("{:.2}", gets / its_gets), told]
            }
        });
        row(&cells);
    }
    for subject in subjects {
        let shown: Vec<String> = subject.memory.iter().map(|bytes| (bytes / 1_048_576).to_string()).collect();
        line(format_args!(
            "\n{}: MiB resident after each round: {}.",
            subject.target.name(),
            shown.join(", ")
        ));
    }
    Ok(())
}

/// Fills one subscription and walks its list.
async fn listed(
    subject: &Subject,
    provider: &Provider,
    scale: &ProviderScale,
    part: &mut Part,
) -> Result<()> {
    let name = subject.target.name();
    let load = Load { connections: scale.connections, length: Duration::from_millis(500) };
    let filling = provider.filling(scale.clusters)?;
    progress(format_args!("{name}: filling a subscription with {} clusters", scale.clusters));
    while filling.made() < scale.clusters {
        load.run(&filling, RequestKind::Put).await?;
    }
    let before = resident(subject.pid)?;
    let times = provider.pages(scale.clusters).await?;
    let title = format!("LIST of {} clusters in pages, {name}", scale.clusters);
    table(&title, &["pages", "median ms", "p99 ms", "aim", "", "MiB before, after"]);
    let worst = percentile(&times, 0.99);
    part.most(format_args!("{name}: a page of a list of {}, p99", scale.clusters), worst, AIM_PAGE, "ms");
    row(&[
        times.len().to_string(),
        format!("{:.1}", percentile(&times, 0.5)),
        format!("{worst:.1}"),
        format!("{AIM_PAGE} ms"),
        verdict(worst, AIM_PAGE),
        format!("{}, {}", before / 1_048_576, resident(subject.pid)? / 1_048_576),
    ]);
    Ok(())
}

/// Connections that were used once and stay.
async fn idle(subject: &Subject, count: usize, part: &mut Part) -> Result<()> {
    let before = resident(subject.pid)?;
    let open = load::opened(&*subject.target, count).await?;
    let after = resident(subject.pid)?;
    let each = after.saturating_sub(before) / u64::try_from(count.max(1))?;
    part.stated(
        format_args!("{}: an idle keep-alive connection (of {count})", subject.target.name()),
        format_args!("{:.1} KiB", kibibytes(each)),
    );
    line(format_args!(
        "\n{}: {} idle keep-alive connections: {} MiB before, {} MiB with them, {:.1} KiB each.",
        subject.target.name(),
        open.len(),
        before / 1_048_576,
        after / 1_048_576,
        kibibytes(each)
    ));
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "sizes of connections")]
fn kibibytes(bytes: u64) -> f64 {
    bytes as f64 / 1024.0
}
