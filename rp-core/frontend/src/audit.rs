//! The trail of requests (`contract/frontend.md` §14.2, `contract/rules.md` §3.9): a request that changes
//! something or shows a secret has a durable entry before anything is written; every other has one at its
//! end.

use std::time::Duration;

use http::Method;
use rp_audit::Audit;
use rp_base::chain;
use rp_base::text::{clean, visible};
use rp_documents::{Actor, Entry, Outcome, Phase, ResourceId, Side};

use crate::pipeline::Seen;

/// The verb of a method.
fn verb(method: &Method) -> &'static str {
    match *method {
        Method::GET => "arm.read",
        Method::PUT => "arm.put",
        Method::PATCH => "arm.patch",
        Method::DELETE => "arm.delete",
        Method::POST => "arm.post",
        _ => "arm.other",
    }
}

/// An entry of that phase.
fn entry(seen: &Seen, at: rp_base::Timestamp, phase: Phase) -> Option<Entry> {
    let id = rp_base::Id::parse(&seen.correlation.request).ok()?;
    let agent = seen.header("user-agent");
    let (sub, name) = match &seen.principal {
        Some(principal) => (principal.clone(), principal.clone()),
        // The tool itself, on behalf of nobody whom it names.
        None if !seen.tool().is_empty() => (seen.tool().to_owned(), seen.tool().to_owned()),
        None => (clean(&agent, 256), "Azure Resource Manager".to_owned()),
    };
    let actor = Actor { sub, name, from: seen.peer.clone() };
    let mut entry = Entry::new(at, phase, id, actor, verb(&seen.head.method));
    if seen.admin {
        entry.verb = entry.verb.replacen("arm.", "rp-admin.", 1);
    }
    entry.group = crate::path::PROVIDER.to_owned();
    entry.resource = seen.template().to_owned();
    entry.target = seen.cluster().and_then(|path| ResourceId::parse(&path).ok());
    entry.query = match seen.head.uri.query().filter(|_| seen.is_named_by_query()) {
        // Which objects or machine of the cluster, and whether beyond the platform's.
        Some(query) => visible(format!("{}?{query}", seen.head.uri.path()).as_bytes(), 1024),
        None => visible(seen.head.uri.path().as_bytes(), 1024),
    };
    Some(entry)
}

/// Writes durably that the request begins.
///
/// # Errors
/// The trail takes nothing now.
pub(crate) async fn begins(
    audit: &Audit,
    seen: &Seen,
    at: rp_base::Timestamp,
) -> Result<(), rp_audit::AuditError> {
    match entry(seen, at, Phase::Start) {
        Some(entry) => audit.promise(entry).await.map(drop),
        None => Ok(()),
    }
}

/// How a request ended, for the trail.
#[derive(Debug, Clone, Copy)]
pub(crate) struct End {
    pub(crate) status: u16,
    pub(crate) took: Duration,
    pub(crate) read: u64,
    pub(crate) written: u64,
    /// Its begin was written.
    pub(crate) begun: bool,
}

/// Takes in how the request ended.
pub(crate) async fn ended(audit: &Audit, seen: &Seen, at: rp_base::Timestamp, end: &End) {
    let phase = if end.begun { Phase::End } else { Phase::Single };
    let Some(mut entry) = entry(seen, at, phase) else { return };
    let (word, side) = match end.status {
        ..400 => ("ok", None),
        400..500 => ("refused", Some(Side::You)),
        _ => ("failed", Some(Side::Us)),
    };
    entry.result = Outcome { status: end.status, word: word.to_owned(), side };
    entry.took_ms = u64::try_from(end.took.as_millis()).unwrap_or(u64::MAX);
    (entry.bytes_in, entry.bytes_out) = (end.read, end.written);
    // Whoever nobody knows cannot fill the trail.
    let taken = match seen.stranger() {
        Some(address) => audit.refused(rp_net::network(address), entry).await,
        None => audit.queue(entry).await,
    };
    if let Err(error) = taken {
        tracing::error!(error = %chain(&error), "a request is not in the audit log");
    }
}
