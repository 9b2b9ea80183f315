//! The service watches itself: a real Prometheus scrapes a running system and evaluates the rules that ship.

use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use tests_kit::{Aro, AroOptions, Folder, GENEROUS, Process, free_port, part, until, workspace};

/// Files of rules in `deploy/monitoring`.
const RULES: [&str; 3] = ["alerts", "objectives", "service"];

/// Metrics that a system without load has, and that alerts on its parts are made of.
const METRICS: [&str; 6] = [
    "aro_ready",
    "aro_build_info",
    "aro_ready_check_failing",
    "aro_task_last_round_timestamp_seconds",
    "aro_tls_certificate_not_after_timestamp_seconds",
    "aro:objective_events:rate5m",
];

/// Rules as they ship, but looked at every second.
fn rules(folder: &Folder) -> Result<()> {
    for name in RULES {
        let text =
            std::fs::read_to_string(workspace().join("deploy/monitoring").join(name).with_extension("yaml"))?;
        let every = |minutes: &str| format!("interval: {minutes}");
        let text = text.replace(&every("1m"), &every("1s")).replace(&every("10m"), &every("1s"));
        folder.write(&format!("{name}.yaml"), text)?;
    }
    Ok(())
}

fn prometheus(folder: &Folder, target: &str) -> Result<(Process, String)> {
    let port = free_port()?;
    rules(folder)?;
    let config = format!(
        "global: {{scrape_interval: 1s, evaluation_interval: 1s}}\nrule_files: ['*.yaml']\nscrape_configs:\n\
         - {{job_name: aro, static_configs: [{{targets: ['{target}']}}]}}\n"
    );
    let config = folder.write("prometheus.yml", config)?;
    let mut command = Command::new(part("prometheus")?);
    command.arg(format!("--config.file={}", config.display()));
    command.arg(format!("--storage.tsdb.path={}", folder.path().join("data").display()));
    command.arg(format!("--web.listen-address=127.0.0.1:{port}"));
    Ok((Process::start(folder, "prometheus", &mut command)?, format!("http://127.0.0.1:{port}")))
}

async fn get(url: &str) -> Result<Value> {
    Ok(reqwest::get(url).await?.error_for_status()?.json().await?)
}

/// Names of rules whose health is another one than `ok`, and of alerts that ring.
async fn wrong(prometheus: &str) -> Result<Vec<String>> {
    let answer = get(&format!("{prometheus}/api/v1/rules")).await?;
    let groups = answer["data"]["groups"].as_array().context("groups")?;
    let rules: Vec<&Value> = groups.iter().filter_map(|group| group["rules"].as_array()).flatten().collect();
    ensure!(rules.len() > 100, "{} rules", rules.len());
    let bad = |rule: &&&Value| rule["health"] != "ok" || rule["state"] == "firing";
    let told =
        |rule: &Value| format!("{} {} {} {}", rule["name"], rule["health"], rule["state"], rule["lastError"]);
    Ok(rules.iter().filter(bad).map(|rule| told(rule)).collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_real_prometheus_takes_the_rules_and_none_rings_on_a_system_that_runs() -> Result<()> {
    let system = Aro::start(AroOptions::default()).await?;
    let target = system.dev.admin_url.strip_prefix("http://").context("admin_url")?;
    let folder = Folder::new("self-watch")?;
    let (_process, prometheus) = prometheus(&folder, target.trim_end_matches('/'))?;
    for metric in METRICS {
        until(metric, GENEROUS, || async {
            let answer = get(&format!("{prometheus}/api/v1/query?query={metric}")).await?;
            ensure!(answer["data"]["result"].as_array().is_some_and(|found| !found.is_empty()), "{answer}");
            Ok(())
        })
        .await?;
    }
    until("every rule was evaluated, and none rings", GENEROUS, || async {
        let wrong = wrong(&prometheus).await?;
        ensure!(wrong.is_empty(), "{wrong:#?}");
        Ok(())
    })
    .await
}
