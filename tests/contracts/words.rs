//! Text that no file of the project may contain.

use std::process::Command;

use anyhow::{Result, ensure};
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
