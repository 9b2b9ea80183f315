//! `aro audit …`: what the portal knows.

use std::io::Write as _;

use serde_json::Value;

use super::{list, resolve, resolve_some};
use crate::args::{AuditFilter, AuditVerb, Format, ReportFormat, Span};
use crate::client::Client;
use crate::output::{Column, cell};
use crate::{CliError, Output, platform, report};

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

pub(super) async fn run(verb: AuditVerb, out: &mut Output) -> Result<(), CliError> {
    match verb {
        AuditVerb::List { filter, limit, connection } => {
            let client = Client::new(&connection)?;
            let query = query(&client, filter).await?;
            let query = borrowed(&query);
            list(&client, &connection, out, "/api/v1/audit", &query, limit, &AUDIT).await
        }
        AuditVerb::Export { filter, file, connection } => {
            let client = Client::new(&connection)?;
            let query = query(&client, filter).await?;
            let query = borrowed(&query);
            let path = "/api/v1/audit/export";
            let Some(file) = file else {
                return client.copy_search(path, &query, |chunk| out.bytes(chunk)).await;
            };
            let failed = |cause| CliError::File { path: file.clone(), cause };
            // Not over another export: it may be the only one.
            let mut written = platform::private_file().create_new(true).open(&file).map_err(failed)?;
            client.copy_search(path, &query, |chunk| written.write_all(chunk).map_err(failed)).await?;
            written.sync_all().map_err(failed)
        }
        AuditVerb::Report { cluster, span, format, connection } => {
            let client = Client::new(&connection)?;
            let resource = resolve(&client, &cluster).await?;
            let Span { from, to } = span;
            let wanted = [("target", Some(resource)), ("from", from), ("to", to)].map(owned);
            let mut query: Vec<_> = wanted.into_iter().flatten().collect();
            let path = "/api/v1/audit/report";
            if connection.output == Format::Table && format == ReportFormat::Csv {
                // The portal lays it out, so that a page's file and ours are one.
                query.push(("format", "csv".to_owned()));
                return client.copy(path, &borrowed(&query), |chunk| out.bytes(chunk)).await;
            }
            let answer = client.get(path, &borrowed(&query)).await?;
            if answer.get("truncated").and_then(Value::as_bool) == Some(true) {
                out.note("There is more than one report holds: ask for a shorter time by --from and --to.");
            }
            let format = match (connection.output, format) {
                (Format::Table, ReportFormat::Json) => Format::Json,
                (other, _) => other,
            };
            out.value(format, &answer, report::text)
        }
    }
}

type Parameter = (&'static str, String);

fn owned((name, value): (&'static str, Option<String>)) -> Option<Parameter> {
    Some((name, value.filter(|value| !value.is_empty())?))
}

fn borrowed(query: &[Parameter]) -> Vec<(&str, &str)> {
    query.iter().map(|(name, value)| (*name, value.as_str())).collect()
}

async fn query(client: &Client, filter: AuditFilter) -> Result<Vec<Parameter>, CliError> {
    let target = resolve_some(client, filter.cluster.as_deref()).await?;
    let wanted = [
        ("person", filter.person),
        ("target", target),
        ("verb", filter.verb),
        ("grant", filter.grant),
        ("text", filter.text),
        ("from", filter.span.from),
        ("to", filter.span.to),
    ];
    Ok(wanted.map(owned).into_iter().flatten().collect())
}
