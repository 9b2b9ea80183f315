//! What `deploy/` has for containers: the chart, the compose file, and the settings that both write.

mod chart;
mod compose;
mod images;

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use tests_kit::{Folder, binary, part, workspace};

/// Runs a program in the workspace and gives its standard output.
///
/// # Errors
/// It failed; with what it said.
fn run(program: &Path, args: &[&str]) -> Result<String> {
    let mut command = Command::new(program);
    command.args(args).current_dir(workspace()).stdin(Stdio::null());
    let output = command.output().with_context(|| program.display().to_string())?;
    let (out, error) = (String::from_utf8(output.stdout)?, String::from_utf8_lossy(&output.stderr));
    ensure!(output.status.success(), "{} {}:\n{out}{error}", program.display(), args.join(" "));
    Ok(out)
}

/// The documents of a YAML text.
fn documents(yaml: &str) -> Result<Vec<Value>> {
    let folder = Folder::new("yaml")?;
    let file = folder.write("documents.yaml", yaml)?;
    let script = "import json, sys, yaml\n\
                  print(json.dumps([d for d in yaml.safe_load_all(open(sys.argv[1])) if d]))";
    let json = run(&part("python")?, &["-c", script, &file.display().to_string()])?;
    Ok(serde_json::from_str(&json)?)
}

/// `aro check-config` has no mistake to name in these settings.
fn settings_are_right(toml: &str) -> Result<()> {
    let folder = Folder::new("settings")?;
    let file = folder.write("aro.toml", toml)?;
    run(&binary("aro")?, &["check-config", "--config", &file.display().to_string()]).map(drop)
}
