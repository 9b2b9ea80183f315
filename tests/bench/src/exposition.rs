//! What the monitor shows of ten thousand clusters: cost of a look's numbers, memory, one reading of the exposition,
//! and the lines to a statsd socket.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use clap::Args;
use rp_base::SystemClock;
use rp_config::MetricsDetail;
use rp_documents::ResourceId;
use rp_metrics::statsd::Socket;
use rp_metrics::{Registry, Statsd, StatsdOptions};
use rp_monitor::emit::{ClusterDims, EmitterParts, Emitters};
use rp_monitor::names::cluster;
use rp_monitor::sample::Sample;
use tests_kit::Folder;
use tokio::io::AsyncReadExt as _;
use tokio::net::UnixListener;

use crate::measure::resident;
use crate::report::{Part, row, table};

#[derive(Debug, Clone, Args)]
pub(crate) struct ExpositionScale {
    #[arg(long, default_value_t = 10_000)]
    pub(crate) clusters: usize,
    /// Series of each cluster
    #[arg(long, default_value_t = 150)]
    pub(crate) series: usize,
}

/// Gives the part's table.
pub(crate) async fn run(scale: &ExpositionScale) -> Result<Part> {
    let (clusters, series) = (scale.clusters, scale.series);
    let title = format!("What the monitor shows, {clusters} clusters with {series} series each");
    let mut part = Part::new("exposition", title.clone())?;
    table(&title, &["", "CPU", "memory", "size"]);
    let samples = samples(series);
    for detail in [MetricsDetail::All, MetricsDetail::Unhealthy, MetricsDetail::Fleet] {
        prometheus(detail, clusters, &samples, &mut part)?;
    }
    statsd(clusters, &samples, &mut part).await?;
    Ok(part)
}

/// As a cluster of some size has them: infos of nodes and machines, alerts, and some states.
fn samples(series: usize) -> Vec<Sample> {
    let sample = |at: usize| {
        let name = || Cow::Owned(format!("aro-cluster-x7k2p-worker-westeurope1-{at:05}"));
        match at % 10 {
            0..4 => Sample::one(&cluster::NODE_KUBELET, [name(), "worker".into(), "v1.31.9".into()]),
            4..8 => Sample::one(
                &cluster::MACHINE_PHASE,
                [
                    name(),
                    "Running".into(),
                    "false".into(),
                    "worker".into(),
                    "aro-cluster-x7k2p-worker".into(),
                ],
            ),
            8 => Sample::int(&cluster::ALERTS, 1, [format!("Alert{at}").into(), "warning".into()]),
            _ => Sample::one(
                &cluster::POD_CONDITIONS,
                [name(), "openshift-monitoring".into(), name(), "Ready".into(), "False".into()],
            ),
        }
    };
    (0..series).map(sample).collect()
}

fn dims(number: usize) -> Result<ClusterDims> {
    let name = format!("cluster-{number:05}");
    let id = ResourceId::from_parts("aaaaaaaa-0000-0000-0000-000000000001", "group", &name)?;
    Ok(ClusterDims::new(&id, "westeurope"))
}

fn emitters(cluster: Statsd, detail: MetricsDetail, registry: &Registry) -> Emitters {
    let (service, clock) = (Statsd::none(), Arc::new(SystemClock));
    Emitters::new(EmitterParts { service, cluster, clock, registry: registry.clone(), detail })
}

fn prometheus(detail: MetricsDetail, clusters: usize, samples: &[Sample], part: &mut Part) -> Result<()> {
    let own = std::process::id();
    let (before, start) = (resident(own)?, own_cpu());
    let registry = Registry::new();
    let emitters = emitters(Statsd::none(), detail, &registry);
    for number in 0..clusters {
        emitters.cluster(&dims(number)?, samples);
    }
    let took = own_cpu().saturating_sub(start);
    let held = resident(own)?.saturating_sub(before);
    let count = u32::try_from(clusters)?;
    let each = format!("{:.1?} a look", took / count);
    let held = format!("{:.1} KiB a cluster", held as f64 / 1024.0 / f64::from(count));
    let what = format!("{detail:?}: numbers of a look taken in");
    part.stated(&what, format_args!("{each}, {held}"));
    row(&[what, each, held, String::new()]);
    let (start, before) = (own_cpu(), resident(own)?);
    let (mut bytes, mut largest, mut most) = (0, 0, 0);
    for piece in registry.chunks() {
        (bytes, largest) = (bytes + piece.len(), largest.max(piece.len()));
        most = most.max(resident(own)?);
    }
    let took = own_cpu().saturating_sub(start);
    let more = format!("{:.1} MiB more", most.saturating_sub(before) as f64 / 1_048_576.0);
    let size = format!("{:.1} MiB in pieces of at most {} KiB", bytes as f64 / 1_048_576.0, largest / 1024);
    let what = format!("{detail:?}: read once");
    part.stated(&what, format_args!("{took:.1?}, {more}, {size}"));
    row(&[what, format!("{took:.1?}"), more, size]);
    Ok(())
}

/// CPU time of this process so far; the kernel counts in hundredths of seconds.
fn own_cpu() -> Duration {
    let seconds = rp_metrics::process::sample();
    let seconds = seconds.iter().find(|(name, _)| *name == "process_cpu_seconds_total");
    Duration::from_secs_f64(seconds.map_or(0.0, |(_, seconds)| *seconds))
}

async fn statsd(clusters: usize, samples: &[Sample], part: &mut Part) -> Result<()> {
    let folder = Folder::new("bench-exposition")?;
    let path = folder.path().join("statsd.socket");
    let listener = UnixListener::bind(&path)?;
    let reader = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await?;
        let (mut all, mut buffer) = (0, vec![0; 1 << 20]);
        loop {
            match stream.read(&mut buffer).await? {
                0 => return anyhow::Ok(all),
                read => all += read,
            }
        }
    });
    let registry = Registry::new();
    let options = StatsdOptions {
        emitter: "cluster",
        socket: Socket::Unix(path),
        account: "account".to_owned(),
        namespace: "BBM".to_owned(),
        dimensions: [("location", "westeurope"), ("Environment", "prod")]
            .map(|(name, text)| (name.to_owned(), text.to_owned()))
            .into(),
        queue: 65_536,
        silent_dial: false,
    };
    let emitters =
        emitters(Statsd::start(options, Arc::new(SystemClock), &registry), MetricsDetail::Fleet, &registry);
    let before = own_cpu();
    for number in 0..clusters {
        emitters.cluster(&dims(number)?, samples);
        // As fast as the socket takes them, and no faster: nothing is dropped.
        if number % 100 == 99 {
            emitters.flush().await;
        }
    }
    emitters.flush().await;
    let took = own_cpu().saturating_sub(before);
    drop(emitters);
    let bytes = reader.await?.context("the reader")?;
    let count = u32::try_from(clusters)?;
    let what = "statsd lines and series of a look, with the reader".to_owned();
    let each = format!("{:.1?} a look", took / count);
    part.stated(&what, &each);
    row(&[what, each, String::new(), format!("{:.1} MiB", bytes as f64 / 1_048_576.0)]);
    Ok(())
}
