//! The sender of one live page: renders what changed and sends it while the client reads.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use portal_model::index::Entry;
use portal_model::live_limits::{EndLabels, PagePermit};
use portal_model::operations::OperationsWatch;
use portal_model::state::PortalState;
use portal_session::session_store::{SessionStatus, SessionWatch};
use portal_session::user::CurrentUser;
use rp_base::{Timestamp, chain};
use rp_documents::{Entry as Audited, Outcome, Phase, Role};
use rp_observe::WatchGuard;
use serde_json::json;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};
use web::{Frame, Tab};

use super::tabs::Fragments;
use crate::live::TabInput;
use crate::live::{Freshness, PATIENCE, freshness, kinds};

/// Interval of checks whether the session is still valid.
const CHECK: Duration = Duration::from_millis(400);
/// A client that reads nothing for this long is considered gone.
const STUCK: Duration = Duration::from_secs(60);
/// A live page ends when the state of its session is older than this (`contract/rules.md` §3.7).
const UNSURE: Duration = Duration::from_secs(15);

/// Why a stream ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EndReason {
    /// The browser disconnected.
    Left,
    /// The client asked for one update only.
    Answered,
    /// The session ended.
    Session,
    /// The person's groups do not let them look any more.
    Access,
    /// The cluster is not in the list any more.
    Gone,
    /// This process stops.
    Stopping,
    /// The maximum duration is reached; the page reconnects.
    Again,
    /// The cluster became reachable or unreachable: the page must be reloaded.
    Otherwise,
    /// The state of the session is unknown.
    Unsure,
    /// The client does not read.
    Stuck,
}

impl EndReason {
    const fn word(self) -> &'static str {
        match self {
            Self::Left => "left",
            Self::Answered => "answered",
            Self::Session => "session",
            Self::Access => "access",
            Self::Gone => "gone",
            Self::Stopping => "stopping",
            Self::Again => "again",
            Self::Otherwise => "otherwise",
            Self::Unsure => "unsure",
            Self::Stuck => "stuck",
        }
    }

    /// Whether the server ended it, not the client.
    const fn cut(self) -> bool {
        !matches!(self, Self::Left | Self::Answered | Self::Again | Self::Otherwise)
    }
}

/// How the cluster's entry has changed.
enum EntryChange {
    Same,
    Changed,
    /// It became reachable or unreachable.
    Otherwise,
}

/// Resolves when operations have changed; never where they are not watched.
async fn operations(looking: Option<&mut OperationsWatch>) {
    match looking {
        Some(looking) => looking.changed().await,
        None => std::future::pending().await,
    }
}

/// The inputs of a viewer.
pub(super) struct ViewerParts {
    pub(super) state: PortalState,
    pub(super) user: CurrentUser,
    /// Stored id of the session.
    pub(super) key: String,
    pub(super) entry: Arc<Entry>,
    pub(super) frame: Frame,
    pub(super) tab: Tab,
    pub(super) fragments: Fragments,
    pub(super) item: String,
    pub(super) query: String,
    pub(super) once: bool,
    pub(super) viewing: WatchGuard,
    /// Of tabs that show operations.
    pub(super) looking: Option<OperationsWatch>,
    pub(super) seen: HashSet<u64>,
    pub(super) send: mpsc::Sender<Bytes>,
    pub(super) started: Audited,
    pub(super) place: PagePermit,
}

/// One page that is followed.
pub(super) struct Viewer {
    parts: ViewerParts,
    began: Instant,
    /// Digest of each part as it was sent.
    sent: HashMap<String, u64>,
    told: Option<Freshness>,
    bytes: u64,
    signed: SessionWatch,
    unsure_since: Option<Instant>,
}

impl Viewer {
    pub(super) fn new(parts: ViewerParts) -> Self {
        Self {
            parts,
            began: Instant::now(),
            sent: HashMap::new(),
            told: None,
            bytes: 0,
            signed: SessionWatch::default(),
            unsure_since: None,
        }
    }

    /// Follows until something ends it, and records that.
    pub(super) async fn run(mut self) {
        let metrics = self.parts.state.model.live_metrics.clone();
        let open = metrics.pages.track();
        let ending = self.follow().await;
        if !matches!(ending, EndReason::Left | EndReason::Answered) {
            let last = format!("event: end\ndata: {}\n\n", json!({"reason": ending.word()}));
            let last = timeout(Duration::from_secs(1), self.parts.send.send(last.into())).await;
            drop(last);
        }
        drop(open);
        metrics.ended.with(&EndLabels { reason: ending.word() }).inc();
        metrics.bytes.add(self.bytes);
        self.record(ending).await;
    }

    async fn follow(&mut self) -> EndReason {
        if self.parts.once {
            // A page that polls gets the settled state of the watches, not the first one.
            self.parts.viewing.settled(PATIENCE).await;
        }
        let limits = *self.parts.state.model.live.limits();
        let stopping = self.parts.state.model.stopping.clone();
        let mut changed = self.parts.viewing.changed();
        let end = self.began + limits.longest;
        let mut heartbeat = self.began + limits.heartbeat;
        loop {
            changed.mark_unchanged();
            if let Some(looking) = &mut self.parts.looking {
                looking.mark_seen();
            }
            if let Some(ending) = self.send(false).await {
                return ending;
            }
            if self.parts.once {
                return EndReason::Answered;
            }
            // Until something changes.
            loop {
                tokio::select! {
                    news = changed.changed() => {
                        if news.is_err() { return EndReason::Stopping }
                        break;
                    }
                    () = operations(self.parts.looking.as_mut()) => break,
                    () = self.parts.send.closed() => return EndReason::Left,
                    () = stopping.cancelled() => return EndReason::Stopping,
                    () = tokio::time::sleep(CHECK) => {}
                }
                if let Some(ending) = self.check_end(end).await {
                    return ending;
                }
                match self.refresh_entry() {
                    EntryChange::Same => {}
                    EntryChange::Changed => break,
                    // The panels of operations are the same: the page only asks anew.
                    EntryChange::Otherwise if self.parts.tab == Tab::Operations => {
                        return EndReason::Again;
                    }
                    EntryChange::Otherwise => return EndReason::Otherwise,
                }
                if Instant::now() >= heartbeat {
                    heartbeat = Instant::now() + limits.heartbeat;
                    if let Some(ending) = self.send(true).await {
                        return ending;
                    }
                }
            }
            if let Some(ending) = self.check_end(end).await {
                return ending;
            }
        }
    }

    /// Whether it must end now.
    async fn check_end(&mut self, end: Instant) -> Option<EndReason> {
        if Instant::now() >= end {
            return Some(EndReason::Again);
        }
        if self.parts.state.model.index.snapshot().get(&self.parts.entry.id).is_none() {
            return Some(EndReason::Gone);
        }
        match self.parts.state.session.sign_in.sessions.status(&self.parts.key, &mut self.signed).await {
            SessionStatus::Ended => return Some(EndReason::Session),
            SessionStatus::Unsure => {
                let since = *self.unsure_since.get_or_insert_with(Instant::now);
                return (since.elapsed() >= UNSURE).then_some(EndReason::Unsure);
            }
            SessionStatus::Same => {}
            SessionStatus::Changed(person) => {
                if !self.parts.state.session.access.policy().roles_of(&person.groups).has(Role::Viewer) {
                    return Some(EndReason::Access);
                }
            }
        }
        self.unsure_since = None;
        None
    }

    /// The cluster as the list has it now.
    fn refresh_entry(&mut self) -> EntryChange {
        let snapshot = self.parts.state.model.index.snapshot();
        let Some(now) = snapshot.get(&self.parts.entry.id) else { return EntryChange::Same };
        if Arc::ptr_eq(now, &self.parts.entry) {
            return EntryChange::Same;
        }
        let reachable = self.parts.entry.reachable;
        self.parts.entry = Arc::clone(now);
        if now.reachable == reachable { EntryChange::Changed } else { EntryChange::Otherwise }
    }

    /// Sends what changed. It renders only once the channel has room, so a slow reader gets the latest state.
    async fn send(&mut self, heartbeat: bool) -> Option<EndReason> {
        let send = self.parts.send.clone();
        let room = match timeout(STUCK, send.reserve()).await {
            Ok(Ok(room)) => room,
            Ok(Err(_)) => return Some(EndReason::Left),
            Err(_) => return Some(EndReason::Stuck),
        };
        let mut text = self.events();
        if text.is_empty() && heartbeat {
            text.push_str(":\n\n");
        }
        if !text.is_empty() {
            self.bytes += text.len() as u64;
            room.send(text.into());
        }
        None
    }

    /// The events that make the page current.
    fn events(&mut self) -> String {
        let metrics = &self.parts.state.model.live_metrics;
        let began = std::time::Instant::now();
        let snapshot = self.parts.viewing.snapshot();
        let now = freshness(&snapshot, kinds(&self.parts.entry, self.parts.tab));
        let input = TabInput {
            state: &self.parts.state,
            entry: &self.parts.entry,
            user: &self.parts.user,
            frame: &self.parts.frame,
            snapshot,
            item: &self.parts.item,
            query: &self.parts.query,
        };
        let mut text = String::new();
        for fragment in (self.parts.fragments)(&input) {
            let digest = fragment.digest();
            let known = self.sent.insert(fragment.id.clone(), digest);
            let has = known.map_or_else(|| self.parts.seen.contains(&digest), |known| known == digest);
            if !has {
                metrics.fragments.inc();
                event(&mut text, "fragment", &fragment.id, &fragment.html);
            }
        }
        metrics.render.observe_duration(began.elapsed());
        if self.told.as_ref() != Some(&now) {
            event(&mut text, "state", "", &state_event(&now));
            self.told = Some(now);
        }
        text
    }

    async fn record(self, ending: EndReason) {
        let at = self.parts.state.session.clock.now();
        let mut entry = Audited { at, phase: Phase::End, ..self.parts.started };
        entry.took_ms = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        entry.bytes_out = self.bytes;
        let word = if ending.cut() { "cut" } else { "ok" };
        entry.result = Outcome { status: 200, word: word.to_owned(), side: None };
        drop(self.parts.place);
        if let Err(error) = self.parts.state.session.audit.queue(entry).await {
            tracing::error!(error = %chain(&error), "the end of a look was not recorded");
        }
    }
}

fn state_event(standing: &Freshness) -> String {
    let as_of = standing.as_of.map(Timestamp::seconds);
    json!({"state": standing.state.word(), "as_of": as_of, "why": standing.why}).to_string()
}

/// One event; an id is the id of an element and has no line break.
fn event(text: &mut String, name: &str, id: &str, data: &str) {
    let _ = writeln!(text, "event: {name}");
    if !id.is_empty() {
        let _ = writeln!(text, "id: {}", id.replace(['\r', '\n', '\0'], ""));
    }
    // A carriage return ends a line of an event as well.
    for line in data.split(['\n', '\r']) {
        let _ = writeln!(text, "data: {line}");
    }
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_of_many_lines_stays_one_event() {
        let mut text = String::new();
        event(&mut text, "fragment", "panel-nodes", "<p>\n\nevent: end\r\ndata: x</p>");
        let expected = "event: fragment\nid: panel-nodes\ndata: <p>\ndata: \ndata: event: end\ndata: \ndata: data: x</p>\n\n";
        assert_eq!(text, expected);
    }
}
