//! The file, its lock, and how connections to it are set up.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::Duration;

use sqlx::SqlitePool;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};

use super::SqliteOptions;
use super::fault::Fault;
use crate::StoreError;

/// Makes sure that the file is there and ours alone; gives the lock.
pub(super) fn prepare(path: &Path) -> Result<File, StoreError> {
    let mut lock = private(&path.with_added_extension("lock"))
        .map_err(|e| Fault::File("open the store's lock file", e))?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(StoreError::Held { pid: holder(&mut lock) }),
        Err(TryLockError::Error(error)) => return Err(Fault::File("lock the store", error).into()),
    }
    note_holder(&mut lock).map_err(|e| Fault::File("write the store's lock file", e))?;
    // SQLite would make it readable by all; the files beside it get the same mode.
    private(path).map_err(|e| Fault::File("open the store's file", e))?;
    Ok(lock)
}

/// Writes our process id into the file, for the error message of a second process; the lock itself is the kernel's.
fn note_holder(lock: &mut File) -> std::io::Result<()> {
    lock.set_len(0)?;
    lock.write_all(format!("{}\n", std::process::id()).as_bytes())
}

fn holder(lock: &mut File) -> Option<u32> {
    let mut text = String::new();
    lock.take(20).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

fn private(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
}

/// The writer: every commit is on disk before it is answered.
pub(super) fn writing(options: &SqliteOptions) -> SqliteConnectOptions {
    let connect = SqliteConnectOptions::new()
        .filename(&options.path)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .busy_timeout(options.busy_wait)
        // A burst must not leave a large log behind for ever.
        .pragma("journal_size_limit", "67108864")
        .pragma("trusted_schema", "OFF")
        .thread_name(|_| "store-writer".to_owned());
    match options.max_pages {
        Some(pages) => connect.pragma("max_page_count", pages.to_string()),
        None => connect,
    }
}

pub(super) fn readers(options: &SqliteOptions) -> SqlitePool {
    let connect = SqliteConnectOptions::new()
        .filename(&options.path)
        .read_only(true)
        .busy_timeout(options.busy_wait)
        .pragma("trusted_schema", "OFF")
        .thread_name(|n| format!("store-reader-{n}"));
    SqlitePoolOptions::new()
        .max_connections(options.readers.max(1))
        .acquire_timeout(Duration::from_secs(10))
        .test_before_acquire(false)
        .idle_timeout(None)
        .max_lifetime(None)
        .connect_lazy_with(connect)
}

pub(super) fn memory() -> SqliteConnectOptions {
    SqliteConnectOptions::new().in_memory(true).synchronous(SqliteSynchronous::Off)
}
