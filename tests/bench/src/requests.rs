//! CPU time of a small GET.

use std::net::SocketAddr;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use tests_kit::part;

use crate::Scale;
use crate::measure::{Spread, cpu};
use crate::ours::{Certificates, Ours};
use crate::peers::{self, OBJECT, Peer};
use crate::report::{self, Part};

/// HTTP/1.1 costs it less than HTTP/2, and a log is what all others write.
const GO_LIKE_OURS: &str = "Go ReverseProxy, HTTP/1.1, with an access log";

/// Everything that answers.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) certificates: Certificates,
    pub(crate) far: Peer,
    pub(crate) ours: Ours,
    peers: Vec<(&'static str, Peer, f64)>,
}

/// One program under load.
struct Subject<'a> {
    name: &'static str,
    group: u32,
    address: SocketAddr,
    path: String,
    token: &'a str,
    /// Our CPU time divided by its: at most this.
    aim: Option<f64>,
    micros: Vec<f64>,
    rates: Vec<f64>,
}

impl World {
    pub(crate) async fn start() -> Result<Self> {
        report::progress("starting the far side, the peers and ours");
        let certificates = Certificates::new()?;
        let far = peers::api_server(&certificates).await?;
        let ours = Ours::start(far.address, &certificates.ca_pem, "sre", "read").await?;
        let peers = vec![
            ("nginx", peers::nginx_proxy(&certificates, far.address).await?, 0.9),
            ("HAProxy", peers::haproxy(&certificates, far.address, false).await?, 1.0),
            ("Go ReverseProxy", peers::go(&certificates, far.address, false).await?, 0.35),
            (GO_LIKE_OURS, peers::go(&certificates, far.address, true).await?, 0.35),
        ];
        Ok(Self { certificates, far, ours, peers })
    }

    fn subjects(&self) -> Vec<Subject<'_>> {
        let ours = Subject {
            name: "aro",
            group: self.ours.pid(),
            address: self.ours.address,
            path: format!("{}{OBJECT}", self.ours.mount),
            token: &self.ours.token,
            aim: None,
            micros: Vec::new(),
            rates: Vec::new(),
        };
        let peers = self.peers.iter().map(|(name, peer, aim)| Subject {
            name,
            group: peer.process.pid(),
            address: peer.address,
            path: OBJECT.to_owned(),
            token: "any",
            aim: Some(*aim),
            micros: Vec::new(),
            rates: Vec::new(),
        });
        std::iter::once(ours).chain(peers).collect()
    }
}

/// Adds CPU times to the table; gives our requests a second.
pub(crate) async fn run(world: &World, scale: &Scale, part: &mut Part) -> Result<f64> {
    let mut subjects = world.subjects();
    for subject in &mut subjects {
        // Connections, caches, branch predictors.
        load(subject, 1).await?;
    }
    for round in 1..=scale.rounds {
        for subject in &mut subjects {
            let before = cpu(subject.group)?;
            let (requests, rate) = load(subject, scale.seconds).await?;
            let used = cpu(subject.group)?.saturating_sub(before);
            subject.micros.push(used.as_secs_f64() * 1e6 / requests);
            subject.rates.push(rate);
            report::progress(format_args!(
                "round {round}: {:<16} {:6.1} µs, {rate:.0} requests/s",
                subject.name,
                used.as_secs_f64() * 1e6 / requests
            ));
        }
    }
    table(&subjects, part)?;
    let ours = subjects.first().context("ours")?;
    Ok(Spread::from_samples(&ours.rates)?.median)
}

fn table(subjects: &[Subject<'_>], part: &mut Part) -> Result<()> {
    report::table(
        "CPU time of one GET, 4.3 KB, TLS on both legs",
        &["proxy", "least, µs", "median, µs", "requests/s", "ours ÷ its (medians)", "aim", ""],
    );
    let ours = Spread::from_samples(&subjects.first().context("ours")?.micros)?;
    for subject in subjects {
        let (its, rate) = (Spread::from_samples(&subject.micros)?, Spread::from_samples(&subject.rates)?);
        let ratio = ours.median / its.median;
        let told = format!("{:.1} µs, {:.0} requests/s", its.median, rate.median);
        match subject.aim {
            Some(aim) => {
                part.most(format_args!("CPU time ÷ that of {} ({told})", subject.name), ratio, aim, "×");
            }
            None => part.stated("CPU time", told),
        }
        let mut cells = vec![
            subject.name.to_owned(),
            format!("{:.1}", its.least),
            format!("{:.1}", its.median),
            format!("{:.0}", rate.median),
        ];
        cells.extend(match subject.aim {
            Some(aim) => [format!("{ratio:.2}"), format!("≤ {aim}"), report::verdict(ratio, aim)],
            None => Default::default(),
        });
        report::row(&cells);
    }
    Ok(())
}

/// Requests answered and requests a second, by wrk on 32 connections.
async fn load(subject: &Subject<'_>, seconds: u64) -> Result<(f64, f64)> {
    let mut wrk = tokio::process::Command::from(Command::new(part("wrk")?));
    wrk.args(["-t1", "-c32", &format!("-d{seconds}s"), "--timeout", "10s"]);
    wrk.arg("-H").arg(format!("Authorization: Bearer {}", subject.token));
    wrk.arg(format!("https://{}{}", subject.address, subject.path)).kill_on_drop(true);
    let limit = Duration::from_secs(seconds + 60);
    let output = tokio::time::timeout(limit, wrk.output()).await.context("wrk does not end")??;
    let text = String::from_utf8_lossy(&output.stdout);
    ensure!(output.status.success(), "wrk: {text}{}", String::from_utf8_lossy(&output.stderr));
    ensure!(!text.contains("Non-2xx") && !text.contains("Socket errors"), "{}: {text}", subject.name);
    let number = |before: &str, after: &str| -> Option<f64> {
        let line = text.lines().find(|line| line.contains(before) && line.contains(after))?;
        line.split_whitespace().find_map(|word| word.parse().ok())
    };
    let requests = number("requests in", "").with_context(|| text.clone().into_owned())?;
    let rate = number("Requests/sec:", "").with_context(|| text.clone().into_owned())?;
    ensure!(requests > 0.0, "{}: no request was answered", subject.name);
    Ok((requests, rate))
}
