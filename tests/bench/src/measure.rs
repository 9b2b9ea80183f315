//! CPU time and memory of a process, read from the kernel.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Result, ensure};

pub(crate) use tests_kit::resident;

/// `USER_HZ`: the unit of times in `/proc`, 100 on every Linux that we run on (proc(5)).
const TICKS_A_SECOND: f64 = 100.0;

/// User and system time of every living process of a group: nginx works in a child.
pub(crate) fn cpu(group: u32) -> Result<Duration> {
    let mut ticks = 0u64;
    for entry in std::fs::read_dir("/proc")? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().bytes().all(|b| b.is_ascii_digit()) {
            // A process may end while we look.
            let Ok(stat) = std::fs::read_to_string(entry.path().join("stat")) else { continue };
            ticks += ticks_in(&stat, group).unwrap_or(0);
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "hundredths of seconds of one run")]
    Ok(Duration::from_secs_f64(ticks as f64 / TICKS_A_SECOND))
}

/// The fields after the name, which may itself hold blanks and brackets.
fn ticks_in(stat: &str, group: u32) -> Option<u64> {
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let of = fields.get(2)?.parse::<u32>().ok()?;
    let (user, system) = (fields.get(11)?.parse::<u64>().ok()?, fields.get(12)?.parse::<u64>().ok()?);
    (of == group).then_some(user + system)
}

/// User and system time of a process and of all that came from it, the ended ones too as far as they were waited for: `sshd`
/// gives each connection a process, and a session, of its own.
pub(crate) fn tree_cpu(root: u32) -> Result<Duration> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir("/proc")? {
        let entry = entry?;
        if let Ok(pid) = entry.file_name().to_string_lossy().parse::<u32>() {
            let Ok(stat) = std::fs::read_to_string(entry.path().join("stat")) else { continue };
            all.extend(parent_and_ticks(&stat).map(|(parent, ticks)| (pid, parent, ticks)));
        }
    }
    let (mut tree, mut ticks) = (vec![root], 0);
    let mut at = 0;
    while let Some(&pid) = tree.get(at) {
        ticks += all.iter().find(|each| each.0 == pid).map_or(0, |each| each.2);
        tree.extend(all.iter().filter(|each| each.1 == pid).map(|each| each.0));
        at += 1;
    }
    #[expect(clippy::cast_precision_loss, reason = "hundredths of seconds of one run")]
    Ok(Duration::from_secs_f64(ticks as f64 / TICKS_A_SECOND))
}

/// Its parent; its own time and that of its children that it waited for.
fn parent_and_ticks(stat: &str) -> Option<(u32, u64)> {
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = fields.get(11..15)?.iter().map(|field| field.parse::<u64>()).sum::<Result<u64, _>>().ok()?;
    Some((fields.get(1)?.parse().ok()?, ticks))
}

/// Microseconds since the epoch: times of two processes are compared.
#[expect(clippy::disallowed_methods, reason = "a benchmark measures the host's time")]
pub(crate) fn micros() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

/// Least and median of some rounds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spread {
    pub(crate) least: f64,
    pub(crate) median: f64,
}

impl Spread {
    pub(crate) fn from_samples(samples: &[f64]) -> Result<Self> {
        ensure!(!samples.is_empty(), "no rounds");
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        Ok(Self { least: sorted[0], median: sorted[sorted.len() / 2] })
    }
}

/// The value below which a share (0 to 1) of sorted times lies, milliseconds.
pub(crate) fn percentile(sorted: &[Duration], share: f64) -> f64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "an index"
    )]
    let at = ((sorted.len() as f64 * share) as usize).min(sorted.len().saturating_sub(1));
    sorted.get(at).map_or(f64::NAN, |time| time.as_secs_f64() * 1000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_times_of_a_group() {
        let stat = "12 (a b) c) S 1 77 77 0 -1 4194304 1 0 0 0 250 50 9 9 20 0 1 0 5";
        assert_eq!(ticks_in(stat, 77), Some(300));
        assert_eq!(ticks_in(stat, 12), None);
        assert_eq!(parent_and_ticks(stat), Some((1, 318)));
    }

    #[test]
    fn percentiles_are_of_the_sorted_times() {
        let times: Vec<Duration> = (1..=100).map(Duration::from_millis).collect();
        assert!((percentile(&times, 0.5) - 51.0).abs() < 1e-9);
        assert!((percentile(&times, 0.99) - 100.0).abs() < 1e-9);
        assert!(percentile(&[], 0.5).is_nan());
    }
}
