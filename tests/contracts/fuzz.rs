//! The fuzz targets: each has its file and its seeds, and nothing stands beside them.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use tests_kit::workspace;

/// Names in a folder, without what follows a dot.
fn names(folder: &Path) -> Result<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    for entry in std::fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
        if path.is_dir() || path.extension().is_some_and(|kind| kind == "rs") {
            found.insert(name.to_owned());
        }
    }
    Ok(found)
}

#[test]
fn every_target_is_built_and_has_seeds() -> Result<()> {
    let folder = workspace().join("tests/fuzz");
    let manifest: toml::Table = std::fs::read_to_string(folder.join("Cargo.toml"))?.parse()?;
    let bins = manifest.get("bin").and_then(toml::Value::as_array).context("no targets")?;
    let built: BTreeSet<String> =
        bins.iter().filter_map(|bin| bin.get("name")?.as_str().map(str::to_owned)).collect();
    ensure!(
        built == names(&folder.join("targets"))?,
        "[[bin]] of tests/fuzz/Cargo.toml and its targets/ differ"
    );
    let seeded = names(&folder.join("corpus"))?;
    ensure!(built == seeded, "targets and folders of seeds differ: {built:?} {seeded:?}");
    for target in &seeded {
        let seeds = std::fs::read_dir(folder.join("corpus").join(target))?.count();
        ensure!(seeds > 0, "{target} has no seed");
    }
    Ok(())
}
