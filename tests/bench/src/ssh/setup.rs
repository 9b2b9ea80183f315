//! From the start of the client to the end of a command that does nothing.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};

use super::hosts::{CIPHER, Client, Hosts, JUMP, KEX};
use super::site::{OPENSSH, Site};
use crate::measure::percentile;
use crate::report::{self, Part};

/// Of its time.
const AIM: f64 = 1.1;
const PATIENCE: Duration = Duration::from_secs(60);

/// By both ways.
pub(crate) async fn run(hosts: &Hosts, site: &Site, count: usize, part: &mut Part) -> Result<()> {
    let pass = site.pass(OPENSSH).await?;
    let client = hosts.client(&[&pass])?;
    let ways = [(JUMP, "OpenSSH jump host (ProxyJump)"), (pass.name, "aro")];
    let mut times = [Vec::new(), Vec::new()];
    for way in ways {
        time_connection(&client, way.0).await?;
    }
    for _ in 0..count {
        for (way, times) in ways.iter().zip(&mut times) {
            times.push(time_connection(&client, way.0).await?);
        }
    }
    report::table(
        &format!("`ssh … true`: {count} connections each, in turns, {KEX}, {CIPHER}"),
        &["by way of", "median ms", "90 of 100, ms", "its median", "aim", ""],
    );
    for times in &mut times {
        times.sort_unstable();
    }
    let its = percentile(&times[0], 0.5);
    let what = format!("`ssh … true`: its time ÷ ProxyJump's ({its:.0} ms)");
    part.most(what, percentile(&times[1], 0.5) / its, AIM, "×");
    for (at, ((_, shown), times)) in ways.iter().zip(&times).enumerate() {
        let median = percentile(times, 0.5);
        let mut cells =
            vec![(*shown).to_owned(), format!("{median:.1}"), format!("{:.1}", percentile(times, 0.9))];
        cells.extend(match at {
            0 => Default::default(),
            _ => [
                format!("{:.2}", median / its),
                format!("\u{2264} {AIM}"),
                report::verdict(median / its, AIM),
            ],
        });
        report::row(&cells);
    }
    Ok(())
}

async fn time_connection(client: &Client, way: &str) -> Result<Duration> {
    let mut command = client.ssh();
    command.args([way, "true"]);
    let began = Instant::now();
    let output = tokio::time::timeout(PATIENCE, command.output()).await.context("it does not end")??;
    let took = began.elapsed();
    ensure!(output.status.success(), "{way}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(took)
}
