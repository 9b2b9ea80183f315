//! Markdown on standard output: what was measured in detail, and at the end of a part its table as it stands in
//! `docs/performance.md`.

use std::fmt::Display;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use rp_base::{Clock as _, SystemClock};
use tests_kit::Folder;

/// The parts, as their commands and their places in the document are named.
const PARTS: [&str; 18] = [
    "start",
    "requests",
    "stream",
    "watches",
    "revoke",
    "grants",
    "audit",
    "list",
    "viewers",
    "page",
    "prom",
    "ssh",
    "provider",
    "dispatch",
    "creates",
    "monitor",
    "exposition",
    "rebalance",
];
/// What a place begins with.
const PLACE: &str = "<!-- bench: ";
const END: &str = "<!-- end -->";

/// The table of a part.
#[derive(Debug)]
pub(crate) struct Part {
    name: &'static str,
    title: String,
    load: String,
    rows: Vec<[String; 4]>,
}

impl Part {
    /// Begins a part; `name` is its command.
    pub(crate) fn new(name: &'static str, title: impl Into<String>) -> Result<Self> {
        ensure!(PARTS.contains(&name), "{name} is no part");
        let load = std::fs::read_to_string("/proc/loadavg")?;
        let load = load.split_whitespace().next().context("a load")?.to_owned();
        Ok(Self { name, title: title.into(), load, rows: Vec::new() })
    }

    /// A figure that is to be small.
    pub(crate) fn most(&mut self, what: impl Display, figure: f64, aim: f64, unit: &str) {
        let told = [format!("\u{2264} {aim} {unit}"), format!("{} {unit}", number(figure))];
        self.push(what, told, verdict(figure, aim));
    }

    /// A figure that is to be large.
    pub(crate) fn least(&mut self, what: impl Display, figure: f64, aim: f64, unit: &str) {
        let told = [format!("\u{2265} {aim} {unit}"), format!("{} {unit}", number(figure))];
        // Less is better there.
        self.push(what, told, verdict(aim, figure));
    }

    /// A figure without an aim.
    pub(crate) fn stated(&mut self, what: impl Display, figure: impl Display) {
        self.push(what, [String::new(), figure.to_string()], String::new());
    }

    fn push(&mut self, what: impl Display, [aim, figure]: [String; 2], verdict: String) {
        let trimmed = |text: String| text.trim_end().to_owned();
        self.rows.push([what.to_string(), trimmed(aim), trimmed(figure), verdict]);
    }

    /// Prints the table, and puts it in its place in a document.
    pub(crate) fn finish(self, into: Option<&Path>) -> Result<()> {
        ensure!(!self.rows.is_empty(), "{}: nothing was measured", self.name);
        let table = self.markdown(&circumstances(&self.load)?);
        line(format_args!("\n{table}"));
        if let Some(file) = into {
            let shown = file.display();
            let text = std::fs::read_to_string(file).with_context(|| format!("{shown} cannot be read"))?;
            let text = replaced(&text, self.name, &table).with_context(|| shown.to_string())?;
            std::fs::write(file, text).with_context(|| format!("{shown} cannot be written"))?;
        }
        Ok(())
    }

    fn markdown(&self, circumstances: &str) -> String {
        let Self { name, title, .. } = self;
        let rows: String = self.rows.iter().map(|cells| format!("| {} |\n", cells.join(" | "))).collect();
        format!(
            "{PLACE}{name} -->\n**{title}.** {circumstances}\n\n\
             | What | Aim | Figure |  |\n| --- | --- | --- | --- |\n{rows}{END}"
        )
    }
}

/// Refuses a document that lacks a place before hours are spent on what belongs there.
pub(crate) fn check(document: &Path) -> Result<()> {
    let text = std::fs::read_to_string(document).with_context(|| document.display().to_string())?;
    for name in PARTS {
        replaced(&text, name, "").with_context(|| document.display().to_string())?;
    }
    Ok(())
}

/// The document with another table in a part's place.
fn replaced(text: &str, name: &str, table: &str) -> Result<String> {
    let place = format!("{PLACE}{name} -->");
    let (before, rest) = text.split_once(&place).with_context(|| format!("there is no {place}"))?;
    let (old, after) = rest.split_once(END).with_context(|| format!("{place} has no end"))?;
    ensure!(!old.contains(PLACE), "{place} has no end of its own");
    Ok(format!("{before}{table}{after}"))
}

/// Command, date, profile, where the stores lie, machine.
fn circumstances(load: &str) -> Result<String> {
    let command = command(std::env::args().skip(1));
    let today: String = SystemClock.now().to_string().chars().take(10).collect();
    let program = std::env::current_exe()?;
    let profile = program.parent().and_then(Path::file_name).context("a folder of programs")?;
    let mounts = std::fs::read_to_string("/proc/mounts")?;
    // As stores and servers get theirs.
    let folder = Folder::new("bench-place")?;
    let cpus = std::fs::read_to_string("/proc/cpuinfo")?;
    let models: Vec<&str> = cpus.lines().filter_map(|line| line.strip_prefix("model name")).collect();
    let model = models.first().map_or("unknown", |model| model.trim_start_matches([' ', '\t', ':']));
    Ok(format!(
        "`{command}`, {today}, profile {}, stores on {}, {} × {model}, load before {load}.",
        profile.display(),
        file_system(&mounts, &folder.path().canonicalize()?),
        models.len(),
    ))
}

/// As it was given, but for where the table goes.
fn command(mut given: impl Iterator<Item = String>) -> String {
    let mut words = vec!["bench".to_owned()];
    while let Some(word) = given.next() {
        if word == "--into" {
            given.next();
        } else if !word.starts_with("--into=") {
            words.push(word);
        }
    }
    words.join(" ")
}

/// The kind of file system that a folder is on.
fn file_system<'a>(mounts: &'a str, folder: &Path) -> &'a str {
    let mut found = ("an unknown file system", 0);
    for mount in mounts.lines() {
        let mut words = mount.split(' ').skip(1);
        let (Some(place), Some(kind)) = (words.next(), words.next()) else { continue };
        // A later mount of the same place covers an earlier one.
        if folder.starts_with(place) && place.len() >= found.1 {
            found = (kind, place.len());
        }
    }
    found.0
}

/// Three digits of a small number, all of a large one.
fn number(value: f64) -> String {
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

/// Head of a table of details.
pub(crate) fn table(title: &str, columns: &[&str]) {
    line(format_args!("\n### {title}\n\n| {} |\n|{}", columns.join(" | "), " --- |".repeat(columns.len())));
}

/// A row of it.
pub(crate) fn row(cells: &[String]) {
    line(format_args!("| {} |", cells.join(" | ")));
}

/// Met or missed, where less is better.
pub(crate) fn verdict(value: f64, aim: f64) -> String {
    let over = (value / aim - 1.0) * 100.0;
    if value <= aim {
        "met".to_owned()
    } else if over.is_finite() {
        format!("missed by {over:.0} %")
    } else {
        "missed".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_takes_the_place_of_the_one_before() {
        let text =
            "a\n<!-- bench: start -->\nold\n<!-- end -->\n<!-- bench: page -->\nkept\n<!-- end -->\nb\n";
        let mut part = Part::new("start", "Start").unwrap();
        part.most("ready", 84.42, 150.0, "ms");
        part.least("beside a peer", 1.6, 2.0, "×");
        part.stated("entries", 5000);
        let table = part.markdown("`bench start`.");
        let expected = "<!-- bench: start -->\n**Start.** `bench start`.\n\n\
            | What | Aim | Figure |  |\n| --- | --- | --- | --- |\n\
            | ready | ≤ 150 ms | 84.4 ms | met |\n\
            | beside a peer | ≥ 2 × | 1.60 × | missed by 25 % |\n\
            | entries |  | 5000 |  |\n<!-- end -->";
        assert_eq!(table, expected);
        let new = replaced(text, "start", &table).unwrap();
        let after = "\n<!-- bench: page -->\nkept\n<!-- end -->\nb\n";
        assert_eq!(new, format!("a\n{expected}{after}"));
        assert_eq!(replaced(&new, "start", &table).unwrap(), new, "a second time changes nothing");
    }

    #[test]
    fn a_figure_meets_its_aim_or_says_by_how_much_it_does_not() {
        assert_eq!(
            [verdict(2.0, 2.0), verdict(3.0, 2.0), verdict(1.0, 0.0)],
            ["met", "missed by 50 %", "missed"]
        );
        assert_eq!(
            [number(0.0), number(9.994), number(84.42), number(11_922.4)],
            ["0", "9.99", "84.4", "11922"]
        );
    }

    #[test]
    fn a_place_that_is_not_there_or_does_not_end_is_refused() {
        assert!(replaced("text", "start", "").is_err());
        assert!(replaced("<!-- bench: start -->\nold", "start", "").is_err());
        let swallowed = "<!-- bench: start -->\n<!-- bench: page -->\n<!-- end -->";
        assert!(replaced(swallowed, "start", "").is_err());
    }

    #[test]
    fn the_document_has_a_place_for_every_part_and_no_other() {
        let document = include_str!("../../../docs/performance.md");
        for name in PARTS {
            replaced(document, name, "").unwrap();
        }
        assert_eq!(document.matches(PLACE).count(), PARTS.len());
    }

    #[test]
    fn the_command_is_told_without_the_document() {
        let given = ["--into", "docs/performance.md", "ssh", "--keys", "9", "--into=x"].map(str::to_owned);
        assert_eq!(command(given.into_iter()), "bench ssh --keys 9");
    }

    #[test]
    fn the_file_system_is_that_of_the_innermost_mount() {
        let mounts = "d / ext4 rw 0 0\nt /tmp tmpfs rw 0 0\nd /tmp/data xfs rw 0 0\nt /tmpfs tmpfs rw 0 0\n";
        assert_eq!(file_system(mounts, Path::new("/tmp/data/x")), "xfs");
        assert_eq!(file_system(mounts, Path::new("/tmp/x")), "tmpfs");
        assert_eq!(file_system(mounts, Path::new("/home")), "ext4");
    }
}
