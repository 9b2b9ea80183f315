//! CPU time of an exec by WebSocket through the API proxy, recorded and not.

use std::net::SocketAddr;
use std::time::Instant;

use anyhow::{Context as _, Result};
use tests_kit::{kubeconfig_server, kubeconfig_token};

use super::SshScale;
use super::site::Site;
use crate::measure::{Spread, cpu};
use crate::report::{self, Part};
use crate::stream::{Direction, Subject, open, pass};

/// Of what it takes unrecorded.
const AIM: f64 = 3.0;

/// The address, CA, path and token of a kubeconfig of the site.
struct ParsedKubeconfig {
    address: SocketAddr,
    ca_pem: String,
    path: String,
    token: String,
}

impl ParsedKubeconfig {
    async fn fetch(site: &Site) -> Result<Self> {
        let text = site.session.kubeconfig(&site.cluster, "write", "benchmark of recording", None).await?;
        let url = kubeconfig_server(&text)?;
        let rest = url.strip_prefix("https://").context("a kubeconfig's server is https")?;
        let (host, path) = rest.split_once('/').context("a kubeconfig's server has a path")?;
        Ok(Self {
            address: host.parse().with_context(|| url.clone())?,
            ca_pem: site.aro.ca_pem()?,
            path: format!("/{}", path.trim_end_matches('/')),
            token: kubeconfig_token(&text)?,
        })
    }
}

/// Both in turns.
pub(crate) async fn run(plain: &Site, recording: &Site, scale: &SshScale, part: &mut Part) -> Result<()> {
    let taken = [ParsedKubeconfig::fetch(plain).await?, ParsedKubeconfig::fetch(recording).await?];
    let names = ["not recorded", "recorded"];
    let subjects: Vec<Subject<'_>> = taken
        .iter()
        .zip(names.iter().zip([plain.pid(), recording.pid()]))
        .map(|(taken, (name, group))| Subject {
            name,
            group,
            address: taken.address,
            ca_pem: &taken.ca_pem,
            path: taken.path.clone(),
            token: &taken.token,
        })
        .collect();
    let bytes = scale.mebibytes * 1_048_576;
    #[expect(clippy::cast_precision_loss, reason = "gigabytes for people")]
    let gigabytes = bytes as f64 / 1e9;
    let (mut costs, mut speeds): ([Vec<f64>; 2], [Vec<f64>; 2]) = Default::default();
    for round in 1..=scale.rounds {
        for (at, subject) in subjects.iter().enumerate() {
            let (mut stream, rest) = open(subject, bytes, Direction::Framed).await?;
            let (before, began) = (cpu(subject.group)?, Instant::now());
            pass(&mut stream, bytes, rest, Direction::Framed).await.with_context(|| subject.name)?;
            let (used, took) = (cpu(subject.group)?.saturating_sub(before), began.elapsed());
            costs[at].push(used.as_secs_f64() / gigabytes);
            speeds[at].push(gigabytes * 1000.0 / took.as_secs_f64());
            report::progress(format_args!(
                "round {round}: {}: {:.3} s/GB",
                subject.name,
                used.as_secs_f64() / gigabytes
            ));
        }
    }
    report::table(
        &format!("CPU time of {} MiB of text from an exec by WebSocket", scale.mebibytes),
        &["", "least, s/GB", "median, s/GB", "MB/s", "recorded ÷ not (medians)", "aim", ""],
    );
    let ratio = Spread::from_samples(&costs[1])?.median / Spread::from_samples(&costs[0])?.median;
    part.most("CPU time of a recorded GB ÷ an unrecorded one", ratio, AIM, "×");
    for (at, name) in names.iter().enumerate() {
        let cost = Spread::from_samples(&costs[at])?;
        let mut cells = vec![
            (*name).to_owned(),
            format!("{:.3}", cost.least),
            format!("{:.3}", cost.median),
            format!("{:.0}", Spread::from_samples(&speeds[at])?.median),
        ];
        cells.extend(match at {
            0 => Default::default(),
            _ => [format!("{ratio:.2}"), format!("\u{2264} {AIM}"), report::verdict(ratio, AIM)],
        });
        report::row(&cells);
    }
    Ok(())
}
