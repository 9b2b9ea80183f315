//! One file a verb, one function each.

mod actions;
mod audit;
mod clusters;
mod console;
mod credential;
mod elevations;
mod grants;
mod kubeconfig;
mod kubectl;
mod manifests;
mod notifications;
mod objects;
mod operations;
mod operator;
mod outage;
mod profiles;
mod promql;
mod proxy_local;
mod recordings;
mod robots;
mod serial;
mod sign_in;
mod ssh;
mod tunnel;

use std::io::{BufRead as _, IsTerminal as _};

use serde_json::{Value, json};

pub(crate) use crate::answer::{items, put, rows, segment};
use crate::args::{Connection, Format, Verb};
use crate::client::Client;
use crate::names::{self, NameKind};
use crate::output::{Column, cell, separated, table};
use crate::{CliError, Output};

/// Rows asked for at once.
const PAGE: u32 = 500;
/// After this time without a result, the person is told that the search still runs.
const MOST_PAGES: u32 = 1_000;

pub(crate) async fn execute(verb: Verb, out: &mut Output) -> Result<(), CliError> {
    match verb {
        Verb::Login(args) => sign_in::login(args, out).await,
        Verb::Logout(args) => sign_in::logout(&args, out).await,
        Verb::Profile(args) => profiles::run(args.verb, out),
        Verb::Whoami(args) => sign_in::whoami(&args.connection, out).await,
        Verb::Clusters(args) => clusters::run(args.verb(), out).await,
        Verb::Nodes(args) => objects::nodes(&args, out).await,
        Verb::Operators(args) => objects::operators(&args, out).await,
        Verb::Events(args) => objects::events(&args, out).await,
        Verb::Logs(args) => objects::logs(args, out).await,
        Verb::Kubeconfig(args) => kubeconfig::run(args, out).await,
        Verb::Kubectl(args) => kubectl::run(args, out).await,
        Verb::ProxyLocal(args) => Box::pin(proxy_local::run(*args, out)).await,
        Verb::Credential(args) => credential::run(args, out).await,
        Verb::Ssh(args) => Box::pin(ssh::ssh(*args, out)).await,
        Verb::Scp(args) => Box::pin(ssh::scp(*args, out)).await,
        Verb::Serial(args) => serial::run(*args, out).await,
        Verb::Tunnel(args) => Box::pin(tunnel::run(args, out)).await,
        Verb::Console(args) => Box::pin(console::run(*args, out)).await,
        Verb::Recordings(args) => Box::pin(recordings::run(args.verb, out)).await,
        Verb::Grants(args) => grants::run(args.verb, out).await,
        Verb::Elevate(args) => elevations::ask(args, out).await,
        Verb::Elevations(args) => elevations::run(args.verb, out).await,
        Verb::Operations(args) => operations::run(args.verb, out).await,
        Verb::Operator(args) => operator::run(args.verb, out).await,
        Verb::Node(args) => actions::node(args.verb, out).await,
        Verb::Csr(args) => actions::csr(args.verb, out).await,
        Verb::Pod(args) => actions::pod(args.verb, out).await,
        Verb::Workload(args) => actions::workload(args.verb, out).await,
        Verb::Manifests(args) => manifests::run(args.verb, out).await,
        Verb::Promql(args) => promql::run(args, out).await,
        Verb::Robots(args) => robots::run(args.verb, out).await,
        Verb::Notifications(args) => notifications::run(args.verb, out).await,
        Verb::Audit(args) => audit::run(args.verb, out).await,
    }
}

/// The resource id, in lower case as the portal's paths are, of a cluster given by resource id or by name.
async fn resolve(client: &Client, cluster: &str) -> Result<String, CliError> {
    if cluster.starts_with('/') {
        let sound = cluster.split('/').skip(1).all(|part| segment(part).is_ok());
        return if sound {
            Ok(cluster.to_ascii_lowercase())
        } else {
            Err(CliError::Usage("that is not a resource id".to_owned()))
        };
    }
    let found = client.get("/api/v1/clusters", &[("q", cluster), ("limit", "500")]).await?;
    let ids: Vec<String> = items(&found)
        .iter()
        .filter(|row| cell(row, &["/name"]).eq_ignore_ascii_case(cluster))
        .map(|row| cell(row, &["/resourceId"]))
        .collect();
    match ids.as_slice() {
        [] => Err(CliError::NoSuchCluster(cluster.to_owned())),
        [one] => {
            let sound = one.starts_with('/') && one.split('/').skip(1).all(|part| segment(part).is_ok());
            if sound {
                Ok(one.to_ascii_lowercase())
            } else {
                Err(CliError::Answer("a resource id is damaged"))
            }
        }
        several => Err(CliError::Usage(format!(
            "{} clusters are called {cluster}; give a resource id: {}",
            several.len(),
            several.join(", ")
        ))),
    }
}

/// The resource id of a cluster where one is named.
async fn resolve_some(client: &Client, cluster: Option<&str>) -> Result<Option<String>, CliError> {
    match cluster {
        None => Ok(None),
        Some(cluster) => resolve(client, cluster).await.map(Some),
    }
}

/// Asks the person at the terminal; without one, `--yes` is needed.
fn confirm(question: &str, yes: bool, out: &mut Output) -> Result<(), CliError> {
    if yes {
        return Ok(());
    }
    let input = std::io::stdin();
    if !input.is_terminal() {
        return Err(CliError::Usage(format!("{question} Add --yes to say so.")));
    }
    out.note(&format!("{question} Type yes:"));
    let mut line = String::new();
    let read = input.lock().read_line(&mut line);
    match read {
        Ok(_) if line.trim() == "yes" => Ok(()),
        _ => Err(CliError::Usage("nothing was done".to_owned())),
    }
}

/// A list in any of the formats; `name` gives the ids of rows that have no names.
fn write_list(
    answer: &Value,
    format: Format,
    columns: &[Column<'_>],
    out: &mut Output,
) -> Result<(), CliError> {
    let rows = items(answer);
    match format {
        Format::Csv => out.raw(&separated(rows, columns)),
        Format::Name => {
            let pointer = if rows.iter().any(|row| row.get("name").is_some()) { "/name" } else { "/id" };
            out.raw(&crate::output::names(rows, pointer))
        }
        format => out.value(format, answer, |answer| table(items(answer), columns)),
    }
}

/// Follows `continue` until `limit` rows are there; says when there are or may be more.
async fn list(
    client: &Client,
    connection: &Connection,
    out: &mut Output,
    path: &str,
    filters: &[(&str, &str)],
    limit: u32,
    columns: &[Column<'_>],
) -> Result<(), CliError> {
    let mut rows: Vec<Value> = Vec::new();
    let mut total = None;
    let mut next = String::new();
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    for _ in 0..MOST_PAGES {
        let page = (limit - rows.len()).min(PAGE as usize).to_string();
        let mut query = filters.to_vec();
        query.retain(|(_, value)| !value.is_empty());
        query.push(("limit", &page));
        if !next.is_empty() {
            query.push(("continue", &next));
        }
        let answer = client.get(path, &query).await?;
        let before = rows.len();
        rows.extend(items(&answer).iter().take(limit - before).cloned());
        total = answer.get("total").and_then(Value::as_u64).or(total);
        let cursor = cell(&answer, &["/continue", "/next"]);
        // A page may be short or empty though there is more; a cursor that stands still would never end.
        let stuck = cursor == next;
        next = cursor;
        if next.is_empty() || stuck || rows.len() >= limit {
            break;
        }
    }
    let shown = rows.len();
    if let Some(kind) = NameKind::for_path(path) {
        // Grants of others and ended ones are not in every list.
        let unfiltered = filters.iter().all(|(_, value)| value.is_empty());
        let whole = kind != NameKind::Grants && unfiltered && next.is_empty();
        names::keep(connection, kind, &rows, whole);
    }
    let mut answer = json!({ "items": rows });
    if let Some(total) = total {
        answer["total"] = Value::from(total);
    }
    write_list(&answer, connection.output, columns, out)?;
    if !next.is_empty() || total.is_some_and(|total| total > u64::try_from(shown).unwrap_or(u64::MAX)) {
        let of = total.map_or_else(String::new, |total| format!(" of {total}"));
        out.note(&format!("{shown}{of} shown; more with --limit"));
    }
    Ok(())
}
