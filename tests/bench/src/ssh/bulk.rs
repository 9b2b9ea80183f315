//! Throughput and CPU time of bytes through one connection.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};

use super::SshScale;
use super::hosts::{CIPHER, Client, Hosts, JUMP, SharedConnection};
use super::site::{OPENSSH, Site};
use crate::measure::{Spread, cpu, tree_cpu};
use crate::report::{self, Part};

/// Of its throughput.
const AIM_SPEED: f64 = 0.9;
/// Of its CPU time.
const AIM_CPU: f64 = 1.2;
/// For one transfer.
const PATIENCE: Duration = Duration::from_secs(300);

/// What stands between client and machine.
struct Route<'a> {
    name: &'a str,
    shown: &'a str,
    between: Proxy,
    held: SharedConnection,
    /// Seconds of CPU for a gigabyte; megabytes a second.
    costs: Vec<f64>,
    speeds: Vec<f64>,
}

#[derive(Clone, Copy)]
enum Proxy {
    /// Our process, by its group.
    Ours(u32),
    /// The jump host's `sshd`, with the processes of its connections.
    Jump(u32),
}

impl Proxy {
    fn cpu(self) -> Result<Duration> {
        match self {
            Self::Ours(group) => cpu(group),
            Self::Jump(pid) => tree_cpu(pid),
        }
    }
}

/// By all three ways, in both directions.
pub(crate) async fn run(
    hosts: &Hosts,
    plain: &Site,
    modern: &Site,
    scale: &SshScale,
    part: &mut Part,
) -> Result<()> {
    let (first, second) = (plain.pass(OPENSSH).await?, modern.pass(OPENSSH).await?);
    let client = hosts.client(&[&first, &second])?;
    report::table(
        &format!("{} MiB through one SSH connection, {CIPHER} towards the client", scale.mebibytes),
        &[
            "direction",
            "by way of",
            "least, s/GB",
            "median, s/GB",
            "MB/s",
            "its speed",
            "aim",
            "",
            "its CPU",
            "aim",
            "",
        ],
    );
    let rows = [
        (JUMP, "OpenSSH jump host (ProxyJump)", Proxy::Jump(hosts.jump.process.pid())),
        (first.name, "aro, AES-CTR towards the machine (as it ships)", Proxy::Ours(plain.pid())),
        (second.name, "aro, AES-GCM towards the machine", Proxy::Ours(modern.pid())),
    ];
    let mut ways = Vec::new();
    for (name, shown, between) in rows {
        let held = client.hold(name).await?;
        ways.push(Route { name, shown, between, held, costs: Vec::new(), speeds: Vec::new() });
    }
    for (title, up) in [("to the machine", true), ("from the machine", false)] {
        for way in &mut ways {
            (way.costs, way.speeds) = (Vec::new(), Vec::new());
        }
        compare(&client, &mut ways, (title, up), scale, part).await?;
    }
    Ok(())
}

async fn compare(
    client: &Client,
    ways: &mut [Route<'_>],
    (title, up): (&str, bool),
    scale: &SshScale,
    part: &mut Part,
) -> Result<()> {
    let bytes = scale.mebibytes * 1_048_576;
    #[expect(clippy::cast_precision_loss, reason = "gigabytes for people")]
    let gigabytes = bytes as f64 / 1e9;
    for round in 0..=scale.rounds {
        for way in &mut *ways {
            // The first round is short and only warms windows and caches.
            let bytes = if round == 0 { bytes.min(16 << 20) } else { bytes };
            let (before, began) = (way.between.cpu()?, Instant::now());
            pass(client, way, up, bytes).await.with_context(|| way.shown.to_owned())?;
            let took = began.elapsed();
            let used = way.between.cpu()?.saturating_sub(before);
            if round > 0 {
                way.costs.push(used.as_secs_f64() / gigabytes);
                way.speeds.push(gigabytes * 1000.0 / took.as_secs_f64());
                report::progress(format_args!(
                    "round {round}: {title}: {:<46} {:4.0} MB/s {:.3} s/GB",
                    way.shown,
                    gigabytes * 1000.0 / took.as_secs_f64(),
                    used.as_secs_f64() / gigabytes
                ));
            }
        }
    }
    let its = ways.first().context("the peer")?;
    let (its_cost, its_speed) =
        (Spread::from_samples(&its.costs)?.median, Spread::from_samples(&its.speeds)?.median);
    for (at, way) in ways.iter().enumerate() {
        let (cost, speed) = (Spread::from_samples(&way.costs)?, Spread::from_samples(&way.speeds)?.median);
        let mut cells = vec![
            title.to_owned(),
            way.shown.to_owned(),
            format!("{:.3}", cost.least),
            format!("{:.3}", cost.median),
            format!("{speed:.0}"),
        ];
        let (faster, dearer) = (speed / its_speed, cost.median / its_cost);
        let told = format!("{title}, {}", way.shown);
        if at > 0 {
            part.least(format_args!("{told}: MB/s ÷ the jump host's"), faster, AIM_SPEED, "×");
            part.most(format_args!("{told}: CPU time ÷ the jump host's"), dearer, AIM_CPU, "×");
        } else {
            let figure = format!("{speed:.0} MB/s, {:.2} s/GB", cost.median);
            part.stated(told, figure);
        }
        cells.extend(match at {
            0 => Default::default(),
            _ => [
                format!("{faster:.2}"),
                format!("\u{2265} {AIM_SPEED}"),
                // Less is better there.
                report::verdict(AIM_SPEED, faster),
                format!("{dearer:.2}"),
                format!("\u{2264} {AIM_CPU}"),
                report::verdict(dearer, AIM_CPU),
            ],
        });
        report::row(&cells);
    }
    Ok(())
}

/// One transfer on the connection that is held; every byte is counted at its end.
async fn pass(client: &Client, way: &Route<'_>, up: bool, bytes: u64) -> Result<()> {
    let script = if up {
        r#"head -c "$4" /dev/zero | "$0" -F "$1" -o "ControlPath=$2" "$3" 'wc -c'"#
    } else {
        r#""$0" -F "$1" -o "ControlPath=$2" "$3" "head -c $4 /dev/zero" | wc -c"#
    };
    let socket = way.held.socket.to_string_lossy();
    let mut command = client.script(script, &[&socket, way.name, &bytes.to_string()]);
    let output = tokio::time::timeout(PATIENCE, command.output()).await.context("it does not end")??;
    let counted = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let said = String::from_utf8_lossy(&output.stderr);
    let status = output.status;
    ensure!(status.success() && counted == bytes.to_string(), "{counted} of {bytes} bytes, {status}: {said}");
    Ok(())
}
