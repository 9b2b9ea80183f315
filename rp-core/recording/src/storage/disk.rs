//! A folder of this machine, for a single replica: one file a recording, synced after every chunk.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use rp_base::{Id, durable};

use super::{Appender, Source, Storage, StorageError};

/// Read at a time, bytes.
const PIECE: usize = 256 * 1024;

/// In the folder: held while its process lives. The kernel lets go of a dead one's.
const LOCK: &str = ".lock";

/// The folder.
#[derive(Debug, Clone)]
pub struct DiskStorage {
    folder: PathBuf,
    /// `None`: another process has it, or the disk knows no locks.
    lock: Option<Arc<File>>,
}

impl DiskStorage {
    /// Makes the folder (mode 0700) when there is none.
    ///
    /// # Errors
    /// It cannot be made, or others than its owner can look into it.
    pub fn open(folder: &Path) -> Result<Self, StorageError> {
        let failed = |what| move |cause| StorageError::Disk { what, cause };
        durable::make_folder(folder).map_err(failed("make the folder of recordings"))?;
        let about = folder.metadata().map_err(failed("look at the folder of recordings"))?;
        if about.permissions().mode() & 0o077 != 0 {
            let why =
                format!("others may look into {}; run: chmod 700 {}", folder.display(), folder.display());
            return Err(failed("use the folder of recordings")(io::Error::other(why)));
        }
        Ok(Self { folder: folder.to_owned(), lock: lock(folder).map(Arc::new) })
    }

    fn file(&self, id: &Id) -> PathBuf {
        self.folder.join(format!("{id}.rec"))
    }
}

/// A full disk is no reason not to read what stands there.
fn lock(folder: &Path) -> Option<File> {
    let options =
        OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(folder.join(LOCK));
    options.ok().filter(|file| file.try_lock().is_ok())
}

#[async_trait]
impl Storage for DiskStorage {
    async fn create(&self, id: &Id) -> Result<Box<dyn Appender>, StorageError> {
        let path = self.file(id);
        let made = blocking("create a recording", move || {
            let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
            durable::sync_name(&path)?;
            Ok(file)
        });
        Ok(Box::new(DiskAppender { file: Some(made.await?), length: 0 }))
    }

    async fn open(&self, id: &Id) -> Result<Option<Box<dyn Source>>, StorageError> {
        let path = self.file(id);
        let opened = blocking("open a recording", move || match File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            opened => opened.map(Some),
        });
        Ok(opened.await?.map(|file| Box::new(DiskSource { file: Some(file) }) as Box<dyn Source>))
    }

    async fn remove(&self, id: &Id) -> Result<(), StorageError> {
        let path = self.file(id);
        blocking("remove a recording", move || match std::fs::remove_file(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed,
        })
        .await
    }

    fn is_ours_alone(&self) -> bool {
        self.lock.is_some()
    }
}

#[derive(Debug)]
struct DiskAppender {
    /// `None` while a chunk is written, and after one that was given up.
    file: Option<File>,
    length: u64,
}

#[async_trait]
impl Appender for DiskAppender {
    async fn append(&mut self, chunk: Bytes) -> Result<(), StorageError> {
        let mut file = self.file.take().ok_or(StorageError::Changed)?;
        let (before, added) = (self.length, chunk.len() as u64);
        let written = blocking("write a recording", move || {
            match file.write_all(&chunk).and_then(|()| file.sync_data()) {
                Ok(()) => Ok(file),
                Err(error) => {
                    // A half chunk would hide those that may follow when there is room again.
                    let _ = file.set_len(before);
                    Err(error)
                }
            }
        });
        self.file = Some(written.await?);
        self.length += added;
        Ok(())
    }
}

#[derive(Debug)]
struct DiskSource {
    file: Option<File>,
}

#[async_trait]
impl Source for DiskSource {
    async fn piece(&mut self) -> Result<Option<Bytes>, StorageError> {
        let Some(mut file) = self.file.take() else { return Ok(None) };
        let (file, piece) = blocking("read a recording", move || {
            let mut piece = vec![0; PIECE];
            let read = file.read(&mut piece)?;
            piece.truncate(read);
            Ok((file, piece))
        })
        .await?;
        if piece.is_empty() {
            return Ok(None);
        }
        self.file = Some(file);
        Ok(Some(piece.into()))
    }
}

async fn blocking<T: Send + 'static>(
    what: &'static str,
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, StorageError> {
    let done = tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| Err(io::Error::other(error)));
    done.map_err(|cause| match cause.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StorageError::Full,
        _ => StorageError::Disk { what, cause },
    })
}
