//! Recordings in append blobs of one Azure container: `ID/0000`, and a next one whenever one has as many blocks as it may.

use async_trait::async_trait;
use bytes::Bytes;
use rp_azure::{AzureError, BlobStore};
use rp_base::Id;
use rp_recording::{Appender, Source, Storage, StorageError};

/// An append blob takes 50,000 blocks.
const BLOCKS: u32 = 49_000;
/// Read at a time, bytes.
const PIECE: u64 = 4 * 1024 * 1024;

/// The container.
#[derive(Debug, Clone)]
pub struct BlobStorage {
    blobs: BlobStore,
    container: String,
    blocks: u32,
}

impl BlobStorage {
    /// Makes the container when there is none.
    ///
    /// # Errors
    /// The storage refuses.
    pub async fn open(blobs: BlobStore, container: &str) -> Result<Self, StorageError> {
        blobs.create_container(container).await.map_err(refused)?;
        Ok(Self::new(blobs, container))
    }

    /// Of a container that is there.
    pub fn new(blobs: BlobStore, container: &str) -> Self {
        Self { blobs, container: container.to_owned(), blocks: BLOCKS }
    }

    /// With fewer blocks to a blob.
    #[must_use]
    pub const fn with_blocks(mut self, blocks: u32) -> Self {
        self.blocks = blocks;
        self
    }
}

fn refused(error: AzureError) -> StorageError {
    StorageError::Blob(error.into())
}

fn name(id: &Id, part: u32) -> String {
    format!("{id}/{part:04}")
}

#[async_trait]
impl Storage for BlobStorage {
    async fn create(&self, id: &Id) -> Result<Box<dyn Appender>, StorageError> {
        self.blobs.create_append(&self.container, &name(id, 0)).await.map_err(refused)?;
        Ok(Box::new(BlobAppender { home: self.clone(), id: id.clone(), part: 0, blocks: 0, length: 0 }))
    }

    async fn open(&self, id: &Id) -> Result<Option<Box<dyn Source>>, StorageError> {
        if !self.blobs.exists(&self.container, &name(id, 0)).await.map_err(refused)? {
            return Ok(None);
        }
        Ok(Some(Box::new(BlobSource { home: self.clone(), id: id.clone(), part: 0, at: 0, over: false })))
    }

    async fn remove(&self, id: &Id) -> Result<(), StorageError> {
        // The last first: what is left after an end in the middle is found from its begin.
        let mut parts = 1;
        while self.blobs.exists(&self.container, &name(id, parts)).await.map_err(refused)? {
            parts += 1;
        }
        for part in (0..parts).rev() {
            self.blobs.delete(&self.container, &name(id, part)).await.map_err(refused)?;
        }
        Ok(())
    }
}

#[derive(Debug)]
struct BlobAppender {
    home: BlobStorage,
    id: Id,
    part: u32,
    blocks: u32,
    length: u64,
}

#[async_trait]
impl Appender for BlobAppender {
    async fn append(&mut self, chunk: Bytes) -> Result<(), StorageError> {
        let BlobStorage { blobs, container, blocks } = &self.home;
        if self.blocks >= *blocks {
            blobs.create_append(container, &name(&self.id, self.part + 1)).await.map_err(refused)?;
            (self.part, self.blocks, self.length) = (self.part + 1, 0, 0);
        }
        let (name, added) = (name(&self.id, self.part), chunk.len() as u64);
        match blobs.append(container, &name, self.length, chunk).await {
            Ok(()) => {}
            // A try whose answer got lost, made again: it stands there, once.
            Err(error) if error.code == "AppendPositionConditionNotMet" => {
                if blobs.length(container, &name).await.map_err(refused)? != Some(self.length + added) {
                    return Err(StorageError::Changed);
                }
            }
            Err(error) => return Err(refused(error)),
        }
        self.blocks += 1;
        self.length += added;
        Ok(())
    }
}

#[derive(Debug)]
struct BlobSource {
    home: BlobStorage,
    id: Id,
    part: u32,
    at: u64,
    over: bool,
}

#[async_trait]
impl Source for BlobSource {
    async fn piece(&mut self) -> Result<Option<Bytes>, StorageError> {
        let BlobStorage { blobs, container, .. } = &self.home;
        while !self.over {
            let name = name(&self.id, self.part);
            match blobs.part(container, &name, self.at, PIECE).await.map_err(refused)? {
                Some(piece) if piece.is_empty() => (self.part, self.at) = (self.part + 1, 0),
                Some(piece) => {
                    self.at += piece.len() as u64;
                    return Ok(Some(piece));
                }
                None => self.over = true,
            }
        }
        Ok(None)
    }
}
