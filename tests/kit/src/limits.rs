//! Open files: thousands of connections need more than a shell's default.

use std::os::unix::process::CommandExt as _;
use std::process::Command;

use anyhow::{Context as _, Result, bail};

/// Set for the program that was started again, which does not start a third time.
const MARK: &str = "ARO_TESTS_RAISED";

/// Starts this program again with the soft limit of open files at the hard one, unless it is there already. The
/// programs that it starts inherit the limit.
///
/// # Errors
/// The limits cannot be read, or the program cannot be started again.
pub fn raise_open_files() -> Result<()> {
    let (soft, hard) = open_files(&std::fs::read_to_string("/proc/self/limits")?)?;
    if soft == hard || std::env::var_os(MARK).is_some() {
        return Ok(());
    }
    let mut again = Command::new("sh");
    again.args(["-c", r#"ulimit -n "$(ulimit -H -n)" && exec "$0" "$@""#]).arg(std::env::current_exe()?);
    let error = again.args(std::env::args_os().skip(1)).env(MARK, "1").exec();
    bail!("cannot start again with more open files: {error}")
}

/// The soft and the hard limit, as `/proc/PID/limits` writes them (proc_pid_limits(5)).
fn open_files(limits: &str) -> Result<(String, String)> {
    let line =
        limits.lines().find(|line| line.starts_with("Max open files")).context("no limit of open files")?;
    let mut columns = line.split_whitespace().skip(3).map(str::to_owned);
    Ok((columns.next().context("no soft limit")?, columns.next().context("no hard limit")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn soft_and_hard_limit_are_read_from_their_line() {
        let text = "Limit                     Soft Limit           Hard Limit           Units     \n\
                    Max processes             1                    2                    processes \n\
                    Max open files            1024                 524288               files     \n";
        assert_eq!(open_files(text).unwrap(), ("1024".to_owned(), "524288".to_owned()));
        assert!(open_files("Max processes 1 2 processes\n").is_err());
    }
}
