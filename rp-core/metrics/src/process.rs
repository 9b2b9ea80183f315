//! Process metrics from the kernel, under the usual Prometheus names (`contract/metrics.md` §2 "process").

use std::fs;

use crate::{Kind, Registry, Spec};

/// Ticks per second of `/proc/self/stat`: `USER_HZ`, 100 on every Linux that Rust runs on.
const TICKS: f64 = 100.0;
const PAGE: f64 = 4096.0;

const METRICS: [(&str, &str, Kind); 7] = [
    ("process_cpu_seconds_total", "User and system CPU time spent.", Kind::Counter),
    ("process_open_fds", "Open file descriptors.", Kind::Gauge),
    ("process_max_fds", "Most file descriptors that may be open.", Kind::Gauge),
    ("process_virtual_memory_bytes", "Virtual memory.", Kind::Gauge),
    ("process_resident_memory_bytes", "Resident memory.", Kind::Gauge),
    ("process_threads", "Threads.", Kind::Gauge),
    ("process_start_time_seconds", "Start of the process since the Unix epoch.", Kind::Gauge),
];

/// Registers the process's metrics; they are read from `/proc` at each reading.
pub fn register(registry: &Registry) {
    for (name, help, kind) in METRICS {
        registry.callback(kind, Spec { name, help, buckets: &[] }, move || read(name));
    }
}

/// All of them, as the statsd sink sends them.
pub fn sample() -> Vec<(&'static str, f64)> {
    METRICS.iter().filter_map(|(name, _, _)| Some((*name, read(name)?))).collect()
}

/// The host name for the dimension `hostname`; empty when the kernel does not return one.
pub fn hostname() -> String {
    fs::read_to_string("/proc/sys/kernel/hostname").map(|name| name.trim().to_owned()).unwrap_or_default()
}

fn read(name: &str) -> Option<f64> {
    match name {
        "process_cpu_seconds_total" => Some((stat(13)? + stat(14)?) / TICKS),
        #[expect(clippy::cast_precision_loss, reason = "descriptors are few")]
        "process_open_fds" => Some(fs::read_dir("/proc/self/fd").ok()?.count().saturating_sub(1) as f64),
        "process_max_fds" => max_fds(),
        "process_virtual_memory_bytes" => stat(22),
        "process_resident_memory_bytes" => Some(stat(23)? * PAGE),
        "process_threads" => stat(19),
        "process_start_time_seconds" => Some(boot_time()? + stat(21)? / TICKS),
        _ => None,
    }
}

/// Field `n` of `/proc/self/stat`, counted from 0 (proc(5) counts from 1). The name may hold blanks and brackets.
fn stat(n: usize) -> Option<f64> {
    let text = fs::read_to_string("/proc/self/stat").ok()?;
    stat_field(&text, n)
}

fn stat_field(text: &str, n: usize) -> Option<f64> {
    let (_, rest) = text.rsplit_once(')')?;
    rest.split_ascii_whitespace().nth(n.checked_sub(2)?)?.parse().ok()
}

fn max_fds() -> Option<f64> {
    let limits = fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

fn boot_time() -> Option<f64> {
    let stat = fs::read_to_string("/proc/stat").ok()?;
    stat.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_past_a_hostile_name() {
        let text = "1 (a) b (c)) S 2 3 4 5 6 7 8 9 10 11 150 50 0";
        assert_eq!(stat_field(text, 13), Some(150.0));
        assert_eq!(stat_field(text, 99), None);
        assert_eq!(stat_field("", 13), None);
    }

    #[test]
    fn knows_this_process() {
        let registry = Registry::new();
        register(&registry);
        assert!(registry.mistakes().is_empty());
        assert!(!hostname().is_empty());
        let sample = sample();
        assert_eq!(sample.len(), METRICS.len());
        assert!(sample.iter().all(|(name, value)| *value > 0.0 || *name == "process_cpu_seconds_total"));
    }
}
