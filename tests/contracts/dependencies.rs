//! What the workspace depends on: nothing unused, nothing that `deny.toml` forbids, and in what ships nothing that only
//! tests need.

use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use tests_kit::{part, workspace};

use crate::arrows::TEST_FEATURES;

/// Runs a part in the root of the workspace.
fn run(tool: &str, arguments: &[&str], what_to_do: &str) -> Result<()> {
    let output = Command::new(part(tool)?).args(arguments).current_dir(workspace()).output()?;
    let said = [output.stdout, output.stderr].concat();
    ensure!(output.status.success(), "{tool}: {what_to_do}\n{}", String::from_utf8_lossy(&said));
    Ok(())
}

#[test]
fn every_dependency_is_used() -> Result<()> {
    let what_to_do = "take what is not used out of the Cargo.toml that it names";
    run("cargo-machete", &["--skip-target-dir"], what_to_do)
}

/// Needs no network where cargo has every locked crate, and else fetches those of other platforms. Advisories are not
/// among it: their database is on the network. `make check` asks it.
#[test]
fn licences_sources_and_bans_hold() -> Result<()> {
    let arguments = ["--locked", "--log-level", "error", "check", "bans", "licenses", "sources"];
    run(
        "cargo-deny",
        &arguments,
        "a dependency breaks a rule of deny.toml; choose another, or change the rule with its reason",
    )
}

/// The features of each package in `aro` as it ships, or in another selection, for this machine's kind: lines
/// `NAME VERSION … | FEATURE,FEATURE`.
fn packages_with_features(arguments: &[&str]) -> Result<Vec<(String, Vec<String>)>> {
    let output = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["tree", "--offline", "--locked", "--edges", "normal,build", "--prefix", "none"])
        .args(["--format", "{p} | {f}"])
        .args(arguments)
        .current_dir(workspace())
        .output()?;
    ensure!(output.status.success(), "cargo tree: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout)?;
    text.lines().map(package_with_features).collect()
}

fn package_with_features(line: &str) -> Result<(String, Vec<String>)> {
    // Cargo marks what it printed before.
    let line = line.strip_suffix("(*)").unwrap_or(line);
    let (package, features) = line.split_once(" | ").with_context(|| format!("{line} is no package"))?;
    let name = package.split(' ').next().unwrap_or_default().to_owned();
    Ok((name, features.trim().split(',').map(str::to_owned).collect()))
}

#[test]
fn what_ships_has_no_feature_of_tests() -> Result<()> {
    let shipped = packages_with_features(&["--package", "aro"])?;
    ensure!(shipped.iter().all(|(name, _)| name != "web-samples"), "aro ships the samples of its pages");
    for (package, feature) in TEST_FEATURES {
        let mut found = shipped.iter().filter(|(name, _)| name == package).peekable();
        ensure!(found.peek().is_some(), "aro does not contain {package}");
        let has = found.any(|(_, features)| features.iter().any(|has| has == feature));
        ensure!(!has, "aro ships {package} with {feature}: only tests may ask for it");
    }
    Ok(())
}

#[test]
fn profiles_are_a_feature() -> Result<()> {
    let profiler = |arguments: &[&str]| -> Result<bool> {
        Ok(packages_with_features(arguments)?.iter().any(|(name, _)| name == "pprof"))
    };
    ensure!(profiler(&["--package", "aro"])?, "aro ships without CPU profiles");
    ensure!(!profiler(&["--package", "aro", "--no-default-features"])?, "CPU profiles cannot be left out");
    Ok(())
}
