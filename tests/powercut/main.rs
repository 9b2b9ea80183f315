//! Power cuts: everything acknowledged is on the disk, nothing is half-written, and every store opens without repair.
//!
//! A workload runs in a process of its own whose writes and syncs are recorded (`record.c`). From the record a model of a
//! volume (`volume.rs`) computes what the disk may hold after a loss of power at any step, and the product opens it.

mod content;
mod cuts;
mod dice;
mod recorder;
mod steps;
mod volume;
mod workloads;

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

use cuts::{Effort, Outcome, cut};
use recorder::{Disk, asked, record};
use workloads::{ALL, AUDIT, KEYRING, RECORDINGS, RESTORE, SPOOL, STORE, TOKENS, Workload};

/// Longer than any workload takes.
const LONG: Duration = Duration::from_secs(240);

/// Not a test by itself: without the variables it has nothing to do.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn works_until_the_power_goes() -> Result<()> {
    let Some((name, folder, marks)) = asked()? else { return Ok(()) };
    let workload = ALL.into_iter().find(|workload| workload.name() == name).context(name)?;
    tokio::time::timeout(LONG, workload.run(&folder, &marks)).await.context("it does not end")??;
    // Nothing is closed or flushed by a value that is dropped.
    std::process::exit(0);
}

async fn power_goes(workload: &dyn Workload, disk: Disk) -> Result<Outcome> {
    let steps = record(workload.name(), disk)?;
    cut(workload, &steps, Effort::of_this_run()).await
}

async fn holds(workload: &dyn Workload) -> Result<()> {
    let outcome = power_goes(workload, Disk::Honest).await?;
    ensure!(outcome.broken.is_empty(), "{}", outcome.broken.join("\n"));
    ensure!(outcome.opened > 10, "only {} states were looked at", outcome.opened);
    Ok(())
}

/// The harness itself: on such a disk promises are broken, and it must say so. On an honest one they hold, by the tests
/// of that name.
async fn is_found_out(workload: &dyn Workload, disk: Disk) -> Result<()> {
    let outcome = power_goes(workload, disk).await?;
    let words = format!("{} on a disk that {disk:?} holds in {} states", workload.name(), outcome.opened);
    ensure!(!outcome.broken.is_empty(), "{words}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn documents_outlive_the_power() -> Result<()> {
    holds(STORE).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restore_is_done_or_not_begun_when_the_power_went() -> Result<()> {
    holds(RESTORE).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn promised_audit_entries_outlive_the_power() -> Result<()> {
    holds(AUDIT).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spooled_audit_entries_outlive_the_power() -> Result<()> {
    holds(SPOOL).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stored_chunks_of_recordings_outlive_the_power() -> Result<()> {
    holds(RECORDINGS).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_keyring_outlives_the_power() -> Result<()> {
    holds(KEYRING).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cached_tokens_are_whole_when_the_power_went() -> Result<()> {
    holds(TOKENS).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_does_not_sync_is_found_out() -> Result<()> {
    is_found_out(STORE, Disk::IgnoresSyncs).await?;
    is_found_out(AUDIT, Disk::IgnoresSyncs).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_forgotten_sync_of_a_file_is_found_out() -> Result<()> {
    for workload in [SPOOL, RECORDINGS, KEYRING, TOKENS] {
        is_found_out(workload, Disk::IgnoresFiles).await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_forgotten_sync_of_a_folder_is_found_out() -> Result<()> {
    for workload in [STORE, RESTORE, AUDIT, SPOOL, RECORDINGS, KEYRING, TOKENS] {
        is_found_out(workload, Disk::IgnoresFolders).await?;
    }
    Ok(())
}
