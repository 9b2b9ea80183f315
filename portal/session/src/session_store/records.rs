//! Stored sessions: sealed, opened, found in the cache or the store, changed and removed.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use rp_base::{chain, sha256};
use rp_database::{Draft, Expect, StoreError, Stored};
use rp_documents::{Collection, Document as _, SessionRecord, Unknown};
use serde_json::Value;
use tower_sessions::session::{Id, Record};
use tower_sessions::session_store::{Error, Result as StoreResult};

use super::Inner;
use crate::session_cache::CachedSession;
use crate::session_user::{KEY, SID, SessionUser};

/// The idle end moves at most this often: one write a minute and session.
const TOUCH: Duration = Duration::from_secs(60);

/// A copy of the store opens nothing: the id is the hash of the cookie's value.
pub(super) fn stored_id(id: &Id) -> String {
    sha256(id.to_string().as_bytes()).to_string()
}

fn associated(id: &str) -> String {
    format!("{}/{id}/sealed", Collection::Sessions.name())
}

pub(super) fn backend(error: &StoreError) -> Error {
    Error::Backend(chain(error).to_string())
}

impl Inner {
    pub(super) fn seal(&self, record: &Record) -> StoreResult<SessionRecord> {
        let id = stored_id(&record.id);
        let now = self.clock.now();
        let user = SessionUser::in_data(&record.data);
        let created = user.as_ref().map_or(now, |user| user.signed_in);
        let not_after = created + self.times.max_age;
        let sid = record.data.get(SID).and_then(Value::as_str).map(|sid| sha256(sid.as_bytes()));
        let plain = serde_json::to_vec(&record.data).map_err(|error| Error::Encode(error.to_string()))?;
        let sealed = self
            .keyring
            .seal(&plain, &associated(&id))
            .map_err(|error| Error::Encode(chain(&error).to_string()))?;
        Ok(SessionRecord {
            id,
            sub: user.map(|user| user.person.sub).unwrap_or_default(),
            sid,
            created,
            not_after,
            idle_until: (now + self.times.idle).min(not_after),
            sealed,
            unknown: Unknown::new(),
        })
    }

    pub(super) fn open(&self, stored: &Stored) -> StoreResult<CachedSession> {
        let record: SessionRecord =
            serde_json::from_str(&stored.body).map_err(|error| Error::Decode(error.to_string()))?;
        let plain = self
            .keyring
            .open(&record.sealed, &associated(&record.id))
            .map_err(|error| Error::Decode(chain(&error).to_string()))?;
        let data: HashMap<String, Value> =
            serde_json::from_slice(plain.expose()).map_err(|_| Error::Decode("not an object".to_owned()))?;
        Ok(CachedSession { record, version: stored.version, data })
    }

    pub(super) fn is_alive(&self, record: &SessionRecord) -> bool {
        let now = self.clock.now();
        now < record.not_after && now < record.idle_until
    }

    pub(super) async fn find(&self, id: &str) -> StoreResult<Option<Arc<CachedSession>>> {
        if !self.cache.is_fresh() {
            return Err(Error::Backend("the store has not answered for more than 5 s".to_owned()));
        }
        if let Some(cached) = self.cache.get(id) {
            return Ok(Some(cached));
        }
        let epoch = self.cache.epoch();
        let found = self.store.get(Collection::Sessions, id).await.map_err(|error| backend(&error))?;
        let Some(stored) = found else { return Ok(None) };
        // A session that another keyring sealed is none.
        let Ok(cached) = self.open(&stored) else { return Ok(None) };
        let cached = Arc::new(cached);
        self.cache.put(epoch, id, Arc::clone(&cached));
        Ok(Some(cached))
    }

    /// Moves the idle end. Losing a race with another request or with the session's end is fine.
    pub(super) async fn touch(&self, cached: &CachedSession) {
        let now = self.clock.now();
        let wanted = (now + self.times.idle).min(cached.record.not_after);
        if wanted.since(cached.record.idle_until) < TOUCH {
            return;
        }
        let record = SessionRecord { idle_until: wanted, ..cached.record.clone() };
        let epoch = self.cache.epoch();
        let Ok(draft) = draft(&record) else { return };
        match self.store.replace(Collection::Sessions, draft, Expect::Version(cached.version)).await {
            Ok(stored) => {
                let fresh = CachedSession { record, version: stored.version, data: cached.data.clone() };
                let id = fresh.record.id.clone();
                self.cache.put(epoch, &id, Arc::new(fresh));
            }
            Err(StoreError::Stale { .. } | StoreError::Gone { .. }) => {}
            Err(error) => tracing::warn!(error = %chain(&error), "a session's idle end was not moved"),
        }
    }

    /// Losing a race with the session's end is fine; with a touch, it is tried again.
    pub(super) async fn write_groups(
        &self,
        mut record: SessionRecord,
        mut stored: Stored,
        groups: &[String],
    ) -> Result<bool, StoreError> {
        loop {
            let Ok(mut cached) = self.open(&stored) else { return Ok(false) };
            let Some(mut user) = SessionUser::in_data(&cached.data) else { return Ok(false) };
            if user.person.groups == groups {
                return Ok(false);
            }
            groups.clone_into(&mut user.person.groups);
            cached.data.insert(KEY.to_owned(), serde_json::to_value(user).unwrap_or_default());
            let plain = serde_json::to_vec(&cached.data).unwrap_or_default();
            let Ok(sealed) = self.keyring.seal(&plain, &associated(&record.id)) else { return Ok(false) };
            record.sealed = sealed;
            let Ok(draft) = draft(&record) else { return Ok(false) };
            self.cache.forget(&record.id);
            match self.store.replace(Collection::Sessions, draft, Expect::Version(stored.version)).await {
                Ok(_) => return Ok(true),
                Err(StoreError::Gone { .. }) => return Ok(false),
                Err(StoreError::Stale { .. }) => {}
                Err(error) => return Err(error),
            }
            let Some(fresh) = self.store.get(Collection::Sessions, &record.id).await? else {
                return Ok(false);
            };
            let Ok(read) = serde_json::from_str(&fresh.body) else { return Ok(false) };
            (record, stored) = (read, fresh);
        }
    }

    pub(super) async fn remove(&self, id: &str) -> Result<(), StoreError> {
        self.cache.forget(id);
        // Deletes the session in any version, because the person signs out.
        match self.store.delete(Collection::Sessions, id, Expect::Any).await {
            Ok(()) | Err(StoreError::Gone { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

pub(super) fn draft(record: &SessionRecord) -> StoreResult<Draft> {
    Ok(Draft {
        id: record.id.clone(),
        partition: record.partition().to_owned(),
        unique_key: None,
        body: serde_json::to_string(record).map_err(|error| Error::Encode(error.to_string()))?,
        expires_at: Some(record.idle_until),
    })
}
