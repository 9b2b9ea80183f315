//! Explorer, statistics, alerts and fleet query in a real browser, on a real Prometheus.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tests_kit::{
    Aro, AroOptions, Authority, Folder, GENEROUS, InUse, Process, Shared, browser, free_port, part, until,
};
use tokio::sync::Mutex;

/// A metric of which every Prometheus has four series from its start.
const METRIC: &str = "prometheus_engine_query_duration_seconds_count";
/// Many seconds of work in over a million small steps: Prometheus checks between steps whether the client still waits.
const SLOW: &str = "sum_over_time((label_replace(vector(time()),\"a\",\"0\",\"\",\"\") or label_replace(vector(time()),\"a\",\"1\",\"\",\"\") or label_replace(vector(time()),\"a\",\"2\",\"\",\"\") or label_replace(vector(time()),\"a\",\"3\",\"\",\"\"))[1200000s:1s])";
/// Bytes of script that the explorer may take over the wire.
const MOST_SCRIPT: u64 = 450 * 1024;

/// A development server whose imported cluster `lab` has a real Prometheus.
struct World {
    aro: Aro,
    lab: String,
    /// A simulated cluster in good health.
    simulated: String,
    _prometheus: Process,
    _folder: Folder,
}

impl World {
    async fn get() -> Result<InUse<Self>> {
        static WORLD: Shared<World> = Shared::new();
        WORLD.get(Self::start).await
    }

    async fn start() -> Result<Self> {
        let folder = Folder::new("explore")?;
        let port = free_port()?;
        let prometheus = start_prometheus(&folder, port)?;
        let ways = ("ARO_PROMETHEUS__WAYS".to_owned(), format!("lab=http://127.0.0.1:{port}"));
        let aro = Aro::start(AroOptions { clusters: 25, env: vec![ways], ..AroOptions::default() }).await?;
        let lab = aro.import_and_wait(&kubeconfig(&folder)?, "lab", &[]).await?;
        let sre = aro.session("sre").await?;
        let list = sre.get("/api/v1/clusters?state=Succeeded&source=aro").await?.ok()?.json()?;
        let id = list["items"][0]["resourceId"].as_str().with_context(|| format!("no cluster: {list}"))?;
        let simulated = id.to_ascii_lowercase();
        // Rules have been evaluated, and rates have two samples.
        let asked =
            format!("/api/v1/prom{lab}/query?query=hostile%20and%20on()%20(count(rate({METRIC}[1m]))%3E3)");
        until("the rules of Prometheus have run", GENEROUS, || async {
            let answer = sre.get(&asked).await?.ok()?.json()?;
            ensure!(answer["data"]["result"][0].is_object(), "{answer}");
            Ok(())
        })
        .await?;
        Ok(Self { aro, lab, simulated, _prometheus: prometheus, _folder: folder })
    }

    /// One browser at a time: a Prometheus that works hard leaves no room for two.
    async fn look(&self, script: &str, resource: &str, scheme: &str) -> Result<Value> {
        static TURN: Mutex<()> = Mutex::const_new(());
        let _turn = TURN.lock().await;
        let input = json!({
            "url": self.aro.dev.url, "account": "sre", "password": self.aro.password("sre")?,
            "resource": resource, "scheme": scheme, "metric": METRIC, "slow": SLOW, "hostile": "hostile",
            "wrong": { "query": "sum by (le (rate(x[5m]))", "column": 12 },
            "query": format!("rate({METRIC}[1m])"), "name": "count of what is up", "fleet": "", "cluster": "lab",
        });
        let seen = self.aro.explain(browser(self.aro.folder(), script, &input).await)?;
        ensure!(seen["errors"] == json!([]), "errors of the pages: {}", seen["errors"]);
        Ok(seen)
    }
}

/// It scrapes itself, knows a metric whose labels are hostile, and an alert.
fn start_prometheus(folder: &Folder, port: u16) -> Result<Process> {
    folder.write(
        "prometheus.yml",
        format!(
            "global: {{scrape_interval: 1s, evaluation_interval: 7s}}\nrule_files: [rules.yml]\n\
             scrape_configs:\n- job_name: itself\n  static_configs: [{{targets: ['127.0.0.1:{port}']}}]\n"
        ),
    )?;
    folder.write(
        "rules.yml",
        json!({"groups": [{"name": "story", "rules": [
            {"record": "hostile", "expr": "vector(3)",
             "labels": {"x": "<img src=x onerror=alert(1)>", "y": "\u{202e}txt.exe\"},"}},
            {"alert": "StoryFires", "expr": "hostile > 2", "labels": {"severity": "critical"},
             "annotations": {"summary": "<script>alert(2)</script>", "runbook_url": "https://runbooks.example.test/story"}},
        ]}]})
        .to_string(),
    )?;
    let mut command = Command::new(part("prometheus")?);
    command
        .arg("--config.file=prometheus.yml")
        .arg("--storage.tsdb.path=tsdb")
        .arg(format!("--web.listen-address=127.0.0.1:{port}"))
        .current_dir(folder.path());
    Process::start(folder, "prometheus", &mut command)
}

/// Of a cluster whose API is not called here: its Prometheus has an address of its own.
fn kubeconfig(folder: &Folder) -> Result<PathBuf> {
    let ca = STANDARD.encode(Authority::new("lab")?.pem());
    let text = json!({
        "kind": "Config", "apiVersion": "v1", "current-context": "c",
        "clusters": [{"name": "k", "cluster": {"server": "https://127.0.0.1:9", "certificate-authority-data": ca}}],
        "users": [{"name": "u", "user": {"token": "a-token-that-nobody-asks-for"}}],
        "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
    });
    folder.write("lab.kubeconfig", text.to_string())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_is_typed_completed_run_zoomed_cancelled_and_shared() -> Result<()> {
    let world = World::get().await?;
    let seen = world.look("explore", &world.lab, "light").await?;
    ensure!(seen["painted_first"] == true, "the page waits for its script: {seen}");
    ensure!(seen["completed"] == METRIC, "{seen}");
    ensure!(seen["rows"].as_u64().is_some_and(|rows| rows > 1), "{seen}");
    ensure!(seen["facts"].as_str().is_some_and(|facts| facts.contains("configured")), "{seen}");
    // A fifth of an hour was dragged over.
    ensure!(seen["zoomed"].as_f64().is_some_and(|secs| (600.0..850.0).contains(&secs)), "{seen}");
    for done in ["window_changed", "back", "cancelled", "idle_after", "mistake", "unknown", "shared_end"] {
        ensure!(seen[done] == true, "{done}: {seen}");
    }
    ensure!(seen["dialogs"] == json!([]) && seen["injected"] == 0, "text of the cluster ran: {seen}");
    let hostile = seen["hostile"].as_str().unwrap_or_default();
    ensure!(hostile.contains("<img src=x onerror=alert(1)>") && hostile.contains("U+202E"), "{hostile}");
    ensure!(seen["csv"] == "series,time,value", "{seen}");
    let explained = seen["explained"].as_str().unwrap_or_default();
    ensure!(explained.contains("adds up by job") && explained.contains("per second"), "{explained}");
    ensure!(seen["shared"] == json!(["sum by (job) (rate(up[5m]))", "count(up)"]), "{}", seen["shared"]);
    let bytes = seen["script_bytes"].as_u64().unwrap_or(u64::MAX);
    ensure!((100_000..=MOST_SCRIPT).contains(&bytes), "{bytes} bytes of script: {}", seen["scripts"]);
    // Who asked what is in the trail.
    let auditor = world.aro.session("auditor").await?;
    until("the questions are in the trail", GENEROUS, || async {
        ensure!(!auditor.audit("no_such_metric_at_all").await?.is_empty(), "not yet");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_explorer_is_accessible_and_never_wider_than_the_window() -> Result<()> {
    let world = World::get().await?;
    for scheme in ["light", "dark"] {
        let seen = world.look("explore-axe", &world.lab, scheme).await?;
        ensure!(seen["violations"] == json!([]), "{scheme}: accessibility: {:#}", seen["violations"]);
        ensure!(seen["wide"] == json!([]), "{scheme}: wider than the window: {:#}", seen["wide"]);
        ensure!(seen["looked"] == 18, "{scheme}: {}", seen["looked"]);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_explorer_needs_no_pointer() -> Result<()> {
    let world = World::get().await?;
    let seen = world.look("explore-keyboard", &world.lab, "light").await?;
    let expected =
        json!({ "stays": true, "left": true, "run": true, "chart": true, "cursor": true, "zoomed": true });
    ensure!(seen["keys"] == expected, "{:#}", seen["keys"]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_are_read_without_scripts() -> Result<()> {
    let world = World::get().await?;
    let seen = world.look("explore-no-script", &world.lab, "light").await?;
    ensure!(seen["range"].as_u64().is_some_and(|rows| rows > 1), "{seen}");
    ensure!(seen["instant"] == 1 && seen["values"] == 12 && seen["statistic"] == 1, "{seen}");
    ensure!(seen["mistake"].as_str().is_some_and(|text| text.contains("column 12")), "{seen}");
    ensure!(seen["alerts"].as_u64().is_some_and(|groups| groups >= 1), "{seen}");
    ensure!(seen["fleet"].as_u64().is_some_and(|rows| rows >= 1), "{seen}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn statistics_alerts_and_the_fleet_answer() -> Result<()> {
    let world = World::get().await?;
    let seen = world.look("statistics", &world.simulated, "light").await?;
    ensure!(seen["charts"] == 12 && seen["failed"] == 0 && seen["failed_8w"] == 0, "{seen}");
    ensure!(seen["drawn"].as_u64().is_some_and(|drawn| drawn >= 1), "{seen}");
    ensure!(seen["link"] == "8w" && seen["old_tab"] == "#dnsstatistics", "{seen}");
    let fleet = seen["fleet"].as_str().unwrap_or_default();
    ensure!(fleet.contains("answered") && seen["answers"].as_u64().is_some_and(|rows| rows >= 1), "{seen}");
    ensure!(seen["csv"][0] == "cluster,series,time,value" && seen["csv"][1].is_string(), "{seen}");
    ensure!(seen["together"].as_str().is_some_and(|text| !text.is_empty()), "{seen}");
    // The alert of the real one, with what its rule says as text.
    let seen = world.look("statistics", &world.lab, "light").await?;
    let alerts = seen["alerts"].to_string();
    ensure!(alerts.contains("StoryFires") && alerts.contains("<script>alert(2)"), "{alerts}");
    ensure!(seen["alert_query"] == "hostile > 2", "{seen}");
    Ok(())
}
