//! Completion by shells: the script asks this program while the person types, so that names of clusters are completed too.

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::Context as _;
use clap::Command;
use clap_complete::env::Shells;
use clap_complete::{CompleteEnv, Shell};

/// Set by the scripts when they ask.
const VARIABLE: &str = "ARO_COMPLETE";

/// Answers a shell that asks about this command line, and ends; returns at once where none does.
pub fn answer(command: fn() -> Command) {
    CompleteEnv::with_factory(command).var(VARIABLE).complete();
}

/// The script of a shell. `program` is how this process was called.
///
/// # Errors
/// The shell is not known to the library, or the program's path cannot be made absolute.
pub fn script(shell: Shell, program: OsString) -> anyhow::Result<Vec<u8>> {
    let shells = Shells::builtins();
    let completer = shells.completer(&shell.to_string()).with_context(|| format!("no script for {shell}"))?;
    let mut program = PathBuf::from(program);
    // A bare name is looked up on the PATH each time.
    if program.components().count() > 1 {
        program = std::path::absolute(program)?;
    }
    let mut script = Vec::new();
    completer.write_registration(VARIABLE, "aro", "aro", &program.to_string_lossy(), &mut script)?;
    Ok(script)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_shell_has_a_script_that_asks_this_program() {
        for shell in [Shell::Bash, Shell::Elvish, Shell::Fish, Shell::PowerShell, Shell::Zsh] {
            let text = String::from_utf8(script(shell, "aro".into()).unwrap()).unwrap();
            assert!(text.contains(VARIABLE) && text.contains("aro"), "{shell}: {text}");
        }
        let text = String::from_utf8(script(Shell::Bash, "./aro".into()).unwrap()).unwrap();
        assert!(!text.contains("\"./aro"), "{text}");
    }
}
