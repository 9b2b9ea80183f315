//! What a session shows to those who look on: its last output, its size, what comes. Only where the settings allow it.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;
use rp_base::{Id, Timestamp};
use rp_documents::{Person, ResourceId};
use tokio::sync::{broadcast, watch};

use super::frames::Size;

/// Output that is kept for whoever begins to look on, bytes.
const TAIL: usize = 64 * 1024;
/// Pieces that a slow watcher may be behind; beyond, it begins anew with the tail.
const BEHIND: usize = 32;
/// Watchers of one session.
const MOST: usize = 8;

/// Of one session.
#[derive(Debug)]
pub(super) struct Stage {
    pub(super) id: Id,
    pub(super) target: ResourceId,
    pub(super) grant: Id,
    /// Who types.
    pub(super) person: Person,
    /// Where it leads, in words.
    pub(super) place: String,
    pub(super) began: Timestamp,
    shown: Mutex<Shown>,
    news: broadcast::Sender<News>,
    watchers: watch::Sender<Vec<(u64, String)>>,
}

#[derive(Debug)]
struct Shown {
    tail: VecDeque<u8>,
    size: Size,
    over: bool,
    next: u64,
}

/// What watchers are told.
#[derive(Debug, Clone)]
pub(super) enum News {
    Bytes(Bytes),
    Size(Size),
    Over,
}

/// A place among the watchers, until it is dropped.
#[derive(Debug)]
pub(super) struct Seat {
    stage: Arc<Stage>,
    number: u64,
}

/// What a watcher begins with; what comes then follows without a gap.
pub(super) struct Begin {
    pub(super) tail: Bytes,
    pub(super) size: Size,
    pub(super) news: broadcast::Receiver<News>,
}

/// Why somebody cannot look on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoSeat {
    Full,
    Over,
}

impl Stage {
    pub(super) fn new(
        (id, target, grant): (Id, ResourceId, Id),
        person: Person,
        place: String,
        began: Timestamp,
        size: Size,
    ) -> Arc<Self> {
        let shown = Shown { tail: VecDeque::new(), size, over: false, next: 0 };
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
        // Nobody may listen.
        let _ = self.news.send(News::Bytes(bytes.clone()));
    }

    pub(super) fn resized(&self, size: Size) {
        let mut shown = self.shown.lock();
        shown.size = size;
        let _ = self.news.send(News::Size(size));
    }

    pub(super) fn over(&self) {
        let mut shown = self.shown.lock();
        shown.over = true;
        let _ = self.news.send(News::Over);
    }

    /// The tail and what follows it: under one lock, so that no byte is missed or doubled. `None`: it is over.
    pub(super) fn begin(&self) -> Option<Begin> {
        let shown = self.shown.lock();
        if shown.over {
            return None;
        }
        let tail = shown.tail.iter().copied().collect::<Vec<u8>>();
        Some(Begin { tail: Bytes::from(tail), size: shown.size, news: self.news.subscribe() })
    }

    /// A place among the watchers, seen by everybody from now on.
    pub(super) fn sit(self: &Arc<Self>, name: &str) -> Result<Seat, NoSeat> {
        let mut shown = self.shown.lock();
        if shown.over {
            return Err(NoSeat::Over);
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
            return Err(NoSeat::Full);
        }
        shown.next += 1;
        Ok(Seat { stage: Arc::clone(self), number })
    }

    /// Names of those who look on.
    pub(super) fn names(&self) -> Vec<String> {
        self.watchers.borrow().iter().map(|(_, name)| name.clone()).collect()
    }

    /// Told when somebody comes or goes.
    pub(super) fn watched(&self) -> watch::Receiver<Vec<(u64, String)>> {
        self.watchers.subscribe()
    }
}

impl Drop for Seat {
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

    fn stage() -> Arc<Stage> {
        let id = || Id::random(&SystemRandom);
        let person = Person { sub: "1".into(), name: "ada".into(), groups: Vec::new() };
        let target = ResourceId::imported("c").unwrap();
        Stage::new((id(), target, id()), person, "a/b".into(), Timestamp::default(), SIZE)
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
            while let Ok(News::Bytes(bytes)) = news.try_recv() {
                seen.extend(&bytes);
            }
            prop_assert!(written.ends_with(&seen));
        }
    }

    #[test]
    fn watchers_are_named_while_they_are_there_and_bounded() {
        let stage = stage();
        let told = stage.watched();
        let seats: Vec<Seat> = (0..MOST).map(|n| stage.sit(&format!("w{n}")).unwrap()).collect();
        assert!(told.has_changed().unwrap());
        assert_eq!(stage.sit("more").err(), Some(NoSeat::Full));
        assert_eq!(stage.names().len(), MOST);
        drop(seats);
        assert!(stage.names().is_empty());
        stage.over();
        assert_eq!(stage.sit("late").err(), Some(NoSeat::Over));
        assert!(stage.begin().is_none());
    }
}
