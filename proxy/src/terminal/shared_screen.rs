//! What watchers of a session see: recent output, size, and new output. Only where the settings allow it.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;
use rp_base::{Id, Timestamp};
use rp_documents::{Person, ResourceId};
use tokio::sync::{broadcast, watch};

use super::frames::Size;

/// Output that is kept for new watchers, bytes.
const TAIL: usize = 64 * 1024;
/// Chunks that a slow watcher may be behind; beyond that it starts again with the tail.
const BEHIND: usize = 32;
/// Watchers of one session.
const MOST: usize = 8;

/// The screen of one session.
#[derive(Debug)]
pub(super) struct SharedScreen {
    pub(super) id: Id,
    pub(super) target: ResourceId,
    pub(super) grant: Id,
    /// Who types.
    pub(super) person: Person,
    /// The destination, for people.
    pub(super) place: String,
    pub(super) began: Timestamp,
    shown: Mutex<ScreenState>,
    news: broadcast::Sender<WatcherEvent>,
    watchers: watch::Sender<Vec<(u64, String)>>,
}

#[derive(Debug)]
struct ScreenState {
    tail: VecDeque<u8>,
    size: Size,
    over: bool,
    next: u64,
}

/// What watchers are told.
#[derive(Debug, Clone)]
pub(super) enum WatcherEvent {
    Bytes(Bytes),
    Size(Size),
    Over,
}

/// Counts one watcher until it is dropped.
#[derive(Debug)]
pub(super) struct WatcherGuard {
    stage: Arc<SharedScreen>,
    number: u64,
}

/// The state a watcher starts with; new output follows without a gap.
pub(super) struct WatcherStart {
    pub(super) tail: Bytes,
    pub(super) size: Size,
    pub(super) news: broadcast::Receiver<WatcherEvent>,
}

/// Why a watcher is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WatchRefusal {
    Full,
    Over,
}

impl SharedScreen {
    pub(super) fn new(
        (id, target, grant): (Id, ResourceId, Id),
        person: Person,
        place: String,
        began: Timestamp,
        size: Size,
    ) -> Arc<Self> {
        let shown = ScreenState { tail: VecDeque::new(), size, over: false, next: 0 };
        Arc::new(Self {
            id,
            target,
            grant,
            person,
            place,
            began,
            shown: Mutex::new(shown),
            news: broadcast::Sender::new(BEHIND),
            watchers: watch::Sender::default(),
        })
    }

    pub(super) fn size(&self) -> Size {
        self.shown.lock().size
    }

    /// The program wrote something.
    pub(super) fn wrote(&self, bytes: &Bytes) {
        let mut shown = self.shown.lock();
        let fresh = bytes.get(bytes.len().saturating_sub(TAIL)..).unwrap_or_default();
        let old = (shown.tail.len() + fresh.len()).saturating_sub(TAIL);
        shown.tail.drain(..old);
        shown.tail.extend(fresh);
        // There may be no watchers.
        let _ = self.news.send(WatcherEvent::Bytes(bytes.clone()));
    }

    pub(super) fn resized(&self, size: Size) {
        let mut shown = self.shown.lock();
        shown.size = size;
        let _ = self.news.send(WatcherEvent::Size(size));
    }

    pub(super) fn over(&self) {
        let mut shown = self.shown.lock();
        shown.over = true;
        let _ = self.news.send(WatcherEvent::Over);
    }

    /// The tail and what follows it: under one lock, so that no byte is missed or doubled. `None`: it is over.
    pub(super) fn begin(&self) -> Option<WatcherStart> {
        let shown = self.shown.lock();
        if shown.over {
            return None;
        }
        let tail = shown.tail.iter().copied().collect::<Vec<u8>>();
        Some(WatcherStart { tail: Bytes::from(tail), size: shown.size, news: self.news.subscribe() })
    }

    /// Adds a watcher, whose name is shown from now on.
    pub(super) fn add_watcher(self: &Arc<Self>, name: &str) -> Result<WatcherGuard, WatchRefusal> {
        let mut shown = self.shown.lock();
        if shown.over {
            return Err(WatchRefusal::Over);
        }
        let number = shown.next;
        let mut sat = false;
        self.watchers.send_if_modified(|all| {
            sat = all.len() < MOST;
            if sat {
                all.push((number, name.to_owned()));
            }
            sat
        });
        if !sat {
            return Err(WatchRefusal::Full);
        }
        shown.next += 1;
        Ok(WatcherGuard { stage: Arc::clone(self), number })
    }

    /// Names of those who look on.
    pub(super) fn names(&self) -> Vec<String> {
        self.watchers.borrow().iter().map(|(_, name)| name.clone()).collect()
    }

    /// Changes when a watcher joins or leaves.
    pub(super) fn watched(&self) -> watch::Receiver<Vec<(u64, String)>> {
        self.watchers.subscribe()
    }
}

impl Drop for WatcherGuard {
    fn drop(&mut self) {
        self.stage.watchers.send_modify(|all| all.retain(|(number, _)| *number != self.number));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rp_base::SystemRandom;

    use super::*;

    const SIZE: Size = Size { cols: 80, rows: 24 };

    fn stage() -> Arc<SharedScreen> {
        let id = || Id::random(&SystemRandom);
        let person = Person { sub: "1".into(), name: "ada".into(), groups: Vec::new() };
        let target = ResourceId::imported("c").unwrap();
        SharedScreen::new((id(), target, id()), person, "a/b".into(), Timestamp::default(), SIZE)
    }

    proptest! {
        #[test]
        fn whoever_comes_late_has_the_end_and_then_every_byte(pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..40_000), 1..12), late in 0..12_usize) {
            let stage = stage();
            let mut written = Vec::new();
            let mut seen = None;
            for (at, piece) in pieces.iter().enumerate() {
                if at == late.min(pieces.len() - 1) {
                    let begin = stage.begin().unwrap();
                    prop_assert!(written.ends_with(&begin.tail) && begin.tail.len() == written.len().min(TAIL));
                    seen = Some((begin.tail.to_vec(), begin.news));
                }
                stage.wrote(&Bytes::from(piece.clone()));
                written.extend(piece);
            }
            let (mut seen, mut news) = seen.unwrap();
            while let Ok(WatcherEvent::Bytes(bytes)) = news.try_recv() {
                seen.extend(&bytes);
            }
            prop_assert!(written.ends_with(&seen));
        }
    }

    #[test]
    fn watchers_are_named_while_they_are_there_and_bounded() {
        let stage = stage();
        let told = stage.watched();
        let seats: Vec<WatcherGuard> =
            (0..MOST).map(|n| stage.add_watcher(&format!("w{n}")).unwrap()).collect();
        assert!(told.has_changed().unwrap());
        assert_eq!(stage.add_watcher("more").err(), Some(WatchRefusal::Full));
        assert_eq!(stage.names().len(), MOST);
        drop(seats);
        assert!(stage.names().is_empty());
        stage.over();
        assert_eq!(stage.add_watcher("late").err(), Some(WatchRefusal::Over));
        assert!(stage.begin().is_none());
    }
}
