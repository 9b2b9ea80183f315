//! PromQL through us, beside Prometheus itself in the same run.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use tests_kit::{Aro, AroOptions, ControlPlane, FaultyPrometheus, Monitoring, Session, until};

use crate::Scale;
use crate::measure::{Spread, resident};
use crate::report::{self, Part};

const AIM_OVERHEAD: f64 = 0.10;
const AIM_MEMORY_MIB: f64 = 16.0;
const AIM_SUGGEST_MS: f64 = 100.0;
const AIM_FLEET_MS: f64 = 2000.0;
/// Samples of the large answer: about 10 MiB.
const SAMPLES: u64 = 480_000;
const CLUSTERS: u32 = 1000;
const PATIENCE: Duration = Duration::from_secs(120);

/// Gives the part's table.
pub(crate) async fn run(scale: &Scale) -> Result<Part> {
    let mut part = Part::new("prom", "PromQL through us, beside Prometheus itself")?;
    let plane = ControlPlane::start().await?;
    let monitoring = Monitoring::start(&plane).await?;
    let faulty = FaultyPrometheus::start()?;
    let ways =
        format!("direct={},huge={},names={}", monitoring.url(0), faulty.url("huge"), faulty.url("names"));
    let env = [
        ("ARO_PROMETHEUS__WAYS", ways.as_str()),
        ("ARO_PROMETHEUS__ANSWER_BYTES", "8589934592"),
        ("ARO_PROMETHEUS__SERIES", "10000000"),
    ];
    let env = env.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    let aro = Aro::start(AroOptions { clusters: CLUSTERS, env, ..AroOptions::default() }).await?;
    let service = plane.service_kubeconfig()?;
    for name in ["direct", "huge", "names", "forwarded"] {
        aro.import(&service, name, &[]).await?;
    }
    let session = aro.session("sre").await?;
    range(&aro, &session, &monitoring, scale, &mut part).await?;
    suggest(&session, &faulty, scale, &mut part).await?;
    fleet(&aro, &session, scale, &mut part).await?;
    memory(&aro, &session, &mut part).await?;
    Ok(part)
}

fn resource(name: &str) -> String {
    format!(
        "/subscriptions/00000000-0000-0000-0000-000000000000/resourcegroups/imported/providers/microsoft.redhatopenshift/openshiftclusters/{name}"
    )
}

async fn tool(aro: &Aro, session: &Session, name: &str) -> Result<Session> {
    let body = json!({ "target": resource(name), "kind": "metrics", "rights": "read", "reason": "benchmark of queries" });
    let issued = until("a token for metrics", PATIENCE, || async {
        session.post("/api/v1/grants", &body).await?.ok()?.json()
    })
    .await?;
    Ok(aro.proxy()?.with_bearer(issued["token"].as_str().context("no token")?))
}

/// Every series of one replica as it is now, at so many points: Prometheus looks each up once.
async fn large(monitoring: &Monitoring) -> Result<String> {
    let count = monitoring.ask(0, "query?query=count(%7Bjob%3D%22prometheus%22%7D)").await?;
    let value = &count["data"]["result"][0]["value"];
    let series: u64 = value[1].as_str().context("a count")?.parse()?;
    let now = value[0].as_f64().context("a time")?;
    let query = format!("%7Bjob%3D%22prometheus%22%7D+%40+{now}");
    let points = (SAMPLES / series.max(1)).clamp(2, 10_000);
    Ok(format!("query={query}&start=1700000000&end={}&step=1", 1_700_000_000 + points - 1))
}

/// Wall time of a large answer: Prometheus itself, through us by address, through us by port-forward.
async fn range(
    aro: &Aro,
    session: &Session,
    monitoring: &Monitoring,
    scale: &Scale,
    part: &mut Part,
) -> Result<()> {
    let form = large(monitoring).await?;
    let itself = Session::open("", &monitoring.url(0), None)?;
    let (direct, forwarded) = (tool(aro, session, "direct").await?, tool(aro, session, "forwarded").await?);
    let subjects = [
        ("Prometheus itself", &itself, "/api/v1/query_range".to_owned()),
        ("aro, by address", &direct, format!("{}/prometheus/api/v1/query_range", resource("direct"))),
        (
            "aro, by port-forward",
            &forwarded,
            format!("{}/prometheus/api/v1/query_range", resource("forwarded")),
        ),
    ];
    let mut times = [Vec::new(), Vec::new(), Vec::new()];
    let mut size = 0;
    for round in 0..=scale.rounds.max(5) {
        for ((_, who, path), times) in subjects.iter().zip(&mut times) {
            let began = Instant::now();
            let (status, bytes) = who.drain(path, &form).await?;
            ensure!(status == 200, "{path}: {status}");
            size = bytes;
            // The first round opens connections.
            if round > 0 {
                times.push(began.elapsed().as_secs_f64() * 1000.0);
            }
        }
    }
    let title = format!("A range answer of {} MiB", size >> 20);
    report::table(&title, &["", "least, ms", "median, ms", "added (medians)", "aim", ""]);
    let base = Spread::from_samples(&times[0])?;
    for ((name, _, _), times) in subjects.iter().zip(&times) {
        let spread = Spread::from_samples(times)?;
        let added = spread.median / base.median - 1.0;
        let compared = *name != "Prometheus itself";
        let answer = format!("a range answer of {} MiB", size >> 20);
        if compared {
            part.most(format_args!("{answer}: added by {name}"), added * 100.0, AIM_OVERHEAD * 100.0, "%");
        } else {
            part.stated(format_args!("{answer}: {name}"), format_args!("{:.1} ms", spread.median));
        }
        report::row(&[
            (*name).to_owned(),
            format!("{:.1}", spread.least),
            format!("{:.1}", spread.median),
            if compared { format!("{:.0} %", added * 100.0) } else { String::new() },
            if compared { format!("≤ {:.0} %", AIM_OVERHEAD * 100.0) } else { String::new() },
            if compared { report::verdict(added, AIM_OVERHEAD) } else { String::new() },
        ]);
    }
    Ok(())
}

/// Suggestions among 500,000 names, beside fetching them all.
async fn suggest(session: &Session, faulty: &FaultyPrometheus, scale: &Scale, part: &mut Part) -> Result<()> {
    let base = format!("/api/v1/prom{}", resource("names"));
    let itself = Session::open("", &faulty.url("names"), None)?;
    let (mut all, mut warm) = (Vec::new(), Vec::new());
    let began = Instant::now();
    session.get(&format!("{base}/suggest?q=component_4")).await?.ok()?;
    let cold = began.elapsed().as_secs_f64() * 1000.0;
    until("all names are there", PATIENCE, || async {
        let found = session.get(&format!("{base}/suggest?q=component_4")).await?.ok()?.json()?;
        ensure!(found["complete"] == true, "{}", found["total"]);
        Ok(())
    })
    .await?;
    for round in 0..scale.rounds.max(10) {
        let began = Instant::now();
        itself.get("/api/v1/label/__name__/values").await?.ok()?;
        all.push(began.elapsed().as_secs_f64() * 1000.0);
        let began = Instant::now();
        session.get(&format!("{base}/suggest?q=operation_{round:03}+duration&limit=100")).await?.ok()?;
        warm.push(began.elapsed().as_secs_f64() * 1000.0);
    }
    report::table("Suggestions among 500,000 names", &["", "least, ms", "median, ms", "aim", ""]);
    let rows = [
        ("all names from their source, as a page without us would", Spread::from_samples(&all)?, None),
        ("our first answer, nothing loaded", Spread::from_samples(&[cold])?, Some(AIM_SUGGEST_MS)),
        ("our answers, names loaded", Spread::from_samples(&warm)?, Some(AIM_SUGGEST_MS)),
    ];
    for (name, spread, aim) in rows {
        let what = format!("suggestions among 500,000 names: {name}");
        match aim {
            Some(aim) => part.most(what, spread.median, aim, "ms"),
            None => part.stated(what, format_args!("{:.1} ms", spread.median)),
        }
        report::row(&[
            name.to_owned(),
            format!("{:.1}", spread.least),
            format!("{:.1}", spread.median),
            aim.map(|aim| format!("≤ {aim}")).unwrap_or_default(),
            aim.map(|aim| report::verdict(spread.median, aim)).unwrap_or_default(),
        ]);
    }
    Ok(())
}

/// One query over every simulated cluster: the first time with a dial, two handshakes and a port-forward for
/// each, then over kept connections.
async fn fleet(aro: &Aro, session: &Session, scale: &Scale, part: &mut Part) -> Result<()> {
    let ask = json!({ "query": "sum(up)", "clusters": "source:aro state:succeeded", "aggregate": "sum", "timeout": 5 });
    let before = mebibytes(aro)?;
    let mut times = Vec::new();
    let mut end = Value::Null;
    for _ in 0..scale.rounds.max(3) {
        let began = Instant::now();
        let answer = session.post("/api/v1/fleet/query", &ask).await?.ok()?;
        times.push(began.elapsed().as_secs_f64() * 1000.0);
        let last = answer.text.rsplit("event: end\ndata: ").next().context("no end")?;
        end = serde_json::from_str(last.trim())?;
    }
    let first = times[0];
    let again = Spread::from_samples(&times[1..])?;
    let title = format!("A fleet query over {} clusters, {} answered", end["clusters"], end["answered"]);
    report::table(&title, &["", "ms", "aim", ""]);
    for (name, value) in [("first", first), ("again, median", again.median)] {
        let what = format!("query over {} clusters, {} answered, {name}", end["clusters"], end["answered"]);
        part.most(what, value, AIM_FLEET_MS, "ms");
        let aim = format!("≤ {AIM_FLEET_MS}");
        report::row(&[name.to_owned(), format!("{value:.0}"), aim, report::verdict(value, AIM_FLEET_MS)]);
    }
    let memory =
        format!("{:.1} MiB more, with the simulated clusters in the same process", mebibytes(aro)? - before);
    report::row(&["resident memory".to_owned(), memory, String::new(), String::new()]);
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "bytes for people")]
fn mebibytes(aro: &Aro) -> Result<f64> {
    Ok(resident(aro.process().pid())? as f64 / 1_048_576.0)
}

/// The most memory while a gigabyte passes.
async fn memory(aro: &Aro, session: &Session, part: &mut Part) -> Result<()> {
    let tool = tool(aro, session, "huge").await?;
    let path = format!("{}/prometheus/api/v1/query_range", resource("huge"));
    let form = "query=many&start=1700000000&end=1700014970&step=30";
    let before = mebibytes(aro)?;
    let draining = tool.drain(&path, form);
    tokio::pin!(draining);
    let (mut most, began) = (before, Instant::now());
    let (status, size) = loop {
        tokio::select! {
            drained = &mut draining => break drained?,
            () = tokio::time::sleep(Duration::from_millis(20)) => most = most.max(mebibytes(aro)?),
        }
    };
    ensure!(status == 200, "{status}");
    let what = format!("an answer of {} MiB: memory above idle", size >> 20);
    part.most(what, most - before, AIM_MEMORY_MIB, "MiB");
    report::table(&format!("An answer of {} MiB", size >> 20), &["", "MiB above idle", "aim", "", "seconds"]);
    report::row(&[
        "resident memory, most".to_owned(),
        format!("{:.1}", most - before),
        format!("≤ {AIM_MEMORY_MIB}"),
        report::verdict(most - before, AIM_MEMORY_MIB),
        format!("{:.1}", began.elapsed().as_secs_f64()),
    ]);
    Ok(())
}
