//! `aro manifests …`

use std::time::Duration;

use rp_base::{Clock as _, SystemClock, Timestamp};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::outage::Outage;
use super::{items, list, put, resolve, resolve_some, segment, write_list};
use crate::args::{ManifestsVerb, OrderArgs};
use crate::client::Client;
use crate::output::{Column, Table, cell, table};
use crate::{CliError, Output};

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
const SCHEDULES: [Column<'_>; 8] = [
    ("ID", |row| cell(row, &["/id"])),
    ("TASK", |row| cell(row, &["/task"])),
    ("STATE", |row| cell(row, &["/state"])),
    ("CALENDAR", |row| cell(row, &["/calendar"])),
    ("ACROSS", |row| cell(row, &["/across"])),
    ("WAVES", waves),
    ("NEXT", |row| cell(row, &["/next"])),
    ("FAILED", failed),
];

/// The ends of waves, such as `5,25,100 %`; nothing for one wave.
fn waves(row: &Value) -> String {
    let ends = row["waves"].as_array().map(Vec::as_slice).unwrap_or_default();
    let ends: Vec<String> = ends.iter().map(ToString::to_string).collect();
    if ends.is_empty() { String::new() } else { format!("{} %", ends.join(",")) }
}

/// What failed of the latest window, such as `6 of 50`.
fn failed(row: &Value) -> String {
    match row.pointer("/rollout/failed").and_then(Value::as_array) {
        Some(failed) if !failed.is_empty() => {
            format!("{} of {}", failed.len(), cell(row, &["/rollout/of"]))
        }
        Some(_) | None => String::new(),
    }
}

pub(super) async fn run(verb: ManifestsVerb, out: &mut Output) -> Result<(), CliError> {
    match verb {
        ManifestsVerb::List { cluster, limit, connection } => {
            let client = Client::new(&connection)?;
            let path = match resolve_some(&client, cluster.as_deref()).await? {
                Some(id) => format!("/api/v1/clusters{id}/maintenance"),
                None => "/api/v1/maintenance".to_owned(),
            };
            list(&client, &connection, out, &path, &[], limit, &MANIFESTS).await
        }
        ManifestsVerb::Tasks { connection } => {
            let client = Client::new(&connection)?;
            write_list(&client.get("/api/v1/maintenance/tasks", &[]).await?, connection.output, &TASKS, out)
        }
        ManifestsVerb::Schedules { connection } => {
            let client = Client::new(&connection)?;
            let answer = client.get("/api/v1/maintenance/schedules", &[]).await?;
            write_list(&answer, connection.output, &SCHEDULES, out)
        }
        ManifestsVerb::Order(args) => order(args, out).await,
        ManifestsVerb::Cancel { cluster, id, why, connection } => {
            let client = Client::new(&connection)?;
            let cluster = resolve(&client, &cluster).await?;
            let path = format!("/api/v1/clusters{cluster}/maintenance/{}/cancel", segment(&id)?);
            let answer = client.post(&path, &json!({ "why": why })).await?;
            out.value(connection.output, &answer, |answer| rows(std::slice::from_ref(answer)))
        }
    }
}

async fn order(args: OrderArgs, out: &mut Output) -> Result<(), CliError> {
    let limit = Duration::from_secs(args.wait_limit);
    let waits = |at: Timestamp| at <= SystemClock.now() + limit;
    let start = args.run_after.as_deref().and_then(|at| Timestamp::parse(at).ok());
    if args.wait && !start.is_none_or(waits) {
        let why = "it starts later than --wait-limit: leave --wait out, or allow for more".to_owned();
        return Err(CliError::Usage(why));
    }
    let client = Client::new(&args.connection)?;
    let cluster = resolve(&client, &args.cluster).await?;
    let path = format!("/api/v1/clusters{cluster}/maintenance");
    let mut body = json!({ "task": args.task, "reason": args.reason, "priority": args.priority });
    put(&mut body, "machine", args.machine);
    put(&mut body, "force", args.force.then_some(true));
    put(&mut body, "runAfter", args.run_after);
    put(&mut body, "runBefore", args.run_before);
    let mut answer = client.post(&path, &body).await?;
    if args.wait {
        answer = wait(&client, &path, answer, limit, out).await?;
    }
    out.value(args.connection.output, &answer, |answer| rows(std::slice::from_ref(answer)))?;
    check_end(&answer, args.wait.then_some(args.wait_limit))
}

/// Manifests as people see them.
pub(super) fn rows(manifests: &[Value]) -> Table {
    table(manifests, &MANIFESTS)
}

/// An error when it is over and not completed, or open after it was waited for so many seconds.
pub(super) fn check_end(manifest: &Value, waited: Option<u64>) -> Result<(), CliError> {
    if let Some(seconds) = waited.filter(|_| is_open(manifest)) {
        return Err(CliError::NotOver {
            what: format!("the manifest {}", cell(manifest, &["/id"])),
            seconds,
        });
    }
    match cell(manifest, &["/state"]).as_str() {
        "Pending" | "InProgress" | "Completed" => Ok(()),
        state => Err(CliError::OperationFailed(format!("{state}: {}", cell(manifest, &["/text"])))),
    }
}

fn is_open(manifest: &Value) -> bool {
    matches!(cell(manifest, &["/state"]).as_str(), "Pending" | "InProgress")
}

/// Looks until it is over, or the limit; gives what was seen last.
pub(super) async fn wait(
    client: &Client,
    path: &str,
    ordered: Value,
    limit: Duration,
    out: &mut Output,
) -> Result<Value, CliError> {
    let id = cell(&ordered, &["/id"]);
    let (began, mut outage, mut seen) = (Instant::now(), Outage::default(), ordered);
    while is_open(&seen) && began.elapsed() < limit {
        let [task, state, text] = ["/task", "/state", "/text"].map(|member| cell(&seen, &[member]));
        out.progress(&format!("{task}: {state} {text}"));
        tokio::time::sleep(AGAIN.min(limit)).await;
        if let Some(list) = outage.answer(client.get(path, &[]).await, out)? {
            let found = items(&list).iter().find(|row| cell(row, &["/id"]) == id);
            seen = found.cloned().ok_or(CliError::Answer("the manifest is not there any more"))?;
        }
    }
    out.progress_ends();
    Ok(seen)
}
