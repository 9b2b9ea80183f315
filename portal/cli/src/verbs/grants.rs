//! `aro grants …`

use serde_json::{Value, json};

use super::{confirm, list, put, resolve, resolve_some, segment};
use crate::args::{Connection, GrantsVerb, RevokeArgs};
use crate::client::Client;
use crate::output::{Column, cell, fields, table};
use crate::profile::Profile;
use crate::{CliError, Output};

const GRANTS: [Column<'_>; 8] = [
    ("ID", |row| cell(row, &["/id"])),
    ("KIND", |row| cell(row, &["/kind"])),
    ("STATE", state),
    ("OWNER", |row| cell(row, &["/owner/name"])),
    ("RIGHTS", rights),
    ("UNTIL", |row| cell(row, &["/not_after", "/notAfter"])),
    ("LAST USED", |row| cell(row, &["/last_used"])),
    ("TARGET", |row| cell(row, &["/target"])),
];

/// Its state with what ended it: who revoked it, or why it opens nothing though it has neither expired nor been revoked.
fn state(row: &Value) -> String {
    let state = cell(row, &["/state"]);
    let (reason, by) = (cell(row, &["/end_reason"]), cell(row, &["/revoked/by"]));
    match state.as_str() {
        "revoked" if !by.is_empty() => format!("revoked by {by}"),
        _ if reason.is_empty() => state,
        _ => format!("{state}: {}", reason.replace('_', " ")),
    }
}

/// What it gives now, and what it was given with where that is more.
fn rights(row: &Value) -> String {
    let (given, now) = (cell(row, &["/rights"]), cell(row, &["/rights_now", "/rights"]));
    if given == now { given } else { format!("{now}, given {given}") }
}

const STREAMS: [Column<'_>; 3] = [
    ("OPENED", |row| cell(row, &["/first_opened", "/opened"])),
    ("STREAMS", |row| cell(row, &["/count"])),
    ("WHAT", |row| {
        let what = row.get("what").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        what.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
    }),
];

pub(super) async fn run(verb: GrantsVerb, out: &mut Output) -> Result<(), CliError> {
    match verb {
        GrantsVerb::List { all, cluster, owner, state, kind, text, limit, connection } => {
            let client = Client::new(&connection)?;
            let target = resolve_some(&client, cluster.as_deref()).await?.unwrap_or_default();
            let whose = match (all, &owner) {
                (true, _) => "all",
                (false, Some(_)) => "",
                (false, None) => "mine",
            };
            let [owner, state, kind, text] = [owner, state, kind, text].map(Option::unwrap_or_default);
            let filters = [
                (whose, if whose.is_empty() { "" } else { "true" }),
                ("target", target.as_str()),
                ("owner", owner.as_str()),
                ("state", state.as_str()),
                ("kind", kind.as_str()),
                ("q", text.as_str()),
            ];
            list(&client, &connection, out, "/api/v1/grants", &filters, limit, &GRANTS).await
        }
        GrantsVerb::Show { id, connection } => {
            let client = Client::new(&connection)?;
            let answer = client.get(&format!("/api/v1/grants/{}", segment(&id)?), &[]).await?;
            out.value(connection.output, &answer, show)
        }
        GrantsVerb::Extend { id, life, connection } => {
            let client = Client::new(&connection)?;
            let path = format!("/api/v1/grants/{}/extend", segment(&id)?);
            let answer = client.post(&path, &json!({ "life": life })).await?;
            out.value(connection.output, &answer, |answer| {
                format!("{id} lives until {}\n", cell(answer, &["/not_after", "/grant/not_after"]))
            })
        }
        GrantsVerb::Revoke(args) => revoke(args, out).await,
    }
}

fn show(answer: &Value) -> String {
    let mut grant = answer.clone();
    let streams = grant.as_object_mut().and_then(|members| members.remove("streams"));
    let mut text = fields(&grant);
    if let Some(Value::Array(streams)) = streams {
        text.push_str(&format!("open streams: {}\n", streams.len()));
        if !streams.is_empty() {
            text.push_str(&table(&streams, &STREAMS).lines(None));
        }
    }
    text
}

async fn revoke(args: RevokeArgs, out: &mut Output) -> Result<(), CliError> {
    let client = Client::new(&args.connection)?;
    if !args.ids.is_empty() {
        return revoke_ids(&client, &args, out).await;
    }
    let mut body = json!({});
    let whose = if let Some(person) = &args.person {
        let person = if person == "me" { own_subject(&client).await? } else { person.clone() };
        body["person"] = Value::from(person.as_str());
        format!("of {person}")
    } else if let Some(cluster) = &args.cluster {
        let resource = resolve(&client, cluster).await?;
        body["cluster"] = Value::from(resource.as_str());
        format!("on {resource}")
    } else {
        body["everything"] = Value::from(true);
        "of everybody".to_owned()
    };
    confirm(&format!("This ends every grant {whose}."), args.yes, out)?;
    put(&mut body, "why", args.why);
    let answer = client.post("/api/v1/grants/revoke", &body).await?;
    out.value(args.connection.output, &answer, |answer| {
        format!("revoked {} grants\n", cell(answer, &["/revoked"]))
    })
}

/// Who asks, as the portal calls them.
async fn own_subject(client: &Client) -> Result<String, CliError> {
    let info = client.get("/api/info", &[]).await?;
    let subject = cell(&info, &["/sub", "/username"]);
    if subject.is_empty() { Err(CliError::Answer("no person")) } else { Ok(subject) }
}

/// Handles one after another; stops at the first refusal and returns it.
async fn revoke_ids(client: &Client, args: &RevokeArgs, out: &mut Output) -> Result<(), CliError> {
    let query: Vec<(&str, &str)> = args.why.iter().map(|why| ("why", why.as_str())).collect();
    let paths = args.ids.iter().map(|id| Ok(format!("/api/v1/grants/{}", segment(id)?)));
    let paths: Vec<String> = paths.collect::<Result<_, CliError>>()?;
    let mut ended = Vec::new();
    for (id, path) in args.ids.iter().zip(paths) {
        let answer = client.delete(&path, &query).await.inspect_err(|_| note_ended(&ended, out))?;
        forget(&args.connection, id);
        ended.push((id.as_str(), answer));
    }
    let answer = match ended.as_slice() {
        [(_, one)] => one.clone(),
        several => json!({ "items": several.iter().map(|(_, answer)| answer).collect::<Vec<_>>() }),
    };
    out.value(args.connection.output, &answer, |_| {
        ended.iter().map(|(id, _)| format!("revoked {id}\n")).collect::<String>()
    })
}

fn note_ended(ended: &[(&str, Value)], out: &mut Output) {
    for (id, _) in ended {
        out.note(&format!("revoked {id}"));
    }
}

/// kubectl is told by us at once, not by the cluster.
fn forget(connection: &Connection, id: &str) {
    let profile = Profile::named(connection.config_dir.as_deref(), connection.profile.as_deref());
    if let Ok(cache) = profile.and_then(|profile| crate::cache::Cache::for_grant(&profile, id)) {
        cache.forget();
    }
}
