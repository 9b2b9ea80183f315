//! Pages that follow clusters: what 500 of them cost.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use tests_kit::{Aro, AroOptions, Events, Session};

use crate::measure::{cpu, resident};
use crate::report::{self, Part};

const VIEWERS: usize = 500;
const CLUSTERS: usize = 50;
/// What the part's table has of it.
const SHOWN: [&str; 5] = [
    "watches",
    "resident with all",
    "per page, with its share of the watches",
    "opened in",
    "CPU while open",
];
/// How long the pages are only held open.
const HELD: Duration = Duration::from_secs(60);

/// Room for all pages of one person.
pub(crate) fn many() -> Vec<(String, String)> {
    let keys = ["LIVE_PAGES_PER_PERSON", "LIVE_PAGES"];
    keys.map(|key| (format!("ARO_LIMITS__{key}"), "1000".to_owned())).to_vec()
}

/// The sum of a metric over its labels.
fn sum(metrics: &str, name: &str) -> f64 {
    let of = |line: &str| {
        let rest = line.strip_prefix(name)?;
        (rest.starts_with(['{', ' '])).then(|| rest.rsplit(' ').next()?.parse::<f64>().ok())?
    };
    metrics.lines().filter_map(of).sum()
}

async fn metrics(aro: &Aro) -> Result<String> {
    let admin = Session::open(&aro.ca_pem()?, &aro.dev.admin_url, None)?;
    Ok(admin.get("/metrics").await?.ok()?.text)
}

#[expect(clippy::cast_precision_loss, reason = "bytes for people")]
fn mib(bytes: u64) -> f64 {
    bytes as f64 / 1_048_576.0
}

/// Gives the part's table.
pub(crate) async fn run() -> Result<Part> {
    let mut part =
        Part::new("viewers", format!("{VIEWERS} pages that follow {CLUSTERS} simulated clusters"))?;
    let clusters = 150;
    let aro = Aro::start(AroOptions { clusters, env: many(), ..AroOptions::default() }).await?;
    let session = aro.session("sre").await?;
    let list = session.get("/api/v1/clusters?state=Succeeded&source=aro&limit=200").await?.ok()?.json()?;
    let all: Vec<String> = list["items"]
        .as_array()
        .context("a list")?
        .iter()
        .filter_map(|item| Some(item["resourceId"].as_str()?.to_ascii_lowercase()))
        .take(CLUSTERS)
        .collect();
    ensure!(all.len() == CLUSTERS, "{} clusters", all.len());
    let pid = aro.process().pid();
    let before = resident(pid)?;
    let (began, used) = (Instant::now(), cpu(pid)?);
    let mut opening: FuturesUnordered<_> = (0..VIEWERS)
        .map(|n| {
            let (session, path) = (&session, format!("{}/live/overview", all[n % CLUSTERS]));
            async move {
                let mut page = session.follow(&path).await?;
                // Some clusters are away for a while, as some always are.
                page.until("a state", |text| text.contains("event: state")).await?;
                anyhow::Ok(page)
            }
        })
        .collect();
    let mut pages: Vec<Events> = Vec::new();
    while let Some(page) = opening.next().await {
        pages.push(page?);
    }
    drop(opening);
    let (took, opened) = (began.elapsed(), cpu(pid)?.saturating_sub(used));
    let (with, used, began) = (resident(pid)?, cpu(pid)?, Instant::now());
    // Read, as browsers do.
    let mut reading: FuturesUnordered<_> = pages
        .iter_mut()
        .map(|page| async move {
            let forever = page.until("it is held", |_| false);
            let _ = tokio::time::timeout(HELD, forever).await;
        })
        .collect();
    while reading.next().await.is_some() {}
    drop(reading);
    let share = cpu(pid)?.saturating_sub(used).as_secs_f64() / began.elapsed().as_secs_f64();
    let told = metrics(&aro).await?;
    let watched = sum(&told, "aro_observe_clusters");
    let watches = sum(&told, "aro_observe_watches");
    report::table(
        &format!(
            "{VIEWERS} pages that follow {CLUSTERS} simulated clusters (the clusters run in the same process)"
        ),
        &["", "value"],
    );
    let mut row = |what: &str, value: String| {
        if SHOWN.contains(&what) {
            part.stated(what, &value);
        }
        report::row(&[what.to_owned(), value]);
    };
    row("pages open", format!("{:.0}", sum(&told, "aro_live_pages")));
    row("clusters watched", format!("{watched:.0}"));
    row("watches", format!("{watches:.0}"));
    row("objects held", format!("{:.0}", sum(&told, "aro_observe_objects")));
    row("resident before", format!("{:.1} MiB", mib(before)));
    row("resident with all", format!("{:.1} MiB", mib(with)));
    #[expect(clippy::cast_precision_loss, reason = "hundreds")]
    row(
        "per page, with its share of the watches",
        format!("{:.0} KiB", (mib(with) - mib(before)) * 1024.0 / VIEWERS as f64),
    );
    row("opened in", format!("{:.1} s, {:.1} s of CPU", took.as_secs_f64(), opened.as_secs_f64()));
    row("CPU while open", format!("{:.1} % of one core", share * 100.0));
    row("parts sent", format!("{:.0}", sum(&told, "aro_live_fragments_total")));
    row("requests to clusters", format!("{:.0}", sum(&told, "aro_cluster_budget_taken_total")));
    ensure!(watched <= CLUSTERS as f64, "{watched} clusters are watched");
    drop(pages);
    Ok(part)
}
