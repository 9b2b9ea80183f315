//! `aro robots …`

use std::path::PathBuf;

use serde_json::{Value, json};

use super::{items, put, resolve, segment, write_list};
use crate::args::{Format, RobotCreateArgs, RobotsVerb};
use crate::client::Client;
use crate::names::{self, NameKind};
use crate::output::{Column, cell};
use crate::{CliError, Output, files};

const ROBOTS: [Column<'_>; 6] = [
    ("NAME", |row| cell(row, &["/name"])),
    ("STATE", |row| cell(row, &["/state"])),
    ("RIGHTS", |row| cell(row, &["/rights"])),
    ("CLUSTERS", clusters),
    ("UNTIL", |row| cell(row, &["/not_after"])),
    ("REASON", |row| cell(row, &["/reason"])),
];

fn clusters(row: &Value) -> String {
    match row.pointer("/clusters/only").and_then(Value::as_array) {
        None => cell(row, &["/clusters"]),
        Some(ids) => {
            let names = ids.iter().filter_map(Value::as_str).map(super::kubeconfig::name);
            names.collect::<Vec<_>>().join(",")
        }
    }
}

pub(super) async fn run(verb: RobotsVerb, out: &mut Output) -> Result<(), CliError> {
    match verb {
        RobotsVerb::List { connection } => {
            let client = Client::new(&connection)?;
            let answer = client.get("/api/v1/robots", &[]).await?;
            names::keep(&connection, NameKind::Robots, items(&answer), true);
            write_list(&answer, connection.output, &ROBOTS, out)
        }
        RobotsVerb::Create(args) => create(args, out).await,
        RobotsVerb::Rotate { name, overlap, file, connection } => {
            let client = Client::new(&connection)?;
            let path = format!("/api/v1/robots/{}/rotate", segment(&name)?);
            let answer = client.post(&path, &json!({ "overlap": overlap })).await?;
            token(answer, file, connection.output, out)
        }
        RobotsVerb::Revoke { name, why, connection } => {
            let client = Client::new(&connection)?;
            let query: Vec<(&str, &str)> = why.iter().map(|why| ("why", why.as_str())).collect();
            let answer = client.delete(&format!("/api/v1/robots/{}", segment(&name)?), &query).await?;
            out.value(connection.output, &answer, |_| format!("revoked {name}\n"))
        }
    }
}

async fn create(args: RobotCreateArgs, out: &mut Output) -> Result<(), CliError> {
    let client = Client::new(&args.connection)?;
    let mut only = Vec::new();
    for cluster in &args.clusters {
        only.push(resolve(&client, cluster).await?);
    }
    let clusters = if args.all_clusters { Value::from("all") } else { json!({ "only": only }) };
    let mut body = json!({
        "name": args.name, "clusters": clusters, "kinds": args.kinds, "rights": args.rights,
        "reason": args.reason, "life": args.life,
    });
    put(&mut body, "max_grants", args.max_grants);
    let answer = client.post("/api/v1/robots", &body).await?;
    token(answer, args.file, args.connection.output, out)
}

/// The token is shown once: alone, for a pipe, or into a file, or within the whole answer.
fn token(mut answer: Value, file: Option<PathBuf>, format: Format, out: &mut Output) -> Result<(), CliError> {
    let text = cell(&answer, &["/token"]);
    if text.is_empty() {
        return Err(CliError::Answer("no token"));
    }
    let end = cell(&answer, &["/not_after", "/robot/not_after"]);
    if let Some(path) = file {
        files::write_private(&path, &format!("{text}\n"))?;
        out.note(&format!("Written to {}; it lives until {end}.", path.display()));
        if let Some(members) = answer.as_object_mut() {
            members.remove("token");
        }
        return if format == Format::Table { Ok(()) } else { out.value(format, &answer, |_| String::new()) };
    }
    out.note(&format!("This token is shown once; it lives until {end}."));
    out.value(format, &answer, |_| format!("{text}\n"))
}
