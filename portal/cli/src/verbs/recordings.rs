//! `aro recordings …`

use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until};

use super::{list, resolve_some, segment};
use crate::args::{PlayArgs, RecordingsVerb};
use crate::cast::{Cast, Screen, clock};
use crate::client::Client;
use crate::output::{Column, cell, fields};
use crate::{CliError, Output, platform};

/// Longest pause that is played, where pauses are shortened, milliseconds.
const PAUSE: u64 = 2_000;

const RECORDINGS: [Column<'_>; 9] = [
    ("ID", |row| cell(row, &["/id"])),
    ("KIND", |row| cell(row, &["/kind"])),
    ("STATE", |row| cell(row, &["/state"])),
    ("PERSON", |row| cell(row, &["/person"])),
    ("BEGAN", |row| cell(row, &["/started"])),
    ("OUTCOME", |row| cell(row, &["/outcome"])),
    ("CLUSTER", |row| cell(row, &["/cluster"]).rsplit('/').next().unwrap_or_default().to_owned()),
    ("PLACE", |row| cell(row, &["/place"])),
    ("SHOWN", found),
];

/// The first line that a search found, and when.
fn found(row: &Value) -> String {
    match row.pointer("/hits/0") {
        Some(hit) => {
            format!("{} {}", clock(hit["at_ms"].as_u64().unwrap_or_default()), cell(hit, &["/line"]))
        }
        None => String::new(),
    }
}

pub(super) async fn run(verb: RecordingsVerb, out: &mut Output) -> Result<(), CliError> {
    match verb {
        RecordingsVerb::List { search, filter, limit, connection } => {
            let client = Client::new(&connection)?;
            let cluster = resolve_some(&client, filter.cluster.as_deref()).await?;
            let span = filter.span;
            let filters = [
                ("q", search),
                ("person", filter.person),
                ("cluster", cluster),
                ("grant", filter.grant),
                ("from", span.from),
                ("to", span.to),
            ]
            .map(|(name, value)| (name, value.unwrap_or_default()));
            let filters = filters.each_ref().map(|(name, value)| (*name, value.as_str()));
            // Without a search nothing was found in any of them.
            let columns = &RECORDINGS[..if filters[0].1.is_empty() { 8 } else { 9 }];
            list(&client, &connection, out, "/api/v1/recordings", &filters, limit, columns).await
        }
        RecordingsVerb::Show { id, connection } => {
            let client = Client::new(&connection)?;
            let id = segment(&id)?;
            let answer = client.get(&format!("/api/v1/recordings/{id}"), &[]).await?;
            let player = client.page(&format!("/recordings/{id}"), &[]);
            out.value(connection.output, &answer, |answer| {
                let mut shown = answer.clone();
                shown["player"] = json!(player.as_str().trim_end_matches('?'));
                fields(&shown)
            })
        }
        RecordingsVerb::Play(args) => play(*args, out).await,
        RecordingsVerb::Download { id, file, connection } => {
            let client = Client::new(&connection)?;
            let path = cast_of(&id)?;
            let query = [("download", "1")];
            if file == Path::new("-") {
                return client.copy(&path, &query, |chunk| out.bytes(chunk)).await;
            }
            download(&client, &path, &query, &file).await
        }
    }
}

fn cast_of(id: &str) -> Result<String, CliError> {
    Ok(format!("/api/v1/recordings/{}/cast", segment(id)?))
}

/// Whole, or not at all.
async fn download(client: &Client, path: &str, query: &[(&str, &str)], file: &Path) -> Result<(), CliError> {
    let failed = |cause| CliError::File { path: file.to_owned(), cause };
    let mut written = platform::private_file().create_new(true).open(file).map_err(failed)?;
    let copied = client.copy(path, query, |chunk| written.write_all(chunk).map_err(failed)).await;
    let done = copied.and_then(|()| written.sync_all().map_err(failed));
    if done.is_err() {
        // The first error is the one to tell.
        let _ = std::fs::remove_file(file);
    }
    done
}

async fn play(args: PlayArgs, out: &mut Output) -> Result<(), CliError> {
    let client = Client::new(&args.connection)?;
    let mut cast = Cast::default();
    // All of it first: a session is played for longer than an answer may take.
    client.copy(&cast_of(&args.id)?, &[], |chunk| cast.push(chunk)).await?;
    let size = cast.size.map(|(cols, rows)| format!(", {cols} × {rows}")).unwrap_or_default();
    out.note(&format!("{}{size}; Ctrl-C ends it", clock(cast.length())));
    let mut screen = Screen::default();
    let shown = show(&cast, &args, &mut screen, out).await;
    out.raw(&screen.restore())?;
    shown?;
    for (at, words) in &cast.marks {
        out.note(&format!("{} {words}", clock(*at)));
    }
    Ok(())
}

async fn show(cast: &Cast, args: &PlayArgs, screen: &mut Screen, out: &mut Output) -> Result<(), CliError> {
    let mut stopped = std::pin::pin!(tokio::signal::ctrl_c());
    let (mut due, mut before) = (Instant::now(), args.start.map_or(0, |start| start.saturating_mul(1000)));
    for event in &cast.events {
        due += pause(event.at.saturating_sub(before), args);
        before = before.max(event.at);
        tokio::select! {
            biased;
            _ = &mut stopped => break,
            () = sleep_until(due) => {}
        }
        out.raw(&screen.show(&event.text))?;
    }
    Ok(())
}

/// How long so many recorded milliseconds without a word are waited for.
fn pause(millis: u64, args: &PlayArgs) -> Duration {
    let millis = if args.pauses { millis } else { millis.min(PAUSE) };
    Duration::from_millis(millis).div_f64(args.speed)
}
