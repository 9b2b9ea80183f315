//! A machine's serial console and a screenshot of its screen, read from Azure on request; each read is audited.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use portal_session::fault::Fault;
use portal_session::user::CurrentUser;
use rp_access::ActiveGrant;
use rp_azure::{AzureError, BootDiagnostics, ErrorClass, Screenshot, serial};
use rp_documents::Side;
use schemars::JsonSchema;
use serde::Serialize;
use web::SerialQuery;

use crate::index::Entry;
use crate::state::PortalState;

/// How long to wait for Azure's response.
const PATIENCE: Duration = Duration::from_secs(25);
/// Lines of a part, at most and by itself.
const MOST: usize = 5000;
const USUAL: usize = 500;

/// The end of a console, read.
#[derive(Debug)]
pub struct Console {
    /// Lines without terminal control sequences and without secrets of a known form.
    pub text: String,
    /// Bytes of the whole log.
    pub size: u64,
    /// Its beginning was not read.
    pub cut: bool,
}

/// Which lines of a console to return.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct ConsoleQuery {
    needle: String,
    before: Option<u64>,
    after: Option<u64>,
    most: usize,
}

/// A part of a console. Lines count from 1.
#[derive(Debug, Default, Serialize, PartialEq, Eq, JsonSchema)]
pub struct ConsoleLines {
    /// Lines that were read.
    pub total: u64,
    /// Lines with the text that is looked for.
    pub matches: u64,
    /// For the parameter `before`; null at the begin.
    pub older: Option<u64>,
    /// For the parameter `after`; null at the end.
    pub newer: Option<u64>,
    pub lines: Vec<Line>,
}

/// A line with its number.
#[derive(Debug, Serialize, PartialEq, Eq, JsonSchema)]
#[schemars(rename = "ConsoleLine")]
pub struct Line {
    pub n: u64,
    pub text: String,
}

impl ConsoleQuery {
    /// Reads the query.
    ///
    /// # Errors
    /// A number is none.
    pub fn parse(query: &SerialQuery) -> Result<Self, Fault> {
        let number = |text: &str, what: &str| match text.trim() {
            "" => Ok(None),
            text => text
                .parse()
                .map(Some)
                .map_err(|_| Fault::bad_input(format!("{what} is the number of a line"))),
        };
        let lines: usize = match query.lines.trim() {
            "" => USUAL,
            text => text.parse().map_err(|_| Fault::bad_input("lines is a number of lines"))?,
        };
        Ok(Self {
            needle: query.q.trim().to_lowercase(),
            before: number(&query.before, "before")?,
            after: number(&query.after, "after")?,
            most: lines.clamp(1, MOST),
        })
    }

    /// That part of a text: the first lines after a line, else the last before one, else the last.
    pub fn part(&self, text: &str) -> ConsoleLines {
        let (mut part, mut kept) = (ConsoleLines::default(), VecDeque::new());
        let (mut older, mut newer) = (false, false);
        for (n, line) in (1..).zip(text.lines()) {
            part.total = n;
            if !self.needle.is_empty() && !line.to_lowercase().contains(&self.needle) {
                continue;
            }
            part.matches += 1;
            match (self.after, self.before) {
                (Some(after), _) if n <= after => older = true,
                (Some(_), _) if kept.len() >= self.most => newer = true,
                (None, Some(before)) if n >= before => newer = true,
                _ => kept.push_back((n, line)),
            }
            if kept.len() > self.most {
                kept.pop_front();
                older = true;
            }
        }
        part.older = kept.front().filter(|_| older).map(|(n, _)| *n);
        part.newer = kept.back().filter(|_| newer).map(|(n, _)| *n);
        part.lines = kept.into_iter().map(|(n, text)| Line { n, text: text.to_owned() }).collect();
        part
    }
}

/// The machine's console.
///
/// # Errors
/// There is none, or Azure, the store or the trail did not answer.
pub async fn console(
    state: &PortalState,
    user: &CurrentUser,
    live: &Arc<ActiveGrant>,
    entry: &Entry,
    machine: &str,
) -> Result<Console, Fault> {
    let asked = ask(state, user, live, entry, machine, "serial");
    let (boot, group) = asked.await?;
    let read = boot.serial_log(&group, machine);
    let log = answered(read, machine).await?.ok_or_else(|| off("no_console"))?;
    let (size, cut) = (log.size, log.is_cut());
    // Megabytes are processed: on a blocking thread, not on a worker of the runtime.
    let read = tokio::task::spawn_blocking(move || serial::readable(&log.bytes)).await;
    Ok(Console { text: read.map_err(|_| Fault::internal())?, size, cut })
}

/// The picture of the machine's screen.
///
/// # Errors
/// As [`console`].
pub async fn screen(
    state: &PortalState,
    user: &CurrentUser,
    live: &Arc<ActiveGrant>,
    entry: &Entry,
    machine: &str,
) -> Result<Screenshot, Fault> {
    let asked = ask(state, user, live, entry, machine, "screenshot");
    let (boot, group) = asked.await?;
    answered(boot.screenshot(&group, machine), machine).await?.ok_or_else(|| off("no_screenshot"))
}

/// The source and the resource group; the audit entry is written before Azure is asked.
async fn ask(
    state: &PortalState,
    user: &CurrentUser,
    live: &Arc<ActiveGrant>,
    entry: &Entry,
    machine: &str,
    what: &'static str,
) -> Result<(Arc<dyn BootDiagnostics>, String), Fault> {
    if !is_name(machine) {
        return Err(Fault::bad_input("That is no machine's name"));
    }
    if entry.imported.is_some() {
        return Err(none("no_console", "This machine has no serial console here")
            .why("Consoles are read from Azure, which does not know the machines of imported clusters."));
    }
    let boot = state.model.vms.boot().ok_or_else(|| {
        none("no_console", "Azure is not configured here").why("A machine's console is read from Azure.")
    })?;
    let group = state.model.vms.group(&entry.document).await.map_err(|()| {
        Fault::new(StatusCode::SERVICE_UNAVAILABLE, "store_unavailable", Side::Us, "The store did not answer")
            .action("Try again in a moment.")
    })?;
    let group = group.ok_or_else(|| {
        none("no_console", "The cluster has no machines yet")
            .why("Its document names no resource group of them.")
    })?;
    let noted = state.session.promise(&user.caller, "serial.read", |note| {
        note.grant = Some(live.grant.id.clone());
        note.target = Some(entry.id.clone());
        note.reason.clone_from(&live.grant.reason);
        "machines".clone_into(&mut note.resource);
        what.clone_into(&mut note.subresource);
        machine.clone_into(&mut note.name);
        "Azure: the service's own identity".clone_into(&mut note.identity_used);
    });
    noted.await.map_err(|error| Fault::audit(&error))?;
    Ok((boot, group))
}

/// Whether a name is a valid Azure machine name: letters, digits, `-`, `_`, `.`, and no path traversal.
fn is_name(machine: &str) -> bool {
    let good = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    (1..=80).contains(&machine.len()) && machine.bytes().all(good) && !machine.starts_with(['.', '-'])
}

async fn answered<T>(read: impl Future<Output = Result<T, AzureError>>, machine: &str) -> Result<T, Fault> {
    let fault = |status, what: &str| Fault::new(status, "azure_failed", Side::Us, what);
    let late = |_| {
        fault(StatusCode::GATEWAY_TIMEOUT, "Azure did not answer in time")
            .why(format!("It was given {} s.", PATIENCE.as_secs()))
            .action("Try again.")
    };
    let error = match tokio::time::timeout(PATIENCE, read).await.map_err(late)? {
        Ok(found) => return Ok(found),
        Err(error) => error,
    };
    if error.is_missing() {
        return Err(none("machine_unknown", "Azure has no such machine")
            .why("There is no virtual machine of this name in the cluster's resource group."));
    }
    tracing::warn!(error = %error, machine, "a machine's boot diagnostics could not be read");
    Err(match error.class() {
        ErrorClass::Throttled => {
            let wait = error.retry_after.unwrap_or(Duration::from_secs(10));
            fault(StatusCode::SERVICE_UNAVAILABLE, "Azure is busy").retry_after(wait)
        }
        ErrorClass::Authorization | ErrorClass::Policy | ErrorClass::Lock => {
            fault(StatusCode::BAD_GATEWAY, "Azure does not let us read it")
                .why("Our application may not read the boot diagnostics of this subscription's machines.")
        }
        ErrorClass::Missing
        | ErrorClass::Quota
        | ErrorClass::Conflict
        | ErrorClass::Unavailable
        | ErrorClass::Other => fault(StatusCode::BAD_GATEWAY, "Azure could not tell it").action("Try again."),
    })
}

fn none(code: &'static str, what: &str) -> Fault {
    Fault::new(StatusCode::NOT_FOUND, code, Side::You, what)
}

fn off(code: &'static str) -> Fault {
    none(code, "There is nothing to show of this machine")
        .why("Its boot diagnostics are off, or it has not started yet.")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(lines: u64) -> String {
        (1..=lines).map(|n| format!("line {n}{}\n", if n % 10 == 0 { " Error" } else { "" })).collect()
    }

    fn wanted(q: &str, before: &str, after: &str, lines: &str) -> ConsoleQuery {
        let query =
            SerialQuery { q: q.into(), before: before.into(), after: after.into(), lines: lines.into() };
        ConsoleQuery::parse(&query).unwrap()
    }

    fn seen(part: &ConsoleLines) -> (Vec<u64>, Option<u64>, Option<u64>) {
        (part.lines.iter().map(|line| line.n).collect(), part.older, part.newer)
    }

    #[test]
    fn parts_lead_to_each_other_and_leave_nothing_out() {
        let text = text(10);
        let last = wanted("", "", "", "4").part(&text);
        assert_eq!(seen(&last), (vec![7, 8, 9, 10], Some(7), None));
        let older = wanted("", "7", "", "4").part(&text);
        assert_eq!(seen(&older), (vec![3, 4, 5, 6], Some(3), Some(6)));
        assert_eq!(seen(&wanted("", "3", "", "4").part(&text)), (vec![1, 2], None, Some(2)));
        assert_eq!(seen(&wanted("", "", "2", "4").part(&text)), (vec![3, 4, 5, 6], Some(3), Some(6)));
        assert_eq!(seen(&wanted("", "", "6", "4").part(&text)), (vec![7, 8, 9, 10], Some(7), None));
        assert_eq!((last.total, last.matches), (10, 10));
    }

    #[test]
    fn what_is_found_keeps_its_numbers() {
        let part = wanted("ERROR", "", "", "2").part(&text(50));
        assert_eq!((seen(&part), part.total, part.matches), ((vec![40, 50], Some(40), None), 50, 5));
        let none = wanted("panic", "", "", "").part(&text(50));
        assert_eq!((seen(&none), none.total, none.matches), ((vec![], None, None), 50, 0));
        assert_eq!(wanted("", "", "", "").part(""), ConsoleLines::default());
    }

    #[test]
    fn bounds_and_bad_input() {
        assert_eq!(wanted("", "", "", "999999").most, MOST);
        assert_eq!(wanted("", "", "", "0").part(&text(3)).lines.len(), 1);
        for (before, lines) in [("x", ""), ("-1", ""), ("", "many")] {
            let query = SerialQuery { before: before.into(), lines: lines.into(), ..SerialQuery::default() };
            assert!(ConsoleQuery::parse(&query).is_err(), "{query:?}");
        }
        for bad in ["", "..", ".x", "-x", "a/b", "a?b", "a%2fb", "ä", &"a".repeat(81)] {
            assert!(!is_name(bad), "{bad:?}");
        }
        assert!(is_name("harbor-x7k2p-master-0") && is_name("A_b.c"));
    }
}
