//! `aro elevate`, `aro elevations …`

use std::time::Duration;

use serde_json::{Value, json};

use super::outage::Outage;
use super::{items, put, resolve_some, segment, write_list};
use crate::args::{Connection, ElevateArgs, ElevationVerb};
use crate::client::Client;
use crate::names::{self, NameKind};
use crate::output::{Column, Table, cell, fields, table};
use crate::{CliError, Output};

/// How often to look whether somebody decided.
const LOOK: Duration = Duration::from_secs(2);
/// A request lives an hour; this is certainly over it.
const PATIENCE: Duration = Duration::from_secs(2 * 3600);

const ELEVATIONS: [Column<'_>; 9] = [
    ("ID", |row| cell(row, &["/id"])),
    ("STATE", |row| cell(row, &["/state"])),
    ("PERSON", |row| cell(row, &["/owner/name", "/owner/sub"])),
    ("RIGHTS", |row| cell(row, &["/rights"])),
    ("CLUSTER", cluster),
    ("WAY", |row| cell(row, &["/way"])),
    ("ASKED", |row| cell(row, &["/asked"])),
    ("UNTIL", |row| cell(row, &["/not_after"])),
    ("REASON", |row| cell(row, &["/reason"])),
];

fn cluster(row: &Value) -> String {
    match row.get("target").and_then(Value::as_str) {
        Some(target) => super::kubeconfig::name(target).to_owned(),
        None => "every cluster".to_owned(),
    }
}

fn elevation_table(answer: &Value) -> Table {
    table(std::slice::from_ref(answer), &ELEVATIONS)
}

pub(super) async fn ask(args: ElevateArgs, out: &mut Output) -> Result<(), CliError> {
    let client = Client::new(&args.connection)?;
    let target = resolve_some(&client, args.cluster.as_deref()).await?;
    let mut body = json!({ "reason": args.reason, "rights": args.rights, "break_glass": args.break_glass });
    put(&mut body, "target", target);
    put(&mut body, "ticket", args.ticket);
    put(&mut body, "life", args.life);
    let mut answer = client.post("/api/v1/elevations", &body).await?;
    let state = |answer: &Value| cell(answer, &["/state"]);
    if args.wait && state(&answer) == "waiting" {
        answer = wait(&client, answer, out).await?;
    } else if state(&answer) == "waiting" {
        out.note("It waits for an approver. See it with: aro elevations list");
    }
    out.value(args.connection.output, &answer, elevation_table)?;
    match state(&answer).as_str() {
        "active" | "waiting" => Ok(()),
        other => Err(CliError::NotElevated(other.to_owned())),
    }
}

/// Looks until it waits no longer.
async fn wait(client: &Client, asked: Value, out: &mut Output) -> Result<Value, CliError> {
    let id = cell(&asked, &["/id"]);
    let path = format!("/api/v1/elevations/{}", segment(&id)?);
    let began = tokio::time::Instant::now();
    out.note(&format!("Elevation {id} waits for an approver."));
    let (mut answer, mut outage) = (asked, Outage::default());
    while cell(&answer, &["/state"]) == "waiting" && began.elapsed() < PATIENCE {
        let seconds = began.elapsed().as_secs();
        out.progress(&format!("waiting for approval, {} min {} s", seconds / 60, seconds % 60));
        tokio::time::sleep(LOOK).await;
        if let Some(seen) = outage.answer(client.get(&path, &[]).await, out)? {
            answer = seen;
        }
    }
    out.progress_ends();
    Ok(answer)
}

pub(super) async fn run(verb: ElevationVerb, out: &mut Output) -> Result<(), CliError> {
    match verb {
        ElevationVerb::List { all, waiting, active, unreviewed, connection } => {
            let client = Client::new(&connection)?;
            let mine = !(all || waiting || unreviewed);
            let filters = [
                (mine, "mine"),
                (all, "all"),
                (waiting, "waiting"),
                (active, "active"),
                (unreviewed, "unreviewed"),
            ];
            let asked = filters.into_iter().filter(|(asked, _)| *asked).map(|(_, name)| (name, "true"));
            let answer = client.get("/api/v1/elevations", &asked.collect::<Vec<_>>()).await?;
            names::keep(&connection, NameKind::Elevations, items(&answer), false);
            write_list(&answer, connection.output, &ELEVATIONS, out)
        }
        ElevationVerb::Show { id, connection } => {
            let client = Client::new(&connection)?;
            let answer = client.get(&format!("/api/v1/elevations/{}", segment(&id)?), &[]).await?;
            out.value(connection.output, &answer, fields)
        }
        ElevationVerb::Approve { id, why, connection } => {
            change(&connection, &id, "approve", because(why), out).await
        }
        ElevationVerb::Refuse { id, why, connection } => {
            change(&connection, &id, "refuse", because(why), out).await
        }
        ElevationVerb::End { id, why, connection } => {
            change(&connection, &id, "end", because(why), out).await
        }
        ElevationVerb::Review { id, note, not_fine, connection } => {
            change(&connection, &id, "review", json!({ "note": note, "fine": !not_fine }), out).await
        }
    }
}

fn because(why: Option<String>) -> Value {
    let mut body = json!({});
    put(&mut body, "why", why);
    body
}

async fn change(
    connection: &Connection,
    id: &str,
    what: &str,
    body: Value,
    out: &mut Output,
) -> Result<(), CliError> {
    let client = Client::new(connection)?;
    let answer = client.post(&format!("/api/v1/elevations/{}/{what}", segment(id)?), &body).await?;
    out.value(connection.output, &answer, elevation_table)
}
