//! `aro operator …`

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::{manifests, resolve, rows};
use crate::args::{Connection, Format, OperatorVerb, SetFlagsArgs};
use crate::client::Client;
use crate::output::{Column, cell, names, separated, table};
use crate::{CliError, Output};

const CONDITIONS: [Column<'_>; 7] = [
    ("CONDITION", |row| cell(row, &["/type"])),
    ("STATUS", |row| cell(row, &["/status"])),
    ("HEALTH", |row| cell(row, &["/health"])),
    ("SINCE", |row| cell(row, &["/since"])),
    ("REASON", |row| cell(row, &["/reason"])),
    ("MESSAGE", |row| cell(row, &["/message"])),
    ("WHAT TO DO", |row| cell(row, &["/action"])),
];
const FLAGS: [Column<'_>; 7] = [
    ("FLAG", |row| cell(row, &["/name"])),
    ("EFFECTIVE", |row| cell(row, &["/effective"])),
    ("DEFAULT", |row| cell(row, &["/default"])),
    ("DOCUMENT", |row| cell(row, &["/document"])),
    ("CLUSTER", |row| cell(row, &["/cluster"])),
    ("SET IN", |row| cell(row, &["/source"])),
    ("PROBLEM", problem),
];

fn problem(row: &Value) -> String {
    match (cell(row, &["/problem"]), row["pending"] == true) {
        (problem, _) if !problem.is_empty() => problem,
        (_, true) => "not written to the cluster yet".to_owned(),
        _ => String::new(),
    }
}

pub(super) async fn run(verb: OperatorVerb, out: &mut Output) -> Result<(), CliError> {
    match verb {
        OperatorVerb::Status { cluster, connection } => status(&cluster, &connection, out).await,
        OperatorVerb::Flags { cluster, changed, connection } => {
            flags(&cluster, changed, &connection, out).await
        }
        OperatorVerb::Set(args) => set(args, out).await,
    }
}

async fn read(cluster: &str, connection: &Connection, out: &mut Output) -> Result<Value, CliError> {
    let client = Client::new(connection)?;
    let id = resolve(&client, cluster).await?;
    let answer = client.get(&format!("/api/v1/clusters{id}/operator"), &[]).await?;
    if answer["state"] == "stale" {
        out.note(&format!("the cluster does not respond; last seen {}", cell(&answer, &["/asOf"])));
    }
    Ok(answer)
}

async fn status(cluster: &str, connection: &Connection, out: &mut Output) -> Result<(), CliError> {
    let answer = read(cluster, connection, out).await?;
    let conditions = rows(&answer["conditions"]);
    match connection.output {
        Format::Csv => out.raw(&separated(conditions, &CONDITIONS)),
        Format::Name => out.raw(&names(conditions, "/type")),
        format => {
            if format == Format::Table {
                let version = cell(&answer, &["/operatorVersion"]);
                let version = if version.is_empty() { "not reported".to_owned() } else { version };
                out.note(&format!("operator version: {version}"));
            }
            out.value(format, &answer, |answer| table(rows(&answer["conditions"]), &CONDITIONS))
        }
    }
}

async fn flags(
    cluster: &str,
    changed: bool,
    connection: &Connection,
    out: &mut Output,
) -> Result<(), CliError> {
    let answer = read(cluster, connection, out).await?;
    let wanted = |row: &&Value| !changed || row["changed"] == true || !problem(row).is_empty();
    let items: Vec<Value> = rows(&answer["flags"]).iter().filter(wanted).cloned().collect();
    super::write_list(&json!({ "items": items }), connection.output, &FLAGS, out)
}

async fn set(args: SetFlagsArgs, out: &mut Output) -> Result<(), CliError> {
    let mut flags = Map::new();
    let named = args.flags.into_iter().map(|(name, value)| (name, Value::from(value)));
    for (name, value) in named.chain(args.default.into_iter().map(|name| (name, Value::Null))) {
        if flags.insert(name.clone(), value).is_some() {
            return Err(CliError::Usage(format!("{name} is given twice")));
        }
    }
    let client = Client::new(&args.connection)?;
    let cluster = resolve(&client, &args.cluster).await?;
    let path = format!("/api/v1/clusters{cluster}/operator/flags");
    let mut answer = client.post(&path, &json!({ "flags": flags, "reason": args.reason })).await?;
    if args.wait {
        let maintenance = format!("/api/v1/clusters{cluster}/maintenance");
        let ordered = answer["manifest"].take();
        let limit = Duration::from_secs(args.wait_limit);
        answer["manifest"] = manifests::wait(&client, &maintenance, ordered, limit, out).await?;
    }
    out.value(args.connection.output, &answer, |answer| {
        manifests::rows(std::slice::from_ref(&answer["manifest"]))
    })?;
    manifests::check_end(&answer["manifest"], args.wait.then_some(args.wait_limit))
}
