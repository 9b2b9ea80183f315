//! Arrows point one way (`docs/architecture.md`): which of our crates may use which.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;
use tests_kit::workspace;

/// A row of the table of `docs/architecture.md`.
struct Row {
    name: String,
    folder: String,
    uses: Vec<String>,
}

/// The table "Crates and arrows"; crates of rp-core are used there without their prefix. A crate that would need an arrow back is cut in the wrong place: the table
/// changes first, with the reason.
fn table() -> Result<Vec<Row>> {
    let text = std::fs::read_to_string(workspace().join("docs/architecture.md"))?;
    let (_, section) = text.split_once("\n## Crates and arrows\n").context("the section of the crates")?;
    let section = section.split("\n## ").next().unwrap_or_default();
    let mut rows: Vec<Row> =
        section.lines().filter(|line| line.starts_with("| `")).map(row).collect::<Result<_>>()?;
    let names: BTreeSet<String> = rows.iter().map(|row| row.name.clone()).collect();
    for used in rows.iter_mut().flat_map(|row| &mut row.uses).filter(|used| !names.contains(*used)) {
        *used = format!("rp-{used}");
    }
    ensure!(rows.len() > 30, "{} crates in the table", rows.len());
    Ok(rows)
}

/// `| `crate` | `folder` | what it holds | a, b |`.
fn row(line: &str) -> Result<Row> {
    let cells = line.trim_matches('|').split('|').map(|cell| cell.trim().trim_matches('`'));
    let [name, folder, _, uses] = cells.collect::<Vec<_>>()[..] else { bail!("{line} has not four cells") };
    let uses = uses.split(", ").filter(|used| *used != "–").map(str::to_owned).collect();
    Ok(Row { name: name.to_owned(), folder: folder.to_owned(), uses })
}

pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) manifest: PathBuf,
    /// Of ours, but not for its tests.
    pub(crate) uses: BTreeSet<String>,
}

pub(crate) fn packages() -> Result<Vec<Package>> {
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
    let mut table: BTreeMap<String, Row> = table()?.into_iter().map(|row| (row.name.clone(), row)).collect();
    let mut wrong = Vec::new();
    for package in packages()? {
        let Some(row) = table.remove(&package.name) else {
            wrong.push(format!("{} is not in the table", package.name));
            continue;
        };
        let extra = package.uses.iter().filter(|used| !row.uses.contains(used));
        wrong.extend(extra.map(|used| format!("{} may not use {used}", package.name)));
        if package.manifest != workspace().join(&row.folder).join("Cargo.toml") {
            wrong.push(format!("{} is not in {}", package.name, row.folder));
        }
    }
    wrong.extend(table.keys().map(|name| format!("{name} is in the table and not in the workspace")));
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

#[test]
fn no_arrow_points_back() -> Result<()> {
    let table = table()?;
    // A row may use rows before it.
    let place = |name: &str| table.iter().position(|row| row.name == name);
    for (at, row) in table.iter().enumerate() {
        for used in &row.uses {
            let used_at = place(used).with_context(|| format!("{used} is not in the table"))?;
            ensure!(used_at < at, "{} uses {used}, which stands after it", row.name);
        }
    }
    Ok(())
}

/// Features that tests add to those of the workspace. Nothing that ships has them (`dependencies.rs`).
pub(crate) const TEST_FEATURES: [(&str, &str); 1] = [
    // A clock that stands still.
    ("tokio", "test-util"),
];

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
                let features = dependency.get("features");
                let adds = features.is_some_and(|features| !only_tests_need(section, name, features));
                if !inherited(Some(dependency)) || adds {
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

/// Whether a crate's tests may add these features to those of the workspace.
fn only_tests_need(section: &str, dependency: &str, features: &toml::Value) -> bool {
    let features = features.as_array().map(Vec::as_slice).unwrap_or_default();
    let known = |feature: &toml::Value| {
        feature.as_str().is_some_and(|feature| TEST_FEATURES.contains(&(dependency, feature)))
    };
    section == "dev-dependencies" && features.iter().all(known)
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
