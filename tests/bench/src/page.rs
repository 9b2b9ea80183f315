//! One cluster's page on a real API server: its first byte, and how soon a change is seen in it.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use serde_json::{Value, json};
use tests_kit::{Aro, AroOptions, Events, OpenShift, Session, bearer_client};

use crate::measure::percentile;
use crate::report::{self, Part};
use crate::viewers::many;

/// Pages that wait for each change.
const WAITING: usize = 20;
const CHANGES: usize = 40;
const AIM_MS: f64 = 1_000.0;
/// Clusters that nobody has looked at before.
const COLD: usize = 20;
/// Requests of a page that is open elsewhere.
const WARM: usize = 200;
/// When a page is asked for, and the aims of it.
const WHEN: [&str; 3] =
    ["nobody looked at the cluster before", "… and its stream has told everything", "somebody has it open"];
const COLD_MS: f64 = 300.0;
const WARM_MS: f64 = 50.0;
/// Tabs, each with what it reads of the cluster.
const TABS: [&str; 4] = ["overview", "nodes", "operators", "events"];

/// Gives the part's table.
pub(crate) async fn run() -> Result<Part> {
    let mut part = Part::new("page", "A cluster's page, on a real API server")?;
    let cluster = OpenShift::start().await?;
    cluster.operator("bench", "").await?;
    let aro = Aro::start(AroOptions { clusters: 2, env: many(), ..AroOptions::default() }).await?;
    let session = aro.session("sre").await?;
    first_byte(&aro, &cluster, &session, &mut part).await?;
    let id = aro.import_and_wait(&cluster.reader()?, "bench", &[]).await?;
    wait_until_shown(&cluster, &session, &id, &mut part).await?;
    Ok(part)
}

async fn first_byte(aro: &Aro, cluster: &OpenShift, session: &Session, part: &mut Part) -> Result<()> {
    let reader = cluster.reader()?;
    let mut ids = Vec::new();
    for n in 0..COLD * TABS.len() {
        ids.push(aro.import_and_wait(&reader, &format!("page-{n:03}"), &[]).await?);
    }
    let title = "First byte of a cluster's page, a real API server, milliseconds";
    report::table(title, &["tab", "", "median", "99th", "aim of the median", ""]);
    let mut slowest = [0.0f64; 3];
    for (tab, ids) in TABS.into_iter().zip(ids.chunks(COLD)) {
        let (mut cold, mut filled) = (Vec::new(), Vec::new());
        for id in ids {
            let began = Instant::now();
            cold.push(once(session, &format!("{id}/{tab}")).await?);
            live(session, id, tab).await?;
            filled.push(began.elapsed());
        }
        let cold = print_row(tab, WHEN[0], cold, COLD_MS);
        let filled = print_row(tab, WHEN[1], filled, COLD_MS);
        let id = &ids[0];
        let _open = live(session, id, tab).await?;
        let mut warm = Vec::new();
        for _ in 0..WARM {
            warm.push(once(session, &format!("{id}/{tab}")).await?);
        }
        let warm = print_row(tab, WHEN[2], warm, WARM_MS);
        for (most, median) in slowest.iter_mut().zip([cold, filled, warm]) {
            *most = median.max(*most);
        }
    }
    for ((when, median), aim) in WHEN.into_iter().zip(slowest).zip([COLD_MS, COLD_MS, WARM_MS]) {
        part.most(format_args!("first byte of the slowest tab, {when}"), median, aim, "ms");
    }
    Ok(())
}

/// The page's stream, once it follows the cluster.
async fn live(session: &Session, id: &str, tab: &str) -> Result<Events> {
    let mut open = session.follow(&format!("{id}/live/{tab}")).await?;
    open.until("it is live", |text| text.contains("\"state\":\"live\"")).await?;
    Ok(open)
}

async fn once(session: &Session, path: &str) -> Result<Duration> {
    let began = Instant::now();
    let (headed, _) = session.timed(path).await?;
    Ok(headed.duration_since(began))
}

/// Gives the median.
fn print_row(tab: &str, when: &str, mut took: Vec<Duration>, aim: f64) -> f64 {
    took.sort_unstable();
    let median = percentile(&took, 0.5);
    report::row(&[
        tab.to_owned(),
        when.to_owned(),
        format!("{median:.1}"),
        format!("{:.1}", percentile(&took, 0.99)),
        format!("≤ {aim:.0}"),
        report::verdict(median, aim),
    ]);
    median
}

async fn wait_until_shown(cluster: &OpenShift, session: &Session, id: &str, part: &mut Part) -> Result<()> {
    cluster.operator("bench", "").await?;
    let mut pages = Vec::new();
    for _ in 0..WAITING {
        pages.push(live(session, id, "operators").await?);
    }
    let admin: Value = serde_json::from_str(&std::fs::read_to_string(cluster.plane.admin_kubeconfig()?)?)?;
    let token = admin["users"][0]["user"]["token"].as_str().context("a token")?;
    let client = bearer_client(cluster.plane.authority().pem(), token)?;
    let url = format!("{}/apis/config.openshift.io/v1/clusteroperators/bench/status", cluster.plane.url());
    let mut took = Vec::new();
    for n in 0..CHANGES {
        let words = format!("change number {n:04} of the benchmark");
        let condition = json!({"type": "Degraded", "status": "True", "reason": "Bench", "message": words,
            "lastTransitionTime": "2026-01-02T03:04:05Z"});
        let body = json!({"status": {"conditions": [condition]}}).to_string();
        let patch = client.patch(&url).header("content-type", "application/merge-patch+json").body(body);
        let began = Instant::now();
        let answer = patch.send().await?;
        ensure!(answer.status().is_success(), "{}", answer.text().await?);
        let mut waiting: FuturesUnordered<_> = pages
            .iter_mut()
            .map(|page| {
                let words = words.clone();
                async move {
                    page.until(&words, |text| text.contains(&words)).await?;
                    page.text.clear();
                    anyhow::Ok(began.elapsed())
                }
            })
            .collect();
        while let Some(each) = waiting.next().await {
            took.push(each?);
        }
        drop(waiting);
        // The next change is not part of this one's wave.
        tokio::time::sleep(Duration::from_millis(400)).await;
    }
    took.sort_unstable();
    report::table(
        &format!(
            "From a change in a real API server to {WAITING} open pages, {CHANGES} changes, milliseconds"
        ),
        &["median", "99th", "most", "aim of the median", ""],
    );
    let median = percentile(&took, 0.5);
    part.most(format_args!("from a change to {WAITING} open pages, median"), median, AIM_MS, "ms");
    part.stated("the same, most", format_args!("{:.0} ms", percentile(&took, 1.0)));
    report::row(&[
        format!("{median:.0}"),
        format!("{:.0}", percentile(&took, 0.99)),
        format!("{:.0}", percentile(&took, 1.0)),
        format!("≤ {AIM_MS:.0}"),
        report::verdict(median, AIM_MS),
    ]);
    Ok(())
}
