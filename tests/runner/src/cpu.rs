//! How long a piece of work took, and how much of it the machine's processors were busy.

use std::time::{Duration, Instant};

/// What a piece of work took.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Usage {
    pub(crate) wall: Duration,
    /// The share of all processors' time that was not idle, 0 to 1. It counts the whole machine, because the
    /// programs that tests start are not all children that they wait for.
    pub(crate) busy: f64,
}

/// Does the work and measures it.
pub(crate) fn measured<T>(work: impl FnOnce() -> T) -> (T, Usage) {
    let (begin, before) = (Instant::now(), ticks());
    let done = work();
    let (wall, after) = (begin.elapsed(), ticks());
    let all = after.all.saturating_sub(before.all).max(1);
    let idle = after.idle.saturating_sub(before.idle);
    #[expect(clippy::cast_precision_loss, reason = "a share for people")]
    let busy = 1.0 - idle as f64 / all as f64;
    (done, Usage { wall, busy })
}

/// The machine's processor time so far, in clock ticks (proc(5), `/proc/stat`).
#[derive(Debug, Default)]
struct Ticks {
    all: u64,
    idle: u64,
}

/// Zeros where there is no such file.
fn ticks() -> Ticks {
    let text = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    parse(&text).unwrap_or_default()
}

fn parse(text: &str) -> Option<Ticks> {
    let line = text.lines().find(|line| line.starts_with("cpu "))?;
    // user nice system idle iowait irq softirq steal; what follows is counted in user already.
    let fields: Vec<u64> =
        line.split_whitespace().skip(1).take(8).map_while(|field| field.parse().ok()).collect();
    Some(Ticks { all: fields.iter().sum(), idle: fields.get(3)? + fields.get(4)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_and_waiting_for_a_disk_are_not_busy() {
        let ticks = parse("cpu  10 0 20 50 5 0 5 10 99 0\ncpu0 1 1 1 1\n").unwrap();
        assert_eq!((ticks.all, ticks.idle), (100, 55));
        assert!(parse("").is_none());
    }
}
