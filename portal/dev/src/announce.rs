//! What a person sees when everything is ready, and what scripts read.

use std::path::Path;

use serde_json::json;

use crate::folder::{DevState, Folder, write_private};

/// Folder of a server that is started without `--data-dir`.
const DEFAULT_FOLDER: &str = ".dev";

/// What the banner says.
#[derive(Debug)]
pub(crate) struct Banner<'a> {
    pub(crate) folder: &'a Folder,
    /// The folder as it was given on the command line.
    pub(crate) given: &'a Path,
    pub(crate) kept: &'a DevState,
    /// Number of simulated clusters.
    pub(crate) clusters: usize,
    /// `None`: the log goes to standard error.
    pub(crate) log_file: Option<&'a Path>,
}

/// The portal's address.
pub(crate) fn url(kept: &DevState) -> String {
    format!("https://localhost:{}", kept.ports.portal)
}

/// Writes `dev.json`, by which scripts find everything.
///
/// # Errors
/// The file cannot be written.
pub(crate) fn write_state(folder: &Folder, kept: &DevState, issuer: &str) -> anyhow::Result<()> {
    let ports = kept.ports;
    let state = json!({
        "url": url(kept),
        "proxy_url": format!("https://127.0.0.1:{}", ports.portal),
        "rp_url": format!("https://localhost:{}", ports.rp),
        "ssh": format!("localhost:{}", ports.ssh),
        "admin_url": format!("http://127.0.0.1:{}", ports.admin),
        "issuer": issuer,
        "ca_file": folder.file("ca.pem"),
        "accounts": kept.accounts,
        "pid": std::process::id(),
    });
    write_private(&folder.file("dev.json"), &serde_json::to_string_pretty(&state)?)
}

/// Prints the banner.
#[expect(clippy::print_stdout, reason = "what make dev shows")]
pub(crate) fn print(banner: &Banner<'_>) {
    println!("{}", text(banner, &programs()));
}

/// Where this program and `aro` are, as a prefix of a command: relative to the working folder where that is shorter.
fn programs() -> String {
    let own = std::env::current_exe().unwrap_or_default();
    let folder = own.parent().unwrap_or(Path::new(""));
    let here = std::env::current_dir().unwrap_or_default();
    let shown = folder.strip_prefix(&here).unwrap_or(folder);
    if shown.as_os_str().is_empty() { "./".to_owned() } else { format!("{}/", shown.display()) }
}

fn text(banner: &Banner<'_>, programs: &str) -> String {
    let Banner { folder, given, kept, clusters, log_file } = banner;
    let accounts: String = kept
        .accounts
        .iter()
        .map(|account| format!("  {:<10}  {}\n", account.name, account.password))
        .collect();
    let folder_flag = if *given == Path::new(DEFAULT_FOLDER) {
        String::new()
    } else {
        format!(" --data-dir {}", given.display())
    };
    let log = log_file.map(|file| format!("Log: {}\n", file.display())).unwrap_or_default();
    format!(
        "
aro is ready: {clusters} simulated clusters, everything on this machine.

  {url}

Your browser does not know this CA: {ca}

  account     password
{accounts}
Try:
  {programs}aro-dev login{folder_flag}
  {programs}aro clusters list --state failed
  {programs}aro kubectl CLUSTER --reason 'a first look' -- get nodes

{log}Stop with Ctrl-C.
",
        url = url(kept),
        ca = folder.file("ca.pem").display(),
    )
}

/// Opens the portal in the browser of this machine; where there is none, the log says so.
pub(crate) fn open_browser(url: &str) {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let started = std::process::Command::new(program)
        .arg(url)
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn();
    if let Err(error) = started {
        tracing::warn!(error = %rp_base::chain(&error), "cannot open a browser by {program}");
    }
}

#[cfg(test)]
mod tests {
    use rp_base::SystemRandom;

    use super::*;

    fn banner(given: &str, log_file: Option<&Path>) -> String {
        let folder = tempfile::tempdir().unwrap();
        let folder = Folder::open(folder.path()).unwrap();
        let kept = folder.load_state(0, &SystemRandom).unwrap();
        text(&Banner { folder: &folder, given: Path::new(given), kept: &kept, clusters: 3, log_file }, "bin/")
    }

    #[test]
    fn commands_of_the_usual_folder_have_no_flags() {
        let shown = banner(".dev", Some(Path::new("/x/aro-dev.log")));
        assert!(shown.contains("  bin/aro-dev login\n"), "{shown}");
        assert!(shown.contains("Log: /x/aro-dev.log\n"), "{shown}");
        let other = banner("/tmp/d", None);
        assert!(other.contains("  bin/aro-dev login --data-dir /tmp/d\n"), "{other}");
        assert!(!other.contains("Log: "), "{other}");
    }
}
