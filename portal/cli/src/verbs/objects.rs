//! `aro nodes`, `aro operators`, `aro events`, `aro logs`

use std::collections::HashMap;
use std::time::Duration;

use serde_json::{Value, json};

use super::{items, resolve, segment};
use crate::args::{EventsArgs, Format, LogsArgs, ObjectsArgs};
use crate::client::Client;
use crate::output::{Column, cell, names, separated, table};
use crate::{CliError, Output};

/// Between two questions for new events: the portal answers from what it watches, so the cluster is not asked.
const AGAIN: Duration = Duration::from_secs(2);
/// How many events are remembered to detect new ones; older ones are no longer in the portal's list either.
const MOST_KNOWN: usize = 50_000;

/// The longest line of a log that is written as one object, in bytes.
const MOST_LINE: usize = 1024 * 1024;

const NODES: [Column<'_>; 7] = [
    ("NAME", |row| cell(row, &["/name"])),
    ("STATUS", node_status),
    ("ROLES", |row| texts(row, "/roles")),
    ("VERSION", |row| cell(row, &["/version"])),
    ("TYPE", |row| cell(row, &["/instance_type"])),
    ("ZONE", |row| cell(row, &["/zone"])),
    ("MACHINE", |row| cell(row, &["/machine"])),
];

const OPERATORS: [Column<'_>; 6] = [
    ("NAME", |row| cell(row, &["/name"])),
    ("VERSION", |row| cell(row, &["/version"])),
    ("AVAILABLE", |row| cell(row, &["/available/status"])),
    ("PROGRESSING", |row| cell(row, &["/progressing/status"])),
    ("DEGRADED", |row| cell(row, &["/degraded/status"])),
    ("MESSAGE", operator_message),
];

const EVENTS: [Column<'_>; 6] = [
    ("LAST", |row| cell(row, &["/last", "/first"])),
    ("TYPE", |row| cell(row, &["/type"])),
    ("REASON", |row| cell(row, &["/reason"])),
    ("OBJECT", |row| {
        let of = [cell(row, &["/object_kind"]).to_lowercase(), cell(row, &["/object_name"])];
        let namespace = cell(row, &["/object_namespace"]);
        if namespace.is_empty() { of.join("/") } else { format!("{namespace}/{}", of.join("/")) }
    }),
    ("COUNT", |row| cell(row, &["/count"])),
    ("MESSAGE", |row| cell(row, &["/message"])),
];

fn texts(row: &Value, pointer: &str) -> String {
    let all = row.pointer(pointer).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    all.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(",")
}

/// As kubectl has it: the condition `Ready`, and whether new pods may come (`spec.unschedulable`).
fn node_status(row: &Value) -> String {
    let ready = match cell(row, &["/ready"]).to_lowercase().as_str() {
        "true" => "Ready",
        "false" => "NotReady",
        _ => "Unknown",
    };
    let away = row.get("schedulable").and_then(Value::as_bool) == Some(false);
    if away { format!("{ready},SchedulingDisabled") } else { ready.to_owned() }
}

/// What is wrong first, then what goes on.
fn operator_message(row: &Value) -> String {
    let says = |condition: &str, status: &str| {
        let is = cell(row, &[&format!("/{condition}/status")]).eq_ignore_ascii_case(status);
        is.then(|| cell(row, &[&format!("/{condition}/message"), &format!("/{condition}/reason")]))
    };
    says("degraded", "true")
        .or_else(|| says("available", "false"))
        .or_else(|| says("progressing", "true"))
        .unwrap_or_default()
}

pub(super) async fn nodes(args: &ObjectsArgs, out: &mut Output) -> Result<(), CliError> {
    objects(args, "nodes", &NODES, out).await
}

pub(super) async fn operators(args: &ObjectsArgs, out: &mut Output) -> Result<(), CliError> {
    objects(args, "operators", &OPERATORS, out).await
}

async fn objects(
    args: &ObjectsArgs,
    what: &str,
    columns: &[Column<'_>],
    out: &mut Output,
) -> Result<(), CliError> {
    let client = Client::new(&args.connection)?;
    let id = resolve(&client, &args.cluster).await?;
    let mut query = Vec::new();
    if let Some(name) = &args.name {
        query.push(("name", name.as_str()));
    }
    let answer = client.get(&format!("/api/v1/clusters{id}/{what}"), &query).await?;
    note_staleness(&answer, out);
    let rows = items(&answer);
    match args.connection.output {
        Format::Csv => out.raw(&separated(rows, columns)),
        Format::Name => out.raw(&names(rows, "/name")),
        format => out.value(format, &answer, |answer| table(items(answer), columns)),
    }
}

/// Notes how current the list is, where it is not live.
fn note_staleness(answer: &Value, out: &mut Output) {
    let state = cell(answer, &["/state"]);
    if !matches!(state.as_str(), "" | "live") {
        out.note(&format!(
            "the list is {state} as of {}: {}",
            cell(answer, &["/as_of"]),
            cell(answer, &["/why"])
        ));
    }
    let left = cell(answer, &["/left_out"]);
    if !matches!(left.as_str(), "" | "0") {
        out.note(&format!("{left} more are left out"));
    }
}

pub(super) async fn events(args: &EventsArgs, out: &mut Output) -> Result<(), CliError> {
    let client = Client::new(&args.connection)?;
    let path = format!("/api/v1/clusters{}/events", resolve(&client, &args.cluster).await?);
    let query: Vec<(&str, &str)> = args.namespace.iter().map(|name| ("namespace", name.as_str())).collect();
    let mut seen: HashMap<String, String> = HashMap::new();
    let mut first = true;
    loop {
        let mut answer = client.get(&path, &query).await?;
        let mut rows = items(&answer).to_vec();
        rows.retain(|row| !args.warnings || cell(row, &["/type"]) == "Warning");
        // The portal has the newest first; a log is read downwards.
        rows.reverse();
        if !args.watch {
            note_staleness(&answer, out);
            answer["items"] = Value::from(rows);
            return match args.connection.output {
                Format::Csv => out.raw(&separated(items(&answer), &EVENTS)),
                Format::Name => out.raw(&names(items(&answer), "/name")),
                format => out.value(format, &answer, |answer| table(items(answer), &EVENTS)),
            };
        }
        if seen.len() > MOST_KNOWN {
            seen.clear();
        }
        rows.retain(|row| news(&mut seen, row));
        if first {
            note_staleness(&answer, out);
        }
        if !rows.is_empty() || first {
            print_events(&rows, args.connection.output, first, out)?;
        }
        first = false;
        tokio::time::sleep(AGAIN).await;
    }
}

/// Whether an event is new, or has happened again.
fn news(seen: &mut HashMap<String, String>, row: &Value) -> bool {
    let key = [cell(row, &["/namespace"]), cell(row, &["/name"])].join("/");
    let now = [cell(row, &["/count"]), cell(row, &["/last", "/first"])].join(" ");
    seen.insert(key, now.clone()).is_none_or(|before| before != now)
}

/// Events as they come: one JSON object a line, or rows whose head stands above the first.
fn print_events(rows: &[Value], format: Format, first: bool, out: &mut Output) -> Result<(), CliError> {
    match format {
        Format::Json | Format::Yaml => rows.iter().try_for_each(|row| out.json_line(row)),
        Format::Name => out.raw(&names(rows, "/name")),
        Format::Csv | Format::Table => {
            let text = if format == Format::Csv {
                separated(rows, &EVENTS)
            } else {
                out.lines(&table(rows, &EVENTS))
            };
            let shown =
                if first { text.as_str() } else { text.split_once('\n').map_or("", |(_, rest)| rest) };
            out.raw(shown)
        }
    }
}

pub(super) async fn logs(args: LogsArgs, out: &mut Output) -> Result<(), CliError> {
    let (namespace, pod) = match (args.pod.split_once('/'), &args.namespace) {
        (Some((namespace, pod)), None) => (namespace, pod),
        (None, Some(namespace)) => (namespace.as_str(), args.pod.as_str()),
        (Some(_), Some(_)) => {
            return Err(CliError::Usage(
                "give the namespace once: NAMESPACE/POD, or POD with --namespace".to_owned(),
            ));
        }
        (None, None) => return Err(CliError::Usage("say in which namespace: NAMESPACE/POD".to_owned())),
    };
    if !matches!(args.connection.output, Format::Table | Format::Json) {
        return Err(CliError::Usage(
            "-o: a log is written as it is, or an object a line with -o json".to_owned(),
        ));
    }
    let client = Client::new(&args.connection)?;
    let id = resolve(&client, &args.cluster).await?;
    let path = format!("/api/v1/clusters{id}/pods/{}/{}/log", segment(namespace)?, segment(pod)?);
    let (tail, since) = (args.tail.map(|n| n.to_string()), args.since.map(|n| format!("{n}s")));
    let flag = |on: bool| if on { "1" } else { "" };
    let query: Vec<(&str, &str)> = [
        ("container", args.container.as_deref().unwrap_or_default()),
        ("follow", flag(args.follow)),
        ("previous", flag(args.previous)),
        ("tail", tail.as_deref().unwrap_or_default()),
        ("since", since.as_deref().unwrap_or_default()),
        ("timestamps", flag(args.timestamps)),
        ("reason", args.reason.as_deref().unwrap_or_default()),
        ("ticket", args.ticket.as_deref().unwrap_or_default()),
    ]
    .into_iter()
    .filter(|(_, value)| !value.is_empty())
    .collect();
    let mut lines = LogLines { json: args.connection.output == Format::Json, pending: Vec::new() };
    let write = |bytes: &[u8]| lines.push(bytes, out);
    let ended = if args.follow {
        client.follow(&path, &query, write).await
    } else {
        client.copy(&path, &query, write).await
    };
    // What came of the last line is written whatever ended the log.
    let finished = lines.finish(out);
    ended.and(finished)
}

/// A log as it comes: byte for byte, or an object a line.
struct LogLines {
    json: bool,
    /// The beginning of a line whose end has not come.
    pending: Vec<u8>,
}

impl LogLines {
    fn push(&mut self, mut bytes: &[u8], out: &mut Output) -> Result<(), CliError> {
        if !self.json {
            return out.bytes(bytes);
        }
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            self.pending.extend_from_slice(&bytes[..end]);
            bytes = &bytes[end + 1..];
            self.write(out)?;
        }
        self.pending.extend_from_slice(bytes);
        // A line without an end is written in pieces.
        if self.pending.len() > MOST_LINE { self.write(out) } else { Ok(()) }
    }

    fn write(&mut self, out: &mut Output) -> Result<(), CliError> {
        let line = std::mem::take(&mut self.pending);
        out.json_line(&json!({ "line": String::from_utf8_lossy(&line) }))
    }

    fn finish(mut self, out: &mut Output) -> Result<(), CliError> {
        if self.pending.is_empty() { Ok(()) } else { self.write(out) }
    }
}
