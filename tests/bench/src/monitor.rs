//! The monitor beside client-go, on the committed fixture (`docs/performance.md`).

mod fake_clusters;
mod fixture;
mod looks;

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use serde_json::Value;
use tests_kit::{Process, part, until};

pub(crate) use self::fake_clusters::run as fake_clusters;
pub(crate) use self::looks::{LookArgs, run as looks};
use crate::measure::{Spread, cpu, resident};
use crate::ours::Certificates;
use crate::peers;
use crate::report::{self, Part};

/// Looks of 120 CPU seconds, at least.
const AIM_LOOKS: f64 = 10_000.0;
/// CPU of a look beside client-go's.
const AIM_RATIO: f64 = 0.3;
const PATIENCE: Duration = Duration::from_secs(3600);

/// How much to do.
#[derive(Debug, Clone, Args)]
pub(crate) struct MonitorScale {
    /// Rounds of everything that is compared
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Looks of one round, over 50 clusters
    #[arg(long, default_value_t = 1000)]
    looks: u64,
    /// Most clusters that are looked at every minute
    #[arg(long, default_value_t = 10_000)]
    clusters: usize,
    /// Minutes of that
    #[arg(long, default_value_t = 3)]
    minutes: u32,
    /// Connections to a cluster that stay open between looks
    #[arg(long, default_value_t = 1)]
    keep: usize,
}

impl Default for MonitorScale {
    fn default() -> Self {
        Self { rounds: 3, looks: 1000, clusters: 10_000, minutes: 3, keep: 1 }
    }
}

/// The far side, and where the numbers go.
struct World {
    certificates: Certificates,
    far: Process,
    address: SocketAddr,
    statsd: String,
    /// Programs measured so far.
    runs: AtomicU32,
}

impl World {
    async fn start() -> Result<Self> {
        let certificates = Certificates::new()?;
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["monitor-far", "--cert", &certificates.cert, "--key", &certificates.key]);
        let far = Process::start(&certificates.folder, "many-clusters", &mut command)?;
        let address = peers::listening(&far).await?;
        // Datagrams are taken and forgotten here, so that this costs neither side.
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        let statsd = format!("udp:{}", socket.local_addr()?);
        std::thread::spawn(move || {
            let mut datagram = [0u8; 65536];
            while socket.recv(&mut datagram).is_ok() {}
        });
        Ok(Self { certificates, far, address, statsd, runs: AtomicU32::new(0) })
    }

    fn url(&self) -> String {
        format!("https://localhost:{}", self.address.port())
    }

    fn ca(&self) -> Result<String> {
        let path = self.certificates.folder.write("far-ca.pem", &self.certificates.ca_pem)?;
        Ok(path.display().to_string())
    }

    /// What the far side counted since its start.
    fn counts(&self) -> Result<Value> {
        let output = Command::new(part("curl")?)
            .args(["-sS", "--cacert", &self.ca()?, &format!("{}/counts", self.url())])
            .output()?;
        ensure!(output.status.success(), "curl: {}", String::from_utf8_lossy(&output.stderr));
        Ok(serde_json::from_slice(&output.stdout)?)
    }

    /// Runs a program to its end; its last line is JSON.
    async fn measured(&self, name: &str, command: &mut Command) -> Result<(Value, f64)> {
        let before = cpu(self.far.pid())?;
        // A log of its own: in a shared one the last run's answer would be taken for this one's.
        let run = self.runs.fetch_add(1, Ordering::Relaxed);
        let process = Process::start(&self.certificates.folder, &format!("{name}-{run}"), command)?;
        let said = until(&format!("{name} is done"), PATIENCE, || async {
            let log = process.log();
            let line = log.lines().rev().find(|line| line.starts_with('{')).context("still at work")?;
            Ok(serde_json::from_str::<Value>(line)?)
        })
        .await?;
        Ok((said, (cpu(self.far.pid())? - before).as_secs_f64()))
    }

    async fn ours(&self, clusters: usize, keep: usize, what: [&str; 2]) -> Result<(Value, f64)> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["monitor-looks", "--url", &self.url(), "--ca", &self.ca()?, "--statsd", &self.statsd]);
        command.args(["--clusters", &clusters.to_string(), "--keep", &keep.to_string()]).args(what);
        self.measured("looks", &mut command).await
    }

    async fn peer(&self, paths: &str, looks: u64, gzip: bool) -> Result<(Value, f64)> {
        let mut command = Command::new(part("clientgo")?);
        command.args(["--url", &self.url(), "--ca", &self.ca()?, "--token", "bench", "--paths", paths]);
        command.args(["--clusters", "50", "--looks", &looks.to_string(), &format!("--gzip={gzip}")]);
        self.measured("clientgo", &mut command).await
    }
}

fn float(value: &Value, name: &str) -> Result<f64> {
    value[name].as_f64().with_context(|| format!("{name} in {value}"))
}

/// Milliseconds of CPU for one look.
fn per_look(value: &Value) -> Result<f64> {
    Ok(float(value, "cpu_seconds")? / float(value, "looks")? * 1000.0)
}

/// Gives the part's table.
pub(crate) async fn run(scale: &MonitorScale) -> Result<Part> {
    let mut part = Part::new("monitor", "The monitor's looks, beside client-go")?;
    let world = World::start().await?;
    compare(&world, scale, &mut part).await?;
    fleet(scale, &mut part).await?;
    Ok(part)
}

/// CPU of a look, ours and client-go's in turn.
async fn compare(world: &World, scale: &MonitorScale, part: &mut Part) -> Result<()> {
    // The first looks tell what is read; it is what the peer reads.
    world.ours(50, scale.keep, ["--burst", "100"]).await?;
    let counts = world.counts()?;
    let paths: Vec<&str> =
        counts["paths"].as_array().context("paths")?.iter().filter_map(Value::as_str).collect();
    ensure!(paths.len() > 20, "only {} paths were read: {paths:?}", paths.len());
    let file = world.certificates.folder.write("paths", paths.join("\n"))?.display().to_string();
    let names = ["aro", "client-go, as it is", "client-go, not compressed"];
    let (mut ours, mut far) = ([Vec::new(), Vec::new(), Vec::new()], [Vec::new(), Vec::new(), Vec::new()]);
    #[expect(clippy::cast_precision_loss, reason = "a count for people")]
    for round in 0..scale.rounds {
        report::progress(format_args!("monitor: round {}", round + 1));
        for at in 0..names.len() {
            let looks = scale.looks.to_string();
            let (said, theirs) = match at {
                0 => world.ours(50, scale.keep, ["--burst", &looks]).await?,
                at => world.peer(&file, scale.looks, at == 1).await?,
            };
            ours[at].push(per_look(&said)?);
            far[at].push(theirs / scale.looks as f64 * 1000.0);
        }
    }
    report::table(
        &format!("CPU of one look: {} reads, and for aro the alerts by port-forward", paths.len()),
        &[
            "",
            "least, ms",
            "median, ms",
            "looks in 120 CPU s",
            "beside the better client-go",
            "aim",
            "",
            "far side, ms",
        ],
    );
    let medians = ours
        .iter()
        .map(|each| Spread::from_samples(each).map(|spread| spread.median))
        .collect::<Result<Vec<_>>>()?;
    let peer = medians.iter().skip(1).copied().fold(f64::MAX, f64::min);
    for (at, name) in names.iter().enumerate() {
        let spread = Spread::from_samples(&ours[at])?;
        let ratio = spread.median / peer;
        let mine = at == 0;
        if mine {
            part.least("looks in 120 CPU seconds", 120_000.0 / spread.median, AIM_LOOKS, "");
            part.most("CPU of a look ÷ that of the better client-go", ratio, AIM_RATIO, "×");
        }
        part.stated(format_args!("CPU of a look, {name}"), format_args!("{:.2} ms", spread.median));
        report::row(&[
            (*name).to_owned(),
            format!("{:.2}", spread.least),
            format!("{:.2}", spread.median),
            format!("{:.0}", 120_000.0 / spread.median),
            if mine { format!("{ratio:.2} ×") } else { String::new() },
            if mine { format!("≥ {AIM_LOOKS:.0}; ≤ {AIM_RATIO} ×") } else { String::new() },
            if mine {
                let looks = report::verdict(spread.median, 120_000.0 / AIM_LOOKS);
                format!("{looks}; {}", report::verdict(ratio, AIM_RATIO))
            } else {
                String::new()
            },
            format!("{:.2}", Spread::from_samples(&far[at])?.median),
        ]);
    }
    Ok(())
}

/// Every cluster once a minute, at three sizes of the fleet.
async fn fleet(scale: &MonitorScale, part: &mut Part) -> Result<()> {
    report::table(
        &format!("Every cluster looked at once a minute, {} connection(s) kept to each", scale.keep),
        &[
            "clusters",
            "minutes",
            "looks",
            "failed",
            "missed",
            "longest pause, s",
            "CPU a look, ms",
            "a look takes, ms",
            "resident, MiB",
            "a cluster, KiB",
            "of it known before a look, KiB",
            "far side's CPU, s",
            "connections made",
        ],
    );
    for clusters in [scale.clusters / 100, scale.clusters / 10, scale.clusters] {
        report::progress(format_args!("monitor: {clusters} clusters"));
        // A far side of its own: its counts are of this fleet alone.
        let world = World::start().await?;
        let minutes = if clusters == scale.clusters { scale.minutes } else { 2.min(scale.minutes) };
        let (said, far) = world.ours(clusters, scale.keep, ["--minutes", &minutes.to_string()]).await?;
        let counts = world.counts()?;
        let (empty, all) = (float(&said, "resident_empty")?, float(&said, "resident")?);
        #[expect(clippy::cast_precision_loss, reason = "a count for people")]
        let each = |bytes: f64| bytes / 1024.0 / clusters as f64;
        let fleet = format!("{clusters} clusters, one look a minute each, {minutes} min");
        let lost = float(&said, "missed")? + float(&said, "failed")?;
        part.most(format_args!("{fleet}: looks missed or failed"), lost, 0.0, "");
        if clusters == scale.clusters {
            part.stated(
                "longest pause between two looks; CPU of a look",
                format_args!("{:.1} s; {:.2} ms", float(&counts, "longest_seconds")?, per_look(&said)?),
            );
            part.stated(
                "memory with all of them",
                format_args!("{:.0} MiB, {:.1} KiB a cluster", all / 1_048_576.0, each(all - empty)),
            );
        }
        report::row(&[
            clusters.to_string(),
            minutes.to_string(),
            said["looks"].to_string(),
            said["failed"].to_string(),
            said["missed"].to_string(),
            format!("{:.1}", float(&counts, "longest_seconds")?),
            format!("{:.2}", per_look(&said)?),
            format!("{:.0}", float(&said, "mean_look_micros")? / 1000.0),
            format!("{:.0}", all / 1_048_576.0),
            format!("{:.1}", each(all - empty)),
            format!("{:.1}", each(float(&said, "resident_known")? - empty)),
            format!("{far:.0}"),
            counts["connections"].to_string(),
        ]);
        ensure!(resident(world.far.pid())? > 0, "the far side is there");
    }
    Ok(())
}
