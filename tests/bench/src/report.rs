//! Markdown on standard output, as it stands in `docs/performance.md`.

use std::fmt::Display;

use anyhow::Result;

/// A line of the report.
#[expect(clippy::print_stdout, reason = "the answer of a command")]
pub(crate) fn line(text: impl Display) {
    println!("{text}");
}

/// Prints progress for the person who waits.
#[expect(clippy::print_stderr, reason = "progress of a command")]
pub(crate) fn progress(text: impl Display) {
    eprintln!("{text}");
}

/// Head of a table.
pub(crate) fn table(title: &str, columns: &[&str]) {
    line(format_args!("\n### {title}\n\n| {} |\n|{}", columns.join(" | "), " --- |".repeat(columns.len())));
}

/// A row of a table.
pub(crate) fn row(cells: &[String]) {
    line(format_args!("| {} |", cells.join(" | ")));
}

/// Met or missed, where less is better.
pub(crate) fn verdict(value: f64, aim: f64) -> String {
    if value <= aim { "met".to_owned() } else { format!("missed by {:.0} %", (value / aim - 1.0) * 100.0) }
}

/// The machine, for the head of the report.
pub(crate) fn machine() -> Result<()> {
    let cpus = std::fs::read_to_string("/proc/cpuinfo")?;
    let models: Vec<&str> = cpus.lines().filter_map(|line| line.strip_prefix("model name")).collect();
    let model = models.first().map_or("unknown", |model| model.trim_start_matches([' ', '\t', ':']));
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease")?;
    let load = std::fs::read_to_string("/proc/loadavg")?;
    let load: Vec<&str> = load.split_whitespace().take(3).collect();
    line(format_args!(
        "Machine: {} × {model}, Linux {}, load before the run {}.",
        models.len(),
        kernel.trim(),
        load.join(" ")
    ));
    Ok(())
}
