//! Our store as the session layer knows it.

use async_trait::async_trait;
use rp_database::{Expect, StoreError};
use rp_documents::Collection;
use tower_sessions::SessionStore;
use tower_sessions::session::{Id, Record};
use tower_sessions::session_store::Result as StoreResult;

use super::Sessions;
use super::records::{backend, draft, stored_id};

#[async_trait]
impl SessionStore for Sessions {
    async fn create(&self, record: &mut Record) -> StoreResult<()> {
        loop {
            let sealed = self.0.seal(record)?;
            match self.0.store.create(Collection::Sessions, draft(&sealed)?).await {
                Ok(_) => return Ok(()),
                Err(StoreError::Exists { .. }) => record.id = Id::default(),
                Err(error) => return Err(backend(&error)),
            }
        }
    }

    async fn save(&self, record: &Record) -> StoreResult<()> {
        let sealed = self.0.seal(record)?;
        self.0.cache.forget(&sealed.id);
        // The last request of a browser wins: a session holds nothing that two requests both change.
        let written = self.0.store.replace(Collection::Sessions, draft(&sealed)?, Expect::Any).await;
        written.map(drop).map_err(|error| backend(&error))
    }

    async fn load(&self, id: &Id) -> StoreResult<Option<Record>> {
        let key = stored_id(id);
        let Some(mut cached) = self.0.find(&key).await? else { return Ok(None) };
        if !self.0.is_alive(&cached.record) {
            // Another replica may have moved its end since.
            self.0.cache.forget(&key);
            match self.0.find(&key).await? {
                Some(fresh) if self.0.is_alive(&fresh.record) => cached = fresh,
                _ => return Ok(None),
            }
        }
        self.0.touch(&cached).await;
        let ends = cached.record.not_after.to_datetime();
        Ok(Some(Record { id: *id, data: cached.data.clone(), expiry_date: ends }))
    }

    async fn delete(&self, id: &Id) -> StoreResult<()> {
        self.0.remove(&stored_id(id)).await.map_err(|error| backend(&error))
    }
}
