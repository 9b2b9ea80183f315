//! Memory of sessions: resident size of the process before and with them.

use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use tests_kit::Process;

use super::site::{BastionAccess, Site, spread_machine};
use crate::measure::{cpu, resident};
use crate::report::{self, Part};

const AIM_IDLE_KIB: f64 = 300.0;
const AIM_BUSY_MIB: f64 = 1.0;
/// Handshakes of all, on two busy cores.
const OPENING: Duration = Duration::from_secs(600);
/// What the process sets up for its first sessions is no session's.
const WARM: usize = 20;
/// Sessions on one machine: the bastion opens at most 80 channels for one person there.
const ON_ONE_MACHINE: usize = 50;
/// How often memory is looked at.
const LOOK: Duration = Duration::from_millis(100);

/// Sessions that say nothing.
pub(crate) async fn idle(site: &Site, counts: &[usize], part: &mut Part) -> Result<()> {
    drop(open_spread(site, "warm", 0, WARM, None).await?);
    site.empty().await?;
    report::table(
        "Idle shells on a terminal, each on an SSH connection of its own; clients and machine are the SSH library's",
        &[
            "sessions",
            "resident before",
            "with them",
            "per session",
            "aim",
            "",
            "opened in",
            "CPU per session",
        ],
    );
    let (before, mut held, mut there) = (resident(site.pid())?, Vec::new(), 0);
    for count in counts {
        let more = count.checked_sub(there).context("numbers of sessions grow")?;
        let (began, used) = (Instant::now(), cpu(site.pid())?);
        held.push(site.aro.explain(open_spread(site, "idle", there, more, None).await)?);
        there = *count;
        let (took, used) = (began.elapsed(), cpu(site.pid())?.saturating_sub(used));
        let with = resident(site.pid())?;
        is_there(site, there).await?;
        let each = kibibytes(with.saturating_sub(before)) / float(there);
        part.most(format_args!("memory of an idle session, of {there}"), each, AIM_IDLE_KIB, "KiB");
        report::row(&[
            there.to_string(),
            mebibytes(before),
            mebibytes(with),
            format!("{each:.1} KiB"),
            format!("\u{2264} {AIM_IDLE_KIB} KiB"),
            report::verdict(each, AIM_IDLE_KIB),
            format!("{:.1} s", took.as_secs_f64()),
            format!("{:.1} ms", used.as_secs_f64() * 1000.0 / float(more)),
        ]);
    }
    drop(held);
    site.empty().await?;
    report::line(format_args!("\nResident after all have left: {}.", mebibytes(resident(site.pid())?)));
    Ok(())
}

/// Recorded sessions whose program writes without a pause.
pub(crate) async fn busy(site: &Site, count: usize, seconds: u64, part: &mut Part) -> Result<()> {
    drop(open_spread(site, "warm", 0, WARM, None).await?);
    site.empty().await?;
    let before = resident(site.pid())?;
    let clients = site.aro.explain(open_spread(site, "busy", 0, count, Some("write")).await)?;
    let (began, mut most) = (Instant::now(), 0);
    while began.elapsed() < Duration::from_secs(seconds) {
        most = most.max(resident(site.pid())?);
        tokio::time::sleep(LOOK).await;
    }
    is_there(site, count).await?;
    let recorded = site.gauge("aro_recording_recorded_bytes_total").await?;
    drop(clients);
    site.empty().await?;
    let each = kibibytes(most.saturating_sub(before)) / 1024.0 / float(count);
    part.most(format_args!("memory of a recorded busy session, of {count}"), each, AIM_BUSY_MIB, "MiB");
    report::table(
        &format!("{count} recorded commands that write text without a pause, {seconds} s"),
        &["resident before", "at most", "per session", "aim", "", "recorded", "resident after all left"],
    );
    report::row(&[
        mebibytes(before),
        mebibytes(most),
        format!("{each:.2} MiB"),
        format!("\u{2264} {AIM_BUSY_MIB} MiB"),
        report::verdict(each, AIM_BUSY_MIB),
        format!("{:.0} MB", float(usize::try_from(recorded)?) / 1e6),
        mebibytes(resident(site.pid())?),
    ]);
    Ok(())
}

/// All of them are still there: a session that was cut is no session.
async fn is_there(site: &Site, count: usize) -> Result<()> {
    let open = site.gauge("aro_ssh_channels_open").await?;
    ensure!(open == u64::try_from(count)?, "{open} of {count} sessions are open");
    Ok(())
}

/// Opens sessions from the one of that number on, over as many machines as they need.
async fn open_spread(
    site: &Site,
    name: &str,
    from: usize,
    count: usize,
    program: Option<&str>,
) -> Result<Vec<Process>> {
    let (mut clients, mut next, end) = (Vec::new(), from, from + count);
    while next < end {
        let machine = next / ON_ONE_MACHINE;
        let some = (ON_ONE_MACHINE - next % ON_ONE_MACHINE).min(end - next);
        let pass = site.pass(&spread_machine(machine)).await?;
        clients.push(open(site, &pass, &format!("{name}-{next}"), some, program).await?);
        next += some;
    }
    Ok(clients)
}

/// Starts the clients; each has its session when this returns.
async fn open(
    site: &Site,
    pass: &BastionAccess,
    name: &str,
    count: usize,
    program: Option<&str>,
) -> Result<Process> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["ssh-clients", "--address", &pass.address().to_string(), "--user", &pass.user]);
    command.arg("--key").arg(&pass.key).arg("--certificate").arg(&pass.certificate);
    command.args(["--count", &count.to_string()]);
    command.args(program.into_iter().flat_map(|program| ["--command", program]));
    // A log of its own: what another said is not this one's.
    let process = Process::start(site.aro.folder(), &format!("ssh-clients-{name}"), &mut command)?;
    let look = || async {
        let log = process.log();
        let line = log.lines().find(|line| line.starts_with("{\"got\"")).context("not all have a session")?;
        let said: Value = serde_json::from_str(line)?;
        ensure!(said["got"] == count, "{said}");
        Ok(())
    };
    process.ready(OPENING, look).await?;
    Ok(process)
}

#[expect(clippy::cast_precision_loss, reason = "bytes for people")]
fn kibibytes(bytes: u64) -> f64 {
    bytes as f64 / 1024.0
}

#[expect(clippy::cast_precision_loss, reason = "thousands")]
fn float(count: usize) -> f64 {
    count as f64
}

fn mebibytes(bytes: u64) -> String {
    format!("{:.1} MiB", kibibytes(bytes) / 1024.0)
}
