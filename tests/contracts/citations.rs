//! Citations of the contracts resolve (`docs/contract/README.md`, "How to cite"), and no other form of them exists.

mod contract;
mod search;
mod text;
mod unit;

use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};
use tests_kit::workspace;

use contract::Contract;
use search::{Contracts, Search, old_forms};
use text::paragraphs;

const FOLDER: &str = "docs/contract/";
/// What checks citations names their forms, and broken samples.
const SELF: &str = "tests/contracts/citations";

fn contracts() -> Result<Contracts> {
    let mut contracts = Contracts::new();
    for entry in std::fs::read_dir(workspace().join(FOLDER))? {
        let path = entry?.path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        contracts.insert(name, Contract::read(&std::fs::read_to_string(&path)?));
    }
    Ok(contracts)
}

/// Every file of the project that is text, by its path.
pub(crate) fn files() -> Result<Vec<(String, String)>> {
    let output = Command::new("git").args(["ls-files", "-z"]).current_dir(workspace()).output()?;
    let names = String::from_utf8(output.stdout)?;
    ensure!(names.contains("tests/contracts/citations.rs"), "git does not list the files of the project");
    let mut files = Vec::new();
    for name in names.split('\0').filter(|name| !name.is_empty()) {
        // A file may be gone from the folder and still in the index.
        let Ok(bytes) = std::fs::read(workspace().join(name)) else { continue };
        files.extend(String::from_utf8(bytes).ok().map(|text| (name.to_owned(), text)));
    }
    Ok(files)
}

#[test]
fn every_citation_resolves() -> Result<()> {
    let search = Search::new(contracts()?)?;
    let mut wrong = Vec::new();
    let mut cited = 0;
    for (file, text) in files()? {
        if file.starts_with(FOLDER) || file.starts_with(SELF) {
            continue;
        }
        for paragraph in paragraphs(Path::new(&file), &text) {
            let found = search.citations(&paragraph.text);
            cited += found.iter().filter(|place| place.is_ok()).count();
            let mistakes = found.into_iter().filter_map(Result::err);
            wrong.extend(mistakes.map(|mistake| format!("{file}:{}: {mistake}", paragraph.line)));
        }
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    ensure!(cited > 500, "{cited} citations were found: the search is broken");
    Ok(())
}

#[test]
fn places_that_contracts_name_exist() -> Result<()> {
    let search = Search::new(contracts()?)?;
    let mut wrong = Vec::new();
    for name in search.contracts().keys() {
        let text = std::fs::read_to_string(workspace().join(FOLDER).join(format!("{name}.md")))?;
        // The pages' contract says itself that its section signs are the portal's.
        let own = if name == "portal-ui" { "portal" } else { name };
        for (number, line) in text.lines().enumerate() {
            let mistakes = search.references(line, own);
            wrong.extend(mistakes.into_iter().map(|mistake| format!("{name}.md:{}: {mistake}", number + 1)));
        }
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

#[test]
fn no_other_form_of_citation_exists() -> Result<()> {
    let old = old_forms()?;
    let mut wrong = Vec::new();
    for (file, text) in files()? {
        if file.starts_with(SELF) {
            continue;
        }
        for (number, line) in text.lines().enumerate() {
            wrong.extend(old.find(line).map(|old| format!("{file}:{}: {}", number + 1, old.as_str())));
        }
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

#[test]
fn the_index_lists_every_contract() -> Result<()> {
    let index = std::fs::read_to_string(workspace().join(FOLDER).join("README.md"))?;
    for name in contracts()?.keys().filter(|name| *name != "README") {
        let rows = index.lines().filter(|line| line.starts_with(&format!("| [{name}.md]({name}.md) |")));
        ensure!(rows.count() == 1, "docs/contract/README.md has not one row for {name}.md");
    }
    Ok(())
}
