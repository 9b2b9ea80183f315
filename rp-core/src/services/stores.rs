//! The store and the place of the audit trail, by the settings.

use std::path::Path;
use std::sync::Arc;

use rp_base::SharedClock;
use rp_config::{Postgres, SecretFileError, Settings, StoreKind};
use rp_database::{PostgresOptions, PostgresStore, SharedStore, SqliteOptions, SqliteStore, StoreError};
use rp_documents::Collection;
use rp_metrics::{Kind, Registry, Spec};

/// What belongs to the audit trail: with SQLite in a file of its own.
pub const AUDIT: [Collection; 5] = [
    Collection::AuditBatches,
    Collection::Checkpoints,
    Collection::AuditTombstones,
    Collection::AuditIndex,
    Collection::AuditSinks,
];

/// Why a store cannot be opened. No password is in it.
#[derive(Debug, thiserror::Error)]
pub enum StoreOpenError {
    #[error("the store {place} cannot be opened")]
    Open {
        /// A file, or hosts and database.
        place: String,
        #[source]
        cause: StoreError,
    },
    #[error("[store]")]
    Secret(#[from] SecretFileError),
    #[error("[store] cannot read {path}")]
    Read {
        path: String,
        #[source]
        cause: std::io::Error,
    },
    #[error("[store] url")]
    Url(#[source] StoreError),
}

/// Registers what is counted of the store; without one for the generated reference.
pub fn register_metrics(registry: &Registry, store: Option<SharedStore>) {
    let help =
        "Age of what is certainly seen of the store: 0 with SQLite, below 1 with a PostgreSQL that answers.";
    let age = move || store.as_ref().map(|store| store.freshness().as_secs_f64());
    registry.callback(Kind::Gauge, Spec { name: "aro_store_age_seconds", help, buckets: &[] }, age);
}

/// Opens the store of documents.
///
/// # Errors
/// [`StoreOpenError`] names the place.
pub async fn open_store(settings: &Settings, clock: &SharedClock) -> Result<SharedStore, StoreOpenError> {
    match &settings.store.kind {
        StoreKind::Sqlite => open_sqlite(&settings.store.path, clock).await,
        StoreKind::Postgres(postgres) => open_postgres(&postgres_options(postgres)?).await,
    }
}

/// Opens the place of the audit trail: a SQLite file, or the store of documents, which is opened when it is not given.
///
/// # Errors
/// [`StoreOpenError`] names the place.
pub async fn open_audit_store(
    settings: &Settings,
    clock: &SharedClock,
    documents: Option<&SharedStore>,
) -> Result<SharedStore, StoreOpenError> {
    match (&settings.audit.path, documents) {
        (Some(path), _) => open_sqlite(path, clock).await,
        (None, Some(store)) => Ok(Arc::clone(store)),
        (None, None) => open_store(settings, clock).await,
    }
}

/// Opens a SQLite file, made when there is none.
///
/// # Errors
/// [`StoreOpenError::Open`]; another process may hold it.
pub async fn open_sqlite(path: &Path, clock: &SharedClock) -> Result<SharedStore, StoreOpenError> {
    let store = SqliteStore::open(SqliteOptions::new(path, Arc::clone(clock)))
        .await
        .map_err(|cause| StoreOpenError::Open { place: path.display().to_string(), cause })?;
    Ok(Arc::new(store))
}

/// Opens a PostgreSQL database, whose schema is brought up.
///
/// # Errors
/// [`StoreOpenError::Open`].
pub async fn open_postgres(options: &PostgresOptions) -> Result<SharedStore, StoreOpenError> {
    let store = Box::pin(PostgresStore::connect(options.clone()))
        .await
        .map_err(|cause| StoreOpenError::Open { place: options.place(), cause })?;
    Ok(Arc::new(store))
}

/// How PostgreSQL is reached; reads the files that the settings name.
///
/// # Errors
/// A file cannot be read, or the URL is none.
pub fn postgres_options(postgres: &Postgres) -> Result<PostgresOptions, StoreOpenError> {
    let mut options = match &postgres.url_file {
        Some(file) => PostgresOptions::from_url(file.read()?.expose()),
        None => PostgresOptions::from_url(postgres.url.as_deref().unwrap_or_default()),
    }
    .map_err(StoreOpenError::Url)?;
    if let Some(file) = &postgres.password_file {
        options = options.with_password(&file.read()?);
    }
    if let Some(path) = &postgres.ca_file {
        options = options.with_roots(&read(path)?);
    }
    if let (Some(certificate), Some(key)) = (&postgres.client_cert_file, &postgres.client_key_file) {
        options = options.with_client(&read(certificate)?, &key.read()?);
    }
    options.max_connections = postgres.connections;
    Ok(options)
}

fn read(path: &Path) -> Result<String, StoreOpenError> {
    std::fs::read_to_string(path)
        .map_err(|cause| StoreOpenError::Read { path: path.display().to_string(), cause })
}

/// Whether there are documents that the keyring may have sealed; the audit trail seals nothing.
pub(crate) async fn holds_secrets(store: &SharedStore) -> Result<bool, StoreOpenError> {
    for collection in Collection::ALL {
        if AUDIT.contains(&collection) {
            continue;
        }
        let page = store
            .list(collection, None, None, 1)
            .await
            .map_err(|cause| StoreOpenError::Open { place: "of documents".to_owned(), cause })?;
        if !page.items.is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}
