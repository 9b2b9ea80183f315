//! Which blocks of the stored parts have all rows of a query.

use std::collections::BTreeSet;

use futures_util::future::try_join_all;
use rp_base::Timestamp;
use rp_database::{SharedStore, Span, StoreError, Stored};
use rp_documents::Collection;

use super::part::{self, BLOCKS, Block, HEADERS, Header, Mask};

/// A stored part, as a search sees it.
#[derive(Debug)]
pub(crate) struct FoundPart {
    pub(crate) number: u32,
    /// By the store's clock. Its batches, and those of all parts before it, were committed earlier.
    pub(crate) written: Timestamp,
    /// Those that have all of the rows, newest first.
    pub(crate) blocks: Vec<Block>,
}

/// The parts below a number, newest first, with those of their blocks that have all of the rows.
///
/// `below`: the first part looked at is the one before it. Gives at most `parts` of them.
pub(crate) async fn find_blocks(
    store: &SharedStore,
    rows: &[u16],
    below: u32,
    parts: u32,
) -> Result<Vec<FoundPart>, StoreError> {
    let after = part::header_id(below);
    let span = Span::Partition(HEADERS);
    let headers = store.scan(Collection::AuditIndex, span, Some(&after), parts).await?;
    let read = |stored: &Stored| {
        serde_json::from_str::<Header>(&stored.body).ok().map(|header| (stored.written, header))
    };
    let headers: Vec<(Timestamp, Header)> = headers.iter().filter_map(read).collect();
    let chunks: BTreeSet<u16> = rows.iter().map(|row| part::chunk_of(*row)).collect();
    let reads = chunks.into_iter().map(|chunk| async move {
        let (partition, after) = (part::chunk_partition(chunk), part::chunk_id(chunk, below));
        let span = Span::Partition(&partition);
        store.scan(Collection::AuditIndex, span, Some(&after), parts).await.map(|found| (chunk, found))
    });
    let chunks = try_join_all(reads).await?;
    let mut masks: Vec<Mask> = vec![[0xff; BLOCKS / 8]; headers.len()];
    for (chunk, found) in &chunks {
        for stored in found {
            let Some(number) = part::number_of(&stored.id) else { continue };
            let Some(at) = headers.iter().position(|(_, header)| header.number == number) else { continue };
            for row in rows.iter().filter(|row| part::chunk_of(**row) == *chunk) {
                let has = part::row_of(&stored.body, *row);
                for (mask, has) in masks[at].iter_mut().zip(has) {
                    *mask &= has;
                }
            }
        }
    }
    let of = |((written, header), mask): ((Timestamp, Header), Mask)| {
        let has = |at: usize| mask.get(at / 8).is_some_and(|byte| byte >> (at % 8) & 1 == 1);
        let blocks = header.blocks.iter().enumerate().rev().filter(|(at, _)| has(*at));
        let blocks = blocks.map(|(_, block)| *block).collect();
        FoundPart { number: header.number, written, blocks }
    };
    Ok(headers.into_iter().zip(masks).map(of).collect())
}
