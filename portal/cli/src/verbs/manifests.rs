//! `aro manifests …`

use std::time::Duration;

use serde_json::{Value, json};

use super::{items, put, resolve, resolve_some, segment, write_list};
use crate::args::{ManifestsVerb, OrderArgs};
use crate::client::Client;
use crate::output::{Column, cell, table};
use crate::{CliError, Exit, Output};

/// Between two looks at a manifest.
const AGAIN: Duration = Duration::from_secs(2);

const MANIFESTS: [Column<'_>; 8] = [
    ("ID", |row| cell(row, &["/id"])),
    ("CLUSTER", |row| super::kubeconfig::name(&cell(row, &["/resourceId"])).to_owned()),
    ("TASK", |row| cell(row, &["/task"])),
    ("STATE", |row| cell(row, &["/state"])),
    ("AFTER", |row| cell(row, &["/retryAfter", "/runAfter"])),
    ("STARTED", |row| cell(row, &["/started"])),
    ("ENDED", |row| cell(row, &["/ended"])),
    ("TEXT", |row| cell(row, &["/text"])),
];
const TASKS: [Column<'_>; 4] = [
    ("NAME", |row| cell(row, &["/name"])),
    ("ID", |row| cell(row, &["/id"])),
    ("MISSING", |row| cell(row, &["/missing"])),
    ("ABOUT", |row| cell(row, &["/about"])),
];

pub(super) async fn run(verb: ManifestsVerb, out: &mut Output) -> Result<(), CliError> {
    match verb {
        ManifestsVerb::List { cluster, connection } => {
            let client = Client::new(&connection)?;
            let path = match resolve_some(&client, cluster.as_deref()).await? {
                Some(id) => format!("/api/v1/clusters{id}/maintenance"),
                None => "/api/v1/maintenance".to_owned(),
            };
            write_list(&client.get(&path, &[]).await?, connection.output, &MANIFESTS, out)
        }
        ManifestsVerb::Tasks { connection } => {
            let client = Client::new(&connection)?;
            write_list(&client.get("/api/v1/maintenance/tasks", &[]).await?, connection.output, &TASKS, out)
        }
        ManifestsVerb::Order(args) => order(args, out).await,
        ManifestsVerb::Cancel { cluster, id, why, connection } => {
            let client = Client::new(&connection)?;
            let cluster = resolve(&client, &cluster).await?;
            let path = format!("/api/v1/clusters{cluster}/maintenance/{}/cancel", segment(&id)?);
            let answer = client.post(&path, &json!({ "why": why })).await?;
            out.value(connection.output, &answer, |answer| table(std::slice::from_ref(answer), &MANIFESTS))
        }
    }
}

async fn order(args: OrderArgs, out: &mut Output) -> Result<(), CliError> {
    let client = Client::new(&args.connection)?;
    let cluster = resolve(&client, &args.cluster).await?;
    let path = format!("/api/v1/clusters{cluster}/maintenance");
    let mut body = json!({ "task": args.task, "reason": args.reason, "priority": args.priority });
    put(&mut body, "runAfter", args.run_after);
    put(&mut body, "runBefore", args.run_before);
    let mut answer = client.post(&path, &body).await?;
    if args.wait {
        answer = wait(&client, &path, answer, out).await?;
    }
    out.value(args.connection.output, &answer, |answer| table(std::slice::from_ref(answer), &MANIFESTS))?;
    match cell(&answer, &["/state"]).as_str() {
        "Pending" | "InProgress" | "Completed" => Ok(()),
        state => Err(CliError::OperationFailed(format!("{state}: {}", cell(&answer, &["/text"])))),
    }
}

/// Looks until it is over. An absent portal is waited for too.
async fn wait(client: &Client, path: &str, ordered: Value, out: &mut Output) -> Result<Value, CliError> {
    let id = cell(&ordered, &["/id"]);
    let mut seen = ordered;
    loop {
        let state = cell(&seen, &["/state"]);
        if !matches!(state.as_str(), "Pending" | "InProgress") {
            out.progress_ends();
            return Ok(seen);
        }
        out.progress(&format!("{}: {state} {}", cell(&seen, &["/task"]), cell(&seen, &["/text"])));
        tokio::time::sleep(AGAIN).await;
        match client.get(path, &[]).await {
            Ok(list) => {
                let found = items(&list).iter().find(|row| cell(row, &["/id"]) == id);
                seen = found.cloned().ok_or(CliError::Answer("the manifest is not there any more"))?;
            }
            Err(error) if error.exit() == Exit::Away => {}
            Err(error) => {
                out.progress_ends();
                return Err(error);
            }
        }
    }
}
