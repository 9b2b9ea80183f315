//! When a request is audited, and how its end is settled (`contract/rules.md` §3.9).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rp_access::{ActiveGrant, credentials};
use rp_audit::Audit;
use rp_base::text::visible;
use rp_base::{Id, SharedClock, Timestamp};
use rp_documents::{Actor, Entry, Outcome, Phase, Side};

use super::body_error::BodyError;
use super::request::Classified;
use super::session_kind::{SessionKind, session_kind};

/// How early an entry must be durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Weight {
    /// One entry at the end, written within 100 ms.
    Light,
    /// A durable entry before the first byte goes to the cluster, another at the end.
    Heavy,
}

/// Secrets, logs, changes, streams and shells are heavy; so is whatever could be read in two ways.
pub(super) fn weight(request: &Classified, upgrade: bool) -> Weight {
    let reads = matches!(request.verb, "get" | "list");
    let sensitive = matches!(request.subresource.as_str(), "log" | "proxy")
        || credentials::carried_by(&request.group, &request.resource, &request.subresource);
    let review = request.resource.starts_with("selfsubject") && request.verb == "create";
    // Also one that is asked for without an upgrade.
    let session = session_kind(request, upgrade) != SessionKind::Answer;
    let heavy = upgrade || request.odd || sensitive || session || !(reads || review);
    if heavy { Weight::Heavy } else { Weight::Light }
}

/// The entry of a request, but for how it ended.
pub(super) fn entry(
    at: Timestamp,
    phase: Phase,
    request_id: &Id,
    live: &ActiveGrant,
    from: &str,
    request: &Classified,
) -> Entry {
    let owner = &live.grant.owner;
    let actor = Actor { sub: owner.sub.clone(), name: owner.name.clone(), from: from.to_owned() };
    let mut entry = Entry::new(at, phase, request_id.clone(), actor, request.verb);
    entry.grant = Some(live.grant.primary_id().clone());
    entry.target.clone_from(&live.grant.target);
    entry.group.clone_from(&request.group);
    entry.resource.clone_from(&request.resource);
    entry.subresource.clone_from(&request.subresource);
    entry.namespace.clone_from(&request.namespace);
    entry.name.clone_from(&request.name);
    request.command.write_to(&mut entry);
    entry.query = match (&request.non_resource, request.tail.as_str(), request.query.as_str()) {
        (Some(path), _, "") => visible(path.as_bytes(), 1024),
        (Some(path), _, query) => format!("{}?{query}", visible(path.as_bytes(), 1024)),
        (None, "", query) => query.to_owned(),
        (None, tail, "") => tail.to_owned(),
        (None, tail, query) => format!("{tail}?{query}"),
    };
    entry
}

/// Writes the end of a request when it is dropped, however that came about.
#[derive(Debug)]
pub(super) struct AuditEntryGuard {
    entry: Option<Box<Entry>>,
    audit: Audit,
    clock: SharedClock,
    began: Timestamp,
    sent: Arc<AtomicU64>,
    received: Arc<AtomicU64>,
}

impl AuditEntryGuard {
    pub(super) fn new(entry: Entry, audit: &Audit, clock: &SharedClock) -> Self {
        Self {
            began: entry.at,
            entry: Some(Box::new(entry)),
            audit: audit.clone(),
            clock: Arc::clone(clock),
            sent: Arc::default(),
            received: Arc::default(),
        }
    }

    /// How long ago the request began.
    pub(super) fn age(&self) -> Duration {
        self.clock.now().since(self.began)
    }

    /// Counters of what went to the client and came from it.
    pub(super) fn counters(&self) -> (Arc<AtomicU64>, Arc<AtomicU64>) {
        (Arc::clone(&self.sent), Arc::clone(&self.received))
    }

    pub(super) fn identity(&mut self, identity: String) {
        if let Some(entry) = &mut self.entry {
            entry.identity_used = identity;
        }
    }

    /// The name of what is created, which stands in the body.
    pub(super) fn name(&mut self, name: &str) {
        if let Some(entry) = &mut self.entry {
            name.clone_into(&mut entry.name);
        }
    }

    /// The status that the client is answered.
    pub(super) fn status(&mut self, status: u16, side: Option<Side>) {
        if let Some(entry) = &mut self.entry {
            let word = match (status, side) {
                (_, Some(Side::You)) | (400..=499, None) => "refused",
                (_, Some(Side::Us | Side::Cluster)) | (500.., None) => "failed",
                _ => "ok",
            };
            entry.result = Outcome { status, word: word.to_owned(), side };
        }
    }

    /// The body was cut short.
    pub(super) fn cut(&mut self, cut: &BodyError) {
        let (word, side) = match cut {
            BodyError::Ended | BodyError::Untaken => ("cut", Side::You),
            BodyError::Silent | BodyError::Broken(_) => ("failed", Side::Cluster),
            BodyError::Unsearched(_) => ("failed", Side::Us),
        };
        self.outcome(word, side);
    }

    /// How a stream without a body ended.
    pub(super) fn outcome(&mut self, word: &str, side: Side) {
        if let Some(entry) = &mut self.entry {
            word.clone_into(&mut entry.result.word);
            entry.result.side = Some(side);
        }
    }
}

impl Drop for AuditEntryGuard {
    fn drop(&mut self) {
        let Some(mut entry) = self.entry.take() else { return };
        let now = self.clock.now();
        entry.took_ms = u64::try_from(now.since(self.began).as_millis()).unwrap_or(u64::MAX);
        entry.at = now;
        entry.bytes_out = self.sent.load(Ordering::Relaxed);
        entry.bytes_in = self.received.load(Ordering::Relaxed);
        if entry.result.status == 0 {
            // Dropped before an answer: the client went, or the grant ended.
            entry.result = Outcome { status: 0, word: "cut".to_owned(), side: Some(Side::You) };
        }
        tracing::info!(
            target: "proxy.access",
            request_id = %entry.request_id,
            person = %entry.actor.name,
            peer = %entry.actor.from,
            grant = entry.grant.as_ref().map(Id::as_str).unwrap_or_default(),
            resource_id = entry.target.as_ref().map(rp_documents::ResourceId::key).unwrap_or_default(),
            verb = %entry.verb,
            resource = %entry.resource,
            subresource = %entry.subresource,
            status = entry.result.status,
            result = %entry.result.word,
            side = entry.result.side.map(Side::name).unwrap_or_default(),
            bytes_in = entry.bytes_in,
            bytes_out = entry.bytes_out,
            duration_ms = entry.took_ms,
            "request"
        );
        self.audit.settle(*entry);
    }
}
