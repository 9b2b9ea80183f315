//! The pages' CSV guards the same cells as the server's.

use anyhow::{Context as _, Result, ensure};
use rp_base::csv::FORMULA;
use tests_kit::workspace;

#[test]
fn the_pages_take_the_same_signs_for_formulas() -> Result<()> {
    let file = "web/scripts/explore/csv.ts";
    let text = std::fs::read_to_string(workspace().join(file)).context(file)?;
    let list = text.split_once("const FORMULA = ").and_then(|(_, rest)| rest.split_once(";\n"));
    let (list, _) = list.with_context(|| format!("{file} has no list of signs"))?;
    let signs: Vec<char> = serde_json::from_str(list)?;
    ensure!(signs == FORMULA, "{file} has {signs:?}, rp-core/base/src/csv.rs has {FORMULA:?}");
    Ok(())
}
