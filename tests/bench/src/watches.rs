//! Memory of idle watches: resident size of the proxy before and with them.

use std::net::SocketAddr;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use serde_json::Value;
use tests_kit::{Process, until};

use crate::Scale;
use crate::measure::{cpu, resident};
use crate::ours::{Certificates, Ours};
use crate::peers;
use crate::report::{self, Part};

const AIM_KIB: f64 = 20.0;
/// Handshakes of all, on two busy cores.
const OPENING: Duration = Duration::from_secs(600);
const PATH: &str = "/api/v1/namespaces/default/services?watch=true";

/// The far side of watches and streams as a process.
pub(crate) async fn far(certificates: &Certificates) -> Result<(Process, SocketAddr)> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["far", "--cert", &certificates.cert, "--key", &certificates.key]);
    let process = Process::start(&certificates.folder, "far-side", &mut command)?;
    let address = peers::listening(&process).await?;
    Ok((process, address))
}

/// Gives the part's table.
pub(crate) async fn run(scale: &Scale) -> Result<Part> {
    let mut part = Part::new("watches", format!("{} idle watches, a TLS connection each", scale.watches))?;
    report::table(
        &format!(
            "{} idle watches, each on a TLS connection of its own; the cluster allows 100 streams a connection",
            scale.watches
        ),
        &[
            "client speaks",
            "first events",
            "resident before",
            "with all",
            "per watch",
            "aim",
            "",
            "opened in",
            "CPU per open",
            "resident after all left",
        ],
    );
    for http2 in [true, false] {
        measure_watches(scale.watches, http2, &mut part).await?;
    }
    Ok(part)
}

async fn measure_watches(count: usize, http2: bool, part: &mut Part) -> Result<()> {
    let certificates = Certificates::new()?;
    let (_far, address) = far(&certificates).await?;
    let ours = Ours::start(address, &certificates.ca_pem, "sre", "read").await?;
    // Whatever the process sets up for its first requests is no watch's.
    drop(open(&certificates, &ours, 20, http2, "warm").await?);
    settled(&ours).await?;
    let (before, used) = (resident(ours.pid())?, cpu(ours.pid())?);
    let began = Instant::now();
    let clients = ours.aro.explain(open(&certificates, &ours, count, http2, "clients").await)?;
    let (took, used) = (began.elapsed(), cpu(ours.pid())?.saturating_sub(used));
    let with = resident(ours.pid())?;
    drop(clients);
    settled(&ours).await?;
    let after = resident(ours.pid())?;
    #[expect(clippy::cast_precision_loss, reason = "bytes for people")]
    let (mib, each) = (
        |bytes: u64| format!("{:.1} MiB", bytes as f64 / 1_048_576.0),
        (with - before) as f64 / 1024.0 / count as f64,
    );
    #[expect(clippy::cast_precision_loss, reason = "thousands")]
    let per_open = used.as_secs_f64() * 1e6 / count as f64;
    let spoken = if http2 { "HTTP/2" } else { "HTTP/1.1" };
    let what = format!("memory of a watch, {spoken} ({per_open:.0} µs of CPU to open it)");
    part.most(what, each, AIM_KIB, "KiB");
    report::row(&[
        spoken.to_owned(),
        count.to_string(),
        mib(before),
        mib(with),
        format!("{each:.1} KiB"),
        format!("≤ {AIM_KIB} KiB"),
        report::verdict(each, AIM_KIB),
        format!("{:.1} s", took.as_secs_f64()),
        format!("{per_open:.0} µs"),
        mib(after),
    ]);
    Ok(())
}

/// Starts the clients; each has its first event when this returns.
pub(crate) async fn open(
    certificates: &Certificates,
    ours: &Ours,
    count: usize,
    http2: bool,
    name: &str,
) -> Result<Process> {
    let ca = certificates.folder.write("aro-ca.pem", &ours.ca_pem)?;
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("clients").arg("--ca").arg(ca).args(["--address", &ours.address.to_string()]);
    command.args(["--path", &format!("{}{PATH}", ours.mount), "--token", &ours.token]);
    command.args(["--count", &count.to_string()]);
    if http2 {
        command.arg("--http2");
    }
    let name = format!("{name}-{}", if http2 { "h2" } else { "h1" });
    let process = Process::start(&certificates.folder, &name, &mut command)?;
    let look = || async {
        let log = process.log();
        let line = log
            .lines()
            .find(|line| line.starts_with("{\"got\""))
            .context("not all have their first event")?;
        let said: Value = serde_json::from_str(line)?;
        anyhow::ensure!(said["got"] == count, "{said}");
        Ok(())
    };
    process.ready(OPENING, look).await?;
    Ok(process)
}

/// Waits until the proxy has no open stream, by its own metrics.
async fn settled(ours: &Ours) -> Result<()> {
    let admin = ours.aro.dev.admin_url.trim_start_matches("http://").trim_end_matches('/').to_owned();
    let look = || async {
        let metrics = tokio::task::spawn_blocking({
            let admin = admin.clone();
            move || crate::start::get(&admin, "/metrics")
        });
        let metrics = metrics.await??;
        let open = metrics.lines().find_map(|line| line.strip_prefix("aro_proxy_streams_open "));
        let open = open.context("no aro_proxy_streams_open in the metrics")?;
        anyhow::ensure!(open.trim() == "0", "{open} streams are open");
        Ok(())
    };
    until("the proxy has no stream left", Duration::from_secs(60), look).await
}
