//! One function a verb.

use std::path::Path;

use rp_base::Secret;
use serde_json::{Value, json};

use crate::args::{AuditVerb, ClustersVerb, Connection, GrantsVerb, KubeconfigArgs, Verb};
use crate::client::Client;
use crate::output::{Column, cell, table};
use crate::{CliError, Output, files};

/// Rows asked for at once.
const PAGE: u32 = 500;

pub(crate) async fn execute(verb: Verb, out: &mut Output) -> Result<(), CliError> {
    match verb {
        Verb::Clusters(args) => clusters(args.verb, out).await,
        Verb::Kubeconfig(args) => kubeconfig(args, out).await,
        Verb::Grants(args) => grants(args.verb, out).await,
        Verb::Audit(args) => audit(args.verb, out).await,
        Verb::Whoami(args) => whoami(&args.connection, out).await,
    }
}

const CLUSTERS: [Column<'_>; 6] = [
    ("NAME", |row| cell(row, &["/name"])),
    ("STATE", |row| cell(row, &["/state", "/provisioningState"])),
    ("VERSION", |row| cell(row, &["/version"])),
    ("HEALTH", |row| cell(row, &["/health", "/health/word", "/health/state"])),
    ("SOURCE", |row| cell(row, &["/source"])),
    ("RESOURCE ID", |row| cell(row, &["/resourceId"])),
];

const IMPORTED: [Column<'_>; 5] = [
    ("NAME", |row| cell(row, &["/name", "/id"])),
    ("SERVER", |row| cell(row, &["/server"])),
    ("VERSION", |row| cell(row, &["/version"])),
    ("IMPORTED BY", |row| cell(row, &["/importedBy", "/imported_by"])),
    ("IMPORTED AT", |row| cell(row, &["/importedAt", "/imported_at"])),
];

const GRANTS: [Column<'_>; 7] = [
    ("ID", |row| cell(row, &["/id"])),
    ("KIND", |row| cell(row, &["/kind"])),
    ("STATE", |row| cell(row, &["/state"])),
    ("OWNER", |row| cell(row, &["/owner/name"])),
    ("RIGHTS", |row| cell(row, &["/rights"])),
    ("UNTIL", |row| cell(row, &["/not_after", "/notAfter"])),
    ("TARGET", |row| cell(row, &["/target"])),
];

const AUDIT: [Column<'_>; 6] = [
    ("AT", |row| cell(row, &["/at"])),
    ("PERSON", |row| cell(row, &["/actor/name", "/actor/sub"])),
    ("VERB", |row| cell(row, &["/verb"])),
    ("WHAT", what),
    ("RESULT", |row| cell(row, &["/result/word"])),
    ("TARGET", |row| cell(row, &["/target"])),
];

/// `resource/subresource namespace/name`, as far as there is one.
fn what(row: &Value) -> String {
    let joined = |first: &str, second: &str| {
        let parts = [cell(row, &[first]), cell(row, &[second])];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/")
    };
    let (kind, name) = (joined("/resource", "/subresource"), joined("/namespace", "/name"));
    format!("{kind} {name}").trim().to_owned()
}

async fn clusters(verb: ClustersVerb, out: &mut Output) -> Result<(), CliError> {
    match verb {
        ClustersVerb::List { search, limit, connection } => {
            let client = Client::new(&connection)?;
            let search = search.unwrap_or_default();
            list(&client, &connection, out, "/api/v1/clusters", &[("q", &search)], limit, &CLUSTERS).await
        }
        ClustersVerb::Import { kubeconfig, name, context, as_groups, connection } => {
            let client = Client::new(&connection)?;
            let text = files::read(&kubeconfig)?;
            import(
                &client,
                &connection,
                out,
                &text,
                json!({
                    "name": name, "context": context, "as_groups": as_groups,
                }),
            )
            .await
        }
        ClustersVerb::Remove { name, connection } => {
            let client = Client::new(&connection)?;
            let answer = client.delete(&format!("/api/v1/imports/{}", segment(&name)?), &[]).await?;
            out.value(connection.output, &answer, |_| format!("removed {name}\n"))
        }
        ClustersVerb::Imported { connection } => {
            let client = Client::new(&connection)?;
            let answer = client.get("/api/v1/imports", &[]).await?;
            out.value(connection.output, &answer, |answer| table(items(answer), &IMPORTED))
        }
    }
}

async fn import(
    client: &Client,
    connection: &Connection,
    out: &mut Output,
    kubeconfig: &Secret<String>,
    mut body: Value,
) -> Result<(), CliError> {
    body["kubeconfig"] = Value::from(kubeconfig.expose().as_str());
    let answer = client.post("/api/v1/imports", &body).await?;
    out.value(connection.output, &answer, |answer| table(std::slice::from_ref(answer), &IMPORTED))
}

async fn kubeconfig(args: KubeconfigArgs, out: &mut Output) -> Result<(), CliError> {
    let client = Client::new(&args.connection)?;
    let resource = resolve(&client, &args.cluster).await?;
    let mut body = json!({ "reason": args.reason, "rights": args.rights });
    if let Some(life) = args.life {
        body["life"] = Value::from(life);
    }
    let answer = client.post_for_text(&format!("{resource}/kubeconfig/new"), &body).await?;
    let is_kubeconfig = serde_json::from_str::<Value>(answer.expose())
        .is_ok_and(|value| value.get("kind").and_then(Value::as_str) == Some("Config"));
    if !is_kubeconfig {
        return Err(CliError::Answer("it is not a kubeconfig"));
    }
    match args.file {
        None => out.raw(&format!("{}\n", answer.expose())),
        Some(path) => {
            files::write_private(&path, answer.expose())?;
            out.note(&next_step(&path));
            Ok(())
        }
    }
}

fn next_step(path: &Path) -> String {
    format!("Written to {path}. Use it with: kubectl --kubeconfig {path} get nodes", path = path.display())
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

/// What can stand between two slashes of one of our paths without changing the path.
fn segment(text: &str) -> Result<&str, CliError> {
    let sound = !text.is_empty()
        && text != "."
        && text != ".."
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.()".contains(&byte));
    if sound {
        Ok(text)
    } else {
        Err(CliError::Usage("a name has letters, digits, - _ . ( ) only".to_owned()))
    }
}

async fn grants(verb: GrantsVerb, out: &mut Output) -> Result<(), CliError> {
    match verb {
        GrantsVerb::List { connection } => {
            let client = Client::new(&connection)?;
            let answer = client.get("/api/v1/grants", &[]).await?;
            out.value(connection.output, &answer, |answer| table(items(answer), &GRANTS))
        }
        GrantsVerb::Revoke { id, why, connection } => {
            let client = Client::new(&connection)?;
            let query: Vec<(&str, &str)> = why.iter().map(|why| ("why", why.as_str())).collect();
            let answer = client.delete(&format!("/api/v1/grants/{}", segment(&id)?), &query).await?;
            out.value(connection.output, &answer, |_| format!("revoked {id}\n"))
        }
    }
}

async fn audit(verb: AuditVerb, out: &mut Output) -> Result<(), CliError> {
    let AuditVerb::List { person, target, verb, text, limit, connection } = verb;
    let client = Client::new(&connection)?;
    let wanted = [("person", person), ("target", target), ("verb", verb), ("text", text)];
    let filters: Vec<(&str, &str)> =
        wanted.iter().filter_map(|(name, value)| Some((*name, value.as_deref()?))).collect();
    list(&client, &connection, out, "/api/v1/audit", &filters, limit, &AUDIT).await
}

async fn whoami(connection: &Connection, out: &mut Output) -> Result<(), CliError> {
    let mut answer = Client::new(connection)?.get("/api/info", &[]).await?;
    if let Some(members) = answer.as_object_mut() {
        // It guards a session; nobody needs to see it.
        members.remove("csrf");
    }
    out.value(connection.output, &answer, |answer| {
        let roles = answer
            .get("roles")
            .and_then(Value::as_array)
            .map(|roles| roles.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", "));
        let mut lines = rp_base::text::clean(&cell(answer, &["/username", "/name"]), 200);
        if let Some(roles) = roles {
            lines.push_str(&format!("\nroles: {}", rp_base::text::clean(&roles, 500)));
        }
        lines + "\n"
    })
}

fn items(answer: &Value) -> &[Value] {
    answer.get("items").or(Some(answer)).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Follows `continue` until `limit` rows are there; says when there are more.
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
    loop {
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
        let cursor = cell(&answer, &["/continue"]);
        // A cursor that stands still or brings nothing would never end.
        let stuck = cursor == next || rows.len() == before;
        next = cursor;
        if next.is_empty() || stuck || rows.len() >= limit {
            break;
        }
    }
    let shown = rows.len();
    let mut answer = json!({ "items": rows });
    if let Some(total) = total {
        answer["total"] = Value::from(total);
    }
    out.value(connection.output, &answer, |answer| table(items(answer), columns))?;
    if !next.is_empty() {
        let of = total.map_or_else(String::new, |total| format!(" of {total}"));
        out.note(&format!("{shown}{of} shown; more with --limit"));
    }
    Ok(())
}
