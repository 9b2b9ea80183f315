//! `aro operations …`

use std::time::Duration;

use serde_json::{Value, json};

use super::outage::Outage;
use super::{items, resolve, rows, segment};
use crate::args::{Connection, Format, OperationsVerb};
use crate::client::Client;
use crate::output::{Column, cell, names, separated, table};
use crate::{CliError, Output};

/// Between two questions.
const AGAIN: Duration = Duration::from_secs(1);
/// An operation that was just asked for has a log when a worker has taken it up.
const APPEARS: u32 = 120;

const COLUMNS: [Column<'_>; 7] = [
    ("ID", |row| cell(row, &["/id"])),
    ("KIND", |row| cell(row, &["/kind"])),
    ("STATE", |row| cell(row, &["/state"])),
    ("STEP", progress),
    ("STARTED", |row| cell(row, &["/started"])),
    ("ENDED", |row| cell(row, &["/ended"])),
    ("CURRENT", |row| cell(row, &["/current/name"])),
];

fn number(row: &Value, pointer: &str) -> u64 {
    row.pointer(pointer).and_then(Value::as_u64).unwrap_or(0)
}

fn progress(row: &Value) -> String {
    match (number(row, "/step"), number(row, "/planned")) {
        (0, _) => String::new(),
        (step, 0) => step.to_string(),
        (step, planned) => format!("{step}/{planned}"),
    }
}

pub(super) async fn run(verb: OperationsVerb, out: &mut Output) -> Result<(), CliError> {
    match verb {
        OperationsVerb::List { cluster, connection } => list(&cluster, &connection, out).await,
        OperationsVerb::Watch { cluster, operation, connection } => {
            watch(&cluster, operation, &connection, out).await
        }
    }
}

async fn list(cluster: &str, connection: &Connection, out: &mut Output) -> Result<(), CliError> {
    let client = Client::new(connection)?;
    let id = resolve(&client, cluster).await?;
    let answer = client.get(&format!("/api/v1/clusters{id}/operations"), &[]).await?;
    let rows = items(&answer);
    match connection.output {
        Format::Csv => out.raw(&separated(rows, &COLUMNS)),
        Format::Name => out.raw(&names(rows, "/id")),
        format => out.value(format, &answer, |answer| table(items(answer), &COLUMNS)),
    }
}

async fn watch(
    cluster: &str,
    operation: Option<String>,
    connection: &Connection,
    out: &mut Output,
) -> Result<(), CliError> {
    if matches!(connection.output, Format::Csv | Format::Yaml | Format::Name) {
        return Err(CliError::Usage("this verb writes text, or JSON with -o json".to_owned()));
    }
    let client = Client::new(connection)?;
    let id = resolve(&client, cluster).await?;
    let base = format!("/api/v1/clusters{id}/operations");
    let operation = match operation {
        Some(operation) => segment(&operation)?.to_ascii_lowercase(),
        None => newest(&client, &base).await?,
    };
    let path = format!("{base}/{operation}");
    let mut told =
        OperationPrinter { json: connection.output == Format::Json, ..OperationPrinter::default() };
    let (mut missing, mut outage) = (0, Outage::default());
    loop {
        match client.get(&path, &[]).await {
            // It was asked for a moment ago.
            Err(CliError::Refused { status: 404, .. }) if missing < APPEARS => {
                missing += 1;
                out.progress(&format!("waiting for the operation to begin, {missing} s"));
            }
            asked => {
                if let Some(answer) = outage.answer(asked, out)? {
                    missing = APPEARS;
                    out.progress_ends();
                    told.print(&answer, out)?;
                    match cell(&answer, &["/state"]).as_str() {
                        "succeeded" => return Ok(()),
                        "failed" => return Err(CliError::OperationFailed(cell(&answer, &["/error"]))),
                        _ => {}
                    }
                }
            }
        }
        tokio::time::sleep(AGAIN).await;
    }
}

async fn newest(client: &Client, base: &str) -> Result<String, CliError> {
    let answer = client.get(base, &[]).await?;
    let first = items(&answer).first().map(|row| cell(row, &["/id"])).unwrap_or_default();
    match first.as_str() {
        "" => Err(CliError::Usage(
            "no operation on this cluster is known; its log is kept for 30 days".to_owned(),
        )),
        id => Ok(segment(id)?.to_owned()),
    }
}

/// Prints an operation's steps and log lines, and remembers what was printed already.
#[derive(Default)]
struct OperationPrinter {
    json: bool,
    begun: usize,
    ended: usize,
    /// The last line that was printed.
    line: Option<Value>,
    waits: String,
    over: bool,
}

impl OperationPrinter {
    fn print(&mut self, answer: &Value, out: &mut Output) -> Result<(), CliError> {
        self.steps(answer, out)?;
        self.lines(answer, out)?;
        let state = cell(answer, &["/state"]);
        if state != "running" && !std::mem::replace(&mut self.over, true) {
            let end = json!({"event": "end", "id": answer["id"], "kind": answer["kind"], "state": state,
                "result": answer["result"], "error": answer["error"], "ended": answer["ended"]});
            let words = format!("{} {state}", cell(answer, &["/kind"]));
            self.event(&end, &words, out)?;
        }
        Ok(())
    }

    fn steps(&mut self, answer: &Value, out: &mut Output) -> Result<(), CliError> {
        let steps = rows(&answer["steps"]);
        // Another process may have taken the phase up from its beginning.
        if steps.len() < self.begun {
            (self.begun, self.ended) = (0, 0);
        }
        for (place, step) in steps.iter().enumerate() {
            let planned = number(answer, "/planned");
            let at = if number(step, "/at") > 0 { number(step, "/at") } else { place as u64 + 1 };
            let over = step.get("tookMs").is_some_and(|took| !took.is_null());
            let (name, message) = (cell(step, &["/name"]), cell(step, &["/message"]));
            let event = |kind: &str| json!({"event": kind, "phase": answer["phase"], "at": at, "planned": planned, "step": step});
            if place >= self.begun {
                self.begun = place + 1;
                self.waits.clear();
                self.event(&event("step"), &format!("{at}/{planned} {name}"), out)?;
            }
            if over && place >= self.ended {
                self.ended = place + 1;
                let took =
                    format!("{}.{} s", number(step, "/tookMs") / 1000, number(step, "/tookMs") % 1000 / 100);
                let failed = step["failed"] == true;
                let words = if failed {
                    format!("{at}/{planned} {name} failed after {took}: {message}")
                } else {
                    format!("{at}/{planned} {name} done in {took}")
                };
                self.event(&event(if failed { "failed" } else { "done" }), &words, out)?;
            } else if !over && !message.is_empty() && self.waits != message {
                self.event(&event("waiting"), &format!("{at}/{planned} {name}: {message}"), out)?;
                self.waits = message;
            }
        }
        Ok(())
    }

    fn lines(&mut self, answer: &Value, out: &mut Output) -> Result<(), CliError> {
        let lines = rows(&answer["lines"]);
        // The log drops its oldest lines; if the last printed line was dropped too, all lines are new.
        let known = self.line.as_ref().and_then(|last| lines.iter().rposition(|line| line == last));
        let from = known.map_or(0, |known| known + 1);
        for line in lines.get(from..).unwrap_or_default() {
            let words = format!("{} {}", cell(line, &["/level"]), cell(line, &["/text"]));
            self.event(&json!({"event": "line", "line": line}), &words, out)?;
        }
        self.line = lines.last().cloned();
        Ok(())
    }

    fn event(&self, event: &Value, words: &str, out: &mut Output) -> Result<(), CliError> {
        if self.json {
            return out.json_line(event);
        }
        out.raw(&format!("{}\n", rp_base::text::clean(words, 2_000)))
    }
}
