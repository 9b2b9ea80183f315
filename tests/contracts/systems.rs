//! `tests/systems.toml`: each id of the systems checklist has tests or is named as not yet done.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use serde::Deserialize;
use tests_kit::workspace;

/// How many ids the checklist has.
const IDS: usize = 349;
/// Means of verification (section 0 of the checklist).
const MEANS: [&str; 29] = [
    "P", "K8", "KN", "BLOB", "ARM", "AAD", "GR", "OIDC", "IM", "KV", "MSI", "DB", "SSH", "PR", "ST", "OTEL",
    "NET", "IGN", "POD", "REG", "BR", "AZ", "GO", "VM", "SH", "GIT", "DOC", "E2E", "FAULT",
];

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Row {
    /// Always `not yet`.
    Open(String),
    Done(FinishedRow),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FinishedRow {
    /// `PACKAGE::MODULE::…::FUNCTION`.
    tests: Vec<String>,
    means: Vec<String>,
    /// What of the row is still missing.
    #[serde(default)]
    missing: Option<String>,
}

fn rows() -> Result<BTreeMap<String, Row>> {
    let text = std::fs::read_to_string(workspace().join("tests/systems.toml"))?;
    Ok(toml::from_str(&text)?)
}

#[test]
fn every_id_has_a_row() -> Result<()> {
    let rows = rows()?;
    ensure!(rows.len() == IDS, "{} rows, not {IDS}", rows.len());
    for (id, row) in &rows {
        let shaped = id.split_once('-').is_some_and(|(area, number)| {
            area.len() == 2
                && area.bytes().all(|byte| byte.is_ascii_uppercase())
                && number.parse::<u16>().is_ok()
        });
        ensure!(shaped, "{id} is no id");
        match row {
            Row::Open(text) => ensure!(text == "not yet", "{id}: {text}"),
            Row::Done(done) => {
                ensure!(!done.tests.is_empty(), "{id} has no test");
                ensure!(done.missing.as_deref() != Some(""), "{id}: missing what?");
                for means in &done.means {
                    ensure!(MEANS.contains(&means.as_str()), "{id}: no means {means}");
                }
            }
        }
    }
    Ok(())
}

#[test]
fn every_named_test_exists() -> Result<()> {
    let rows = rows()?;
    let named = rows.iter().filter_map(|(id, row)| match row {
        Row::Open(_) => None,
        Row::Done(done) => Some(done.tests.iter().map(move |test| (id.as_str(), test.as_str()))),
    });
    let wrong = without_test(named.flatten())?;
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

/// Of names of tests, each after its place: those that no test has.
pub(crate) fn without_test<'a>(named: impl Iterator<Item = (&'a str, &'a str)>) -> Result<Vec<String>> {
    let folders = BTreeMap::from(FOLDERS);
    let mut known: BTreeMap<&str, Vec<(PathBuf, BTreeSet<String>)>> = BTreeMap::new();
    let mut wrong = Vec::new();
    for (place, test) in named {
        let package = test.split("::").next().unwrap_or_default();
        let Some((package, folder)) = folders.get_key_value(package) else {
            wrong.push(format!("{place}: {test}: no package {package}"));
            continue;
        };
        if !known.contains_key(package) {
            known.insert(package, tests_below(&workspace().join(folder))?);
        }
        if !known.get(package).is_some_and(|files| exists(test, files)) {
            wrong.push(format!("{place}: no test {test}"));
        }
    }
    Ok(wrong)
}

const FOLDERS: [(&str, &str); 55] = [
    ("stories", "tests/stories"),
    ("contracts", "tests/contracts"),
    ("powercut", "tests/powercut"),
    ("rp-access", "rp-core/access"),
    ("rp-api", "rp-core/api"),
    ("rp-audit", "rp-core/audit/src"),
    ("rp-audit-copies", "rp-core/audit/copies"),
    ("rp-azure", "rp-core/azure"),
    ("rp-backend", "rp-core/backend"),
    ("rp-base", "rp-core/base"),
    ("rp-client", "rp-core/client"),
    ("rp-cluster", "rp-core/cluster"),
    ("rp-config", "rp-core/config"),
    ("rp-settings", "rp-core/settings"),
    ("rp-database", "rp-core/database"),
    ("rp-documents", "rp-core/documents"),
    ("rp-frontend", "rp-core/frontend"),
    ("rp-install", "rp-core/install"),
    ("rp-investigate", "rp-core/investigate"),
    ("rp-kube", "rp-core/kube"),
    ("rp-maintenance", "rp-core/maintenance"),
    ("rp-actions", "rp-core/actions"),
    ("rp-notify", "rp-core/notify"),
    ("rp-metrics", "rp-core/metrics"),
    ("rp-monitor", "rp-core/monitor"),
    ("rp-net", "rp-core/net"),
    ("rp-node-config", "rp-core/node-config"),
    ("rp-observe", "rp-core/observe"),
    ("rp-openshift", "rp-core/openshift"),
    ("rp-operator", "rp-core/operator"),
    ("rp-operator-api", "rp-core/operator/api"),
    ("rp-operator-objects", "rp-core/operator/objects"),
    ("rp-pool", "rp-core/pool"),
    ("rp-recording", "rp-core/recording"),
    ("rp-rows", "rp-core/rows"),
    ("rp-runtime", "rp-core/runtime"),
    ("rp-seal", "rp-core/seal"),
    ("rp-simulator-azure", "rp-core/simulator/azure"),
    ("rp-simulator-oidc", "rp-core/simulator/oidc"),
    ("rp-simulator-region", "rp-core/simulator/region"),
    ("rp-simulator", "rp-core/simulator/src"),
    ("rp-tunnel", "rp-core/tunnel"),
    ("tests-installer", "tests/installer"),
    ("tests-runner", "tests/runner"),
    ("proxy", "proxy"),
    ("web", "web/src"),
    ("web-samples", "web/samples"),
    ("portal", "portal/src"),
    ("portal-api", "portal/api"),
    ("portal-cli", "portal/cli"),
    ("portal-model", "portal/model"),
    ("portal-pages", "portal/pages"),
    ("portal-session", "portal/session"),
    ("aro", "portal/aro"),
    ("aro-dev", "portal/dev"),
];

/// The function stands in a file whose path has every module of the name.
fn exists(test: &str, files: &[(PathBuf, BTreeSet<String>)]) -> bool {
    let mut segments: Vec<&str> = test.split("::").skip(1).collect();
    let Some(function) = segments.pop() else { return false };
    files.iter().any(|(path, functions)| {
        let path = path.with_extension("");
        let has = |module: &&str| path.iter().any(|part| part.to_string_lossy() == **module);
        functions.contains(function) && segments.iter().all(|module| *module == "tests" || has(module))
    })
}

fn tests_below(folder: &Path) -> Result<Vec<(PathBuf, BTreeSet<String>)>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let entry = entry?;
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            files.extend(tests_below(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(&path)?;
            files.push((path, test_functions(&text)));
        }
    }
    Ok(files)
}

/// Names of functions that stand under a `#[test]`, `#[tokio::test…]` or inside `proptest!`.
fn test_functions(text: &str) -> BTreeSet<String> {
    let mut marked = false;
    let mut found = BTreeSet::new();
    for line in text.lines().map(str::trim) {
        if line.starts_with("#[test]") || line.starts_with("#[tokio::test") {
            marked = true;
            continue;
        }
        let name = ["fn ", "async fn "].iter().find_map(|start| line.strip_prefix(start));
        if let (true, Some(rest)) = (marked, name) {
            found.extend(rest.split(['(', '<']).next().map(str::to_owned));
            marked = false;
        }
    }
    found
}

#[test]
fn what_is_missing_is_said_once() -> Result<()> {
    for (id, row) in rows()? {
        let Row::Done(done) = row else { continue };
        let unique: BTreeSet<&String> = done.tests.iter().collect();
        if unique.len() != done.tests.len() {
            bail!("{id} names a test twice");
        }
    }
    Ok(())
}
