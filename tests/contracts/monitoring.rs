//! Alerts, objectives and dashboards: promtool proves the rules, every metric they name exists, every alert and every
//! objective has a section that states what to do.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use tests_kit::{part, workspace};

use crate::dashboards::DASHBOARDS;
use crate::generated::printed;

const FOLDER: &str = "deploy/monitoring";
/// Rules, the tests of which stand beside them, and the page with their run-books.
const RULES: [(&str, &str); 3] = [
    ("alerts", "docs/operations/monitor-alerts.md"),
    ("objectives", "docs/operations/objectives.md"),
    ("service", "docs/operations/service-alerts.md"),
];

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
    for (rules, _) in RULES {
        promtool(&["check", "rules", &format!("{rules}.yaml")])?;
        promtool(&["test", "rules", &format!("{rules}.test.yaml")])?;
    }
    Ok(())
}

/// Values of a key in a file of rules, in order.
fn values<'a>(rules: &'a str, key: &str) -> Vec<&'a str> {
    rules.lines().filter_map(|line| line.trim().strip_prefix(key)).collect()
}

#[test]
fn every_alert_is_proven_to_ring_and_to_be_silent_and_has_its_section() -> Result<()> {
    let mut alerts = BTreeSet::new();
    for (file, page) in RULES {
        let (rules, proofs) = (text(&format!("{file}.yaml"))?, text(&format!("{file}.test.yaml"))?);
        let book = fs::read_to_string(workspace().join(page)).with_context(|| page.to_owned())?;
        for name in values(&rules, "- alert: ") {
            ensure!(alerts.insert(name.to_owned()), "{name} stands twice");
            let rings = format!("alertname=\"{name}\"");
            ensure!(proofs.contains(&rings), "no test in {file}.test.yaml sees {name} ring");
            let silent = format!("- {{eval_time: 90m, alertname: {name}}}");
            ensure!(proofs.contains(&silent), "{name} is not among those that are silent while all is well");
            ensure!(book.contains(&format!("\n## {name}\n")), "{page} has no section {name}");
            let link = format!("runbook: {page}#{}\n", name.to_lowercase());
            ensure!(rules.contains(&link), "{name} does not lead to its section");
        }
        let known = |section: &str| !section.starts_with("Aro") || alerts.contains(section);
        let stale: Vec<&str> = values(&book, "## ").into_iter().filter(|section| !known(section)).collect();
        ensure!(stale.is_empty(), "{page} has sections of alerts that are not there: {stale:?}");
    }
    ensure!(alerts.len() > 50, "{} alerts", alerts.len());
    Ok(())
}

/// Objectives with their budgets, as recorded.
fn objectives() -> Result<Vec<(String, f64)>> {
    let rules = text("objectives.yaml")?;
    let budgets = values(&rules, "- {record: 'aro:objective:budget', labels: {objective: ");
    let read = |line: &str| {
        let (name, rest) = line.split_once("}, expr: vector(").context(line.to_owned())?;
        Ok((name.to_owned(), rest.trim_end_matches(")}").parse()?))
    };
    budgets.into_iter().map(read).collect()
}

#[test]
fn every_objective_has_its_series_its_proof_and_its_section_with_its_figure() -> Result<()> {
    let (rules, proofs) = (text("objectives.yaml")?, text("objectives.test.yaml")?);
    let page = fs::read_to_string(workspace().join("docs/operations/objectives.md"))?;
    let objectives = objectives()?;
    ensure!(objectives.len() > 10, "{} objectives", objectives.len());
    for (name, budget) in &objectives {
        for series in ["events", "errors"] {
            let recorded =
                format!("record: aro:objective_{series}:rate5m\n        labels: {{objective: {name}}}\n");
            ensure!(rules.contains(&recorded), "{name} has no {series}");
        }
        let rings = format!("alertname=\"AroObjectiveAtRisk\",objective=\"{name}\"");
        ensure!(proofs.contains(&rings), "no test sees {name} ring");
        ensure!(
            page.contains(&format!("\n### {name}\n")),
            "docs/operations/objectives.md has no section {name}"
        );
        let figure =
            format!("| [{name}](#{name}) | {} % |", (100_000.0 - budget * 100_000.0).round() / 1_000.0);
        ensure!(page.contains(&figure), "docs/operations/objectives.md has no row that begins {figure}");
    }
    let rows = page.lines().filter(|line| line.starts_with("| [")).count();
    ensure!(rows == objectives.len(), "{rows} rows for {} objectives", objectives.len());
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
    let rules = RULES.iter().flat_map(|(name, _)| [format!("{name}.yaml"), format!("{name}.test.yaml")]);
    for file in rules.chain(DASHBOARDS.map(|name| format!("{name}.json"))) {
        all_exist(&text(&file)?, &known, &file)?;
    }
    Ok(())
}

#[test]
fn dashboards_are_such_as_grafana_takes() -> Result<()> {
    let (mut uids, mut questions) = (BTreeSet::new(), Vec::new());
    for name in DASHBOARDS {
        let dashboard: Value = serde_json::from_str(&text(&format!("{name}.json"))?)?;
        ensure!(uids.insert(dashboard["uid"].to_string()), "{name}: its uid is another dashboard's");
        questions.extend(is_laid_out(&dashboard)?);
    }
    parses(&questions)
}

/// Gives the questions of a dashboard whose panels lie beside each other.
fn is_laid_out(dashboard: &Value) -> Result<Vec<String>> {
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
    Ok(questions)
}

/// Questions go through promtool's parser, all at once.
fn parses(questions: &[String]) -> Result<()> {
    let rule = |expr: &String| serde_json::json!({"record": "x:y", "expr": expr, "labels": {"of": expr}});
    let rules: Vec<Value> = questions.iter().map(rule).collect();
    let file = tempfile::NamedTempFile::new()?;
    fs::write(file.path(), serde_json::json!({"groups": [{"name": "x", "rules": rules}]}).to_string())?;
    promtool(&["check", "rules", &file.path().to_string_lossy()])
}
