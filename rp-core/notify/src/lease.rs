//! Which process of the fleet reads what happened and sends, and how far it has read.

use std::time::Duration;

use rp_base::Timestamp;
use rp_database::{SharedStore, StoreError, Typed, Versioned};
use rp_documents::{Collection, NotificationCursor, Unknown};

/// How long a process stays the sender without renewing. A store of one process needs no lease.
const LEASE: Duration = Duration::from_secs(10);

/// The hold of this process.
#[derive(Debug)]
pub(crate) struct Hold {
    all: Typed<NotificationCursor>,
    held: Versioned<NotificationCursor>,
}

impl Hold {
    /// Becomes the sender, unless another process is.
    pub(crate) async fn claim(store: &SharedStore, owner: &str) -> Result<Option<Self>, StoreError> {
        let all = Typed::<NotificationCursor>::new(SharedStore::clone(store));
        let now = store.now().await?;
        // One process has the store: the former sender has ended.
        let alone = store.freshness().is_zero();
        let Some(mut held) = all.get(NotificationCursor::ID).await? else {
            let cursor = begin(store, owner, now).await?;
            return Ok(Some(Self { held: all.create(cursor).await?, all }));
        };
        let theirs = &held.value;
        if theirs.owner != owner && !theirs.owner.is_empty() && theirs.until > now && !alone {
            return Ok(None);
        }
        owner.clone_into(&mut held.value.owner);
        fit(store, &mut held.value).await?;
        let mut hold = Self { all, held };
        hold.save().await?;
        Ok(Some(hold))
    }

    pub(crate) const fn cursor(&self) -> &NotificationCursor {
        &self.held.value
    }

    pub(crate) const fn cursor_mut(&mut self) -> &mut NotificationCursor {
        &mut self.held.value
    }

    /// Stores the positions, which also holds on. [`StoreError::Stale`]: another process is the sender.
    pub(crate) async fn save(&mut self) -> Result<(), StoreError> {
        self.held.value.until = self.all.store().now().await? + LEASE;
        self.held = self.all.replace(self.held.clone()).await?;
        Ok(())
    }

    /// Holds on where others could take over.
    pub(crate) async fn renew(&mut self) -> Result<(), StoreError> {
        let store = self.all.store();
        if !store.freshness().is_zero() && self.held.value.until < store.now().await? + LEASE / 2 {
            self.save().await?;
        }
        Ok(())
    }

    /// Lets another process take over at once.
    pub(crate) async fn release(mut self) -> Result<(), StoreError> {
        self.held.value.owner.clear();
        self.save().await
    }
}

/// The first sender: what happened before it is not told.
async fn begin(store: &SharedStore, owner: &str, now: Timestamp) -> Result<NotificationCursor, StoreError> {
    Ok(NotificationCursor {
        id: NotificationCursor::ID.to_owned(),
        owner: owner.to_owned(),
        until: now + LEASE,
        begun: now,
        elevations: store.head(Collection::Elevations).await?,
        operations: store.head(Collection::OperationLogs).await?,
        manifests: store.head(Collection::MaintenanceManifests).await?,
        schedules: store.head(Collection::MaintenanceSchedules).await?,
        unknown: Unknown::new(),
    })
}

/// A store that was restored or copied has other positions: those beyond its end begin again. What was told is recorded,
/// and what is old is left out.
async fn fit(store: &SharedStore, cursor: &mut NotificationCursor) -> Result<(), StoreError> {
    for (of, position) in [
        (Collection::Elevations, &mut cursor.elevations),
        (Collection::OperationLogs, &mut cursor.operations),
        (Collection::MaintenanceManifests, &mut cursor.manifests),
        (Collection::MaintenanceSchedules, &mut cursor.schedules),
    ] {
        if store.head(of).await? < *position {
            *position = 0;
        }
    }
    Ok(())
}
