//! A store of each version of the schema is kept (`tests/fixtures/stores`), so that later versions are tested with it.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use tests_kit::workspace;

#[test]
fn the_newest_schema_has_a_kept_store() -> Result<()> {
    for kind in ["sqlite", "postgres"] {
        let migrations = workspace().join("rp-core/database/src").join(kind).join("migrations");
        let newest = newest(&migrations)?;
        let kept = workspace().join(format!("tests/fixtures/stores/{kind}-{newest}.tar.gz"));
        ensure!(
            kept.exists(),
            "no {}: make it with the example `stored` of tests-kit (tests/README.md)",
            kept.display()
        );
    }
    Ok(())
}

/// The number of the newest migration in a folder.
fn newest(folder: &Path) -> Result<u32> {
    let mut newest = None;
    for entry in std::fs::read_dir(folder)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let number =
            name.split('_').next().unwrap_or_default().parse::<u32>().with_context(|| name.clone())?;
        newest = newest.max(Some(number));
    }
    newest.with_context(|| format!("no migration in {}", folder.display()))
}
