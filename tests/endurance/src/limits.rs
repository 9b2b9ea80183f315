//! Open files: clients, relays and servers of a run need more than a shell's default.

use std::os::unix::process::CommandExt as _;
use std::process::Command;

use anyhow::{Context as _, Result, bail};

const MARK: &str = "ARO_ENDURANCE_RAISED";

/// Starts this program again with the soft limit at the hard one, unless it is there already. The programs under load
/// inherit it.
///
/// # Errors
/// The limits cannot be read, or the program cannot be started again.
pub(crate) fn raise() -> Result<()> {
    let limits = std::fs::read_to_string("/proc/self/limits")?;
    let line =
        limits.lines().find(|line| line.starts_with("Max open files")).context("no limit of open files")?;
    let mut columns = line.split_whitespace().skip(3);
    let (soft, hard) = (columns.next().context("soft")?, columns.next().context("hard")?);
    if soft == hard || std::env::var_os(MARK).is_some() {
        return Ok(());
    }
    let mut again = Command::new("sh");
    again.args(["-c", r#"ulimit -n "$(ulimit -H -n)" && exec "$0" "$@""#]).arg(std::env::current_exe()?);
    let error = again.args(std::env::args_os().skip(1)).env(MARK, "1").exec();
    bail!("cannot start again with more open files: {error}")
}
