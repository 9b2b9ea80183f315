//! No route without a decision: every row of `aro print routes` is called by every kind of caller.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, bail, ensure};
use reqwest::Method;
use serde_json::json;
use tests_kit::{Answer, Aro, AroOptions, Session};

use crate::generated::printed;

/// The built-in accounts and the roles that their groups give.
const HOLDS: &[(&str, &[&str])] = &[
    ("viewer", &["viewer"]),
    ("sre", &["viewer", "sre"]),
    ("elevated", &["viewer", "sre", "elevated"]),
    ("approver", &["viewer", "sre", "approver"]),
    ("auditor", &["viewer", "auditor"]),
    ("admin", &["viewer", "sre", "elevated", "auditor", "admin"]),
];

#[derive(Debug)]
struct Row {
    method: Method,
    path: String,
    who: String,
    csrf: bool,
}

fn rows() -> Result<Vec<Row>> {
    let text = printed(&["routes"])?;
    let cells =
        |line: &str| line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
    let lines = text.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| method"));
    let rows: Vec<Row> = lines
        .map(|line| match cells(line).as_slice() {
            [method, path, who, csrf, _audit] => Ok(Row {
                method: Method::from_bytes(method.to_uppercase().as_bytes())?,
                path: path.trim_matches('`').to_owned(),
                who: who.clone(),
                csrf: csrf == "yes",
            }),
            _ => bail!("not a row: {line}"),
        })
        .collect::<Result<_>>()?;
    ensure!(rows.len() > 20, "{} routes", rows.len());
    Ok(rows)
}

/// A path that matches the pattern and names nothing that exists.
fn example(pattern: &str) -> String {
    let values = [
        ("{sub}", "11111111-1111-1111-1111-111111111111"),
        ("{group}", "no-such-group"),
        ("{name}", "no-such-cluster"),
        ("{id}", "00000000000000000000000000"),
        ("{*path}", "no/such/file.css"),
        // What a reader may ask of a Prometheus.
        ("{*tail}", "query"),
        ("{tail}", "ready"),
    ];
    values.iter().fold(pattern.to_owned(), |path, (name, value)| path.replace(name, value))
}

/// How far a call came.
#[derive(Debug, PartialEq, Eq)]
enum AccessOutcome {
    Unknown,
    Refused,
    In,
}

fn classify(answer: &Answer) -> AccessOutcome {
    match answer.status {
        401 => AccessOutcome::Unknown,
        // The row let them in; what they hold for that cluster does not suffice.
        403 if answer.json().is_ok_and(|told| told["code"] == "elevation_needed") => AccessOutcome::In,
        403 => AccessOutcome::Refused,
        _ => AccessOutcome::In,
    }
}

async fn call(session: &Session, row: &Row) -> Result<Answer> {
    let path = example(&row.path);
    match row.method {
        // Other sites cannot open a socket, so a page's own call names its origin.
        Method::GET => {
            let headers = [("accept", "application/json"), ("origin", session.base())];
            session.send(Method::GET, &path, &headers, None).await
        }
        _ if session.cookie().is_some() => session.change(row.method.clone(), &path, Some(&json!({}))).await,
        _ => session.send(row.method.clone(), &path, &[("accept", "application/json")], None).await,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_route_lets_in_whom_its_row_says() -> Result<()> {
    // A forged token for every route is more than one address may try in a minute.
    let env = vec![("ARO_LIMITS__MISSES_PER_MINUTE".to_owned(), "100000".to_owned())];
    let aro = Aro::start(AroOptions { env, ..AroOptions::default() }).await?;
    aro.explain(check(&aro).await)
}

async fn check(aro: &Aro) -> Result<()> {
    let mut sessions = BTreeMap::new();
    for (account, _) in HOLDS {
        sessions.insert(*account, aro.session(account).await.with_context(|| (*account).to_owned())?);
    }
    let stranger = aro.stranger()?;
    let forged = stranger
        .with_bearer("aro1_cli_00000000000000000000000000_00000000000000000000000000000000_0000000000000000");
    let mut wrong = Vec::new();
    // The row that ends a session comes last.
    let (logout, others): (Vec<Row>, Vec<Row>) =
        rows()?.into_iter().partition(|row| row.path == "/api/logout");
    for row in others.iter().chain(&logout) {
        let mut note = |caller: &str, answer: &Answer, wanted: AccessOutcome| {
            let came = classify(answer);
            if came != wanted || answer.status >= 500 {
                let (method, path) = (&row.method, &row.path);
                wrong
                    .push(format!("{method} {path} by {caller}: {} {came:?}, not {wanted:?}", answer.status));
            }
        };
        let public = row.who == "anybody";
        let closed = if public { AccessOutcome::In } else { AccessOutcome::Unknown };
        if public {
            note("stranger", &call(&stranger, row).await?, AccessOutcome::In);
            continue;
        }
        note("stranger", &call(&stranger, row).await?, AccessOutcome::Unknown);
        note("a forged token", &call(&forged, row).await?, closed);
        for (account, roles) in HOLDS {
            let session = sessions.get(account).context("signed in above")?;
            if row.csrf {
                let path = example(&row.path);
                let bare =
                    session.send(row.method.clone(), &path, &[("accept", "application/json")], None).await?;
                note(&format!("{account} without a CSRF token"), &bare, AccessOutcome::Refused);
            }
            let allowed = row.who == "signed in" || roles.contains(&row.who.as_str());
            let wanted = if allowed { AccessOutcome::In } else { AccessOutcome::Refused };
            note(account, &call(session, row).await?, wanted);
        }
    }
    ensure!(wrong.is_empty(), "{} decisions are not kept:\n{}", wrong.len(), wrong.join("\n"));
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn paths_beside_the_table_tell_a_stranger_nothing() -> Result<()> {
    let aro = Aro::start(AroOptions::default()).await?;
    let stranger = aro.stranger()?;
    for path in [
        "/no-such-page",
        "/api/no-such",
        "/subscriptions/x",
        "/static/../etc/passwd",
        "/debug/pprof",
        "/metrics",
    ] {
        for method in [Method::GET, Method::POST, Method::PUT, Method::DELETE, Method::OPTIONS] {
            let answer = stranger.send(method.clone(), path, &[("accept", "application/json")], None).await?;
            ensure!((400..500).contains(&answer.status), "{method} {path}: {}", answer.status);
        }
    }
    Ok(())
}
