//! Writes the results of a look to the store: the cluster's health and what the API shows of it, both only when they
//! change, by version (`contract/rules.md` §3.5, §5.14). A cluster's own document is only checked for
//! existence.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use aws_lc_rs::hmac;
use parking_lot::Mutex;
use rp_base::{Digest, Secret, Timestamp, chain, sha256};
use rp_database::{Expect, SharedStore, StoreError, Typed, Version, Versioned};
use rp_documents::mirror::MirroredPrincipal;
use rp_documents::{ClusterHealth, ClusterMirror, Collection, Document, ResourceId};
use rp_net::Source;
use rp_seal::{Keyring, SealError};
use tokio::time::Instant;

use crate::cluster_objects::ClusterObjects;
use crate::health::health;
use crate::mirror::{MirrorDraft, PrincipalDraft, draft};
use crate::runner::CollectorOutcome;
use crate::view::ClusterView;

/// Attempts of a write: writers may conflict when a bucket moves.
const TRIES: u32 = 3;
/// Lifetime of a cached document: while a bucket moves, the process that lost it may write last.
const FRESH: Duration = Duration::from_secs(300);
/// Purpose of the digest of a mirrored secret.
const PURPOSE: &str = "cluster-mirror-digest";

/// Writes what changed.
#[derive(Debug)]
pub struct Records {
    health: Typed<ClusterHealth>,
    mirrors: Typed<ClusterMirror>,
    keyring: Keyring,
    kept: Mutex<HashMap<ResourceId, CachedRecords>>,
}

/// The stored documents of one cluster, as far as this process knows.
#[derive(Debug, Default)]
struct CachedRecords {
    health: Option<CachedDocument<ClusterHealth>>,
    mirror: Option<CachedDocument<ClusterMirror>>,
}

/// A document that was read or written, without the members that every look replaces.
#[derive(Debug, Clone)]
struct CachedDocument<T> {
    /// `None`: there is none.
    stored: Option<(Arc<T>, Version)>,
    digest: Digest,
    /// When it was read or written.
    at: Instant,
}

/// Why nothing was written.
#[derive(Debug, thiserror::Error)]
enum RecordError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the service principal's secret cannot be sealed")]
    Seal(#[from] SealError),
    #[error("it cannot be written as JSON")]
    Json(#[from] serde_json::Error),
    #[error("others wrote it all the time")]
    Busy,
}

impl Records {
    /// Writes to this store.
    pub fn new(store: &SharedStore, keyring: Keyring) -> Self {
        Self {
            health: Typed::new(Arc::clone(store)),
            mirrors: Typed::new(Arc::clone(store)),
            keyring,
            kept: Mutex::default(),
        }
    }

    /// Writes health, and with `mirror` what the API shows, where they changed. A failed write is logged; the
    /// next look tries again.
    pub async fn write(
        &self,
        view: &ClusterView,
        seen: &ClusterObjects,
        outcomes: &[CollectorOutcome],
        took: Duration,
        mirror: bool,
    ) {
        if let Err(error) = self.write_health(view, seen, outcomes, took).await {
            tracing::error!(resource_id = %view.id, error = %chain(&error), "the health could not be stored");
        }
        if mirror && let Err(error) = self.write_mirror(view, seen).await {
            tracing::error!(resource_id = %view.id, error = %chain(&error), "the mirror could not be stored");
        }
    }

    /// The cluster left: drops its cached documents.
    pub fn forget(&self, id: &ResourceId) {
        self.kept.lock().remove(id);
    }

    async fn write_health(
        &self,
        view: &ClusterView,
        seen: &ClusterObjects,
        outcomes: &[CollectorOutcome],
        took: Duration,
    ) -> Result<(), RecordError> {
        let fresh = |known: &CachedDocument<_>| known.at.elapsed() < FRESH;
        let mut known = self.kept.lock().get(&view.id).and_then(|kept| kept.health.clone()).filter(fresh);
        for _ in 0..TRIES {
            let before = match known.take() {
                Some(known) => known,
                None => read(&self.health, &view.document, health_digest).await?,
            };
            let previous = before.stored.as_ref().map(|(health, _)| &**health);
            let now = health(seen, outcomes, took, previous);
            let digest = health_digest(&now)?;
            if before.stored.is_none() || digest != before.digest {
                if !self.document_exists(view).await? {
                    self.forget(&view.id);
                    return Ok(());
                }
                let version = before.stored.map(|(_, version)| version);
                let Some(version) = put(&self.health, now.clone(), version).await? else { continue };
                if !self.document_exists(view).await? {
                    // The cluster was deleted while we wrote: its documents must be removed.
                    return Ok(self.health.delete(&now.id, Expect::Version(version)).await?);
                }
                let known = CachedDocument {
                    stored: Some((stripped(Arc::new(now)), version)),
                    digest,
                    at: Instant::now(),
                };
                self.kept.lock().entry(view.id.clone()).or_default().health = Some(known);
            } else {
                // The collectors of every look are its own.
                let stored = before.stored.map(|(health, version)| (stripped(health), version));
                let known = CachedDocument { stored, ..before };
                self.kept.lock().entry(view.id.clone()).or_default().health = Some(known);
            }
            return Ok(());
        }
        self.forget(&view.id);
        Err(RecordError::Busy)
    }

    async fn write_mirror(&self, view: &ClusterView, seen: &ClusterObjects) -> Result<(), RecordError> {
        // Only clusters of ours are shown by the API.
        if view.source == Source::Imported {
            return Ok(());
        }
        let fresh = |known: &CachedDocument<_>| known.at.elapsed() < FRESH;
        let mut known = self.kept.lock().get(&view.id).and_then(|kept| kept.mirror.clone()).filter(fresh);
        for _ in 0..TRIES {
            let before = match known.take() {
                Some(known) => known,
                None => read(&self.mirrors, &view.document, mirror_digest).await?,
            };
            let previous = before.stored.as_ref().map(|(mirror, _)| &**mirror);
            let now = self.merged(view, draft(seen), previous)?;
            let digest = mirror_digest(&now)?;
            let known = if before.stored.is_none() || digest != before.digest {
                if !self.document_exists(view).await? {
                    self.forget(&view.id);
                    return Ok(());
                }
                let version = before.stored.map(|(_, version)| version);
                let Some(version) = put(&self.mirrors, now.clone(), version).await? else { continue };
                if !self.document_exists(view).await? {
                    return Ok(self.mirrors.delete(&now.id, Expect::Version(version)).await?);
                }
                CachedDocument { stored: Some((Arc::new(now), version)), digest, at: Instant::now() }
            } else {
                before
            };
            self.kept.lock().entry(view.id.clone()).or_default().mirror = Some(known);
            return Ok(());
        }
        self.forget(&view.id);
        Err(RecordError::Busy)
    }

    /// Merges what was read into what is stored; an unchanged secret keeps its sealed form.
    fn merged(
        &self,
        view: &ClusterView,
        draft: MirrorDraft,
        previous: Option<&ClusterMirror>,
    ) -> Result<ClusterMirror, SealError> {
        let mut mirror = previous.cloned().unwrap_or_default();
        mirror.id.clone_from(&view.document);
        mirror.version = draft.version.or(mirror.version);
        mirror.ingress_profiles = draft.ingress_profiles.or(mirror.ingress_profiles);
        mirror.worker_profiles = draft.worker_profiles.or(mirror.worker_profiles);
        match draft.principal {
            PrincipalDraft::Unseen => {}
            PrincipalDraft::None => mirror.service_principal = None,
            PrincipalDraft::Some { client_id, client_secret } => {
                let same = mirror.service_principal.take().filter(|principal| {
                    principal.client_id == client_id && self.is_same(&client_secret, &principal.digest)
                });
                mirror.service_principal = Some(match same {
                    Some(same) => same,
                    None => self.principal(&view.document, client_id, &client_secret)?,
                });
            }
        }
        Ok(mirror)
    }

    fn principal(
        &self,
        document: &str,
        client_id: String,
        secret: &Secret<String>,
    ) -> Result<MirroredPrincipal, SealError> {
        let place = format!("{}/{document}/clientSecret", Collection::ClusterMirror.name());
        let digest = self.digests(secret).next().unwrap_or_default();
        let client_secret = self.keyring.seal(secret.expose().as_bytes(), &place)?;
        Ok(MirroredPrincipal { client_id, client_secret, digest })
    }

    fn is_same(&self, secret: &Secret<String>, digest: &str) -> bool {
        self.digests(secret).any(|one| one == digest)
    }

    /// Under every key of the keyring, the current one first.
    fn digests(&self, secret: &Secret<String>) -> impl Iterator<Item = String> {
        let keys = self.keyring.derive(PURPOSE);
        let secret = secret.expose().clone();
        keys.into_iter().map(move |key| {
            let mac = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key.bytes.expose()), secret.as_bytes());
            let mut text = format!("{}:", key.key_id);
            for byte in mac.as_ref() {
                // Writing to a `String` does not fail.
                let _ = write!(text, "{byte:02x}");
            }
            text
        })
    }

    /// Whether the cluster's document is still there.
    async fn document_exists(&self, view: &ClusterView) -> Result<bool, StoreError> {
        let collection = match view.source {
            Source::Aro => Collection::OpenShiftClusters,
            Source::Imported => Collection::ImportedClusters,
        };
        Ok(self.health.store().get(collection, &view.document).await?.is_some())
    }
}

/// Without what is only compared by its digest. Where the API server's health was not asked for, `standing` depends on the
/// collectors: they stay.
fn stripped(health: Arc<ClusterHealth>) -> Arc<ClusterHealth> {
    if health.collectors.is_empty() || health.healthz.is_none() {
        return health;
    }
    Arc::new(ClusterHealth { collectors: Vec::new(), ..Arc::unwrap_or_clone(health) })
}

async fn read<T: Document>(
    typed: &Typed<T>,
    id: &str,
    digest: fn(&T) -> Result<Digest, serde_json::Error>,
) -> Result<CachedDocument<T>, RecordError> {
    Ok(match typed.get(id).await? {
        Some(found) => {
            let digest = digest(&found.value)?;
            CachedDocument {
                stored: Some((Arc::new(found.value), found.version)),
                digest,
                at: Instant::now(),
            }
        }
        None => CachedDocument { stored: None, digest: Digest([0; 32]), at: Instant::now() },
    })
}

/// Creates or replaces; `None`: conflict with another writer.
async fn put<T: Document>(
    typed: &Typed<T>,
    value: T,
    version: Option<Version>,
) -> Result<Option<Version>, StoreError> {
    let written = match version {
        Some(version) => typed.replace(Versioned { value, version, expires_at: None }).await,
        None => typed.create(value).await,
    };
    match written {
        Ok(written) => Ok(Some(written.version)),
        Err(StoreError::Stale { .. } | StoreError::Gone { .. } | StoreError::Exists { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Digest of everything except instants and durations, which change with each look and are stored elsewhere.
fn health_digest(health: &ClusterHealth) -> Result<Digest, serde_json::Error> {
    let mut plain = health.clone();
    plain.looked_at = Timestamp::default();
    plain.took_ms = 0;
    for collector in &mut plain.collectors {
        collector.took_ms = collector.took_ms.map(|_| 0);
    }
    serde_json::to_vec(&plain).map(|text| sha256(&text))
}

fn mirror_digest(mirror: &ClusterMirror) -> Result<Digest, serde_json::Error> {
    serde_json::to_vec(mirror).map(|text| sha256(&text))
}
