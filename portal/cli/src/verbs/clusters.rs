//! `aro clusters …`

use std::path::Path;

use rp_base::Secret;
use serde_json::{Value, json};

use super::{list, segment, write_list};
use crate::args::{ClustersVerb, Connection, ImportTunnel};
use crate::client::Client;
use crate::output::{Column, cell, table};
use crate::{CliError, Output, files};

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

pub(super) async fn run(verb: ClustersVerb, out: &mut Output) -> Result<(), CliError> {
    match verb {
        ClustersVerb::List { search, filter, connection } => {
            let client = Client::new(&connection)?;
            let search = search.unwrap_or_default();
            let asked = filter.query();
            let mut query = vec![("q", search.as_str())];
            query.extend(asked.iter().map(|(name, value)| (*name, value.as_str())));
            list(&client, &connection, out, "/api/v1/clusters", &query, filter.limit, &CLUSTERS).await
        }
        ClustersVerb::Import { kubeconfig, name, context, as_groups, ssh, tunnel, connection } => {
            let client = Client::new(&connection)?;
            let text = files::read(&kubeconfig)?;
            let mut asked = json!({"name": name, "context": context, "as_groups": as_groups});
            if let Some(tunnel) = tunnel_of(&tunnel)? {
                asked["tunnel"] = tunnel;
            }
            if let Some(path) = ssh {
                asked["ssh"] = ssh_of(&path)?;
            }
            import(&client, &connection, out, &text, asked).await
        }
        ClustersVerb::Remove { name, connection } => {
            let client = Client::new(&connection)?;
            let answer = client.delete(&format!("/api/v1/imports/{}", segment(&name)?), &[]).await?;
            out.value(connection.output, &answer, |_| format!("removed {name}\n"))
        }
        ClustersVerb::Imported { connection } => {
            let client = Client::new(&connection)?;
            let answer = client.get("/api/v1/imports", &[]).await?;
            write_list(&answer, connection.output, &IMPORTED, out)
        }
    }
}

fn ssh_of(path: &Path) -> Result<Value, CliError> {
    let text = files::read(path)?;
    // The parser's own words may quote the key.
    serde_json::from_str(text.expose())
        .map_err(|_| CliError::BadFile { path: path.to_owned(), what: "is no JSON" })
}

/// `None`: nothing was said of tunnels.
fn tunnel_of(tunnel: &ImportTunnel) -> Result<Option<Value>, CliError> {
    if tunnel.destination.is_empty() && tunnel.console.is_none() && tunnel.destinations_ca.is_none() {
        return Ok(None);
    }
    let ca = tunnel.destinations_ca.as_deref().map(crate::tls::authorities).transpose()?;
    Ok(Some(json!({ "destinations": tunnel.destination, "console": tunnel.console, "ca": ca })))
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
