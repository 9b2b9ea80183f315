//! Removal of what investigations leave: their own objects at their end, and those of processes that ended before theirs.

use std::time::Duration;

use futures_util::future::join_all;
use rp_base::{Timestamp, chain};
use serde_json::Value;

use super::management::Management;
use super::objects::ObjectKind;
use crate::error::ManagementError;

/// Between two tries of a deletion.
const PAUSE: Duration = Duration::from_secs(1);

/// The objects of one investigation. They are deleted when this is dropped, in a task of its own.
pub(super) struct Cleanup {
    api: Management,
    created: Vec<(ObjectKind, String)>,
    within: Duration,
}

impl Cleanup {
    /// Of nothing yet. `within`: time limit of the deletion.
    pub(super) fn new(api: Management, within: Duration) -> Self {
        Self { api, created: Vec::new(), within }
    }

    /// Creates an object that is deleted in any case, also when the answer to its creation is lost.
    pub(super) async fn create(
        &mut self,
        kind: ObjectKind,
        name: String,
        object: &Value,
    ) -> Result<(), ManagementError> {
        self.created.push((kind, name));
        let created = self.api.create(kind, object).await;
        if created.as_ref().is_err_and(ManagementError::is_taken) {
            // It belongs to another investigation.
            self.created.pop();
        }
        created
    }

    /// Deletes all of them and waits for the answers. It goes on when nobody waits any more.
    pub(super) async fn run(mut self) -> Result<(), ManagementError> {
        let created = std::mem::take(&mut self.created);
        let removal = tokio::spawn(remove(self.api.clone(), created, self.within));
        removal.await.unwrap_or(Err(ManagementError::Unreadable))
    }
}

impl Drop for Cleanup {
    fn drop(&mut self) {
        let created = std::mem::take(&mut self.created);
        // Without a runtime the process ends; what stays expires.
        if let (false, Ok(runtime)) = (created.is_empty(), tokio::runtime::Handle::try_current()) {
            let (api, within) = (self.api.clone(), self.within);
            runtime.spawn(async move {
                if let Err(error) = remove(api, created, within).await {
                    tracing::error!(error = %chain(&error), "objects of an investigation stay until they expire");
                }
            });
        }
    }
}

/// Deletes objects, each as often as it takes.
async fn remove(
    api: Management,
    mut names: Vec<(ObjectKind, String)>,
    within: Duration,
) -> Result<(), ManagementError> {
    let end = tokio::time::Instant::now() + within;
    loop {
        let tries = names.iter().map(|(kind, name)| api.delete(*kind, name));
        let done = tokio::time::timeout_at(end, join_all(tries)).await;
        let done = done.map_err(|_| ManagementError::TimedOut(within))?;
        let mut last = None;
        let all = names.into_iter().zip(done);
        names = all
            .filter_map(|(name, done)| {
                last = Some(done.err()?);
                Some(name)
            })
            .collect();
        match last {
            None => return Ok(()),
            Some(error) if tokio::time::Instant::now() + PAUSE >= end => return Err(error),
            Some(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}

/// Deletes what expired before that instant: objects of processes that did not live to delete them.
pub(super) async fn remove_expired(api: Management, now: Timestamp, within: Duration) {
    match tokio::time::timeout(within, expired(&api, now)).await {
        Ok(Ok(0)) => {}
        Ok(Ok(count)) => tracing::warn!(count, "expired objects of investigations were deleted"),
        Ok(Err(error)) => {
            tracing::warn!(error = %chain(&error), "expired objects of investigations may be left");
        }
        Err(_) => tracing::warn!("expired objects of investigations may be left: no answer in time"),
    }
}

async fn expired(api: &Management, now: Timestamp) -> Result<usize, ManagementError> {
    let mut count = 0;
    // Pods first: they use the others.
    for kind in ObjectKind::ALL.into_iter().rev() {
        for name in api.expired(kind, now).await? {
            api.delete(kind, &name).await?;
            count += 1;
        }
    }
    Ok(count)
}
