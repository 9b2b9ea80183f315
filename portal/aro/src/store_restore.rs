//! `aro store restore`: a backup in the place of the store. What was revoked after the backup must not live again, so
//! nobody keeps access over it.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context as _, bail, ensure};
use clap::Args;
use rp_audit::{Audit, AuditOptions, CheckpointKey};
use rp_base::{Id, SharedClock, SystemClock, SystemRandom, Timestamp};
use rp_config::{Settings, StoreKind};
use rp_core::services::{open_audit_store, open_sqlite};
use rp_database::{Expect, SharedStore, SqliteStore, StoreError, Typed, update};
use rp_documents::grant::GrantState;
use rp_documents::{Actor, Collection, Elevation, Entry, Grant, Phase, Revocation};

use crate::config_args::ConfigArgs;
use crate::output::print_line;

const BY: &str = "restore";
const WHY: &str = "the store was restored from a backup";

#[derive(Debug, Args)]
pub struct RestoreArgs {
    /// What `aro store backup` wrote
    pub file: PathBuf,
    /// Also the audit trail, from this file; without it the trail stays as it is, which is right unless it is lost
    #[arg(long, value_name = "FILE")]
    pub audit: Option<PathBuf>,
    /// Leave sessions, grants and elevations of the backup as they are: what was ended since lives again
    #[arg(long)]
    pub keep_access: bool,
    #[command(flatten)]
    pub config: ConfigArgs,
}

/// Restores and says what.
///
/// # Errors
/// A process uses the store, the backup is no good, or a file cannot be written.
pub async fn run(args: &RestoreArgs, settings: &Settings) -> anyhow::Result<()> {
    if matches!(settings.store.kind, StoreKind::Postgres(_)) {
        bail!(
            "PostgreSQL is restored by its own tools; or restore a backup into SQLite, and copy: aro store copy"
        );
    }
    let clock: SharedClock = Arc::new(SystemClock);
    let restored = async |backup: &PathBuf, path: &PathBuf| -> anyhow::Result<()> {
        let aside = SqliteStore::restore(backup, path).await.with_context(|| path.display().to_string())?;
        let before = aside.map_or_else(String::new, |aside| format!("; before: {}", aside.display()));
        // Output that cannot be written must not leave the access of the backup open.
        let _ = print_line(&format!("{} restored{before}", path.display()));
        Ok(())
    };
    if let Some(backup) = &args.audit {
        let path = settings.audit.path.as_ref().context("audit.path is not set")?;
        ensure!(*path != settings.store.path, "audit.path is store.path");
        restored(backup, path).await?;
    }
    restored(&args.file, &settings.store.path).await?;
    let store = open_sqlite(&settings.store.path, &clock).await?;
    let outcome = async {
        let ended = if args.keep_access { None } else { Some(end_access(&store, clock.now()).await?) };
        write_restore_entry(args, settings, &store, &clock).await?;
        if let Some(ended) = ended {
            print_line(&format!("{ended} sessions, grants and elevations of the backup have ended"))?;
        }
        Ok::<_, anyhow::Error>(())
    };
    let outcome = outcome.await;
    store.close().await;
    outcome
}

/// Deletes sessions and ends grants and elevations.
async fn end_access(store: &SharedStore, now: Timestamp) -> Result<u64, StoreError> {
    let mut ended = 0;
    for collection in [Collection::Sessions, Collection::LoginCodes] {
        loop {
            let page = store.list(collection, None, None, 1000).await?;
            if page.items.is_empty() {
                break;
            }
            for document in page.items {
                // No other process writes: the store is offline.
                store.delete(collection, &document.id, Expect::Any).await?;
                ended += 1;
            }
        }
    }
    let revocation = Revocation { at: now, by: BY.to_owned(), why: Some(WHY.to_owned()) };
    let grants = Typed::<Grant>::new(Arc::clone(store));
    for grant in grants.all().await? {
        if grant.value.state(now) == GrantState::Active {
            let end = |grant: &mut Grant| grant.revoked = Some(revocation.clone());
            update(&grants, grant.value.id.as_str(), end).await?;
            ended += 1;
        }
    }
    let elevations = Typed::<Elevation>::new(Arc::clone(store));
    for elevation in elevations.all().await? {
        if elevation.value.ended.is_none() {
            let end = |elevation: &mut Elevation| elevation.ended = Some(revocation.clone());
            update(&elevations, elevation.value.id.as_str(), end).await?;
            ended += 1;
        }
    }
    Ok(ended)
}

/// Writes an audit entry that the store was restored.
async fn write_restore_entry(
    args: &RestoreArgs,
    settings: &Settings,
    store: &SharedStore,
    clock: &SharedClock,
) -> anyhow::Result<()> {
    let audit_store = open_audit_store(settings, clock, Some(store)).await?;
    let key = CheckpointKey::open_or_create(&settings.audit.checkpoint_key_file)?;
    let audit = Audit::start(Arc::clone(&audit_store), Arc::clone(clock), AuditOptions::new(key)).await?;
    let actor = Actor { name: "operator".to_owned(), from: "this machine".to_owned(), ..Actor::default() };
    let mut entry = Entry::new(clock.now(), Phase::Single, Id::random(&SystemRandom), actor, "store.restore");
    entry.query = args.file.display().to_string();
    let noted = audit.promise(entry).await;
    audit.close().await;
    audit_store.close().await;
    noted.map(drop).context("restored, but the audit trail cannot be written")
}
