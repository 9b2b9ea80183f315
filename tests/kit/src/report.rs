//! The report of a benchmark or of a long run: figures beside their aims, as Markdown on standard output and in a place of
//! a document.

use std::fmt::Display;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use rp_base::{Clock as _, SystemClock};

use crate::Folder;

/// What every place begins and ends with.
const BEGIN: &str = "<!-- ";
const END: &str = "<!-- end -->";

/// A place in a document: `<!-- PROGRAM: NAME -->`, what stands there, `<!-- end -->`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReportPlace {
    pub program: &'static str,
    pub name: &'static str,
}

impl ReportPlace {
    /// The line that the place begins with.
    pub fn begin(self) -> String {
        format!("{BEGIN}{}: {} -->", self.program, self.name)
    }

    /// The document with another text in this place; the text brings the lines that begin and end the place.
    ///
    /// # Errors
    /// The document has no such place, or the place has no end of its own.
    pub fn replaced(self, document: &str, text: &str) -> Result<String> {
        let begin = self.begin();
        let (before, rest) = document.split_once(&begin).with_context(|| format!("there is no {begin}"))?;
        let (old, after) = rest.split_once(END).with_context(|| format!("{begin} has no end"))?;
        let next = format!("{BEGIN}{}: ", self.program);
        ensure!(!old.contains(&next), "{begin} has no end of its own");
        Ok(format!("{before}{text}{after}"))
    }

    /// Refuses a document without this place before hours are spent on what belongs there.
    ///
    /// # Errors
    /// The document cannot be read, or has no such place.
    pub fn check(self, document: &Path) -> Result<()> {
        let text = std::fs::read_to_string(document).with_context(|| document.display().to_string())?;
        self.replaced(&text, "").with_context(|| document.display().to_string()).map(drop)
    }
}

/// The table of one place, and what missed its aims.
#[derive(Debug)]
pub struct ReportTable {
    place: ReportPlace,
    title: String,
    /// The machine's load when the table was begun.
    load: String,
    rows: Vec<[String; 4]>,
    missed: Vec<String>,
}

impl ReportTable {
    /// Begins a table, and reads the machine's load before the run.
    ///
    /// # Errors
    /// The kernel does not tell the load.
    pub fn new(place: ReportPlace, title: impl Into<String>) -> Result<Self> {
        let load = std::fs::read_to_string("/proc/loadavg")?;
        let load = load.split_whitespace().next().context("a load")?.to_owned();
        Ok(Self { place, title: title.into(), load, rows: Vec::new(), missed: Vec::new() })
    }

    /// A figure that is to be at most the aim, both in `unit`.
    pub fn most(&mut self, what: impl Display, figure: f64, aim: f64, unit: &str) {
        let cells = [format!("\u{2264} {aim} {unit}"), format!("{} {unit}", number(figure))];
        self.judged(&what, cells, figure <= aim, verdict(figure, aim));
    }

    /// A figure that is to be at least the aim, both in `unit`.
    pub fn least(&mut self, what: impl Display, figure: f64, aim: f64, unit: &str) {
        let cells = [format!("\u{2265} {aim} {unit}"), format!("{} {unit}", number(figure))];
        // Less is better there.
        self.judged(&what, cells, figure >= aim, verdict(aim, figure));
    }

    /// A number of what must not be; `texts` describe the first of it, for the person who waits.
    pub fn none(&mut self, what: impl Display, count: u64, texts: &[String]) {
        let told = if count == 0 { "met" } else { "missed" };
        self.push(&what, ["0".to_owned(), count.to_string()], told.to_owned());
        if count > 0 {
            self.missed.push(format!("{what}: {count}: {}", texts.join("; ")));
        }
    }

    /// A figure without an aim.
    pub fn stated(&mut self, what: impl Display, figure: impl Display) {
        self.push(&what, [String::new(), figure.to_string()], String::new());
    }

    fn judged(&mut self, what: &dyn Display, cells: [String; 2], met: bool, verdict: String) {
        let [aim, figure] = cells.each_ref().map(|cell| cell.trim_end());
        if !met {
            self.missed.push(format!("{what}: {figure}, and not {aim}"));
        }
        self.push(what, cells, verdict);
    }

    fn push(&mut self, what: &dyn Display, [aim, figure]: [String; 2], verdict: String) {
        let trimmed = |text: String| text.trim_end().to_owned();
        self.rows.push([what.to_string(), trimmed(aim), trimmed(figure), verdict]);
    }

    /// What missed its aim, in words.
    pub fn missed(&self) -> &[String] {
        &self.missed
    }

    /// Prints the table, and puts it in its place in a document. `command` is what measures the same again.
    ///
    /// # Errors
    /// Nothing was measured; the document cannot be read or written, or has no place.
    pub fn finish(&self, command: &str, into: Option<&Path>) -> Result<()> {
        ensure!(!self.rows.is_empty(), "{}: nothing was measured", self.place.name);
        let table = self.markdown(&format!("`{command}`, {}", circumstances(&self.load)?));
        line(format_args!("\n{table}"));
        if let Some(file) = into {
            let shown = file.display();
            let text = std::fs::read_to_string(file).with_context(|| format!("{shown} cannot be read"))?;
            let text = self.place.replaced(&text, &table).with_context(|| shown.to_string())?;
            std::fs::write(file, text).with_context(|| format!("{shown} cannot be written"))?;
        }
        Ok(())
    }

    fn markdown(&self, circumstances: &str) -> String {
        let rows: String = self.rows.iter().map(|cells| format!("| {} |\n", cells.join(" | "))).collect();
        format!(
            "{}\n**{}.** {circumstances}\n\n| What | Aim | Figure |  |\n| --- | --- | --- | --- |\n{rows}{END}",
            self.place.begin(),
            self.title
        )
    }
}

/// Date, profile, where the stores lie, machine, load.
fn circumstances(load: &str) -> Result<String> {
    let today: String = SystemClock.now().to_string().chars().take(10).collect();
    let program = std::env::current_exe()?;
    let profile = program.parent().and_then(Path::file_name).context("a folder of programs")?;
    let mounts = std::fs::read_to_string("/proc/mounts")?;
    // As stores and servers get theirs.
    let folder = Folder::new("report-place")?;
    let cpus = std::fs::read_to_string("/proc/cpuinfo")?;
    let models: Vec<&str> = cpus.lines().filter_map(|line| line.strip_prefix("model name")).collect();
    let model = models.first().map_or("unknown", |model| model.trim_start_matches([' ', '\t', ':']));
    Ok(format!(
        "{today}, profile {}, stores on {}, {} × {model}, load before {load}.",
        profile.display(),
        file_system(&mounts, &folder.path().canonicalize()?),
        models.len(),
    ))
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
pub fn number(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        100.0.. => format!("{value:.0}"),
        10.0.. => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// A line of the report.
#[expect(clippy::print_stdout, reason = "the answer of a command")]
pub fn line(text: impl Display) {
    println!("{text}");
}

/// Prints progress for the person who waits.
#[expect(clippy::print_stderr, reason = "progress of a command")]
pub fn progress(text: impl Display) {
    eprintln!("{text}");
}

/// Met or missed, where less is better.
pub fn verdict(value: f64, aim: f64) -> String {
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

    const START: ReportPlace = ReportPlace { program: "bench", name: "start" };

    #[test]
    fn a_table_takes_the_place_of_the_one_before() {
        let text =
            "a\n<!-- bench: start -->\nold\n<!-- end -->\n<!-- bench: page -->\nkept\n<!-- end -->\nb\n";
        let mut table = ReportTable::new(START, "Start").unwrap();
        table.most("ready", 84.42, 150.0, "ms");
        table.least("beside a peer", 1.6, 2.0, "×");
        table.stated("entries", 5000);
        table.none("lost", 0, &[]);
        let new = table.markdown("`bench start`.");
        let expected = "<!-- bench: start -->\n**Start.** `bench start`.\n\n\
            | What | Aim | Figure |  |\n| --- | --- | --- | --- |\n\
            | ready | ≤ 150 ms | 84.4 ms | met |\n\
            | beside a peer | ≥ 2 × | 1.60 × | missed by 25 % |\n\
            | entries |  | 5000 |  |\n\
            | lost | 0 | 0 | met |\n<!-- end -->";
        assert_eq!(new, expected);
        let changed = START.replaced(text, &new).unwrap();
        let after = "\n<!-- bench: page -->\nkept\n<!-- end -->\nb\n";
        assert_eq!(changed, format!("a\n{expected}{after}"));
        assert_eq!(START.replaced(&changed, &new).unwrap(), changed, "a second time changes nothing");
    }

    #[test]
    fn what_missed_its_aim_is_told_in_words() {
        let mut table = ReportTable::new(START, "Start").unwrap();
        table.most("memory", 3.0, 8.0, "MiB an hour");
        table.most("descriptors", 90.0, 8.0, "");
        table.none("failures of watches", 2, &["it ended".to_owned()]);
        table.none("lost", 0, &[]);
        assert_eq!(table.missed(), ["descriptors: 90.0, and not ≤ 8", "failures of watches: 2: it ended"]);
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
        assert!(START.replaced("text", "").is_err());
        assert!(START.replaced("<!-- bench: start -->\nold", "").is_err());
        let swallowed = "<!-- bench: start -->\n<!-- bench: page -->\n<!-- end -->";
        assert!(START.replaced(swallowed, "").is_err());
    }

    #[test]
    fn the_file_system_is_that_of_the_innermost_mount() {
        let mounts = "d / ext4 rw 0 0\nt /tmp tmpfs rw 0 0\nd /tmp/data xfs rw 0 0\nt /tmpfs tmpfs rw 0 0\n";
        assert_eq!(file_system(mounts, Path::new("/tmp/data/x")), "xfs");
        assert_eq!(file_system(mounts, Path::new("/tmp/x")), "tmpfs");
        assert_eq!(file_system(mounts, Path::new("/home")), "ext4");
    }
}
