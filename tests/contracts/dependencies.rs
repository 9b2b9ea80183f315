//! What the workspace depends on: nothing unused, and nothing that `deny.toml` forbids.

use std::process::Command;

use anyhow::{Result, ensure};
use tests_kit::{part, workspace};

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
