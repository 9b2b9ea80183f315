//! The wall clock of the portal and proxy is set forward and back while people work.

use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};
use rp_base::{Clock as _, SystemClock};
use tests_kit::{
    Answer, Aro, AroOptions, Folder, GENEROUS, Session, Wire, kubeconfig_server, kubeconfig_token, part,
    until,
};

use crate::command_line::aro as verb;

/// Seconds.
const HOUR: u64 = 3600;
const DAY: i64 = 86_400;

/// The wall clock of one process.
pub(crate) struct WallClock(PathBuf);

impl WallClock {
    /// A clock that is right, in a file of this name, and the environment by which a process takes it.
    pub(crate) fn new(folder: &Folder, name: &str) -> Result<(Self, Vec<(String, String)>)> {
        let clock = Self(folder.path().join(name));
        clock.set("+0")?;
        let env = [
            ("LD_PRELOAD", part("libfaketime")?.display().to_string()),
            ("FAKETIME_TIMESTAMP_FILE", clock.0.display().to_string()),
            ("FAKETIME_CACHE_DURATION", "1".to_owned()),
            ("FAKETIME_DONT_FAKE_MONOTONIC", "1".to_owned()),
            ("FAKETIME_DONT_RESET", "1".to_owned()),
        ];
        Ok((clock, env.map(|(name, value)| (name.to_owned(), value)).to_vec()))
    }

    /// Sets it so far from the right time; the process sees it within a second.
    pub(crate) fn set(&self, offset: &str) -> Result<()> {
        let new = self.0.with_extension("new");
        std::fs::write(&new, format!("{offset}\n"))?;
        Ok(std::fs::rename(new, &self.0)?)
    }
}

/// Of the time of a line of the log, such as `2026-11-23T19:50:17.089Z`.
fn second_of_day(line: &str) -> Option<i64> {
    let mut parts = line.get(11..19)?.split(':').map(str::parse::<i64>);
    let mut next = || parts.next()?.ok();
    Some(3600 * next()? + 60 * next()? + next()?)
}

/// What one kubeconfig opens.
struct Opened {
    server: String,
    token: String,
    ca_pem: String,
}

impl Opened {
    async fn take(aro: &Aro, session: &Session, cluster: &str, hours: u64) -> Result<Self> {
        let reason = format!("{hours} hours by a story");
        let text = session.kubeconfig(cluster, "read", &reason, Some(hours * HOUR)).await?;
        let (server, token) = (kubeconfig_server(&text)?, kubeconfig_token(&text)?);
        Ok(Self { server, token, ca_pem: aro.ca_pem()? })
    }

    async fn get(&self) -> Result<Answer> {
        let session = Session::open(&self.ca_pem, &self.server, None)?.with_bearer(&self.token);
        session.get("/api/v1/namespaces").await
    }

    /// A watch that has begun.
    async fn watch(&self) -> Result<Wire> {
        let rest = self.server.split("//").nth(1).context("an address")?;
        let (host, path) = rest.split_once('/').context("a path")?;
        let mut watch = Wire::connect(&self.server, &self.ca_pem).await?;
        let token = &self.token;
        watch
            .send(format!(
                "GET /{path}/api/v1/pods?watch=true HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n\r\n"
            ))
            .await?;
        watch.says("\"ADDED\"").await?;
        Ok(watch)
    }
}

async fn healthy(session: &Session) -> Result<String> {
    let list = session.get("/api/v1/clusters?limit=200").await?.ok()?.json()?;
    let mut rows = list["items"].as_array().into_iter().flatten();
    let good = rows.find(|row| row["provisioningState"] == "Succeeded");
    let id = good.and_then(|row| row["resourceId"].as_str());
    Ok(id.with_context(|| format!("no healthy cluster in {list}"))?.to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_set_forward_ends_what_is_over_and_set_back_it_stops_nobody() -> Result<()> {
    let folder = Folder::new("clocks")?;
    let (clock, env) = WallClock::new(&folder, "clock")?;
    let aro = Aro::start_in(folder, AroOptions { clusters: 3, env, ..AroOptions::default() }).await?;
    let told = steps(&aro, &clock).await;
    aro.explain(told)?;
    // What was written with times that go back is one chain.
    aro.process().signal("TERM")?;
    aro.process().wait(GENEROUS).await?;
    let (data, home) = (aro.data(), tempfile::tempdir()?);
    let settings = format!(
        "[audit]\npath = {:?}\ncheckpoint_key_file = {:?}\n",
        data.join("audit.db"),
        data.join("checkpoint.key")
    );
    std::fs::write(home.path().join("aro.toml"), settings)?;
    let verified = verb(home.path(), &["audit", "verify", "--output", "json"]).await?;
    ensure!(verified.status == 0, "{verified:?}");
    Ok(())
}

async fn steps(aro: &Aro, clock: &WallClock) -> Result<()> {
    let session = aro.session("sre").await?;
    let cluster = healthy(&session).await?;
    let short = Opened::take(aro, &session, &cluster, 1).await?;
    let long = Opened::take(aro, &session, &cluster, 8).await?;
    let (mut short_watch, mut long_watch) = (short.watch().await?, long.watch().await?);

    clock.set("+2h")?;
    let said = short_watch.closed(GENEROUS).await?;
    ensure!(said.contains("reached its end"), "{said}");
    ensure!(short.get().await?.status == 401, "an access outlives its end");
    // An hour without use ends a session.
    let idle = session.get("/api/info").await?;
    ensure!(idle.status == 401, "{idle:?}");
    long.get().await?.ok()?;
    let again = aro.session("sre").await?;
    let ahead = Opened::take(aro, &again, &cluster, 1).await?;
    let mut ahead_watch = ahead.watch().await?;

    clock.set("-2h")?;
    until("the clock is set back", GENEROUS, || async {
        // The log tells: the date of an answer is kept by the server until the clock has passed it again.
        aro.stranger()?.get("/api/info").await?;
        let log = aro.process().log();
        let line = log.lines().next_back().context("a line of the log")?;
        let shown = second_of_day(line).with_context(|| line.to_owned())?;
        let off = (shown - SystemClock.now().seconds()).rem_euclid(DAY);
        ensure!((off - (DAY - 2 * 3600)).abs() < 600, "{line}");
        Ok(())
    })
    .await?;
    // Nothing that is good is refused, and what is open stays open.
    for opened in [&long, &ahead] {
        opened.get().await?.ok()?;
    }
    again.get("/api/info").await?.ok()?;
    for (what, watch) in [("eight hours", &mut long_watch), ("the new one", &mut ahead_watch)] {
        let open = watch.closed(std::time::Duration::from_millis(1500)).await;
        ensure!(open.is_err(), "{what}: a watch ended: {open:?}");
    }
    let later = aro.session("sre").await?;
    let behind = Opened::take(aro, &later, &cluster, 1).await?;
    behind.watch().await?;
    ensure!(aro.process().exited()?.is_none(), "it ended");
    Ok(())
}
