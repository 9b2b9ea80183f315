//! Watching another person's terminal: read-only, with the watcher's own elevation, audited, and visible to both.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use rp_audit::{Audit, AuditError};
use rp_base::{Id, SharedClock, Timestamp, chain};
use rp_documents::{Entry, Outcome, Phase, ResourceId, Rights, Side};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::{MissedTickBehavior, interval};
use tokio_tungstenite::tungstenite::Message;
use tokio_util::sync::CancellationToken;

use super::frames::{FromPage, ToPage};
use super::open::OpenRefusal;
use super::session::FromSocket;
use super::shared_screen::{SharedScreen, WatchRefusal, WatcherEvent, WatcherGuard, WatcherStart};
use super::socket::SocketChannels;
use super::{Inner, Terminals, Visitor};

/// Interval between two checks of the watcher's elevation.
const CHECK: Duration = Duration::from_millis(400);
/// A last frame waits so long for a browser that does not read.
const FAREWELL: Duration = Duration::from_secs(2);
/// Bytes of one frame.
const PIECE: usize = 16 * 1024;
/// Text when the session is over; the reason is shown only to the person who typed.
const OVER: &str = "This terminal has ended.";
/// Resets the watcher's screen (RIS).
const ANEW: &[u8] = b"\x1bc";

/// A session that may be looked at, for a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenTerminal {
    pub id: Id,
    pub grant: Id,
    /// Who types.
    pub person: String,
    /// Where it leads, in words.
    pub place: String,
    pub began: Timestamp,
    /// Who looks on.
    pub watchers: Vec<String>,
}

impl Terminals {
    /// Sessions of a cluster on this replica that may be looked at, the oldest first; none where the settings forbid it.
    pub fn open_in(&self, target: &ResourceId) -> Vec<OpenTerminal> {
        let mut all: Vec<OpenTerminal> =
            self.0.stages(target).iter().map(|stage| open_terminal(stage)).collect();
        all.sort_by_key(|open| open.began);
        all
    }

    /// Adds a watcher.
    pub(super) async fn watch(
        &self,
        visitor: &Visitor,
        id: &str,
        wires: SocketChannels,
    ) -> Result<(), OpenRefusal> {
        let begun = Box::pin(self.0.admit(visitor, id)).await;
        let (stage, settle, seat) = begun.inspect_err(|no| {
            tracing::info!(person = %visitor.caller.person.name, resource_id = visitor.target.key(), code = no.code(), "nobody looks on");
        })?;
        let hello = ToPage::Watching { person: &stage.person.name, place: &stage.place, size: stage.size() };
        // The queue is empty, so this cannot fail for lack of room.
        let _ = wires.to.try_send(Message::text(hello.text()));
        let watcher = Watcher { inner: Arc::clone(&self.0), visitor: visitor.clone(), stage, settle, seat };
        tokio::spawn(watcher.run(wires));
        Ok(())
    }
}

fn open_terminal(stage: &SharedScreen) -> OpenTerminal {
    OpenTerminal {
        id: stage.id.clone(),
        grant: stage.grant.clone(),
        person: stage.person.name.clone(),
        place: stage.place.clone(),
        began: stage.began,
        watchers: stage.names(),
    }
}

impl Inner {
    /// A watcher needs the right to open a terminal here: an elevation to write on the cluster.
    async fn admit(
        &self,
        visitor: &Visitor,
        id: &str,
    ) -> Result<(Arc<SharedScreen>, AuditEntryGuard, WatcherGuard), OpenRefusal> {
        let parts = &self.parts;
        let stages = self.stages(&visitor.target);
        let stage = stages.into_iter().find(|stage| stage.id.as_str() == id).ok_or_else(|| {
            OpenRefusal::new("no_session", "There is no such terminal on this replica, or it has ended.", "")
        })?;
        let elevated = parts.access.is_elevated(&visitor.caller, &visitor.target, Rights::Write).await;
        let elevated = elevated.map_err(|error| {
            tracing::warn!(error = %chain(&error), "no elevation can be checked");
            OpenRefusal::new(
                "store_away",
                "The store does not answer, so no access can be checked.",
                "Try again in a moment.",
            )
        })?;
        if !elevated {
            let words =
                "Looking on takes an elevation to write on this cluster, as the terminal itself does.";
            return Err(OpenRefusal::new("elevation_needed", words, "Elevate first."));
        }
        let seat = stage.add_watcher(&visitor.caller.person.name).map_err(|no| match no {
            WatchRefusal::Full => OpenRefusal::new("crowded", "As many look on already as may.", ""),
            WatchRefusal::Over => OpenRefusal::new("no_session", OVER, ""),
        })?;
        let settle = AuditEntryGuard::start(self, visitor, &stage).await.map_err(|error| {
            tracing::error!(error = %chain(&error), "looking on could not be audited");
            OpenRefusal::new(
                "audit_unavailable",
                "The audit trail cannot be written, so nothing is shown.",
                "Try again in a moment.",
            )
        })?;
        Ok((stage, settle, seat))
    }

    fn is_elevated_still(&self, visitor: &Visitor) -> bool {
        let active = self.parts.access.active_elevations(&visitor.caller.person.sub);
        active.iter().any(|each| each.rights >= Rights::Write && each.covers(Some(&visitor.target)))
    }
}

/// One watcher.
struct Watcher {
    inner: Arc<Inner>,
    visitor: Visitor,
    stage: Arc<SharedScreen>,
    settle: AuditEntryGuard,
    seat: WatcherGuard,
}

/// Why watching ended.
enum WatchEnd {
    Left,
    /// The session is over.
    Ended,
    /// The watcher lost the right; with code and text.
    Cut(&'static str, String),
}

impl Watcher {
    async fn run(mut self, mut wires: SocketChannels) {
        let away = self.stream_output(&mut wires).await;
        let said = match &away {
            WatchEnd::Left => None,
            WatchEnd::Ended => Some(ToPage::Exit { code: None, signal: None, words: OVER }),
            WatchEnd::Cut(code, words) => {
                self.settle.cut(code);
                Some(ToPage::Cut { code, words })
            }
        };
        if let Some(said) = said {
            let said = wires.to.send(Message::text(said.text()));
            let _ = tokio::time::timeout(FAREWELL, said).await;
        }
        drop(self.seat);
    }

    async fn stream_output(&mut self, wires: &mut SocketChannels) -> WatchEnd {
        let mut queue = Queue::default();
        let Some(begin) = self.stage.begin() else { return WatchEnd::Ended };
        let mut news = queue.begin(begin);
        let (signed, cut): (_, CancellationToken) =
            (self.visitor.signed.over(), self.inner.parts.cut.clone());
        tokio::pin!(signed);
        let mut watched = self.stage.watched();
        watched.mark_changed();
        let mut check = interval(CHECK);
        check.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                () = &mut signed => return WatchEnd::Cut("signed_out", self.visitor.signed.words()),
                () = cut.cancelled() => {
                    return WatchEnd::Cut("stopping", "Cut: this part of the service is being restarted.".to_owned());
                }
                _ = check.tick() => if !self.inner.is_elevated_still(&self.visitor) {
                    return WatchEnd::Cut("access_ended", "Cut: your elevation for this cluster has ended.".to_owned());
                },
                said = wires.from.recv() => match said {
                    None | Some(FromSocket::Said(FromPage::Bye)) => return WatchEnd::Left,
                    Some(FromSocket::Said(FromPage::Ack { .. } | FromPage::Here)) => {}
                    Some(_) => return WatchEnd::Cut("malformed", "Cut: who looks on cannot type.".to_owned()),
                },
                changed = watched.changed(), if queue.is_empty() => {
                    if changed.is_err() {
                        return WatchEnd::Left;
                    }
                    watched.mark_unchanged();
                    queue.push(Message::text(ToPage::Watched { by: &self.stage.names() }.text()));
                }
                place = wires.to.reserve(), if !queue.is_empty() => match (place, queue.next()) {
                    (Ok(place), Some(message)) => {
                        self.settle.sent += message.len() as u64;
                        place.send(message);
                    }
                    _ => return WatchEnd::Left,
                },
                told = news.recv(), if queue.is_empty() => match told {
                    Ok(WatcherEvent::Bytes(bytes)) => queue.bytes(&bytes),
                    Ok(WatcherEvent::Size(size)) => queue.push(Message::text(ToPage::Size { size }.text())),
                    Ok(WatcherEvent::Over) | Err(RecvError::Closed) => return WatchEnd::Ended,
                    Err(RecvError::Lagged(_)) => match self.stage.begin() {
                        Some(begin) => news = queue.begin(begin),
                        None => return WatchEnd::Ended,
                    },
                },
            }
        }
    }
}

/// Frames that wait for one watcher; filled when it is empty.
#[derive(Default)]
struct Queue(VecDeque<Message>);

impl Queue {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn push(&mut self, message: Message) {
        self.0.push_back(message);
    }

    fn next(&mut self) -> Option<Message> {
        self.0.pop_front()
    }

    fn bytes(&mut self, bytes: &Bytes) {
        let mut rest = bytes.clone();
        while !rest.is_empty() {
            self.push(Message::Binary(rest.split_to(PIECE.min(rest.len()))));
        }
    }

    fn begin(&mut self, begin: WatcherStart) -> Receiver<WatcherEvent> {
        self.push(Message::text(ToPage::Size { size: begin.size }.text()));
        self.bytes(&Bytes::from_static(ANEW));
        self.bytes(&begin.tail);
        begin.news
    }
}

/// Writes the end entry of watching when it is dropped.
struct AuditEntryGuard {
    entry: Option<Box<Entry>>,
    audit: Audit,
    clock: SharedClock,
    began: Timestamp,
    sent: u64,
}

impl AuditEntryGuard {
    async fn start(inner: &Inner, visitor: &Visitor, stage: &SharedScreen) -> Result<Self, AuditError> {
        let parts = &inner.parts;
        let (began, audit) = (parts.clock.now(), parts.access.audit().clone());
        let mut entry = visitor.caller.entry(began, Phase::Start, "terminal.watch");
        entry.actor.from = visitor.from.to_string();
        entry.grant = Some(stage.grant.clone());
        entry.target = Some(stage.target.clone());
        let active = parts.access.active_elevations(&visitor.caller.person.sub);
        let elevation = active.iter().find(|each| each.covers(Some(&visitor.target)));
        entry.reason = elevation.map(|each| each.reason.clone()).unwrap_or_default();
        "terminals".clone_into(&mut entry.resource);
        entry.name = format!("{} of {}", stage.place, stage.person.name);
        audit.promise(entry.clone()).await?;
        entry.phase = Phase::End;
        entry.result = Outcome { status: 0, word: "ok".to_owned(), side: None };
        let clock = Arc::clone(&parts.clock);
        Ok(Self { entry: Some(Box::new(entry)), audit, clock, began, sent: 0 })
    }

    fn cut(&mut self, code: &str) {
        if let Some(entry) = &mut self.entry {
            "cut".clone_into(&mut entry.result.word);
            entry.result.side = Some(if code == "stopping" { Side::Us } else { Side::You });
        }
    }
}

impl Drop for AuditEntryGuard {
    fn drop(&mut self) {
        let Some(mut entry) = self.entry.take() else { return };
        let now = self.clock.now();
        entry.took_ms = u64::try_from(now.since(self.began).as_millis()).unwrap_or(u64::MAX);
        entry.at = now;
        entry.bytes_out = self.sent;
        let audit = self.audit.clone();
        tokio::spawn(async move {
            if let Err(error) = audit.queue(*entry).await {
                tracing::error!(error = %chain(&error), "the end of a look at a terminal could not be audited");
            }
        });
    }
}
