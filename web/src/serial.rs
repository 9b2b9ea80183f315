//! `{RES}/machines/NAME/serial`: what a machine said on its serial console, and what its screen shows.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::cluster::Cluster;
use crate::filters;
use crate::frame::Frame;
use crate::parts::Failure;
use crate::query::Query;
use crate::resources::on_tab;
use crate::tabs::Tab;

/// A machine's serial console, part by part.
#[derive(Clone, Debug, Default, askama::Template)]
#[template(path = "serial.html")]
pub struct SerialPage {
    /// What is around it.
    pub frame: Frame,
    /// The cluster.
    pub cluster: Cluster,
    /// Active grants for it, beside the tab.
    pub active: u64,
    /// The machine's name.
    pub machine: String,
    /// Page of the machine.
    pub machine_href: String,
    /// What is asked.
    pub query: SerialQuery,
    /// Address of the log as text.
    pub text: String,
    /// Address of the picture of the screen.
    pub screen: String,
    /// Bytes of the whole log.
    pub size: u64,
    /// Its beginning was not read.
    pub cut: bool,
    /// Lines that were read.
    pub total: u64,
    /// Of those, lines with what is searched for.
    pub matches: u64,
    /// Number and text.
    pub lines: Vec<(u64, String)>,
    /// There are older lines: before this one.
    pub older: Option<u64>,
    /// There are newer lines: after this one.
    pub newer: Option<u64>,
    /// In place of the log.
    pub failure: Option<Failure>,
}

/// What is asked of a console, as in the URL.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SerialQuery {
    /// Only lines with this text, in any case of letters.
    pub q: String,
    /// Only lines before this one.
    #[schemars(with = "Option<u64>")]
    pub before: String,
    /// Only lines after this one.
    #[schemars(with = "Option<u64>")]
    pub after: String,
    /// Lines of a part, as a number.
    #[schemars(with = "Option<u64>")]
    pub lines: String,
}

/// Numbers of lines to choose from.
pub const SERIAL_LINES: [&str; 4] = ["100", "500", "2000", "5000"];
/// Default number of lines of a part.
pub const SERIAL_USUAL: &str = "500";
/// Lines before one that was found, when it is shown among its neighbours.
const AROUND: u64 = 20;

impl SerialPage {
    fn href(&self, q: &str, before: Option<u64>, after: Option<u64>) -> String {
        let mut url = Query::new(&format!("{}/serial", self.machine_href));
        let number = |line: Option<u64>| line.map(|line| line.to_string()).unwrap_or_default();
        url.add("q", q);
        url.add("lines", if self.query.lines == SERIAL_USUAL { "" } else { &self.query.lines });
        url.add("before", &number(before));
        url.add("after", &number(after));
        url.done()
    }

    pub(crate) fn latest(&self) -> String {
        self.href(&self.query.q, None, None)
    }

    pub(crate) fn before(&self, line: &u64) -> String {
        self.href(&self.query.q, Some(*line), None)
    }

    pub(crate) fn after(&self, line: &u64) -> String {
        self.href(&self.query.q, None, Some(*line))
    }

    /// A line that was found, among its neighbours.
    pub(crate) fn around(&self, line: &u64) -> String {
        format!("{}#L{line}", self.href("", None, Some(line.saturating_sub(AROUND))))
    }

    pub(crate) fn is_lines(&self, lines: &str) -> bool {
        self.query.lines == lines || (self.query.lines.is_empty() && lines == SERIAL_USUAL)
    }

    /// Its last lines are what is looked at first: unless one goes on after a line.
    pub(crate) fn at_end(&self) -> bool {
        self.query.after.is_empty()
    }

    /// What is shown, in a sentence.
    pub(crate) fn status(&self) -> String {
        let shown = |n: u64| crate::text::plural(n, "line", "lines");
        let found = if self.query.q.is_empty() { "" } else { " found" };
        match (self.lines.first(), self.lines.last()) {
            (Some((first, _)), Some((last, _))) => {
                format!("Lines {first} to {last}: {} of {}{found}", self.lines.len(), shown(self.matches))
            }
            _ if self.total == 0 => "The machine has written nothing yet".to_owned(),
            _ if self.matches == 0 => format!("None of {} has it", shown(self.total)),
            _ => format!("No more lines; {}{found}", shown(self.matches)),
        }
    }
}

on_tab!(SerialPage, Tab::Machines);
