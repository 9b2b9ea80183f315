//! Where answers, notes and errors go.

use std::fmt;
use std::io::{self, Write};

use rp_base::{csv, text};
use serde_json::Value;

use crate::CliError;
use crate::args::Format;
pub(crate) use crate::table::{Column, Table, table};

/// Answers on one side, everything else on the other.
pub struct Output {
    answer: Box<dyn Write + Send>,
    notes: Box<dyn Write + Send>,
    /// Whether the notes go to a terminal that can replace a line.
    watched: bool,
    /// Columns of the terminal that answers go to; `None` for a pipe or a file.
    width: Option<usize>,
}

/// An answer for a person: a text as it is, or a table that is laid out for where it goes.
#[derive(Debug)]
pub(crate) enum Rendering {
    Text(String),
    Table(Table),
}

impl From<String> for Rendering {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<Table> for Rendering {
    fn from(table: Table) -> Self {
        Self::Table(table)
    }
}

impl fmt::Debug for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Output").finish_non_exhaustive()
    }
}

impl Output {
    /// Standard output and standard error.
    pub fn standard() -> Self {
        let mut out = Self::with_writers(Box::new(io::stdout()), Box::new(io::stderr()));
        out.watched = crate::progress::can_show();
        out.width = columns();
        out
    }

    /// Any two writers.
    pub fn with_writers(answer: Box<dyn Write + Send>, notes: Box<dyn Write + Send>) -> Self {
        Self { answer, notes, watched: false, width: None }
    }

    /// A text as it is.
    pub(crate) fn raw(&mut self, text: &str) -> Result<(), CliError> {
        self.bytes(text.as_bytes())
    }

    /// Bytes as they are.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> Result<(), CliError> {
        self.answer.write_all(bytes).and_then(|()| self.answer.flush()).map_err(CliError::Output)
    }

    /// The lines of a table, for where answers go.
    pub(crate) fn lines(&self, table: &Table) -> String {
        table.lines(self.width)
    }

    /// A value: what `show` makes of it, or whole.
    pub(crate) fn value<S: Into<Rendering>>(
        &mut self,
        format: Format,
        value: &Value,
        show: impl FnOnce(&Value) -> S,
    ) -> Result<(), CliError> {
        let text = match format {
            Format::Table => match show(value).into() {
                Rendering::Text(text) => text,
                Rendering::Table(table) => self.lines(&table),
            },
            // Indented and with a newline at the end, as kubectl does.
            Format::Json => text::terminal_json(format!("{value:#}\n")),
            Format::Csv => {
                return Err(CliError::Usage("-o csv: this verb writes table, json or yaml".to_owned()));
            }
            Format::Name => {
                return Err(CliError::Usage("-o name: this verb writes table, json or yaml".to_owned()));
            }
            Format::Yaml => serde_saphyr::to_string(value)
                .map_err(|_| CliError::Answer("it cannot be written as YAML"))?,
        };
        self.raw(&text)
    }

    /// A value as one line of JSON.
    pub(crate) fn json_line(&mut self, value: &Value) -> Result<(), CliError> {
        self.raw(&text::terminal_json(format!("{value}\n")))
    }

    /// A remark for the person; write errors are ignored.
    pub(crate) fn note(&mut self, text: &str) {
        let _ = writeln!(self.notes, "{}", text::clean(text, 2_000));
    }

    /// A progress line that replaces the previous one; does nothing when the notes do not go to a terminal.
    pub(crate) fn progress(&mut self, text: &str) {
        if self.watched {
            let _ = write!(self.notes, "\r\x1b[K{}", text::clean(text, 200));
            let _ = self.notes.flush();
        }
    }

    /// Takes the last progress away.
    pub(crate) fn progress_ends(&mut self) {
        self.progress("");
    }

    /// An error: as text, or as one JSON line when JSON was asked for.
    pub(crate) fn error(&mut self, error: &CliError, format: Format) {
        let refusal = error.refusal();
        if format == Format::Json
            && let Ok(line) = serde_json::to_string(&refusal)
        {
            let _ = writeln!(self.notes, "{}", text::terminal_json(line));
            return;
        }
        self.note(&format!("error: {} ({})", refusal.message, refusal.code));
        if !refusal.action.is_empty() {
            self.note(&format!("  {}", refusal.action));
        }
        if !refusal.request_id.is_empty() {
            self.note(&format!("  request id: {}", refusal.request_id));
        }
    }
}

/// Columns of the window that standard output goes to, as `COLUMNS` or the terminal says; `None`: it goes elsewhere.
fn columns() -> Option<usize> {
    use std::io::IsTerminal as _;
    let out = io::stdout();
    if !out.is_terminal() {
        return None;
    }
    let said = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok()).filter(|width| *width > 0);
    said.or_else(|| terminal_size::terminal_size_of(out).map(|(width, _)| width.0.into()))
}

/// Rows as CSV (RFC 4180) under their headings in lower case; what a spreadsheet would run is quoted with `'`.
pub(crate) fn separated(rows: &[Value], columns: &[Column<'_>]) -> String {
    let heads = columns.iter().map(|(heading, _)| heading.to_lowercase().replace(' ', "_"));
    let mut out = heads.collect::<Vec<_>>().join(",");
    out.push('\n');
    for row in rows {
        csv::row(&mut out, columns.iter().map(|(_, cell)| text::clean(&cell(row), 10_000)));
        out.push('\n');
    }
    out
}

/// One member of each row, a line each.
pub(crate) fn names(rows: &[Value], pointer: &str) -> String {
    rows.iter().map(|row| format!("{}\n", text::clean(&cell(row, &[pointer]), 500))).collect()
}

/// One line a member, names in front; what is nested is written as JSON.
pub(crate) fn fields(value: &Value) -> String {
    let Some(members) = value.as_object() else { return String::new() };
    let width = members.keys().map(|name| name.chars().count()).max().unwrap_or_default();
    let mut out = String::new();
    for (name, value) in members {
        let shown = match value {
            Value::Null => continue,
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let pad = " ".repeat(width.saturating_sub(name.chars().count()));
        out.push_str(&format!("{}:{pad}  {}\n", text::clean(name, 100), text::clean(&shown, 2_000)));
    }
    out
}

/// The text of the first of these JSON pointers that has one; empty when none has.
pub(crate) fn cell(value: &Value, pointers: &[&str]) -> String {
    pointers
        .iter()
        .find_map(|pointer| match value.pointer(pointer) {
            Some(Value::String(text)) => Some(text.clone()),
            Some(Value::Number(number)) => Some(number.to_string()),
            Some(Value::Bool(truth)) => Some(truth.to_string()),
            _ => None,
        })
        .unwrap_or_default()
}
