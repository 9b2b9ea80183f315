//! Flow control between a browser and the remote end of a terminal: bytes are numbered, kept until the other end
//! has it, and bounded. Pure, so that a resumed session can be proved to lose and double nothing.

use std::collections::VecDeque;

use bytes::Bytes;

/// The browser broke the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum FlowError {
    #[error("it acknowledged {said} bytes of {sent}")]
    Acknowledged { said: u64, sent: u64 },
    #[error("it wants to go on at byte {wanted}; bytes {first} to {last} are kept")]
    NotKept { wanted: u64, first: u64, last: u64 },
    #[error("it sent more than {window} bytes ahead")]
    Ahead { window: usize },
}

/// Memory that stays with an empty buffer.
const KEEP: usize = 4 * 1024;

fn shrink(buffer: &mut VecDeque<u8>) {
    if buffer.is_empty() && buffer.capacity() > KEEP {
        buffer.shrink_to(KEEP);
    }
}

/// Bytes for the browser: sent once on each connection, kept until they are acknowledged.
#[derive(Debug)]
pub(super) struct Outbox {
    kept: VecDeque<u8>,
    /// Number of the first byte that is kept: what the browser has for certain.
    first: u64,
    /// On the present connection.
    sent: u64,
    /// On any connection.
    most_sent: u64,
    window: usize,
}

impl Outbox {
    pub(super) fn new(window: usize) -> Self {
        Self { kept: VecDeque::new(), first: 0, sent: 0, most_sent: 0, window }
    }

    /// Whether the far side may be asked for more.
    pub(super) fn has_room(&self) -> bool {
        self.kept.len() < self.window
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.kept.extend(bytes);
    }

    fn end(&self) -> u64 {
        self.first + self.kept.len() as u64
    }

    pub(super) fn has_unsent(&self) -> bool {
        self.sent < self.end()
    }

    /// The next bytes for the present connection, at most so many.
    pub(super) fn next(&mut self, most: usize) -> Option<Bytes> {
        if !self.has_unsent() {
            return None;
        }
        let at = usize::try_from(self.sent - self.first).unwrap_or(usize::MAX);
        let to = at.saturating_add(most).min(self.kept.len());
        let bytes: Vec<u8> = self.kept.range(at..to).copied().collect();
        self.sent += bytes.len() as u64;
        self.most_sent = self.most_sent.max(self.sent);
        Some(Bytes::from(bytes))
    }

    /// The browser has everything before that byte.
    pub(super) fn acknowledge(&mut self, upto: u64) -> Result<(), FlowError> {
        if upto > self.sent {
            return Err(FlowError::Acknowledged { said: upto, sent: self.sent });
        }
        self.forget(upto);
        Ok(())
    }

    /// A new connection goes on at that byte.
    pub(super) fn resume(&mut self, seen: u64) -> Result<(), FlowError> {
        if seen < self.first || seen > self.most_sent {
            return Err(FlowError::NotKept { wanted: seen, first: self.first, last: self.most_sent });
        }
        self.forget(seen);
        self.sent = seen;
        Ok(())
    }

    fn forget(&mut self, upto: u64) {
        let Some(gone) = upto.checked_sub(self.first) else { return };
        let gone = usize::try_from(gone).unwrap_or(usize::MAX).min(self.kept.len());
        self.kept.drain(..gone);
        self.first += gone as u64;
        shrink(&mut self.kept);
    }
}

/// Bytes from the browser that wait for the far side.
#[derive(Debug)]
pub(super) struct Inbox {
    waiting: VecDeque<u8>,
    /// Bytes that came, on all connections together.
    came: u64,
    window: usize,
}

impl Inbox {
    pub(super) fn new(window: usize) -> Self {
        Self { waiting: VecDeque::new(), came: 0, window }
    }

    /// # Errors
    /// The browser did not wait for room.
    pub(super) fn receive(&mut self, bytes: &[u8]) -> Result<(), FlowError> {
        if self.waiting.len() + bytes.len() > self.window {
            return Err(FlowError::Ahead { window: self.window });
        }
        self.came += bytes.len() as u64;
        self.waiting.extend(bytes);
        Ok(())
    }

    /// Where a new connection goes on.
    pub(super) const fn came(&self) -> u64 {
        self.came
    }

    /// Bytes that the far side has taken: so far the browser may forget them.
    pub(super) fn taken(&self) -> u64 {
        self.came - self.waiting.len() as u64
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// The next bytes for the far side.
    pub(super) fn next(&mut self, most: usize) -> Bytes {
        let most = most.min(self.waiting.len());
        let bytes: Vec<u8> = self.waiting.drain(..most).collect();
        shrink(&mut self.waiting);
        Bytes::from(bytes)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const WINDOW: usize = 64;

    /// What may happen between the two ends, in any order.
    #[derive(Debug, Clone)]
    enum Step {
        /// The program writes so many bytes, if there is room.
        Write(usize),
        /// A frame of at most so many bytes is put on the connection.
        Send(usize),
        /// So many frames arrive.
        Arrive(usize),
        /// The browser acknowledges what it has.
        Acknowledge,
        /// The connection breaks: what is on it is lost, and a new one resumes.
        Break,
        /// The person types so many bytes.
        Type(usize),
        /// The browser sends so many of them, as far as it may.
        SendTyped(usize),
        /// The program reads so many.
        Read(usize),
        /// The browser hears how much was taken.
        Taken,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            (1..40_usize).prop_map(Step::Write),
            (1..40_usize).prop_map(Step::Send),
            (1..4_usize).prop_map(Step::Arrive),
            Just(Step::Acknowledge),
            Just(Step::Break),
            (1..40_usize).prop_map(Step::Type),
            (1..40_usize).prop_map(Step::SendTyped),
            (1..40_usize).prop_map(Step::Read),
            Just(Step::Taken),
        ]
    }

    /// Both ends and the connection between them.
    struct World {
        out: Outbox,
        inn: Inbox,
        wire: VecDeque<Bytes>,
        written: Vec<u8>,
        shown: Vec<u8>,
        typed: Vec<u8>,
        read: Vec<u8>,
        /// Of `typed`, sent on the present connection, and what the browser knows was taken.
        typed_sent: usize,
        typed_taken: usize,
    }

    impl World {
        fn new() -> Self {
            Self {
                out: Outbox::new(WINDOW),
                inn: Inbox::new(WINDOW),
                wire: VecDeque::new(),
                written: Vec::new(),
                shown: Vec::new(),
                typed: Vec::new(),
                read: Vec::new(),
                typed_sent: 0,
                typed_taken: 0,
            }
        }

        fn fresh(into: &mut Vec<u8>, count: usize) -> Vec<u8> {
            let start = into.len();
            #[expect(clippy::cast_possible_truncation, reason = "any byte will do")]
            let bytes: Vec<u8> = (start..start + count).map(|at| (at % 251) as u8).collect();
            into.extend(&bytes);
            bytes
        }

        fn go(&mut self, step: &Step) {
            match *step {
                Step::Write(count) => {
                    if self.out.has_room() {
                        let bytes = Self::fresh(&mut self.written, count);
                        self.out.push(&bytes);
                    }
                }
                Step::Send(most) => self.wire.extend(self.out.next(most)),
                Step::Arrive(frames) => {
                    for _ in 0..frames {
                        let Some(frame) = self.wire.pop_front() else { return };
                        self.shown.extend(&frame);
                    }
                }
                Step::Acknowledge => self.out.acknowledge(self.shown.len() as u64).unwrap(),
                Step::Break => {
                    self.wire.clear();
                    self.out.resume(self.shown.len() as u64).unwrap();
                    self.typed_sent = usize::try_from(self.inn.came()).unwrap();
                }
                Step::Type(count) => drop(Self::fresh(&mut self.typed, count)),
                Step::SendTyped(count) => {
                    let may = (self.typed_taken + WINDOW).min(self.typed.len()).max(self.typed_sent);
                    let to = (self.typed_sent + count).min(may);
                    self.inn.receive(&self.typed[self.typed_sent..to]).unwrap();
                    self.typed_sent = to;
                }
                Step::Read(most) => self.read.extend(self.inn.next(most)),
                Step::Taken => self.typed_taken = usize::try_from(self.inn.taken()).unwrap(),
            }
        }
    }

    proptest! {
        #[test]
        fn whatever_breaks_every_byte_arrives_once_and_in_order(steps in prop::collection::vec(step(), 0..400)) {
            let mut world = World::new();
            for step in &steps {
                world.go(step);
                prop_assert!(world.written.starts_with(&world.shown));
                prop_assert!(world.typed.starts_with(&world.read));
                prop_assert!(world.out.kept.len() < WINDOW + 40 && world.inn.waiting.len() <= WINDOW);
            }
            // Without further breaks, everything arrives.
            while world.shown.len() < world.written.len() || world.read.len() < world.typed.len() {
                for step in [Step::Send(16), Step::Arrive(9), Step::Acknowledge, Step::SendTyped(16), Step::Read(16), Step::Taken] {
                    world.go(&step);
                }
            }
            prop_assert_eq!(world.shown, world.written);
            prop_assert_eq!(world.read, world.typed);
        }

        #[test]
        fn a_browser_that_lies_is_found_out(said in any::<u64>(), bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut out = Outbox::new(WINDOW);
            out.push(&bytes);
            let sent = out.next(50).map_or(0, |bytes| bytes.len() as u64);
            prop_assert_eq!(out.acknowledge(said).is_ok(), said <= sent);
            prop_assert!(out.resume(sent + 1).is_err());
            let mut inn = Inbox::new(WINDOW);
            prop_assert_eq!(inn.receive(&bytes).is_ok(), bytes.len() <= WINDOW);
        }
    }

    #[test]
    fn what_was_acknowledged_is_kept_no_longer() {
        let mut out = Outbox::new(WINDOW);
        out.push(&[7; 60]);
        assert!(out.has_room());
        out.push(&[7; 60]);
        assert!(!out.has_room());
        assert_eq!(out.next(100).unwrap().len(), 100);
        out.acknowledge(90).unwrap();
        assert!(out.has_room());
        assert_eq!(out.resume(80), Err(FlowError::NotKept { wanted: 80, first: 90, last: 100 }));
        out.resume(95).unwrap();
        assert_eq!(out.next(100).unwrap().len(), 25);
        // An old acknowledgement that comes late says nothing new.
        out.acknowledge(3).unwrap();
        out.acknowledge(120).unwrap();
        assert!(out.kept.is_empty() && !out.has_unsent());
    }
}
