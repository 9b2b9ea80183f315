//! Arrows point one way (`docs/architecture.md`): which of our crates may use which.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use tests_kit::workspace;

/// Crate, then what it may use of ours. A crate that would need an arrow back is cut in the wrong place:
/// the table of `docs/architecture.md` changes first, with the reason.
const MAY_USE: &[(&str, &[&str])] = &[
    ("rp-base", &[]),
    ("rp-documents", &["rp-base"]),
    ("rp-seal", &["rp-base", "rp-documents"]),
    ("rp-metrics", &["rp-base"]),
    ("rp-config", &["rp-base"]),
    ("rp-runtime", &["rp-base", "rp-config", "rp-metrics"]),
    ("rp-net", &["rp-base", "rp-documents", "rp-metrics"]),
    ("rp-database", &["rp-base", "rp-documents", "rp-seal", "rp-metrics"]),
    ("rp-audit", &["rp-base", "rp-documents", "rp-seal", "rp-database", "rp-metrics"]),
    ("rp-access", &["rp-base", "rp-documents", "rp-seal", "rp-database", "rp-audit", "rp-net", "rp-metrics"]),
    ("rp-kube", &["rp-base", "rp-documents", "rp-net", "rp-metrics"]),
    ("rp-promql", &[]),
    ("rp-prometheus", &["rp-base", "rp-documents", "rp-net", "rp-kube", "rp-promql", "rp-metrics"]),
    ("rp-api", &[]),
    ("rp-client", &["rp-base"]),
    ("rp-tunnel", &["rp-base"]),
    ("rp-azure", &["rp-base", "rp-documents", "rp-net", "rp-metrics"]),
    (
        "rp-frontend",
        &[
            "rp-base",
            "rp-documents",
            "rp-api",
            "rp-seal",
            "rp-database",
            "rp-audit",
            "rp-access",
            "rp-net",
            "rp-azure",
            "rp-kube",
            "rp-metrics",
        ],
    ),
    (
        "rp-cluster",
        &["rp-base", "rp-documents", "rp-seal", "rp-net", "rp-azure", "rp-kube", "rp-api", "rp-metrics"],
    ),
    (
        "rp-backend",
        &[
            "rp-base",
            "rp-documents",
            "rp-database",
            "rp-net",
            "rp-azure",
            "rp-kube",
            "rp-cluster",
            "rp-api",
            "rp-metrics",
        ],
    ),
    ("rp-observe", &["rp-base", "rp-documents", "rp-net", "rp-kube", "rp-metrics"]),
    (
        "rp-recording",
        &["rp-base", "rp-documents", "rp-seal", "rp-database", "rp-audit", "rp-azure", "rp-metrics"],
    ),
    (
        "rp-monitor",
        &[
            "rp-base",
            "rp-documents",
            "rp-seal",
            "rp-database",
            "rp-net",
            "rp-azure",
            "rp-kube",
            "rp-prometheus",
            "rp-metrics",
        ],
    ),
    ("rp-simulator", &["rp-base", "rp-documents", "rp-net", "rp-promql"]),
    (
        "rp-core",
        &[
            "rp-recording",
            "rp-base",
            "rp-documents",
            "rp-seal",
            "rp-metrics",
            "rp-config",
            "rp-runtime",
            "rp-net",
            "rp-database",
            "rp-audit",
            "rp-access",
            "rp-kube",
            "rp-azure",
            "rp-api",
            "rp-frontend",
            "rp-cluster",
            "rp-backend",
        ],
    ),
    ("web", &[]),
    (
        "proxy",
        &[
            "rp-recording",
            "rp-tunnel",
            "rp-base",
            "rp-documents",
            "rp-seal",
            "rp-net",
            "rp-database",
            "rp-access",
            "rp-audit",
            "rp-kube",
            "rp-metrics",
            "rp-prometheus",
        ],
    ),
    (
        "portal",
        &[
            "rp-recording",
            "web",
            "proxy",
            "rp-base",
            "rp-documents",
            "rp-seal",
            "rp-net",
            "rp-database",
            "rp-audit",
            "rp-access",
            "rp-azure",
            "rp-kube",
            "rp-metrics",
            "rp-observe",
            "rp-prometheus",
            "rp-promql",
        ],
    ),
    ("portal-cli", &["rp-base", "rp-tunnel"]),
    (
        "aro",
        &[
            "rp-recording",
            "portal",
            "proxy",
            "portal-cli",
            "rp-core",
            "rp-base",
            "rp-documents",
            "rp-seal",
            "rp-metrics",
            "rp-config",
            "rp-runtime",
            "rp-net",
            "rp-database",
            "rp-audit",
            "rp-access",
            "rp-azure",
            "rp-kube",
            "rp-monitor",
            "rp-observe",
            "rp-prometheus",
            "rp-api",
            "rp-client",
            "rp-frontend",
            "rp-cluster",
            "rp-backend",
        ],
    ),
    (
        "aro-dev",
        &[
            "rp-recording",
            "aro",
            "portal",
            "rp-core",
            "rp-base",
            "rp-documents",
            "rp-seal",
            "rp-metrics",
            "rp-config",
            "rp-runtime",
            "rp-net",
            "rp-database",
            "rp-audit",
            "rp-access",
            "rp-azure",
            "rp-kube",
            "rp-monitor",
            "rp-observe",
            "rp-simulator",
            "rp-prometheus",
            "rp-api",
            "rp-frontend",
            "rp-cluster",
            "rp-backend",
        ],
    ),
    ("tests-kit", &["rp-base", "rp-documents", "rp-database", "rp-client"]),
    // Measures the parts by themselves too.
    (
        "bench",
        &[
            "rp-recording",
            "tests-kit",
            "rp-base",
            "rp-documents",
            "rp-seal",
            "rp-net",
            "rp-metrics",
            "rp-database",
            "rp-audit",
            "rp-access",
            "rp-monitor",
            "rp-api",
            "rp-client",
            "rp-frontend",
            "rp-cluster",
            "rp-backend",
        ],
    ),
    ("tests", &["tests-kit"]),
];

struct Package {
    name: String,
    manifest: PathBuf,
    /// Of ours, but not for its tests.
    uses: BTreeSet<String>,
}

fn packages() -> Result<Vec<Package>> {
    let output = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["metadata", "--no-deps", "--format-version=1", "--offline"])
        .current_dir(workspace())
        .output()?;
    ensure!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    let list = metadata["packages"].as_array().context("packages")?;
    list.iter().map(package).collect()
}

fn package(value: &Value) -> Result<Package> {
    let text =
        |value: &Value, key: &str| value[key].as_str().map(str::to_owned).with_context(|| key.to_owned());
    let uses = value["dependencies"].as_array().context("dependencies")?;
    let uses = uses
        .iter()
        .filter(|dependency| dependency["source"].is_null() && dependency["kind"] != "dev")
        .map(|dependency| text(dependency, "name"))
        .collect::<Result<_>>()?;
    Ok(Package { name: text(value, "name")?, manifest: text(value, "manifest_path")?.into(), uses })
}

#[test]
fn crates_use_only_what_the_architecture_allows() -> Result<()> {
    let table: BTreeMap<&str, BTreeSet<&str>> =
        MAY_USE.iter().map(|(name, uses)| (*name, uses.iter().copied().collect())).collect();
    let mut wrong = Vec::new();
    for package in packages()? {
        match table.get(&*package.name) {
            None => wrong.push(format!("{} is not in the table", package.name)),
            Some(allowed) => {
                let extra = package.uses.iter().filter(|used| !allowed.contains(used.as_str()));
                wrong.extend(extra.map(|used| format!("{} may not use {used}", package.name)));
            }
        }
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

#[test]
fn no_arrow_points_back() -> Result<()> {
    // Whoever stands later in the table may use whoever stands earlier.
    let place = |name: &str| MAY_USE.iter().position(|(other, _)| *other == name);
    for (at, (name, uses)) in MAY_USE.iter().enumerate() {
        for used in *uses {
            let used_at = place(used).with_context(|| format!("{used} is not in the table"))?;
            ensure!(used_at < at, "{name} uses {used}, which stands after it");
        }
    }
    Ok(())
}

#[test]
fn lints_and_versions_come_from_the_workspace() -> Result<()> {
    let mut wrong = Vec::new();
    for package in packages()? {
        let manifest: toml::Table = std::fs::read_to_string(&package.manifest)?.parse()?;
        let inherits = |key: &str| inherited(manifest.get(key));
        if !inherits("lints") {
            wrong.push(format!("{}: lints.workspace = true is missing", package.name));
        }
        for section in ["dependencies", "dev-dependencies", "build-dependencies"] {
            let table = manifest.get(section).and_then(toml::Value::as_table);
            for (name, dependency) in table.into_iter().flatten() {
                if !inherited(Some(dependency)) || dependency.get("features").is_some() {
                    wrong.push(format!("{}: {section}.{name} is not the workspace's", package.name));
                }
            }
        }
        let package_table = manifest.get("package").context("package")?;
        for key in ["version", "edition", "rust-version", "license", "publish"] {
            if !inherited(package_table.get(key)) {
                wrong.push(format!("{}: package.{key} is not the workspace's", package.name));
            }
        }
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

fn inherited(value: Option<&toml::Value>) -> bool {
    value.and_then(|value| value.get("workspace")).and_then(toml::Value::as_bool) == Some(true)
}

#[test]
fn nothing_stands_beside_the_known_folders() -> Result<()> {
    let known = ["portal", "proxy", "web", "rp-core", "deploy", "docs", "tests"];
    for entry in std::fs::read_dir(workspace())? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let ours = entry.file_type()?.is_dir() && !name.starts_with('.') && tracked(&entry.path())?;
        ensure!(!ours || known.contains(&name.as_str()), "folder {name} is not one of {known:?}");
    }
    Ok(())
}

/// Whether git knows a file below the path: build output and the like is no part of the project.
fn tracked(path: &Path) -> Result<bool> {
    let output = Command::new("git").arg("ls-files").arg("--").arg(path).current_dir(workspace()).output()?;
    Ok(!output.stdout.is_empty())
}
