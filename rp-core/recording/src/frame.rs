//! The container: chunks one after the other, each `"ARO-REC2" | number | length | digest of the chunk before |
//! sealed`.
//!
//! Numbers and length are 32-bit, big-endian; the first chunk is 0 and names the digest of nothing, 32 zero bytes. A
//! chunk's digest is SHA-256 over all of it. Sealed are whole lines of the cast as one LZ4 block, its size
//! before it (32-bit, little-endian), under the recording's own key with the recording's id, the number and the digest
//! before as associated data: a chunk opens nowhere else.

use lz4_flex::block;
use rp_base::{Digest, Id, sha256};
use rp_seal::{DataKey, SealError};

const MAGIC: &[u8; 8] = b"ARO-REC2";
pub(crate) const HEAD: usize = MAGIC.len() + 4 + 4 + 32;
/// Of a sealed chunk; ours are far smaller.
pub(crate) const MOST_SEALED: usize = 4 * 1024 * 1024;
/// Of an opened chunk: lines for [`crate::writer`]'s buffer, whose every byte may take six in JSON.
const MOST_PLAIN: usize = 4 * 1024 * 1024;

/// What is wrong with a chunk, or with the end.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The writer was killed, or the storage lost the end: everything before is there.
    #[error("the recording breaks off within chunk {0}")]
    Torn(u32),
    /// Nothing after it can be read.
    #[error("what should be chunk {0} is no chunk")]
    NoChunk(u32),
    #[error("{}", missing(*from, *before))]
    Missing { from: u32, before: u32 },
    #[error("chunk {found} stands where chunk {expected} should")]
    Order { expected: u32, found: u32 },
    /// Of another recording, or changed.
    #[error("chunk {0} is not this recording's, or was changed")]
    Foreign(u32),
    #[error("chunk {0} does not follow the one before it")]
    Broken(u32),
    /// It opens, and is not what we write.
    #[error("chunk {0} holds something else than a recording")]
    Content(u32),
    /// The document knows of more.
    #[error("the recording ends after {found} chunks of {expected}")]
    Short { expected: u32, found: u32 },
    /// The last chunk is not the one that the document names.
    #[error("the last chunk is not the one that was last written")]
    Head,
    /// Everything that was written is there; the session went on for a moment, or for as long as nobody recorded it.
    #[error("cut here: the process that recorded the session ended without a word")]
    Cut,
}

fn missing(from: u32, before: u32) -> String {
    match before.saturating_sub(1) {
        last if last == from => format!("chunk {from} is missing"),
        last => format!("chunks {from} to {last} are missing"),
    }
}

/// A chunk as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    pub number: u32,
    /// Whole lines of the cast; `None`: it could not be opened.
    pub text: Option<String>,
    /// What is wrong with it.
    pub faults: Vec<Fault>,
}

/// A chunk's clear part.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Head {
    pub(crate) number: u32,
    pub(crate) length: usize,
    pub(crate) before: Digest,
}

impl Head {
    /// `None`: this is no chunk of ours.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let rest = bytes.get(..HEAD)?.strip_prefix(MAGIC)?;
        let (number, rest) = rest.split_first_chunk::<4>()?;
        let (length, rest) = rest.split_first_chunk::<4>()?;
        let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
        let before = Digest(rest.try_into().ok()?);
        let good = (DataKey::OVERHEAD..=MOST_SEALED).contains(&length);
        good.then_some(Self { number: u32::from_be_bytes(*number), length, before })
    }
}

/// Makes one chunk and gives it with its digest.
pub(crate) fn seal(
    key: &DataKey,
    id: &Id,
    number: u32,
    before: Digest,
    lines: &[u8],
) -> Result<(Vec<u8>, Digest), SealError> {
    let packed = block::compress_prepend_size(lines);
    let length = packed.len() + DataKey::OVERHEAD;
    let written = u32::try_from(length).ok().filter(|_| length <= MOST_SEALED);
    let written = written.ok_or(SealError::Unsealable)?;
    let mut frame = Vec::with_capacity(HEAD + length);
    frame.extend_from_slice(MAGIC);
    frame.extend_from_slice(&number.to_be_bytes());
    frame.extend_from_slice(&written.to_be_bytes());
    frame.extend_from_slice(&before.0);
    key.seal(&packed, &associated(id, number, before), &mut frame)?;
    let digest = sha256(&frame);
    Ok((frame, digest))
}

/// Opens the sealed part of a chunk.
pub(crate) fn open(key: &DataKey, id: &Id, head: Head, sealed: &[u8]) -> Result<String, Fault> {
    let place = associated(id, head.number, head.before);
    let packed = key.open(sealed, &place).map_err(|_| Fault::Foreign(head.number))?;
    unpack(&packed).ok_or(Fault::Content(head.number))
}

/// Sealed data was written by us; its size is checked nevertheless.
pub(crate) fn unpack(packed: &[u8]) -> Option<String> {
    let (size, block) = block::uncompressed_size(packed).ok().filter(|(size, _)| *size <= MOST_PLAIN)?;
    let text = String::from_utf8(block::decompress(block, size).ok()?).ok()?;
    (text.is_empty() || text.ends_with('\n')).then_some(text)
}

fn associated(id: &Id, number: u32, before: Digest) -> Vec<u8> {
    format!("Recordings/{id}/chunk/{number}/{before}").into_bytes()
}
