//! Packages for desktops are of the workspace's version.

use std::fs;

use anyhow::{Context as _, Result, ensure};
use tests_kit::workspace;

const FOLDER: &str = "deploy/packages";
const WINGET: [&str; 3] =
    ["winget/Aro.Aro.yaml", "winget/Aro.Aro.installer.yaml", "winget/Aro.Aro.locale.en-US.yaml"];

fn text(file: &str) -> Result<String> {
    let path = workspace().join(FOLDER).join(file);
    fs::read_to_string(&path).with_context(|| path.display().to_string())
}

/// The version in the workspace's `Cargo.toml`.
fn version() -> Result<String> {
    let manifest = fs::read_to_string(workspace().join("Cargo.toml"))?;
    let (_, package) = manifest.split_once("[workspace.package]").context("[workspace.package]")?;
    let line = package.lines().find_map(|line| line.strip_prefix("version = ")).context("a version")?;
    Ok(line.trim_matches('"').to_owned())
}

#[test]
fn packages_are_of_the_workspaces_version() -> Result<()> {
    let version = version()?;
    let formula = text("homebrew/aro.rb")?;
    ensure!(formula.contains(&format!("/aro-{version}.tar.gz\"")), "homebrew/aro.rb is not of {version}");
    for file in WINGET {
        let manifest = text(file)?;
        let named = manifest.lines().any(|line| line == format!("PackageVersion: {version}"));
        ensure!(named, "{file} is not of {version}");
        for line in manifest.lines().filter(|line| line.contains("InstallerUrl:")) {
            ensure!(line.contains(&format!("/aro-{version}-")), "{file}: {line} is not of {version}");
        }
    }
    Ok(())
}
