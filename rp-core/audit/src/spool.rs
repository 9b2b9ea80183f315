//! Entries on the local disk while the store is away (`contract/rules.md` §3.7, `spool`).
//!
//! Batches stand there whole, as they would be stored, one a line. Each process has a file of its own, named after its
//! chain and locked as long as it lives; a later process brings in what an earlier one left.

use std::fs::TryLockError;
use std::io;
use std::path::{Path, PathBuf};

use rp_base::durable;
use rp_database::Draft;
use serde::{Deserialize, Serialize};
use tokio::fs::{File, OpenOptions};
use tokio::io::{AsyncBufReadExt as _, AsyncSeekExt as _, AsyncWriteExt as _, BufReader};

/// Bytes of a file; then the log is stuck as it would be without.
const MOST: u64 = 4 << 30;

/// A batch on its way.
#[derive(Debug, Serialize, Deserialize)]
struct Line {
    id: String,
    partition: String,
    body: String,
}

/// This process's file.
#[derive(Debug)]
pub(crate) struct Spool {
    path: PathBuf,
    /// Made when it is first needed.
    file: Option<File>,
    bytes: u64,
}

impl Spool {
    /// `base` with the chain's name behind it.
    pub(crate) fn new(base: &Path, writer: &str) -> Self {
        Self { path: base.with_added_extension(writer), file: None, bytes: 0 }
    }

    /// Whether something is in it.
    pub(crate) const fn is_used(&self) -> bool {
        self.bytes > 0
    }

    /// Appends a batch; it is on the disk when this returns.
    pub(crate) async fn put(&mut self, draft: &Draft) -> io::Result<()> {
        let Draft { id, partition, body, .. } = draft.clone();
        let mut line = serde_json::to_vec(&Line { id, partition, body })?;
        line.push(b'\n');
        let length = line.len() as u64;
        if self.bytes.saturating_add(length) > MOST {
            return Err(io::Error::other("the spool is as large as it may become"));
        }
        let bytes = self.bytes;
        let file = self.file().await?;
        let written = async {
            file.write_all(&line).await?;
            file.flush().await?;
            file.sync_data().await
        };
        if let Err(error) = written.await {
            // What may stand there of it was not promised to anybody.
            let _ = file.set_len(bytes).await;
            return Err(error);
        }
        self.bytes += length;
        Ok(())
    }

    async fn file(&mut self) -> io::Result<&mut File> {
        if self.file.is_none() {
            let mut options = OpenOptions::new();
            options.read(true).append(true).create(true).mode(0o600);
            let file = options.open(&self.path).await?;
            lock(&file).await?;
            file.set_len(0).await?;
            sync_name(self.path.clone()).await?;
            self.file = Some(file);
        }
        self.file.as_mut().ok_or_else(|| io::Error::other("no file"))
    }

    /// What is in it, oldest first.
    pub(crate) async fn pending(&mut self) -> io::Result<Option<Pending>> {
        match &mut self.file {
            Some(file) => Ok(Some(Pending::from_file(file).await?)),
            None => Ok(None),
        }
    }

    /// After everything that was pending is in the store.
    pub(crate) async fn clear(&mut self) -> io::Result<()> {
        if let Some(file) = &mut self.file {
            file.set_len(0).await?;
            file.sync_data().await?;
        }
        self.bytes = 0;
        Ok(())
    }

    /// The file is of no use any more.
    pub(crate) async fn remove(&mut self) {
        if self.file.take().is_some() && self.bytes == 0 {
            let _ = tokio::fs::remove_file(&self.path).await;
        }
    }
}

/// Batches of a file.
#[derive(Debug)]
pub(crate) struct Pending(BufReader<File>);

impl Pending {
    async fn from_file(file: &mut File) -> io::Result<Self> {
        file.rewind().await?;
        Ok(Self(BufReader::new(file.try_clone().await?)))
    }

    /// The next one. The last line may be torn: cut off where a process was killed, and after a loss of power with its
    /// end there and parts before it not. No receipt was given for it.
    pub(crate) async fn next(&mut self) -> io::Result<Option<Draft>> {
        let mut line = Vec::new();
        if self.0.read_until(b'\n', &mut line).await? == 0 || !line.ends_with(b"\n") {
            return Ok(None);
        }
        match serde_json::from_slice(&line) {
            Ok(Line { id, partition, body }) => {
                Ok(Some(Draft { id, partition, unique_key: None, body, expires_at: None }))
            }
            Err(_) if self.0.fill_buf().await?.is_empty() => Ok(None),
            Err(damaged) => Err(damaged.into()),
        }
    }
}

/// A file that an earlier process left; nobody else has it while this value lives.
#[derive(Debug)]
pub(crate) struct LeftoverSpool {
    path: PathBuf,
    file: File,
}

impl LeftoverSpool {
    pub(crate) async fn pending(&mut self) -> io::Result<Pending> {
        Pending::from_file(&mut self.file).await
    }

    /// After everything that was pending is in the store.
    pub(crate) async fn remove(self) -> io::Result<()> {
        tokio::fs::remove_file(&self.path).await
    }
}

/// What earlier processes left, oldest first: files of this `base` that no living process holds.
pub(crate) async fn leftovers(base: &Path) -> io::Result<Vec<LeftoverSpool>> {
    let Some(name) = base.file_name().and_then(|name| name.to_str()) else { return Ok(Vec::new()) };
    let mut entries = match tokio::fs::read_dir(durable::folder(base)).await {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut paths = Vec::new();
    while let Some(entry) = entries.next_entry().await? {
        let ours = entry.file_name().to_str().is_some_and(|other| {
            other.strip_prefix(name).is_some_and(|rest| rest.len() > 1 && rest.starts_with('.'))
        });
        if ours {
            paths.push(entry.path());
        }
    }
    // Names of older chains sort last.
    paths.sort();
    let mut found = Vec::new();
    for path in paths.into_iter().rev() {
        let file = OpenOptions::new().read(true).write(true).open(&path).await?;
        if lock(&file).await.is_ok() {
            found.push(LeftoverSpool { path, file });
        }
    }
    Ok(found)
}

async fn lock(file: &File) -> io::Result<()> {
    let held = file.try_clone().await?.into_std().await;
    match held.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(io::ErrorKind::WouldBlock.into()),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

async fn sync_name(path: PathBuf) -> io::Result<()> {
    tokio::task::spawn_blocking(move || durable::sync_name(&path))
        .await
        .unwrap_or_else(|error| Err(io::Error::other(error)))
}
