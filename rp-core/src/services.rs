//! What a process has one of: store, keyring, audit trail, dialer, client of Azure, statsd emitters, registry of
//! metrics. Opened once from the settings, and given to every role of the process.

mod access;
mod azure;
mod dialer;
mod sinks;
mod statsd;
mod stores;

use std::fmt;
use std::sync::{Arc, OnceLock};

use rp_access::{Access, StoreDirectory};
use rp_audit::{Audit, AuditError, AuditOptions, CheckpointKey, Copies};
use rp_audit_copies::Sinks;
use rp_azure::Tenants;
use rp_base::{SharedClock, SharedRandom, SystemClock, SystemRandom};
use rp_config::{Outage, Settings};
use rp_database::{SharedStore, Typed};
use rp_metrics::Registry;
use rp_net::{Budget, Dialer};
use rp_seal::{Keyring, SealError};
use tokio::sync::OnceCell;

pub use azure::Azure;
pub(crate) use azure::credential;
pub use dialer::{networks, own_listeners};
pub use sinks::{SinkFault, SinkOpenError, audit_sinks};
pub use statsd::StatsdEmitters;
pub use stores::{
    AUDIT, StoreOpenError, open_audit_store, open_postgres, open_sqlite, open_store, postgres_options,
    register_metrics,
};

/// What every role stands on. A cheap clone.
#[derive(Debug, Clone)]
pub struct Services {
    pub settings: Arc<Settings>,
    pub keyring: Keyring,
    pub store: SharedStore,
    pub audit: Audit,
    /// Where the audit trail is: a file of its own, or the store.
    pub audit_store: SharedStore,
    pub clock: SharedClock,
    pub random: SharedRandom,
    pub registry: Registry,
    /// The one way to clusters.
    pub dialer: Dialer,
    pub azure: Azure,
    pub statsd: StatsdEmitters,
    lazy: Arc<LazyServices>,
}

/// What only some roles need: made when the first one asks.
#[derive(Default)]
struct LazyServices {
    access: OnceCell<Arc<Access>>,
    directory: OnceCell<Arc<StoreDirectory>>,
    budget: OnceLock<Budget>,
}

impl fmt::Debug for LazyServices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LazyServices").finish_non_exhaustive()
    }
}

/// Why store, keyring or audit trail cannot be opened.
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

impl Services {
    /// Opens everything with the host's clock and randomness.
    ///
    /// # Errors
    /// A part cannot be opened; the message names it. [`OpenError`] for store, keyring and audit trail.
    pub async fn open(settings: &Settings) -> anyhow::Result<Self> {
        let clock: SharedClock = Arc::new(SystemClock);
        let random: SharedRandom = Arc::new(SystemRandom);
        let registry = Registry::new();
        let dialer = dialer::open(settings)?;
        let statsd = StatsdEmitters::open(settings, &clock, &registry)?;
        let store = open_store(settings, &clock).await.map_err(OpenError::from)?;
        register_metrics(&registry, Some(Arc::clone(&store)));
        let keyring = open_keyring(settings, &store, &random).await?;
        let audit_store = open_audit_store(settings, &clock, Some(&store)).await.map_err(OpenError::from)?;
        let audit = start_audit(settings, &audit_store, &clock, &registry).await?;
        let tenants: Arc<dyn Tenants> = Arc::new(azure::StoreTenants(Typed::new(Arc::clone(&store))));
        let azure = Azure::open(settings, &clock, &random, &registry, tenants)?;
        Ok(Self {
            settings: Arc::new(settings.clone()),
            keyring,
            store,
            audit,
            audit_store,
            clock,
            random,
            registry,
            dialer,
            azure,
            statsd,
            lazy: Arc::default(),
        })
    }

    /// Writes what was taken in and closes the stores.
    pub async fn close(&self) {
        if let Some(access) = self.lazy.access.get() {
            access.note_uses().await;
        }
        self.audit.close().await;
        self.store.close().await;
        self.audit_store.close().await;
    }
}

async fn open_keyring(
    settings: &Settings,
    store: &SharedStore,
    random: &SharedRandom,
) -> Result<Keyring, OpenError> {
    let file = &settings.keys.keyring_file;
    if !file.exists() && stores::holds_secrets(store).await? {
        return Err(OpenError::KeyringGone { path: file.display().to_string() });
    }
    Keyring::open_or_create(file, &**random).map_err(OpenError::Keyring)
}

async fn start_audit(
    settings: &Settings,
    store: &SharedStore,
    clock: &SharedClock,
    registry: &Registry,
) -> Result<Audit, OpenError> {
    let key = CheckpointKey::open_or_create(&settings.audit.checkpoint_key_file).map_err(OpenError::Audit)?;
    let key = key.with_known(settings.audit.known_keys.clone());
    let mut options = AuditOptions {
        checkpoint_period: settings.audit.checkpoint_period,
        spool: (settings.store.outage == Outage::Spool).then(|| settings.audit.spool_file.clone()),
        retention: settings.audit.retention,
        registry: registry.clone(),
        ..AuditOptions::new(key)
    };
    let copies: Arc<dyn Copies> = Arc::new(Sinks::start(&audit_sinks(settings)?, store, clock, &options));
    options.copies = Some(Arc::clone(&copies));
    let started = Audit::start(Arc::clone(store), Arc::clone(clock), options).await;
    if started.is_err() {
        // No log will close them; a sink that was claimed and not released keeps the next process waiting.
        copies.close().await;
    }
    started.map_err(OpenError::Audit)
}
