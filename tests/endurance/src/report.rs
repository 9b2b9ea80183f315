//! The table at the end, as Markdown on standard output and in its place in `docs/performance.md`.

use std::fmt::Display;
use std::path::Path;

use anyhow::{Context as _, Result};
use rp_base::{Clock as _, SystemClock};

/// What the place in the document begins and ends with.
const PLACE: &str = "<!-- endurance: hours -->";
const END: &str = "<!-- end -->";

/// The table, and what broke its bounds.
#[derive(Debug, Default)]
pub(crate) struct Report {
    rows: Vec<[String; 4]>,
    broken: Vec<String>,
}

impl Report {
    /// A figure that must not be larger.
    pub(crate) fn most(&mut self, what: impl Display, figure: f64, bound: f64, unit: &str) {
        let holds = figure <= bound;
        if !holds {
            self.broken.push(format!(
                "{what}: {} {unit}, more than {} {unit}",
                number(figure),
                number(bound)
            ));
        }
        let told = [format!("\u{2264} {} {unit}", number(bound)), format!("{} {unit}", number(figure))];
        self.push(what, told, holds);
    }

    /// A number of what must not be; the first of it goes to the person who waits.
    pub(crate) fn none(&mut self, what: impl Display, count: u64, texts: &[String]) {
        if count > 0 {
            self.broken.push(format!("{what}: {count}: {}", texts.join("; ")));
        }
        self.push(what, ["0".to_owned(), count.to_string()], count == 0);
    }

    /// A figure without a bound.
    pub(crate) fn stated(&mut self, what: impl Display, figure: impl Display) {
        self.rows.push([what.to_string(), String::new(), figure.to_string(), String::new()]);
    }

    fn push(&mut self, what: impl Display, [bound, figure]: [String; 2], holds: bool) {
        let verdict = if holds { "met" } else { "missed" };
        self.rows.push([what.to_string(), bound, figure, verdict.to_owned()]);
    }

    /// What broke its bounds, in words.
    pub(crate) fn broken(&self) -> &[String] {
        &self.broken
    }

    /// The table under a line that says what was run, and where.
    fn markdown(&self, title: &str) -> String {
        let rows: String = self
            .rows
            .iter()
            .map(|cells| format!("| {} |\n", cells.each_ref().map(|cell| cell.trim_end()).join(" | ")))
            .collect();
        format!("{PLACE}\n{title}\n\n| What | Bound | Figure |  |\n| --- | --- | --- | --- |\n{rows}{END}")
    }

    /// Prints the table, and puts it in its place in a document.
    ///
    /// # Errors
    /// The document cannot be read or written, or has no place.
    pub(crate) fn finish(&self, title: &str, into: Option<&Path>) -> Result<()> {
        let table = self.markdown(&format!("{title} {}", circumstances()?));
        line(format_args!("\n{table}"));
        let Some(file) = into else { return Ok(()) };
        let text = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
        let text = replaced(&text, &table).with_context(|| file.display().to_string())?;
        std::fs::write(file, text).with_context(|| file.display().to_string())
    }
}

/// Refuses a document without a place before hours are spent.
///
/// # Errors
/// There is none, or the document cannot be read.
pub(crate) fn check(document: &Path) -> Result<()> {
    let text = std::fs::read_to_string(document).with_context(|| document.display().to_string())?;
    replaced(&text, "").with_context(|| document.display().to_string()).map(drop)
}

/// The document with another table in the place.
fn replaced(text: &str, table: &str) -> Result<String> {
    let (before, rest) = text.split_once(PLACE).with_context(|| format!("there is no {PLACE}"))?;
    let (_, after) = rest.split_once(END).with_context(|| format!("{PLACE} has no end"))?;
    Ok(format!("{before}{table}{after}"))
}

/// Date, profile and machine.
fn circumstances() -> Result<String> {
    let today: String = SystemClock.now().to_string().chars().take(10).collect();
    let program = std::env::current_exe()?;
    let profile = program.parent().and_then(Path::file_name).context("a folder of programs")?;
    let cpus = std::fs::read_to_string("/proc/cpuinfo")?;
    let models: Vec<&str> = cpus.lines().filter_map(|line| line.strip_prefix("model name")).collect();
    let model = models.first().map_or("unknown", |model| model.trim_start_matches([' ', '\t', ':']));
    Ok(format!("{today}, profile {}, {} × {model}.", profile.display(), models.len()))
}

/// Three digits of a small number, all of a large one.
pub(crate) fn number(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        100.0.. => format!("{value:.0}"),
        10.0.. => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_that_is_broken_is_told_in_the_table_and_in_words() {
        let mut report = Report::default();
        report.most("memory", 3.0, 8.0, "MiB an hour");
        report.most("descriptors", 90.0, 8.0, "an hour");
        report.none("lost", 0, &[]);
        report.none("unexpected failures of watches", 2, &["it ended".to_owned()]);
        report.stated("requests", 5000);
        let expected = "<!-- endurance: hours -->\n**Title.**\n\n\
            | What | Bound | Figure |  |\n| --- | --- | --- | --- |\n\
            | memory | ≤ 8.00 MiB an hour | 3.00 MiB an hour | met |\n\
            | descriptors | ≤ 8.00 an hour | 90.0 an hour | missed |\n\
            | lost | 0 | 0 | met |\n\
            | unexpected failures of watches | 0 | 2 | missed |\n\
            | requests |  | 5000 |  |\n<!-- end -->";
        assert_eq!(report.markdown("**Title.**"), expected);
        assert_eq!(report.broken().len(), 2);
        assert!(report.broken()[1].contains("it ended"));
    }

    #[test]
    fn the_table_takes_the_place_of_the_one_before() {
        let text = "a\n<!-- endurance: hours -->\nold\n<!-- end -->\nb\n<!-- end -->\n";
        let new = replaced(text, "<!-- endurance: hours -->\nnew\n<!-- end -->").unwrap();
        assert_eq!(new, "a\n<!-- endurance: hours -->\nnew\n<!-- end -->\nb\n<!-- end -->\n");
        assert!(replaced("nothing", "x").is_err());
    }

    #[test]
    fn the_document_has_a_place() {
        replaced(include_str!("../../../docs/performance.md"), "").unwrap();
    }
}
