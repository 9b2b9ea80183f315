//! Builds all test programs and asks cargo where they lie; installs the real parts meanwhile.

use std::io::BufRead as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;

/// One invocation of cargo.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Build {
    arguments: Vec<String>,
    /// The folder below cargo's target folder for what it builds in the end; what it builds on the way is shared with
    /// the other builds. Without it, the target folder.
    folder: Option<String>,
}

/// A test program that cargo built.
#[derive(Debug, Clone)]
pub(crate) struct TestProgram {
    /// `PACKAGE` for the unit tests of a library, `PACKAGE/TARGET` for all others.
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    /// The folder of its package: cargo runs tests there, and tests read files relative to it.
    pub(crate) folder: PathBuf,
    /// Bytes; large programs are started first, because they tend to run longest.
    pub(crate) size: u64,
}

/// A line of `cargo --message-format json`, as far as it is read.
#[derive(Deserialize)]
struct Message {
    reason: String,
    manifest_path: Option<PathBuf>,
    target: Option<Target>,
    executable: Option<PathBuf>,
    profile: Option<Profile>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
}

#[derive(Deserialize)]
struct Profile {
    test: bool,
}

/// Runs `cargo ARGUMENTS --message-format …` for each of `builds` and the command `beside`, if there is one, at
/// the same time; the programs of all builds.
///
/// # Errors
/// Cargo or the command cannot be started or fails, or cargo says something that is not its format.
pub(crate) fn test_programs(
    workspace: &Path,
    builds: &[Build],
    beside: &[String],
) -> Result<Vec<TestProgram>> {
    let beside = match beside {
        [] => None,
        [program, arguments @ ..] => {
            let mut command = Command::new(workspace.join(program));
            let command = command.args(arguments).current_dir(workspace).stdin(Stdio::null());
            Some((program, command.spawn().with_context(|| program.clone())?))
        }
    };
    let mut programs = Vec::new();
    for build in builds {
        programs.extend(one_build(workspace, build)?);
    }
    if let Some((program, mut command)) = beside {
        ensure!(command.wait()?.success(), "{program} failed");
    }
    Ok(programs)
}

fn one_build(workspace: &Path, build: &Build) -> Result<Vec<TestProgram>> {
    let mut command = Command::new("cargo");
    command.args(&build.arguments);
    if let Some(folder) = &build.folder {
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
        command.env("CARGO_BUILD_BUILD_DIR", &target).env("CARGO_TARGET_DIR", target.join(folder));
    }
    let mut cargo = command
        .args(["--message-format", "json-render-diagnostics"])
        .current_dir(workspace)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .context("cargo cannot be started")?;
    let output = cargo.stdout.take().context("cargo has no output")?;
    let mut programs = Vec::new();
    for line in std::io::BufReader::new(output).lines() {
        let line = line?;
        let message: Message = serde_json::from_str(&line)
            .with_context(|| format!("cargo printed what is no message: {line}"))?;
        programs.extend(program_of(message)?);
    }
    ensure!(cargo.wait()?.success(), "cargo {} failed", build.arguments.join(" "));
    Ok(programs)
}

/// The program of a message, if it is about one that has tests.
fn program_of(message: Message) -> Result<Option<TestProgram>> {
    let Message { reason, manifest_path, target, executable, profile } = message;
    let (Some(manifest), Some(target), Some(path), Some(profile)) =
        (manifest_path, target, executable, profile)
    else {
        return Ok(None);
    };
    if reason != "compiler-artifact" || !profile.test {
        return Ok(None);
    }
    let folder = manifest.parent().context("a manifest lies in no folder")?.to_owned();
    let text = std::fs::read_to_string(&manifest)?;
    let manifest: toml::Table = text.parse()?;
    let package = manifest.get("package").and_then(|package| package.get("name"));
    let package = package.and_then(toml::Value::as_str).context("a package without a name")?;
    let is_library = target.kind.iter().any(|kind| kind.contains("lib"));
    let name = if is_library { package.to_owned() } else { format!("{package}/{}", target.name) };
    let size = std::fs::metadata(&path)?.len();
    Ok(Some(TestProgram { name, path, folder, size }))
}
