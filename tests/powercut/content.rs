//! The content of one file: as it is now, as it is on the disk for certain, and what lies between the two.

use crate::dice::Dice;

/// What a disk writes whole or not at all.
pub(crate) const SECTOR: usize = 512;

#[derive(Debug, Clone)]
enum Change {
    Wrote { at: usize, data: Vec<u8> },
    Length(usize),
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Content {
    now: Vec<u8>,
    durable: Vec<u8>,
    pending: Vec<Change>,
}

impl Content {
    pub(crate) fn write(&mut self, at: usize, data: &[u8]) {
        put(&mut self.now, at, data);
        self.pending.push(Change::Wrote { at, data: data.to_vec() });
    }

    pub(crate) fn resize(&mut self, length: usize) {
        self.now.resize(length, 0);
        self.pending.push(Change::Length(length));
    }

    pub(crate) fn sync(&mut self) {
        for change in self.pending.drain(..) {
            match change {
                Change::Wrote { at, data } => put(&mut self.durable, at, &data),
                Change::Length(length) => self.durable.resize(length, 0),
            }
        }
    }

    pub(crate) fn now(&self) -> Vec<u8> {
        self.now.clone()
    }

    pub(crate) fn durable(&self) -> Vec<u8> {
        self.durable.clone()
    }

    /// What is durable and, of every later change, the sectors that the dice choose. A sector that is not written reads
    /// as it was before, or as zeros where the file did not reach.
    pub(crate) fn torn(&self, dice: &mut Dice) -> Vec<u8> {
        let mut content = self.durable.clone();
        let percent = [0, 20, 50, 80, 100][dice.below(5)];
        for change in &self.pending {
            match change {
                Change::Length(length) if dice.hits(percent) => content.resize(*length, 0),
                Change::Length(_) => {}
                Change::Wrote { at, data } => {
                    for (place, piece) in sectors(*at, data) {
                        if dice.hits(percent) {
                            put(&mut content, place, piece);
                        }
                    }
                    let end = at + data.len();
                    // The length is written apart from the data.
                    if content.len() < end && dice.hits(percent) {
                        content.resize(end, 0);
                    }
                }
            }
        }
        content
    }
}

fn put(content: &mut Vec<u8>, at: usize, data: &[u8]) {
    let end = at + data.len();
    if content.len() < end {
        content.resize(end, 0);
    }
    content[at..end].copy_from_slice(data);
}

/// Pieces of a write, cut where sectors of the file begin.
fn sectors(at: usize, data: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let mut from = 0;
    std::iter::from_fn(move || {
        let place = at + from;
        let to = data.len().min(from + SECTOR - place % SECTOR);
        let piece = (from < to).then(|| (place, &data[from..to]));
        from = to;
        piece
    })
}
