//! Text that no file of the project may contain.

use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use tests_kit::workspace;

/// Put together here, so that this file does not find itself.
fn forbidden() -> Vec<String> {
    [
        // Paths of somebody's machine.
        ["/ro", "ot/"],
        ["/wo", "rk/"],
        ["/Us", "ers/"],
        // Work that was put off.
        ["TO", "DO"],
        ["FIX", "ME"],
        // Secrets.
        ["-----BEGIN RSA PRIV", "ATE KEY-----\n"],
    ]
    .map(|[first, second]| format!("{first}{second}"))
    .into()
}

#[test]
fn files_name_no_machine_and_no_unfinished_work() -> Result<()> {
    let output = Command::new("git").args(["ls-files", "-z"]).current_dir(workspace()).output()?;
    let files = String::from_utf8(output.stdout)?;
    ensure!(files.contains("tests/contracts/words.rs"), "git does not list the files of the project");
    let forbidden = forbidden();
    let mut found = Vec::new();
    for file in files.split('\0').filter(|file| !file.is_empty()) {
        // A file may be gone from the folder and still in the index.
        let Ok(bytes) = std::fs::read(workspace().join(file)) else { continue };
        let text = String::from_utf8_lossy(&bytes);
        for (number, line) in text.lines().enumerate() {
            let hit = forbidden.iter().find(|word| line.contains(word.as_str()));
            found.extend(hit.map(|word| format!("{file}:{}: {word}", number + 1)));
        }
    }
    ensure!(found.is_empty(), "{}", found.join("\n"));
    Ok(())
}

/// Where people read what the product says. Contracts keep the words of their sources.
const READ_BY_PEOPLE: [&str; 12] = [
    "web/src/",
    "web/templates/",
    "web/scripts/",
    "web/samples/",
    "portal/",
    "proxy/src/",
    "docs/guides/",
    "docs/operations/",
    "docs/architecture",
    "README.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
];

#[test]
fn pages_commands_and_guides_use_no_word_that_the_guide_refuses() -> Result<()> {
    let guide = std::fs::read_to_string(workspace().join("docs/contributing/words.md"))?;
    let table = guide.split_once("| Not | But |").context("the table of words")?.1;
    let rows = table.lines().filter_map(|line| line.strip_prefix("| ")?.split_once(" | "));
    let refused: Vec<&str> = rows
        .flat_map(|(not, _)| if not.starts_with(',') { vec![not] } else { not.split(", ").collect() })
        .collect();
    ensure!(refused.len() > 20, "the table has {} words only", refused.len());
    let output = Command::new("git").args(["ls-files", "-z"]).current_dir(workspace()).output()?;
    let files = String::from_utf8(output.stdout)?;
    let mut found = Vec::new();
    for file in files.split('\0').filter(|file| READ_BY_PEOPLE.iter().any(|start| file.starts_with(start))) {
        let Ok(text) = std::fs::read_to_string(workspace().join(file)) else { continue };
        for (number, line) in text.lines().enumerate() {
            // Names of tests stand in the systems checklist and stay.
            let hit = refused.iter().find(|word| {
                line.match_indices(**word).any(|(at, word)| !line[at + word.len()..].starts_with('_'))
            });
            found.extend(hit.map(|word| format!("{file}:{}: {word}", number + 1)));
        }
    }
    ensure!(found.is_empty(), "docs/contributing/words.md has the better word:\n{}", found.join("\n"));
    Ok(())
}
