//! Reads a container piece by piece and checks the chain as it goes.

use bytes::{Buf as _, Bytes, BytesMut};
use rp_base::{Digest, Id, sha256};
use rp_seal::DataKey;

use crate::frame::{Chunk, Fault, HEAD, Head, open};
use crate::{ReadError, Source};

/// The end that the document states; for a session that runs, or whose writer died, it is a lower bound.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ExpectedEnd {
    pub(crate) chunks: u32,
    pub(crate) head: Digest,
    pub(crate) ended: bool,
    /// Its writer died.
    pub(crate) cut: bool,
}

/// One recording being read.
#[derive(Debug)]
pub struct Reader {
    source: Box<dyn Source>,
    key: DataKey,
    id: Id,
    told: ExpectedEnd,
    buffer: BytesMut,
    /// The number and the digest that the next chunk should have and name.
    next: u32,
    before: Digest,
    over: bool,
}

impl Reader {
    pub(crate) fn new(source: Box<dyn Source>, key: DataKey, id: Id, told: ExpectedEnd) -> Self {
        Self {
            source,
            key,
            id,
            told,
            buffer: BytesMut::new(),
            next: 0,
            before: Digest::default(),
            over: false,
        }
    }

    /// The next chunk; `None`: there is no more. A chunk whose text cannot be had stands in its place with what is
    /// wrong; one fault about the end may come as a last chunk without text.
    ///
    /// # Errors
    /// The storage's: the rest may be had by reading again.
    pub async fn next(&mut self) -> Result<Option<Chunk>, ReadError> {
        if self.over {
            return Ok(None);
        }
        if !self.fill(HEAD).await? {
            return Ok(self.end());
        }
        let Some(head) = Head::parse(&self.buffer) else {
            return Ok(Some(self.stop(Fault::NoChunk(self.next))));
        };
        if !self.fill(HEAD + head.length).await? {
            return Ok(self.end());
        }
        let frame = self.buffer.split_to(HEAD + head.length).freeze();
        Ok(Some(self.check(head, &frame)))
    }

    /// Whether that many bytes are there now.
    async fn fill(&mut self, length: usize) -> Result<bool, ReadError> {
        while self.buffer.len() < length {
            let Some(piece) = self.source.piece().await? else { return Ok(false) };
            self.buffer.extend_from_slice(&piece);
        }
        Ok(true)
    }

    fn check(&mut self, head: Head, frame: &Bytes) -> Chunk {
        let mut faults = Vec::new();
        let expected = self.next;
        if head.number > expected {
            faults.push(Fault::Missing { from: expected, before: head.number });
        } else if head.number < expected {
            faults.push(Fault::Order { expected, found: head.number });
        } else if head.before != self.before {
            faults.push(Fault::Broken(head.number));
        }
        let mut sealed = frame.clone();
        sealed.advance(HEAD);
        let text = match open(&self.key, &self.id, head, &sealed) {
            Ok(text) => Some(text),
            Err(fault) => {
                faults.push(fault);
                None
            }
        };
        // A chunk that is not ours says nothing about what should follow it.
        if text.is_some() && head.number >= expected {
            self.next = head.number.saturating_add(1);
            self.before = sha256(frame);
        } else if head.number == expected {
            self.next = expected.saturating_add(1);
            self.before = sha256(frame);
        }
        // A repeated chunk was reported already.
        let text = text.filter(|_| head.number >= expected);
        Chunk { number: head.number, text, faults }
    }

    /// How many chunks there were up to now, and the digest of the last one.
    pub(crate) const fn so_far(&self) -> (u32, Digest) {
        (self.next, self.before)
    }

    fn stop(&mut self, fault: Fault) -> Chunk {
        self.over = true;
        Chunk { number: self.next, text: None, faults: vec![fault] }
    }

    fn end(&mut self) -> Option<Chunk> {
        self.over = true;
        let ExpectedEnd { chunks, head, ended, cut: _ } = self.told;
        let fault = if !self.buffer.is_empty() {
            Fault::Torn(self.next)
        } else if self.next < chunks {
            Fault::Short { expected: chunks, found: self.next }
        } else if ended && (self.next > chunks || self.before != head) {
            Fault::Head
        } else if self.told.cut {
            Fault::Cut
        } else {
            return None;
        };
        Some(Chunk { number: self.next, text: None, faults: vec![fault] })
    }
}
