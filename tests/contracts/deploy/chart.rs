//! The chart `deploy/helm/aro`, rendered by helm with each file of its folder `ci/`.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use tests_kit::{Folder, part, workspace};

use super::{documents, run, settings_are_right};
use crate::generated::printed;

const CHART: &str = "deploy/helm/aro";
const SCHEMA: &str = "deploy/helm/aro/values.schema.json";
const VALUES: [&str; 3] = ["small", "cnpg", "openshift"];

fn helm(args: &[&str]) -> Result<String> {
    run(&part("helm")?, args)
}

/// Renders the chart with the values of `ci/NAME.yaml` and further arguments.
fn rendered(name: &str, more: &[&str]) -> Result<Vec<Value>> {
    let values = format!("{CHART}/ci/{name}.yaml");
    documents(&helm(&[&["template", "aro", CHART, "--values", &values], more].concat())?)
}

fn of_kind<'a>(objects: &'a [Value], kind: &'a str) -> impl Iterator<Item = &'a Value> {
    objects.iter().filter(move |object| object["kind"] == kind)
}

/// The text of `aro.toml` in the ConfigMap.
fn settings(objects: &[Value]) -> Result<&str> {
    let texts = of_kind(objects, "ConfigMap").find_map(|map| map["data"]["aro.toml"].as_str());
    texts.context("no ConfigMap has aro.toml")
}

#[test]
fn helm_finds_nothing_wrong_with_it() -> Result<()> {
    for name in VALUES {
        helm(&["lint", "--strict", CHART, "--values", &format!("{CHART}/ci/{name}.yaml")])?;
    }
    Ok(())
}

#[test]
fn it_is_of_the_workspaces_version() -> Result<()> {
    let version = env!("CARGO_PKG_VERSION");
    let text = fs::read_to_string(workspace().join(CHART).join("Chart.yaml"))?;
    for key in ["version", "appVersion"] {
        ensure!(text.lines().any(|line| line == format!("{key}: {version}")), "{key} is not {version}");
    }
    Ok(())
}

#[test]
fn every_settings_file_that_it_writes_is_right() -> Result<()> {
    for name in VALUES {
        let objects = rendered(name, &[])?;
        settings_are_right(settings(&objects)?).with_context(|| name.to_owned())?;
    }
    Ok(())
}

#[test]
fn it_refuses_settings_that_do_not_exist_and_those_that_it_decides() -> Result<()> {
    for (set, reason) in [
        ("settings.limits.drian=1s", "additional properties 'drian' not allowed"),
        ("settings.listen.admin=127.0.0.1:1", "settings.listen.admin is set by the chart"),
        ("settings.limits.leave=1s", "settings.limits.leave is set by the chart"),
        ("roles.portal.replica=3", "additional properties 'replica' not allowed"),
        ("database.url=postgres://aro:secret@db/aro", "does not match pattern"),
        ("database.url=", "database.url is needed"),
        ("networkPolicy.scrapers=null", "networkPolicy.scrapers is empty"),
    ] {
        let refused = match rendered("small", &["--set", set]) {
            Ok(_) => String::new(),
            Err(error) => format!("{error:#}"),
        };
        ensure!(refused.contains(reason), "{set}: {refused:?}");
    }
    Ok(())
}

/// What a setting may be, by the second column of the reference.
fn kind(value: &str) -> Value {
    match value {
        "true or false" => json!({ "type": "boolean" }),
        value if value.starts_with("a whole number") => json!({ "type": "integer" }),
        value if value.starts_with("a list") => json!({ "type": "array", "items": { "type": "string" } }),
        value => match value.strip_prefix("one of ") {
            Some(words) => json!({ "enum": words.split(", ").collect::<Vec<_>>() }),
            None => json!({ "type": "string" }),
        },
    }
}

/// The schema of all settings, from the reference that `aro` prints.
fn known_settings() -> Result<Value> {
    let (mut sections, mut current) = (BTreeMap::<String, BTreeMap<String, Value>>::new(), None);
    for line in printed(&["config-reference"])?.lines() {
        if let Some(name) = line.strip_prefix("## [").and_then(|rest| rest.strip_suffix(']')) {
            current = Some(sections.entry(name.to_owned()).or_default());
        } else if let Some((key, rest)) = line.strip_prefix("| `").and_then(|rest| rest.split_once("` | "))
            && let (Some(section), Some((value, _))) = (current.as_mut(), rest.split_once(" | "))
        {
            section.insert(key.to_owned(), kind(value));
        }
    }
    ensure!(sections.len() > 15, "{} sections", sections.len());
    let section = |keys| json!({ "type": "object", "additionalProperties": false, "properties": keys });
    let sections: BTreeMap<_, _> = sections.into_iter().map(|(name, keys)| (name, section(keys))).collect();
    Ok(section(serde_json::from_value(json!(sections))?))
}

#[test]
fn its_schema_knows_the_settings_of_the_reference() -> Result<()> {
    let path = workspace().join(SCHEMA);
    let mut schema: Value = serde_json::from_str(&fs::read_to_string(&path)?)?;
    let known = known_settings()?;
    if std::env::var("ARO_GOLDEN").is_ok_and(|mode| mode == "write") {
        schema["properties"]["settings"] = known;
        fs::write(&path, format!("{:#}\n", schema))?;
        return Ok(());
    }
    let stale =
        format!("{SCHEMA} has other settings than `aro print config-reference`; run with ARO_GOLDEN=write");
    ensure!(schema["properties"]["settings"] == known, stale);
    Ok(())
}

#[test]
fn every_metric_that_it_scales_by_exists() -> Result<()> {
    let text = fs::read_to_string(workspace().join(CHART).join("values.yaml"))?;
    let metrics: Vec<&str> =
        text.lines().filter_map(|line| line.trim().strip_prefix("- {metric: ")?.split(',').next()).collect();
    ensure!(metrics.len() > 4, "{metrics:?}");
    let known = printed(&["metrics"])?;
    for metric in metrics {
        let gauge = format!("| `{metric}` | gauge |");
        ensure!(known.contains(&gauge), "there is no gauge {metric}");
    }
    Ok(())
}

/// Seconds of a duration such as `15s`.
fn seconds(settings: &toml::Value, section: &str, key: &str) -> Result<u64> {
    let text = settings[section][key].as_str().with_context(|| format!("{section}.{key}"))?;
    Ok(text.strip_suffix('s').context("seconds")?.parse()?)
}

#[test]
fn a_pod_has_the_time_that_its_process_takes_to_end() -> Result<()> {
    let objects = rendered("cnpg", &[])?;
    let settings: toml::Value = toml::from_str(settings(&objects)?)?;
    let leave = seconds(&settings, "limits", "leave")?;
    let serving = leave + seconds(&settings, "limits", "drain")?;
    let mut roles = 0;
    for deployment in of_kind(&objects, "Deployment") {
        let role =
            deployment["metadata"]["labels"]["app.kubernetes.io/component"].as_str().context("role")?;
        let needed = match role {
            "monitor" | "maintenance" => seconds(&settings, role, "drain")?,
            "rp" => serving + seconds(&settings, "backend", "drain")?,
            _ => serving,
        };
        let pod = &deployment["spec"]["template"]["spec"];
        let given = pod["terminationGracePeriodSeconds"].as_u64().context("terminationGracePeriodSeconds")?;
        ensure!(given > needed, "{role}: {given} s for {needed} s");
        let rolling = &deployment["spec"]["strategy"]["rollingUpdate"];
        ensure!(rolling["maxUnavailable"] == 0, "{role}: {rolling}");
        roles += 1;
    }
    ensure!(roles == 5, "{roles} roles");
    Ok(())
}

#[test]
fn pods_hold_no_token_write_nothing_of_their_image_and_mount_what_their_role_needs() -> Result<()> {
    let objects =
        rendered("small", &["--set", "roles.rp.enabled=true", "--set", "settings.rp.domain=a.example"])?;
    for deployment in of_kind(&objects, "Deployment") {
        let role =
            deployment["metadata"]["labels"]["app.kubernetes.io/component"].as_str().context("role")?;
        let pod = &deployment["spec"]["template"]["spec"];
        ensure!(pod["automountServiceAccountToken"] == false, "{role} has a token");
        let container = &pod["containers"][0]["securityContext"];
        ensure!(container["readOnlyRootFilesystem"] == true, "{role}: {container}");
        let volumes = pod["volumes"].as_array().context("volumes")?;
        let secrets: Vec<&str> =
            volumes.iter().filter_map(|volume| volume["secret"]["secretName"].as_str()).collect();
        let expected: &[&str] = match role {
            "portal" => &["aro-checkpoint", "aro-database", "aro-keyring", "aro-oidc", "aro-tls"],
            "monitor" => &["aro-checkpoint", "aro-database", "aro-keyring"],
            _ => &["aro-checkpoint", "aro-database", "aro-keyring", "aro-tls"],
        };
        ensure!(secrets == expected, "{role} mounts {secrets:?}");
    }
    ensure!(of_kind(&objects, "Secret").next().is_none(), "the chart holds a secret");
    ensure!(of_kind(&objects, "RoleBinding").next().is_none(), "the chart gives rights");
    Ok(())
}

#[test]
fn a_package_has_the_rules_of_the_monitoring_and_not_their_proofs() -> Result<()> {
    let objects = rendered("cnpg", &[])?;
    let rules: Vec<String> = of_kind(&objects, "PrometheusRule").map(Value::to_string).collect();
    let folder = workspace().join("deploy/monitoring");
    for entry in fs::read_dir(&folder)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if !name.ends_with(".yaml") || name.ends_with(".test.yaml") {
            continue;
        }
        let text = fs::read_to_string(folder.join(&name))?;
        for alert in text.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")) {
            let there = format!("\"alert\":\"{alert}\"");
            ensure!(rules.iter().any(|rule| rule.contains(&there)), "{name}: {alert} is not in the chart");
        }
    }
    let packages = Folder::new("package")?;
    helm(&["package", CHART, "--destination", &packages.path().display().to_string()])?;
    let archive = packages.path().join(format!("aro-{}.tgz", env!("CARGO_PKG_VERSION")));
    let files = run("tar".as_ref(), &["--list", "--gzip", "--file", &archive.display().to_string()])?;
    ensure!(files.contains("files/monitoring/alerts.yaml"), "{files}");
    ensure!(!files.contains(".test.yaml") && !files.contains("/ci/"), "{files}");
    Ok(())
}
