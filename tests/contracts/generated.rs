//! Generated files are committed and fresh.

use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use tests_kit::{binary, crates_picture, workspace};

/// What `aro print` prints, and the file that holds it.
const GENERATED: [(&str, &str); 6] = [
    ("config-reference", "docs/reference/configuration.md"),
    ("metrics", "docs/reference/metrics.md"),
    ("routes", "docs/reference/routes.md"),
    ("openapi", "docs/reference/openapi.json"),
    ("api-versions", "docs/reference/api-versions.md"),
    ("command-line", "docs/reference/command-line.md"),
];

pub(crate) fn printed(what: &[&str]) -> Result<String> {
    let output = Command::new(binary("aro")?).arg("print").args(what).output()?;
    ensure!(output.status.success(), "aro print {what:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?)
}

#[test]
fn references_are_what_the_software_prints() -> Result<()> {
    for (what, file) in GENERATED {
        let committed = std::fs::read_to_string(workspace().join(file)).with_context(|| file.to_owned())?;
        ensure!(printed(&[what])? == committed, "{file} is stale; write it anew: make generated");
    }
    Ok(())
}

#[test]
fn the_picture_of_the_crates_is_fresh() -> Result<()> {
    let file = "docs/architecture/crates.svg";
    let committed = std::fs::read_to_string(workspace().join(file)).with_context(|| file.to_owned())?;
    ensure!(crates_picture()? == committed, "{file} is stale; write it anew: make generated");
    Ok(())
}

#[test]
fn every_reference_is_generated() -> Result<()> {
    for entry in std::fs::read_dir(workspace().join("docs/reference"))? {
        let file = format!("docs/reference/{}", entry?.file_name().to_string_lossy());
        // The Swaggers are compared file by file elsewhere; a run of `tests/soak/clients` writes its own page.
        let elsewhere = ["docs/reference/swagger", "docs/reference/clients.md"].contains(&file.as_str());
        let known = elsewhere || GENERATED.iter().any(|(_, known)| *known == file);
        ensure!(known, "{file} is not generated");
    }
    Ok(())
}
