//! How many series one cluster has, on the answers of a cluster of real size that the benchmark reads.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use rp_documents::ResourceId;
use rp_monitor::ClusterView;
use rp_monitor::cluster_objects::{ClusterObjects, Endpoint, Resource};
use rp_monitor::collect::{COLLECTORS, CollectorOutput};
use rp_monitor::fetch::FetchError;
use rp_monitor::sample::{MOST_SERIES, budget};
use rp_net::Source;
use serde_json::Value;

use super::objects::NOW;

/// The alerts and what each path answers.
fn fixture() -> Result<(Value, BTreeMap<String, Value>)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("bench/fixture/cluster.json.gz");
    let output = Command::new("gzip").arg("-dc").arg(&path).output().context("gzip")?;
    ensure!(output.status.success(), "{} cannot be unpacked", path.display());
    let mut file: Value = serde_json::from_slice(&output.stdout)?;
    let answers = serde_json::from_value(file["answers"].take())?;
    Ok((file["alerts"].take(), answers))
}

/// What the collectors tell of these answers, and which of them fail.
fn collect_once(alerts: &Value, answers: &BTreeMap<String, Value>) -> Result<(CollectorOutput, Vec<String>)> {
    let id = ResourceId::parse(super::ID)?;
    let mut view = ClusterView::bare("bench".to_owned(), id, Source::Aro);
    "https://api.bench.westeurope.aroapp.io:6443/".clone_into(&mut view.api_url);
    let seen = ClusterObjects::new(Arc::new(view), NOW, true, "commit");
    seen.page(
        &Resource::ClusterVersion,
        answers["/apis/config.openshift.io/v1/clusterversions/version"].to_string().as_bytes(),
    )?;
    let mut told = CollectorOutput::new(true);
    let mut failed = Vec::new();
    for collector in COLLECTORS {
        // What it needs may depend on what it saw.
        loop {
            let needs: Vec<Resource> =
                (collector.needs)(&seen).into_iter().filter(|need| !seen.has(need)).collect();
            for need in &needs {
                let request = need.request();
                let answer = match request.via {
                    Endpoint::Alertmanager => Some(alerts),
                    _ => answers.get(request.path.as_ref()),
                };
                match answer {
                    Some(answer) => {
                        ensure!(seen.page(need, answer.to_string().as_bytes())?.is_none(), "one page");
                    }
                    None => {
                        let message = "not found".to_owned();
                        seen.fail(need, FetchError::Status { code: 404, message, retry_after: None });
                    }
                }
            }
            if needs.is_empty() {
                break;
            }
        }
        if let Err(error) = (collector.run)(&seen, &mut told) {
            failed.push(format!("{}: {error}", collector.name));
        }
    }
    Ok((told, failed))
}

#[test]
fn a_cluster_of_real_size_is_within_the_budget() -> Result<()> {
    let (alerts, answers) = fixture()?;
    let (told, failed) = collect_once(&alerts, &answers)?;
    ensure!(failed.is_empty(), "{failed:?}");
    let (series, left_out) = budget(&told.samples);
    ensure!(left_out == 0 && series.len() < 100, "{} series, {left_out} left out", series.len());
    Ok(())
}

#[test]
fn a_cluster_in_which_everything_is_wrong_is_cut_at_the_budget() -> Result<()> {
    let (alerts, mut answers) = fixture()?;
    for answer in answers.values_mut() {
        for item in answer["items"].as_array_mut().into_iter().flatten() {
            for condition in item["status"]["conditions"].as_array_mut().into_iter().flatten() {
                condition["status"] = "Broken".into();
            }
        }
    }
    let (told, _) = collect_once(&alerts, &answers)?;
    let (series, left_out) = budget(&told.samples);
    ensure!(series.len() == MOST_SERIES && left_out > 100, "{} series, {left_out} left out", series.len());
    let infos = series.iter().filter(|series| series.exposed.name == "aro_cluster_machine_phase").count();
    ensure!(infos == 0, "what merely is goes first");
    Ok(())
}
