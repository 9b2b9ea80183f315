//! A copy of the file as of one moment, and the way back.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rp_base::{chain, durable};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _, SqliteConnection};

use super::fault::Fault;
use super::{file, schema};
use crate::StoreError;

/// What stands beside a SQLite file.
const BESIDE: [&str; 2] = ["-wal", "-shm"];

/// One read transaction over all of it: writers go on, into the log.
pub(super) async fn write(path: &Path, to: &Path) -> Result<(), StoreError> {
    let target = to.to_str().ok_or(StoreError::BadCall("the path of a backup is Unicode"))?;
    // SQLite takes an empty file, and would make one that all may read.
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(to)
        .map_err(|error| Fault::File("make the backup's file", error))?;
    let copied = async {
        let mut connection = reading(path).await?;
        sqlx::query("VACUUM INTO ?1").bind(target).execute(&mut connection).await?;
        connection.close().await?;
        Ok::<_, Fault>(())
    };
    let outcome = match copied.await {
        Ok(()) => sync(to).map_err(|error| Fault::File("make the backup durable", error)),
        failed => failed,
    };
    if outcome.is_err() {
        let _ = fs::remove_file(to);
    }
    Ok(outcome?)
}

pub(super) async fn restore(backup: &Path, path: &Path) -> Result<Option<PathBuf>, StoreError> {
    let there = path.exists();
    // Held until everything is in place.
    let lock = file::prepare(path)?;
    check(backup).await?;
    let next = path.with_added_extension("restoring");
    let failed = |what| move |error| Fault::File(what, error);
    let _ = fs::remove_file(&next);
    copy(backup, &next).map_err(failed("copy the backup"))?;
    let aside = free_name(path);
    if let Err(error) = fold(path).await {
        // Perhaps that is why it is restored: then the log is put aside as it is.
        tracing::warn!(error = %chain(&error), "the log of the old store cannot be written back into it");
    }
    for suffix in BESIDE {
        rename_if_there(&with_suffix(path, suffix), &with_suffix(&aside, suffix))
            .map_err(failed("put the old files aside"))?;
    }
    // A log that comes back after a loss of power would be read over the backup.
    durable::sync_name(path).map_err(failed("put the old files aside"))?;
    // A link: there is always a store under the name, the old one or the backup.
    fs::hard_link(path, &aside).map_err(failed("put the old file aside"))?;
    fs::rename(&next, path).map_err(failed("put the backup in place"))?;
    sync(path).map_err(failed("make it durable"))?;
    if !there {
        // Made a moment ago, by taking the lock.
        fs::remove_file(&aside).map_err(failed("remove an empty file"))?;
    }
    drop(lock);
    Ok(there.then_some(aside))
}

/// Writes the log into the file, so that the file is all of the store by itself.
async fn fold(path: &Path) -> Result<(), Fault> {
    let mut connection = SqliteConnectOptions::new().filename(path).connect().await?;
    sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)").execute(&mut connection).await?;
    Ok(connection.close().await?)
}

async fn reading(path: &Path) -> Result<SqliteConnection, Fault> {
    Ok(SqliteConnectOptions::new().filename(path).read_only(true).connect().await?)
}

/// Whether it is a store of ours, whole, and not from the future.
async fn check(backup: &Path) -> Result<(), Fault> {
    let mut connection = reading(backup).await?;
    let found: String = sqlx::query_scalar("PRAGMA quick_check(1)").fetch_one(&mut connection).await?;
    if found != "ok" {
        return Err(Fault::Damaged(found));
    }
    if schema::steps(&mut connection).await? == 0 {
        return Err(Fault::Damaged("it is no backup of a store".to_owned()));
    }
    connection.close().await?;
    Ok(())
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let mut target = OpenOptions::new().write(true).create_new(true).mode(0o600).open(to)?;
    io::copy(&mut File::open(from)?, &mut target)?;
    target.sync_all()
}

fn rename_if_there(from: &Path, to: &Path) -> io::Result<()> {
    match fs::rename(from, to) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        outcome => outcome,
    }
}

fn free_name(path: &Path) -> PathBuf {
    let names = (1u32..).map(|n| path.with_added_extension(format!("before-restore-{n}")));
    names
        .into_iter()
        .find(|name| !name.exists())
        .unwrap_or_else(|| path.with_added_extension("before-restore"))
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}

fn sync(file: &Path) -> io::Result<()> {
    File::open(file)?.sync_all()?;
    durable::sync_name(file)
}
