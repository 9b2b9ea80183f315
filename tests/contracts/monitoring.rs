//! Alerts and dashboard of the monitor: promtool proves the rules, every metric they name exists, every alert has
//! a section that states what to do.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use tests_kit::{part, workspace};

use crate::generated::printed;

const FOLDER: &str = "deploy/monitoring";

fn text(file: &str) -> Result<String> {
    let path = workspace().join(FOLDER).join(file);
    fs::read_to_string(&path).with_context(|| path.display().to_string())
}

fn promtool(args: &[&str]) -> Result<()> {
    let output = Command::new(part("promtool")?).args(args).current_dir(workspace().join(FOLDER)).output()?;
    let said = [&output.stdout[..], &output.stderr[..]].concat();
    ensure!(output.status.success(), "promtool {}:\n{}", args.join(" "), String::from_utf8_lossy(&said));
    Ok(())
}

#[test]
fn rules_are_valid_and_ring_for_their_faults_only() -> Result<()> {
    promtool(&["check", "rules", "alerts.yaml"])?;
    promtool(&["test", "rules", "alerts.test.yaml"])
}

/// Names of alerts in order.
fn alerts() -> Result<Vec<String>> {
    let rules = text("alerts.yaml")?;
    let names = rules.lines().filter_map(|line| line.trim().strip_prefix("- alert: "));
    let names: Vec<String> = names.map(str::to_owned).collect();
    ensure!(names.len() > 10, "{} alerts", names.len());
    Ok(names)
}

#[test]
fn every_alert_is_proven_to_ring_and_to_be_silent_and_has_its_section() -> Result<()> {
    let proofs = text("alerts.test.yaml")?;
    let book = fs::read_to_string(workspace().join("docs/operations/monitor-alerts.md"))?;
    let rules = text("alerts.yaml")?;
    for name in alerts()? {
        let rings = format!("alertname=\"{name}\"");
        ensure!(proofs.contains(&rings), "no test in alerts.test.yaml sees {name} ring");
        let silent = format!("- {{eval_time: 90m, alertname: {name}}}");
        ensure!(proofs.contains(&silent), "{name} is not among those that are silent while all is well");
        ensure!(
            book.contains(&format!("\n## {name}\n")),
            "docs/operations/monitor-alerts.md has no section {name}"
        );
        let link = format!("runbook: docs/operations/monitor-alerts.md#{}\n", name.to_lowercase());
        ensure!(rules.contains(&link), "{name} does not lead to its section");
    }
    Ok(())
}

/// Names in the generated list.
fn known() -> Result<BTreeSet<String>> {
    let list = printed(&["metrics"])?;
    let name = |line: &str| Some(line.strip_prefix("| `")?.split('`').next()?.to_owned());
    let names: BTreeSet<String> = list.lines().filter_map(name).collect();
    ensure!(names.len() > 100, "{} metrics", names.len());
    Ok(names)
}

/// Words of a text that are names of metrics.
fn metrics(text: &str) -> BTreeSet<&str> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    // A word that ends in `_` is the beginning of a pattern.
    words
        .filter(|word| word.starts_with("aro_") || word.starts_with("process_"))
        .filter(|word| !word.ends_with('_'))
        .collect()
}

fn all_exist(text: &str, known: &BTreeSet<String>, file: &str) -> Result<()> {
    let base = |name: &str| {
        let histogram = ["_bucket", "_sum", "_count"].iter().find_map(|end| name.strip_suffix(end));
        known.contains(name) || histogram.is_some_and(|name| known.contains(name))
    };
    let missing: Vec<&str> = metrics(text).into_iter().filter(|name| !base(name)).collect();
    ensure!(missing.is_empty(), "{file} names metrics that the software does not have: {missing:?}");
    Ok(())
}

#[test]
fn every_metric_in_rules_and_dashboard_exists() -> Result<()> {
    let known = known()?;
    for file in ["alerts.yaml", "alerts.test.yaml", "fleet.json"] {
        all_exist(&text(file)?, &known, file)?;
    }
    Ok(())
}

#[test]
fn the_dashboard_is_one_that_grafana_takes() -> Result<()> {
    let dashboard: Value = serde_json::from_str(&text("fleet.json")?)?;
    ensure!(dashboard["schemaVersion"].as_u64() >= Some(36), "{}", dashboard["schemaVersion"]);
    for member in ["title", "uid", "templating", "panels", "time"] {
        ensure!(!dashboard[member].is_null(), "no {member}");
    }
    let panels = dashboard["panels"].as_array().context("panels")?;
    let (mut ids, mut places, mut questions) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
    for panel in panels {
        let title = panel["title"].as_str().context("a panel without a title")?;
        ensure!(ids.insert(panel["id"].as_u64()), "{title}: its id is another panel's");
        let at =
            |key: &str| panel["gridPos"][key].as_u64().with_context(|| format!("{title}: gridPos.{key}"));
        let (x, y, w, h) = (at("x")?, at("y")?, at("w")?, at("h")?);
        ensure!(x + w <= 24 && w > 0 && h > 0, "{title} does not fit");
        for cell in (x..x + w).flat_map(|x| (y..y + h).map(move |y| (x, y))) {
            ensure!(places.insert(cell), "{title} lies over another panel");
        }
        if panel["type"] == "row" {
            continue;
        }
        ensure!(panel["datasource"]["uid"] == "${datasource}", "{title}: not the chosen data source");
        let targets = panel["targets"].as_array().with_context(|| format!("{title}: targets"))?;
        for target in targets {
            let expr = target["expr"].as_str().with_context(|| format!("{title}: expr"))?;
            questions.push(expr.to_owned());
        }
    }
    parses(&questions)
}

/// Questions go through promtool's parser, all at once.
fn parses(questions: &[String]) -> Result<()> {
    let rule = |expr: &String| serde_json::json!({"record": "x:y", "expr": expr, "labels": {"of": expr}});
    let rules: Vec<Value> = questions.iter().map(rule).collect();
    let file = tempfile::NamedTempFile::new()?;
    fs::write(file.path(), serde_json::json!({"groups": [{"name": "x", "rules": rules}]}).to_string())?;
    promtool(&["check", "rules", &file.path().to_string_lossy()])
}
