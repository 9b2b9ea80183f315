//! Moves a store's documents into another store, and shows that they arrived.

use std::time::Duration;

use rp_base::{Digest, Timestamp, sha256};
use rp_documents::Collection;

use crate::{Draft, Store, StoreError, Stored};

/// Documents read at once.
const PAGE: u32 = 200;
/// Bytes of bodies written at once, unless one document has more.
const BYTES: usize = 8 * 1024 * 1024;
/// What expires so soon may be gone from one side while the sides are compared.
const SOON: Duration = Duration::from_secs(600);

/// The result of copying one collection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopyReport {
    pub collection: Collection,
    /// Documents written.
    pub documents: u64,
    /// Documents compared: all but those that expire within ten minutes.
    pub compared: u64,
    /// Over ids, partitions, keys, bodies and expiries of the compared ones; the same on both sides.
    pub digest: Digest,
}

/// Why a copy was not made, or is not to be trusted.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// Nothing was written.
    #[error("the store to copy to already has documents in {}", collection.name())]
    NotEmpty { collection: Collection },
    /// The store that is copied was written meanwhile, or something broke: start again with an empty store.
    #[error("{} differs: {from} documents to copy, {to} documents arrived, or their contents differ", collection.name())]
    Differs { collection: Collection, from: u64, to: u64 },
    #[error("cannot read what is to be copied")]
    From(#[source] StoreError),
    #[error("cannot use the store to copy to")]
    To(#[source] StoreError),
}

/// Copies every living document, byte for byte, into an empty store, then reads both and compares counts and
/// digests. Nobody may write meanwhile. Versions and positions of the change feed are given anew; tombstones stay
/// behind.
///
/// # Errors
/// [`CopyError`]; when it is not [`CopyError::NotEmpty`], the store copied to holds a part.
pub async fn copy(from: &dyn Store, to: &dyn Store) -> Result<Vec<CopyReport>, CopyError> {
    copy_only(from, to, &Collection::ALL).await
}

/// As [`copy`], of these collections only: the others of the store copied to are not looked at.
///
/// # Errors
/// As [`copy`].
pub async fn copy_only(
    from: &dyn Store,
    to: &dyn Store,
    collections: &[Collection],
) -> Result<Vec<CopyReport>, CopyError> {
    for &collection in collections {
        if to.count(collection).await.map_err(CopyError::To)? > 0 {
            return Err(CopyError::NotEmpty { collection });
        }
    }
    let mut copied = Vec::new();
    for &collection in collections {
        let documents = transfer(from, to, collection).await?;
        let clocks = (from.now().await.map_err(CopyError::From)?, to.now().await.map_err(CopyError::To)?);
        let horizon = clocks.0.max(clocks.1) + SOON;
        let sent = fingerprint(from, collection, horizon).await.map_err(CopyError::From)?;
        let arrived = fingerprint(to, collection, horizon).await.map_err(CopyError::To)?;
        if sent != arrived {
            return Err(CopyError::Differs { collection, from: sent.count, to: arrived.count });
        }
        copied.push(CopyReport { collection, documents, compared: sent.count, digest: sent.digest });
    }
    Ok(copied)
}

async fn transfer(from: &dyn Store, to: &dyn Store, collection: Collection) -> Result<u64, CopyError> {
    let (mut written, mut cursor) = (0, 0);
    loop {
        // In the order of their commits, which some collections stand for.
        let changes = from.changes(collection, cursor, PAGE).await.map_err(CopyError::From)?;
        let mut drafts = Vec::new();
        let mut bytes = 0;
        for document in changes.items.into_iter().filter_map(|change| change.document) {
            if bytes > 0 && bytes + document.body.len() > BYTES {
                written += put(to, collection, std::mem::take(&mut drafts)).await?;
                bytes = 0;
            }
            bytes += document.body.len();
            drafts.push(document.into());
        }
        written += put(to, collection, drafts).await?;
        cursor = changes.cursor;
        if !changes.more {
            return Ok(written);
        }
    }
}

async fn put(to: &dyn Store, collection: Collection, drafts: Vec<Draft>) -> Result<u64, CopyError> {
    Ok(to.create_all(collection, drafts).await.map_err(CopyError::To)?.len() as u64)
}

#[derive(PartialEq, Eq)]
struct Fingerprint {
    count: u64,
    digest: Digest,
}

/// Of everything that lives longer than until `horizon`, in the order of lists.
async fn fingerprint(
    store: &dyn Store,
    collection: Collection,
    horizon: Timestamp,
) -> Result<Fingerprint, StoreError> {
    let mut seen = Fingerprint { count: 0, digest: sha256(b"") };
    let mut at = None;
    loop {
        let page = store.list(collection, None, at.as_deref(), PAGE).await?;
        for document in page.items.iter().filter(|each| each.expires_at.is_none_or(|end| end > horizon)) {
            seen.count += 1;
            seen.digest = chained(&seen.digest, document);
        }
        at = page.continuation;
        if at.is_none() {
            return Ok(seen);
        }
    }
}

fn chained(before: &Digest, document: &Stored) -> Digest {
    let Stored { id, partition, unique_key, body, expires_at, .. } = document;
    let mut bytes = Vec::with_capacity(body.len() + 256);
    bytes.extend_from_slice(&before.0);
    // With their lengths, so that nothing can slip from one into the next.
    for part in [Some(id), Some(partition), unique_key.as_ref(), Some(body)] {
        let length = part.map_or(u64::MAX, |part| part.len() as u64);
        bytes.extend_from_slice(&length.to_be_bytes());
        bytes.extend_from_slice(part.map_or(b"", |part| part.as_bytes()));
    }
    bytes.extend_from_slice(&expires_at.map_or(i64::MIN, Timestamp::millis).to_be_bytes());
    sha256(&bytes)
}
