//! Figures of another process.

use anyhow::{Context as _, Result};

/// Resident memory of a process, bytes (`VmRSS` of proc_pid_status(5)).
///
/// # Errors
/// There is no such process.
pub fn resident(pid: u32) -> Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
    let kib = line.trim().trim_end_matches("kB").trim().parse::<u64>()?;
    Ok(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_has_memory_and_one_that_is_gone_has_none() {
        assert!(resident(std::process::id()).unwrap() > 0);
        assert!(resident(0).is_err());
    }
}
