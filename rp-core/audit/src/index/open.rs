//! The part of the index that is still growing: in memory only, made again from the log after a restart.

use std::sync::Arc;

use rp_base::Timestamp;
use rp_database::Stored;

use super::bits::{self, WORDS};
use super::heads::Heads;
use super::part::{BLOCKS, Block, FORM, Header};
use crate::batch::BatchView;

/// A block is full with that many entries, or batches.
const FULL: u32 = 256;

/// Blocks that are in no stored part yet; the last may still grow.
#[derive(Debug, Default)]
pub(crate) struct OpenPart {
    pub(super) loaded: bool,
    /// The number that this part will have.
    pub(super) next: u32,
    /// The feed was read up to here.
    pub(crate) end: i64,
    mark: String,
    blocks: Vec<Block>,
    /// 8 KiB for each block.
    columns: Vec<Arc<[u64]>>,
}

fn closed(block: &Block) -> bool {
    block.entries >= FULL || block.batches >= FULL
}

impl OpenPart {
    /// Nothing yet, after the stored part of that number, which ends there.
    pub(super) fn after(number: u32, end: i64) -> Self {
        Self { loaded: true, next: number.saturating_add(1), end, ..Self::default() }
    }

    pub(super) fn is_full(&self) -> bool {
        self.blocks.len() >= BLOCKS && self.blocks.last().is_some_and(closed)
    }

    /// The number of the newest stored part; 0: none.
    pub(crate) fn stored(&self) -> u32 {
        self.next.saturating_sub(1)
    }

    /// Takes a batch in; gives the time of its last entry. What cannot be read has no rows: verify tells of it.
    pub(super) fn add(&mut self, stored: &Stored, heads: &Heads) -> Option<Timestamp> {
        let Ok(view) = serde_json::from_str::<BatchView<'_>>(&stored.body) else { return None };
        if self.blocks.last().is_none_or(closed) {
            let (from, to) = (Timestamp::from_millis(i64::MAX), Timestamp::from_millis(i64::MIN));
            let (first, last) = (stored.seq, stored.seq);
            self.blocks.push(Block { first, last, batches: 0, entries: 0, from, to });
            self.columns.push(vec![0; WORDS].into());
        }
        let (block, column) = self.blocks.last_mut().zip(self.columns.last_mut())?;
        let column = Arc::get_mut(column)?;
        block.last = stored.seq;
        block.batches += 1;
        block.entries = block.entries.saturating_add(u32::try_from(view.entries.len()).unwrap_or(u32::MAX));
        stored.id.clone_into(&mut self.mark);
        let mut latest = None;
        for entry in &view.entries {
            let at = bits::set(column, entry.get()).unwrap_or(stored.written);
            (block.from, block.to) = (block.from.min(at), block.to.max(at));
            latest = Some(at);
        }
        heads.saw(&view.writer, view.last_seq(), view.head, latest);
        latest
    }

    /// Header and columns of a full part.
    pub(super) fn whole(&self) -> (Header, Vec<Arc<[u64]>>) {
        let (number, mark, blocks) = (self.next, self.mark.clone(), self.blocks.clone());
        (Header { form: FORM, number, mark, blocks }, self.columns.clone())
    }

    /// After it was stored.
    pub(super) fn sealed(&mut self) {
        self.next = self.next.saturating_add(1);
        self.blocks.clear();
        self.columns.clear();
    }

    /// Blocks that have all of the rows, newest first.
    pub(crate) fn with(&self, rows: &[u16]) -> Vec<Block> {
        let has = |column: &[u64]| {
            rows.iter()
                .all(|row| column.get(usize::from(*row) / 64).is_some_and(|word| word >> (row % 64) & 1 == 1))
        };
        let blocks = self.blocks.iter().zip(&self.columns).rev();
        blocks.filter(|(_, column)| has(column)).map(|(block, _)| *block).collect()
    }
}
