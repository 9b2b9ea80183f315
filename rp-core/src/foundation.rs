//! Keyring, store and audit trail: opened once per process, in this order, closed in the other.

use std::sync::Arc;

use rp_audit::{Audit, AuditError, AuditOptions, CheckpointKey};
use rp_base::{SharedClock, SharedRandom, SystemClock, SystemRandom};
use rp_config::Settings;
use rp_database::{SharedStore, SqliteOptions, SqliteStore, StoreError};
use rp_metrics::Registry;
use rp_seal::{Keyring, SealError};

/// What every role stands on.
#[derive(Debug, Clone)]
pub struct Foundation {
    pub keyring: Keyring,
    pub store: SharedStore,
    pub audit: Audit,
    /// The audit trail's own file.
    audit_store: SharedStore,
    pub clock: SharedClock,
    pub random: SharedRandom,
    pub registry: Registry,
}

/// Why a process cannot start.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("the keyring cannot be opened")]
    Keyring(#[source] SealError),
    #[error("the store {path} cannot be opened")]
    Store {
        path: String,
        #[source]
        cause: StoreError,
    },
    #[error("the audit trail cannot be started")]
    Audit(#[source] AuditError),
}

impl Foundation {
    /// Opens everything with the host's clock and randomness.
    ///
    /// # Errors
    /// [`OpenError`] names the part and its cause.
    pub async fn open(settings: &Settings) -> Result<Self, OpenError> {
        let clock: SharedClock = Arc::new(SystemClock);
        let random: SharedRandom = Arc::new(SystemRandom);
        let registry = Registry::new();
        let keyring =
            Keyring::open_or_create(&settings.keys.keyring_file, &*random).map_err(OpenError::Keyring)?;
        let store = open_store(&settings.store.path, &clock).await?;
        let audit_store = open_store(&settings.audit.path, &clock).await?;
        let key =
            CheckpointKey::open_or_create(&settings.audit.checkpoint_key_file).map_err(OpenError::Audit)?;
        let options = AuditOptions {
            checkpoint_period: settings.audit.checkpoint_period,
            registry: registry.clone(),
            ..AuditOptions::new(key)
        };
        let audit = Audit::start(Arc::clone(&audit_store), Arc::clone(&clock), options)
            .await
            .map_err(OpenError::Audit)?;
        Ok(Self { keyring, store, audit, audit_store, clock, random, registry })
    }

    /// Writes what was taken in and closes the files.
    pub async fn close(&self) {
        self.audit.close().await;
        self.store.close().await;
        self.audit_store.close().await;
    }
}

async fn open_store(path: &std::path::Path, clock: &SharedClock) -> Result<SharedStore, OpenError> {
    let store = SqliteStore::open(SqliteOptions::new(path, Arc::clone(clock)))
        .await
        .map_err(|cause| OpenError::Store { path: path.display().to_string(), cause })?;
    Ok(Arc::new(store))
}
