//! From a revocation to the end of every stream of the grant.

use std::time::Duration;

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::measure::micros;
use crate::ours::{Certificates, Ours};
use crate::report::{self, Part};
use crate::{Scale, watches};

/// On one replica.
const AIM_MILLIS: f64 = 100.0;
const PATIENCE: Duration = Duration::from_secs(60);

/// Gives the part's table.
pub(crate) async fn run(scale: &Scale) -> Result<Part> {
    let title = format!("One revocation, {} open watches on connections of their own", scale.revoked);
    let mut part = Part::new("revoke", title)?;
    report::table(
        &format!("One revocation, {} open watches of the grant on connections of their own", scale.revoked),
        &[
            "client speaks",
            "first ended after",
            "half",
            "99 of 100",
            "last",
            "aim",
            "",
            "revoke answered after",
        ],
    );
    for http2 in [true, false] {
        measure_revocation(scale.revoked, http2, &mut part).await?;
    }
    Ok(part)
}

async fn measure_revocation(count: usize, http2: bool, part: &mut Part) -> Result<()> {
    let certificates = Certificates::new()?;
    let (_far, address) = watches::far(&certificates).await?;
    let ours = Ours::start(address, &certificates.ca_pem, "sre", "read").await?;
    let clients = ours.aro.explain(watches::open(&certificates, &ours, count, http2, "revoked").await)?;
    let session = ours.aro.session("sre").await?;
    let grants = session.grants().await?;
    let id = grants.iter().find_map(|grant| grant["id"].as_str()).context("no grant")?;
    let began = micros();
    session.revoke(id).await?;
    let answered = micros();
    let ended = clients.ready(PATIENCE, || async { end_times(&clients.log()) }).await?;
    #[expect(clippy::cast_precision_loss, reason = "milliseconds for people")]
    let after = |at: u64| at.saturating_sub(began) as f64 / 1000.0;
    let at = |share: usize| ended.get((ended.len() * share / 100).min(ended.len() - 1)).copied().unwrap_or(0);
    let last = after(at(100));
    let millis = |value: f64| format!("{value:.0} ms");
    let spoken = if http2 { "HTTP/2" } else { "HTTP/1.1" };
    let half = after(at(50));
    part.most(format_args!("the last has ended, {spoken} (half: {half:.0} ms)"), last, AIM_MILLIS, "ms");
    report::row(&[
        spoken.to_owned(),
        millis(after(at(0))),
        millis(after(at(50))),
        millis(after(at(99))),
        millis(last),
        format!("\u{2264} {AIM_MILLIS} ms"),
        report::verdict(last, AIM_MILLIS),
        millis(after(answered)),
    ]);
    Ok(())
}

/// When each watch ended, in order, once all have.
fn end_times(log: &str) -> Result<Vec<u64>> {
    let line = log.lines().find(|line| line.starts_with("{\"ended\"")).context("not all have ended")?;
    let said: Value = serde_json::from_str(line)?;
    let times = said["ended"].as_array().context("a list")?;
    Ok(times.iter().filter_map(Value::as_u64).collect())
}
