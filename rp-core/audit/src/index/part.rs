//! A part of the index as it is stored: 256 blocks that follow one another in the order of the commits. A header
//! says where the blocks are, and 512 chunks of 128 rows each say what is in them, one bit for each block. All of
//! them are written in one transaction, and never changed.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use rp_base::Timestamp;
use rp_database::Draft;
use serde::{Deserialize, Serialize};

use super::bits::ROWS;
use crate::AuditError;

/// Blocks of a part.
pub(crate) const BLOCKS: usize = 256;
/// Rows of a chunk.
const CHUNK_ROWS: usize = 128;
/// Bytes of a row: a bit for each block.
const ROW_BYTES: usize = BLOCKS / 8;
/// The form of what is stored; another one is made anew.
pub(crate) const FORM: u8 = 1;
/// Partition of the headers.
pub(crate) const HEADERS: &str = "h";

/// Batches that were committed after one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Block {
    /// Positions in the change feed, both included.
    pub(crate) first: i64,
    pub(crate) last: i64,
    pub(crate) batches: u32,
    pub(crate) entries: u32,
    /// Of its entries, both included.
    pub(crate) from: Timestamp,
    pub(crate) to: Timestamp,
}

/// Where a part's blocks are.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Header {
    pub(crate) form: u8,
    /// 1, 2, 3 …
    pub(crate) number: u32,
    /// Id of the last batch: shows that the positions are still those of this store.
    pub(crate) mark: String,
    pub(crate) blocks: Vec<Block>,
}

impl Header {
    /// The feed up to here is in the index.
    pub(crate) fn end(&self) -> i64 {
        self.blocks.last().map_or(0, |block| block.last)
    }
}

/// Numbers count down in ids, so that newer parts come first.
pub(crate) fn header_id(number: u32) -> String {
    format!("{HEADERS}-{:08x}", u32::MAX - number)
}

pub(crate) const fn chunk_of(row: u16) -> u16 {
    row / CHUNK_ROWS as u16
}

pub(crate) fn chunk_partition(chunk: u16) -> String {
    format!("c{chunk:03x}")
}

/// The id that chunk has in a part; `before_all` is [`u32::MAX`], which no part has.
pub(crate) fn chunk_id(chunk: u16, number: u32) -> String {
    format!("c{chunk:03x}-{:08x}", u32::MAX - number)
}

/// The number in a header's or a chunk's id.
pub(crate) fn number_of(id: &str) -> Option<u32> {
    let (_, digits) = id.rsplit_once('-')?;
    Some(u32::MAX - u32::from_str_radix(digits, 16).ok()?)
}

/// Which blocks have a row: a bit for each.
pub(crate) type Mask = [u8; ROW_BYTES];

/// Reads one row of a chunk. A damaged row matches every block: that costs time, but misses no entry.
pub(crate) fn row_of(body: &str, row: u16) -> Mask {
    let all = [0xff; ROW_BYTES];
    let at = usize::from(row) % CHUNK_ROWS * ROW_BYTES;
    let Ok(text) = serde_json::from_str::<std::borrow::Cow<'_, str>>(body) else { return all };
    let Ok(bytes) = STANDARD_NO_PAD.decode(text.as_bytes()) else { return all };
    bytes.get(at..at + ROW_BYTES).and_then(|row| row.try_into().ok()).unwrap_or(all)
}

/// The documents of a part, whose columns stand in the order of its blocks.
pub(crate) fn drafts(header: &Header, columns: &[impl AsRef<[u64]>]) -> Result<Vec<Draft>, AuditError> {
    let draft = |id: String, partition: String, body: String| Draft {
        id,
        partition,
        unique_key: None,
        body,
        expires_at: None,
    };
    let mut out = Vec::with_capacity(ROWS / CHUNK_ROWS + 1);
    for chunk in 0..ROWS / CHUNK_ROWS {
        let mut bytes = vec![0u8; CHUNK_ROWS * ROW_BYTES];
        for (block, column) in columns.iter().enumerate() {
            let range = chunk * CHUNK_ROWS / 64..(chunk + 1) * CHUNK_ROWS / 64;
            let words = column.as_ref().get(range).unwrap_or_default();
            for (at, word) in words.iter().enumerate() {
                let mut left = *word;
                while left != 0 {
                    let row = at * 64 + left.trailing_zeros() as usize;
                    bytes[row * ROW_BYTES + block / 8] |= 1 << (block % 8);
                    left &= left - 1;
                }
            }
        }
        let chunk = u16::try_from(chunk).unwrap_or_default();
        let body = format!("\"{}\"", STANDARD_NO_PAD.encode(bytes));
        out.push(draft(chunk_id(chunk, header.number), chunk_partition(chunk), body));
    }
    out.push(draft(header_id(header.number), HEADERS.to_owned(), serde_json::to_string(header)?));
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::bits::WORDS;

    #[test]
    fn rows_come_back_as_they_went_in() {
        let mut columns: Vec<Box<[u64]>> = (0..BLOCKS).map(|_| vec![0; WORDS].into_boxed_slice()).collect();
        for (block, row) in [(0, 0u16), (255, 0), (7, 127), (8, 128), (200, 65_535)] {
            columns[block][usize::from(row) / 64] |= 1 << (row % 64);
        }
        let header = Header { form: FORM, number: 3, mark: String::new(), blocks: Vec::new() };
        let drafts = drafts(&header, &columns).unwrap();
        assert_eq!(drafts.len(), 513);
        let mask = |row: u16| {
            let id = chunk_id(chunk_of(row), 3);
            let draft = drafts.iter().find(|draft| draft.id == id).unwrap();
            let mask = row_of(&draft.body, row);
            (0..BLOCKS).filter(|block| mask[block / 8] >> (block % 8) & 1 == 1).collect::<Vec<_>>()
        };
        assert_eq!((mask(0), mask(127), mask(128)), (vec![0, 255], vec![7], vec![8]));
        assert_eq!((mask(65_535), mask(5)), (vec![200], vec![]));
        assert_eq!(row_of("no JSON", 1), [0xff; 32]);
        assert_eq!(number_of(&drafts[512].id), Some(3));
    }

    #[test]
    fn newer_parts_come_first() {
        assert!(header_id(2) < header_id(1) && chunk_id(5, 300) < chunk_id(5, 2));
    }
}
