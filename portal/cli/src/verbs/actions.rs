//! `aro node …`, `aro csr …`, `aro pod …`, `aro workload …`

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::{put, resolve, rows, segment};
use crate::args::{ActionArgs, CsrVerb, DrainArgs, NodeActionArgs, NodeVerb, PodVerb, WorkloadVerb};
use crate::client::Client;
use crate::output::{Column, Table, cell, table};
use crate::{CliError, Output};

/// The longest wait of one request of a drain, in seconds.
const STEP: u64 = 15;

const ACTIONS: [Column<'_>; 5] = [
    ("ACTION", |row| cell(row, &["/action"])),
    ("NAMESPACE", |row| cell(row, &["/namespace"])),
    ("NAME", |row| cell(row, &["/name"])),
    ("BEFORE", |row| cell(row, &["/before"])),
    ("AFTER", |row| match row["dryRun"] == true {
        true => format!("{} (dry run)", cell(row, &["/after"])),
        false => cell(row, &["/after"]),
    }),
];
const PODS: [Column<'_>; 6] = [
    ("NAMESPACE", |row| cell(row, &["/namespace"])),
    ("POD", |row| cell(row, &["/name"])),
    ("STATE", |row| cell(row, &["/state"])),
    ("CONTROLLER", |row| cell(row, &["/controller"])),
    ("LOCAL DATA", |row| if row["localData"] == true { "lost".to_owned() } else { String::new() }),
    ("WHY", |row| cell(row, &["/why"])),
];

pub(super) async fn node(verb: NodeVerb, out: &mut Output) -> Result<(), CliError> {
    match verb {
        NodeVerb::Cordon(args) => on_node(args, "cordon", out).await,
        NodeVerb::Uncordon(args) => on_node(args, "uncordon", out).await,
        NodeVerb::Drain(args) => drain(args, out).await,
    }
}

async fn on_node(args: NodeActionArgs, verb: &str, out: &mut Output) -> Result<(), CliError> {
    act(&args.cluster, &["nodes", &args.node, verb], json!({}), &args.action, out).await
}

pub(super) async fn csr(verb: CsrVerb, out: &mut Output) -> Result<(), CliError> {
    let (args, verb) = match verb {
        CsrVerb::Approve(args) => (args, "approve"),
        CsrVerb::Deny(args) => (args, "deny"),
    };
    act(&args.cluster, &["csrs", &args.csr, verb], json!({}), &args.action, out).await
}

pub(super) async fn pod(verb: PodVerb, out: &mut Output) -> Result<(), CliError> {
    let PodVerb::Delete { cluster, namespace, pod, force, action } = verb;
    act(&cluster, &["pods", &namespace, &pod, "delete"], json!({ "force": force }), &action, out).await
}

pub(super) async fn workload(verb: WorkloadVerb, out: &mut Output) -> Result<(), CliError> {
    match verb {
        WorkloadVerb::Restart { cluster, kind, namespace, name, action } => {
            let place = ["workloads", kind.segment(), &namespace, &name, "restart"];
            act(&cluster, &place, json!({}), &action, out).await
        }
        WorkloadVerb::Scale { cluster, kind, namespace, name, replicas, from, action } => {
            let place = ["workloads", kind.segment(), &namespace, &name, "scale"];
            let mut body = json!({ "replicas": replicas });
            put(&mut body, "from", from);
            act(&cluster, &place, body, &action, out).await
        }
    }
}

/// The path of an action on an object of a cluster.
fn path(cluster: &str, place: &[&str]) -> Result<String, CliError> {
    let mut path = format!("/api/v1/clusters{cluster}");
    for part in place {
        path.push('/');
        path.push_str(segment(part)?);
    }
    Ok(path)
}

/// The body with what every action has.
fn filled(mut body: Value, action: &ActionArgs) -> Value {
    body["reason"] = json!(action.reason);
    body["dryRun"] = json!(action.dry_run);
    body
}

async fn act(
    cluster: &str,
    place: &[&str],
    body: Value,
    action: &ActionArgs,
    out: &mut Output,
) -> Result<(), CliError> {
    let client = Client::new(&action.connection)?;
    let path = path(&resolve(&client, cluster).await?, place)?;
    let answer = client.post(&path, &filled(body, action)).await?;
    out.value(action.connection.output, &answer, row)
}

fn row(answer: &Value) -> Table {
    table(std::slice::from_ref(answer), &ACTIONS)
}

/// Asks again until no pod is left or the time is over; each request goes on where the last one ended.
async fn drain(args: DrainArgs, out: &mut Output) -> Result<(), CliError> {
    let DrainArgs { cluster, node, force, wait_limit, action } = args;
    let client = Client::new(&action.connection)?;
    let path = path(&resolve(&client, &cluster).await?, &["nodes", &node, "drain"])?;
    let (began, limit) = (Instant::now(), Duration::from_secs(wait_limit));
    let mut first = None;
    let mut moved: Vec<Value> = Vec::new();
    let mut answer = loop {
        let left = limit.saturating_sub(began.elapsed()).as_secs();
        let body = json!({ "force": force, "waitSeconds": left.min(STEP) });
        let mut answer = client.post(&path, &filled(body, &action)).await?;
        let before = first.get_or_insert_with(|| cell(&answer, &["/before"])).clone();
        answer["before"] = json!(before);
        moved.extend(rows(&answer["drain"]["moved"]).iter().cloned());
        answer["drain"]["moved"] = json!(moved);
        out.progress(&format!("{node}: {}", cell(&answer, &["/after"])));
        if action.dry_run || answer["drain"]["done"] == true || left <= STEP {
            break answer;
        }
    };
    out.progress_ends();
    let left = rows(&answer["drain"]["left"]).len();
    let done = answer["drain"]["done"] == true;
    if !action.dry_run {
        answer["after"] =
            json!(format!("cordoned, {} asked to leave, {} left", pods(moved.len()), pods(left)));
    }
    answer["changed"] = json!(answer["before"] != answer["after"]);
    out.value(action.connection.output, &answer, |answer| {
        let pods = rows(&answer["drain"]["left"]);
        if pods.is_empty() { row(answer) } else { table(pods, &PODS) }
    })?;
    if done || action.dry_run {
        return Ok(());
    }
    Err(CliError::OperationFailed(format!("{} left on {node} after {wait_limit} s", pods(left))))
}

fn pods(n: usize) -> String {
    if n == 1 { "1 pod".to_owned() } else { format!("{n} pods") }
}
