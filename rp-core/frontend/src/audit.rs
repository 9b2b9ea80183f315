//! The audit log of requests (`contract/frontend.md` §14.2, `contract/rules.md` §3.9): a request that changes
//! something or shows a secret has a durable entry before anything is written; all others have one at the
//! end.

use std::time::Duration;

use http::Method;
use rp_audit::{Audit, Command};
use rp_base::chain;
use rp_base::text::{clean, visible};
use rp_documents::{Actor, Entry, Outcome, Phase, ResourceId, Side};

use crate::pipeline::RequestContext;
use crate::response::Change;

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
fn entry(context: &RequestContext, at: rp_base::Timestamp, phase: Phase) -> Option<Entry> {
    let id = rp_base::Id::parse(&context.correlation.request).ok()?;
    let agent = context.header("user-agent");
    let (sub, name) = match &context.principal {
        Some(principal) => (principal.clone(), principal.clone()),
        // The tool itself; it names no person.
        None if !context.tool().is_empty() => (context.tool().to_owned(), context.tool().to_owned()),
        None => (clean(&agent, 256), "Azure Resource Manager".to_owned()),
    };
    let actor = Actor { sub, name, from: context.peer.clone() };
    let mut entry = Entry::new(at, phase, id, actor, verb(&context.head.method));
    if context.admin {
        entry.verb = entry.verb.replacen("arm.", "rp-admin.", 1);
    }
    entry.group = crate::path::PROVIDER.to_owned();
    entry.resource = context.template().to_owned();
    entry.target = context.cluster().and_then(|path| ResourceId::parse(&path).ok());
    entry.query = match context.head.uri.query().filter(|_| context.is_named_by_query()) {
        // The query tells which objects or which machine, and whether beyond the platform's namespaces.
        Some(query) => visible(format!("{}?{query}", context.head.uri.path()).as_bytes(), 1024),
        None => visible(context.head.uri.path().as_bytes(), 1024),
    };
    if let Some(detail) = context.detail() {
        entry.subresource = clean(&detail.kind, 256);
        entry.namespace = clean(&detail.namespace, 256);
        entry.name = clean(&detail.name, 512);
        Command::new(&detail.command).write_to(&mut entry);
    }
    entry.reason = clean(&context.header("x-aro-reason"), 512);
    Some(entry)
}

/// Writes the start entry durably.
///
/// # Errors
/// The audit log accepts no entry now.
pub(crate) async fn record_start(
    audit: &Audit,
    context: &RequestContext,
    at: rp_base::Timestamp,
) -> Result<(), rp_audit::AuditError> {
    match entry(context, at, Phase::Start) {
        Some(entry) => audit.promise(entry).await.map(drop),
        None => Ok(()),
    }
}

/// How a request ended, for the audit log.
#[derive(Debug, Clone)]
pub(crate) struct RequestEnd {
    pub(crate) status: u16,
    /// How a streamed answer ended: `ok`, `failed`, `timeout`, `gone`.
    pub(crate) streamed: Option<&'static str>,
    /// What the request changed in a cluster or in Azure.
    pub(crate) change: Option<Change>,
    pub(crate) took: Duration,
    pub(crate) read: u64,
    pub(crate) written: u64,
    /// A start entry was written.
    pub(crate) begun: bool,
}

/// Writes the entry of the request's end.
pub(crate) async fn record_end(
    audit: &Audit,
    context: &RequestContext,
    at: rp_base::Timestamp,
    end: &RequestEnd,
) {
    let phase = if end.begun { Phase::End } else { Phase::Single };
    let Some(mut entry) = entry(context, at, phase) else { return };
    let (word, side) = match (end.status, end.streamed) {
        (..400, None | Some("ok")) => ("ok", None),
        (..400, Some("gone")) => ("gone", Some(Side::You)),
        (..400, Some(word)) => (word, Some(Side::Cluster)),
        (400..500, _) => ("refused", Some(Side::You)),
        _ => ("failed", Some(Side::Us)),
    };
    if let Some(Change { before, after }) = &end.change {
        let change = format!("#before={before}&after={after}");
        entry.query.push_str(&visible(change.as_bytes(), 512));
    }
    entry.result = Outcome { status: end.status, word: word.to_owned(), side };
    entry.took_ms = u64::try_from(end.took.as_millis()).unwrap_or(u64::MAX);
    (entry.bytes_in, entry.bytes_out) = (end.read, end.written);
    // Entries of unauthenticated callers are rate-limited, so that they cannot fill the audit log.
    let taken = match context.unknown_address() {
        Some(address) => audit.refused(rp_net::network(address), entry).await,
        None => audit.queue(entry).await,
    };
    if let Err(error) = taken {
        tracing::error!(error = %chain(&error), "a request is not in the audit log");
    }
}
