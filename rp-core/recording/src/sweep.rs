//! Retention: recordings older than the retention time are removed, chunks first; an audit entry about each stays.
//! What its writer left without an end is given one.

use std::time::Duration;

use rp_base::{Id, chain};
use rp_database::{Expect, Span, StoreError, Versioned};
use rp_documents::{Actor, Entry, Phase, Recording};

use crate::recordings::RecordingStore;
use crate::{ReadError, Recordings};

const PAGE: u32 = 500;

impl Recordings {
    /// Removes what is over, now; gives how many. What broke off gets its end. What cannot be done is logged and left
    /// for the next time.
    ///
    /// # Errors
    /// The store's.
    pub async fn sweep(&self) -> Result<usize, ReadError> {
        let Ok(home) = self.home() else { return Ok(0) };
        let (mut removed, mut after) = (0, None);
        loop {
            let page = home.documents.scan(Span::All, after.as_deref(), PAGE).await?;
            for found in page.items {
                if found.value.keep_until > home.clock.now() {
                    home.conclude(found).await;
                    continue;
                }
                match home.remove(&found).await {
                    Ok(gone) => removed += usize::from(gone),
                    Err(error) => {
                        tracing::warn!(recording = %found.value.id, error = %chain(&error), "a recording could not be removed");
                    }
                }
            }
            after = page.next;
            if after.is_none() {
                return Ok(removed);
            }
        }
    }

    /// Sweeps now and again and again; never ends.
    pub async fn sweep_every(&self, period: Duration) {
        loop {
            if let Err(error) = self.sweep().await {
                tracing::warn!(error = %chain(&error), "recordings could not be swept");
            }
            tokio::time::sleep(period).await;
        }
    }
}

impl RecordingStore {
    /// Whether it was us who removed it.
    async fn remove(&self, found: &Versioned<Recording>) -> Result<bool, ReadError> {
        let recording = &found.value;
        self.storage.remove(&recording.id).await?;
        // The key goes with the document: copies of the chunks open no more.
        match self.documents.delete(recording.id.as_str(), Expect::Version(found.version)).await {
            Ok(()) => {}
            Err(StoreError::Gone { .. } | StoreError::Stale { .. }) => return Ok(false),
            Err(error) => return Err(error.into()),
        }
        self.metrics.removed.inc();
        let (now, request) = (self.clock.now(), Id::random(&*self.random));
        let actor = Actor { name: "retention".to_owned(), ..Actor::default() };
        let mut entry = Entry::new(now, Phase::Single, request, actor, "recording.remove");
        entry.grant = Some(recording.grant.clone());
        entry.target = Some(recording.target.clone());
        entry.resource = "recordings".to_owned();
        entry.name = recording.id.to_string();
        entry.query = format!(
            "owner={}&started={}&chunks={}&head={}",
            recording.owner.name, recording.started, recording.chunks, recording.head
        );
        if let Err(error) = self.audit.queue(entry).await {
            tracing::error!(recording = %recording.id, error = %chain(&error), "the removal of a recording could not be audited");
        }
        Ok(true)
    }
}
