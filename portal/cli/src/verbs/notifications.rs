//! `aro notifications …`

use serde_json::{Value, json};

use super::{items, segment, write_list};
use crate::args::NotificationsVerb;
use crate::client::Client;
use crate::output::{Column, cell};
use crate::{CliError, Output};

const DESTINATIONS: [Column<'_>; 6] = [
    ("NAME", |row| cell(row, &["/name"])),
    ("KIND", |row| cell(row, &["/kind"])),
    ("ADDRESS", |row| cell(row, &["/address"])),
    ("WAITING", |row| cell(row, &["/waiting"])),
    ("DELIVERED", |row| cell(row, &["/last_delivered"])),
    ("ERROR", |row| cell(row, &["/error"])),
];
const NOTIFICATIONS: [Column<'_>; 6] = [
    ("ID", |row| cell(row, &["/id"])),
    ("EVENT", |row| cell(row, &["/event"])),
    ("STATE", |row| cell(row, &["/state"])),
    ("ATTEMPTS", |row| cell(row, &["/attempts"])),
    ("TITLE", |row| cell(row, &["/title"])),
    ("ERROR", |row| cell(row, &["/error"])),
];

pub(super) async fn run(verb: NotificationsVerb, out: &mut Output) -> Result<(), CliError> {
    match verb {
        NotificationsVerb::List { destination, limit, connection } => {
            let client = Client::new(&connection)?;
            let limit = limit.to_string();
            let answer = client.get("/api/v1/notifications", &[("limit", limit.as_str())]).await?;
            match destination {
                None => write_list(&answer, connection.output, &DESTINATIONS, out),
                Some(name) => write_list(&sent(&answer, &name)?, connection.output, &NOTIFICATIONS, out),
            }
        }
        NotificationsVerb::Test { destination, connection } => {
            let client = Client::new(&connection)?;
            let path = format!("/api/v1/notifications/{}/test", segment(&destination)?);
            let answer = client.post(&path, &json!({})).await?;
            let id = cell(&answer, &["/id"]);
            out.value(connection.output, &answer, |_| format!("recorded {id}; it is sent within seconds\n"))
        }
    }
}

/// What was sent to a destination, as a list.
fn sent(answer: &Value, name: &str) -> Result<Value, CliError> {
    let found = items(answer).iter().find(|row| cell(row, &["/name"]) == name);
    let found = found.ok_or_else(|| CliError::Usage(format!("no destination is named {name}")))?;
    Ok(json!({ "items": found.get("notifications").cloned().unwrap_or_else(|| json!([])) }))
}
