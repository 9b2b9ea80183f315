//! `[recording]` into recordings: one for a process, given to everything that holds sessions.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use rp_azure::{BlobAccess, BlobStore};
use rp_config::{BlobCredential, RecordingStorage, Settings};
use rp_core::Services;
use rp_recording::{DiskStorage, Options, RecordingParts, Recordings, SharedStorage};
use rp_recording_blobs::BlobStorage;
use rp_runtime::Lifecycle;

/// From one look at what is to be removed to the next.
const SWEEP_EVERY: Duration = Duration::from_secs(3600);

/// Longest that the end of a process waits for recordings to stand.
pub(crate) const CLOSE_WITHIN: Duration = Duration::from_secs(5);

/// Recordings as the settings say; what is over is removed while the process lives.
///
/// # Errors
/// The place cannot be used.
pub(crate) async fn recordings(services: &Services, life: &Lifecycle) -> anyhow::Result<Recordings> {
    let settings = &services.settings;
    let told = &settings.recording;
    let Some(home) = &told.home else { return Ok(Recordings::off()) };
    let recordings = Recordings::new(RecordingParts {
        store: Arc::clone(&services.store),
        keyring: services.keyring.clone(),
        audit: services.audit.clone(),
        clock: Arc::clone(&services.clock),
        random: Arc::clone(&services.random),
        storage: storage(services, home).await.context("[recording]")?,
        registry: services.registry.clone(),
        options: Options { rules: told.rules.clone(), pages: pages(settings) },
    });
    let (swept, stopping) = (recordings.clone(), life.stopping());
    tokio::spawn(async move {
        tokio::select! {
            () = swept.sweep_every(SWEEP_EVERY) => {}
            () = stopping.cancelled() => {}
        }
    });
    Ok(recordings)
}

/// The portal's address; what else answers there has no pages.
fn pages(settings: &Settings) -> Option<String> {
    settings.portal.url.as_ref().map(|url| url.origin().ascii_serialization())
}

async fn storage(services: &Services, home: &RecordingStorage) -> anyhow::Result<SharedStorage> {
    let (url, container, access) = match home {
        RecordingStorage::Folder(folder) => return Ok(Arc::new(DiskStorage::open(folder)?)),
        RecordingStorage::Blobs { url, container, access } => (url, container, access),
    };
    let blobs = match access {
        BlobCredential::Sas(file) => {
            let client = services.azure.without_identity()?.in_tenant("none");
            let sas = file.read()?;
            let sas = rp_base::Secret::new(sas.expose().trim().to_owned());
            BlobStore::new(client, url.clone(), BlobAccess::Sas(sas))
        }
        BlobCredential::Identity { tenant } => {
            let arm = services.azure.client();
            let arm = arm.ok_or_else(|| anyhow!("azure.credential is needed to write blobs"))?;
            BlobStore::new(arm.in_tenant(tenant), url.clone(), BlobAccess::Token)
        }
    };
    // A portal comes up without its blob storage: what must be recorded is refused until it is there.
    let home = BlobStorage::new(blobs.clone(), container);
    match tokio::time::timeout(Duration::from_secs(20), BlobStorage::open(blobs, container)).await {
        Ok(Ok(_)) => {}
        Ok(Err(error)) => {
            tracing::warn!(error = %rp_base::chain(&error), "the container of recordings cannot be made");
        }
        Err(_) => tracing::warn!("the blob storage of recordings does not answer"),
    }
    Ok(Arc::new(home))
}
