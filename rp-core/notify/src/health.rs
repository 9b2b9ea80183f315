//! Clusters that do not answer and certificates that end soon, out of the stored results of the monitor. What was told is
//! a mark in the store, so that a restart or another process repeats nothing and knows what has ended.

use std::collections::BTreeMap;
use std::time::Duration;

use rp_base::Timestamp;
use rp_database::{Expect, SharedStore, StoreError, Typed};
use rp_documents::{ClusterHealth, NotificationMark, Standing};

use crate::events::{self, ClusterPlace};
use crate::feeds::Recorder;

/// Changes that are read at once.
const CHANGES: u32 = 500;

/// What the last check of a cluster found, as far as it is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Found {
    silent_since: Option<Timestamp>,
    certificate: Option<Timestamp>,
}

/// Follows the health of all clusters.
#[derive(Debug)]
pub(crate) struct HealthWatch {
    health: Typed<ClusterHealth>,
    marks: Typed<NotificationMark>,
    position: i64,
    found: BTreeMap<String, Found>,
    told: BTreeMap<String, NotificationMark>,
    silent_after: Duration,
    certificate_before: Duration,
}

impl HealthWatch {
    /// Reads what was told.
    pub(crate) async fn start(
        store: &SharedStore,
        silent_after: Duration,
        certificate_before: Duration,
    ) -> Result<Self, StoreError> {
        let marks = Typed::<NotificationMark>::new(SharedStore::clone(store));
        let told = marks.all().await?.into_iter().map(|mark| (mark.value.id.clone(), mark.value)).collect();
        Ok(Self {
            health: Typed::new(SharedStore::clone(store)),
            marks,
            position: 0,
            found: BTreeMap::new(),
            told,
            silent_after,
            certificate_before,
        })
    }

    /// Reads what changed and records what is to be told at `now`.
    pub(crate) async fn round(&mut self, recorder: &Recorder, now: Timestamp) -> Result<(), StoreError> {
        self.follow().await?;
        let due: Vec<String> = self.found.keys().filter(|id| self.is_due(id, now)).cloned().collect();
        let gone = self.told.keys().filter(|id| !self.found.contains_key(*id));
        let ids: Vec<String> = due.into_iter().chain(gone.cloned().collect::<Vec<_>>()).collect();
        for id in ids {
            self.tell(recorder, &id, now).await?;
        }
        Ok(())
    }

    async fn follow(&mut self) -> Result<(), StoreError> {
        loop {
            let changes = self.health.changes(self.position, CHANGES).await?;
            for change in changes.items {
                match change.document {
                    Some(document) => {
                        let found = found(&document.value);
                        self.found.insert(change.id, found);
                    }
                    None => drop(self.found.remove(&change.id)),
                }
            }
            self.position = changes.cursor;
            if !changes.more {
                return Ok(());
            }
        }
    }

    /// Whether what is found of a cluster differs from what was told of it.
    fn is_due(&self, id: &str, now: Timestamp) -> bool {
        let found = self.found.get(id).copied().unwrap_or_default();
        match self.told.get(id) {
            None => self.silence(found, now).is_some() || self.ending(found, now).is_some(),
            Some(told) => {
                let silence = match told.silent_since {
                    Some(_) => found.silent_since.is_none(),
                    None => self.silence(found, now).is_some(),
                };
                // A check that found no certificate says nothing of the one that was told.
                let certificate = found.certificate.is_some() && self.ending(found, now) != told.certificate;
                silence || certificate
            }
        }
    }

    fn silence(&self, found: Found, now: Timestamp) -> Option<Timestamp> {
        found.silent_since.filter(|since| now.since(*since) >= self.silent_after)
    }

    fn ending(&self, found: Found, now: Timestamp) -> Option<Timestamp> {
        found.certificate.filter(|end| *end < now + self.certificate_before)
    }

    /// Records the differences of one cluster, then what was told.
    async fn tell(&mut self, recorder: &Recorder, id: &str, now: Timestamp) -> Result<(), StoreError> {
        let told = self.told.get(id).cloned();
        let place = recorder.place_of(id).await?;
        let (Some(found), Some(place)) = (self.found.get(id).copied(), place) else {
            // The cluster is gone, or on its way: there is nothing that would be told of it again.
            return match told {
                Some(_) => {
                    self.keep(NotificationMark { id: id.to_owned(), ..NotificationMark::default() }).await
                }
                None => Ok(()),
            };
        };
        let mut mark =
            told.unwrap_or_else(|| NotificationMark { id: id.to_owned(), ..NotificationMark::default() });
        self.tell_silence(recorder, &mut mark, found, &place, now).await?;
        self.tell_certificate(recorder, &mut mark, found, &place, now).await?;
        self.keep(mark).await
    }

    async fn tell_silence(
        &self,
        recorder: &Recorder,
        mark: &mut NotificationMark,
        found: Found,
        place: &ClusterPlace,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        match (mark.silent_since, found.silent_since) {
            (Some(since), None) => {
                recorder.record(&events::answers(&mark.id, place, since, now)).await?;
                mark.silent_since = None;
            }
            (None, Some(_)) => {
                if let Some(since) = self.silence(found, now) {
                    recorder.record(&events::silent(&mark.id, place, since)).await?;
                    mark.silent_since = Some(since);
                }
            }
            (Some(_), Some(_)) | (None, None) => {}
        }
        Ok(())
    }

    async fn tell_certificate(
        &self,
        recorder: &Recorder,
        mark: &mut NotificationMark,
        found: Found,
        place: &ClusterPlace,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let ending = self.ending(found, now);
        if found.certificate.is_none() || mark.certificate == ending {
            return Ok(());
        }
        if let Some(told) = mark.certificate {
            recorder.record(&events::renewed(&mark.id, place, told, now)).await?;
            mark.certificate = None;
        }
        if let Some(end) = ending {
            recorder.record(&events::expiring(&mark.id, place, end, now)).await?;
            mark.certificate = Some(end);
        }
        Ok(())
    }

    /// Stores a mark; an empty one is removed. One process writes marks: the holder of the lease, and who has just lost
    /// it writes what is as true.
    async fn keep(&mut self, mark: NotificationMark) -> Result<(), StoreError> {
        let id = mark.id.clone();
        if mark.is_empty() {
            match self.marks.delete(&id, Expect::Any).await {
                Ok(()) | Err(StoreError::Gone { .. }) => {}
                Err(error) => return Err(error),
            }
            self.told.remove(&id);
        } else {
            self.marks.put(mark.clone(), Expect::Any).await?;
            self.told.insert(id, mark);
        }
        Ok(())
    }
}

fn found(health: &ClusterHealth) -> Found {
    // Documents of earlier versions do not say since when.
    let silent = health.standing() == Standing::NoAnswer;
    Found {
        silent_since: silent.then(|| health.since.unwrap_or(health.looked_at)),
        certificate: health.certificate_expiry,
    }
}
