//! Store, keyring and audit trail: opened once per process, in this order, closed in the other.

use std::sync::Arc;

use rp_audit::{Audit, AuditError, AuditOptions, CheckpointKey};
use rp_base::{SharedClock, SharedRandom, SystemClock, SystemRandom};
use rp_config::{Outage, Settings};
use rp_database::SharedStore;
use rp_metrics::Registry;
use rp_seal::{Keyring, SealError};

use crate::sinks::{SinkOpenError, audit_sinks};
use crate::stores::{StoreOpenError, holds_secrets, open_audit_store, open_store, register_metrics};

/// What every role stands on.
#[derive(Debug, Clone)]
pub struct Foundation {
    pub keyring: Keyring,
    pub store: SharedStore,
    pub audit: Audit,
    /// Where the audit trail is: a file of its own, or the store.
    pub audit_store: SharedStore,
    pub clock: SharedClock,
    pub random: SharedRandom,
    pub registry: Registry,
}

/// Why a process cannot start.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("the keyring cannot be opened")]
    Keyring(#[source] SealError),
    /// A new one would open nothing of what is there.
    #[error(
        "the keyring {path} is not there, but the store holds documents that were sealed with it: bring it back"
    )]
    KeyringGone { path: String },
    #[error(transparent)]
    Store(#[from] StoreOpenError),
    #[error(transparent)]
    Sink(#[from] SinkOpenError),
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
        let store = open_store(settings, &clock).await?;
        register_metrics(&registry, Some(Arc::clone(&store)));
        let file = &settings.keys.keyring_file;
        if !file.exists() && holds_secrets(&store).await? {
            return Err(OpenError::KeyringGone { path: file.display().to_string() });
        }
        let keyring = Keyring::open_or_create(file, &*random).map_err(OpenError::Keyring)?;
        let audit_store = open_audit_store(settings, &clock, Some(&store)).await?;
        let key =
            CheckpointKey::open_or_create(&settings.audit.checkpoint_key_file).map_err(OpenError::Audit)?;
        let key = key.with_known(settings.audit.known_keys.clone());
        let options = AuditOptions {
            checkpoint_period: settings.audit.checkpoint_period,
            spool: (settings.store.outage == Outage::Spool).then(|| settings.audit.spool_file.clone()),
            sinks: audit_sinks(settings)?,
            retention: settings.audit.retention,
            registry: registry.clone(),
            ..AuditOptions::new(key)
        };
        let audit = Audit::start(Arc::clone(&audit_store), Arc::clone(&clock), options)
            .await
            .map_err(OpenError::Audit)?;
        Ok(Self { keyring, store, audit, audit_store, clock, random, registry })
    }

    /// Writes what was taken in and closes the stores.
    pub async fn close(&self) {
        self.audit.close().await;
        self.store.close().await;
        self.audit_store.close().await;
    }
}
