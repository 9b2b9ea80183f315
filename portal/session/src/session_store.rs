//! tower-sessions on our store: hashed ids, sealed content, idle and absolute end (`contract/portal.md`
//! "Do better" 6). Writer of the collection Sessions.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use rp_base::{SharedClock, Timestamp, chain, sha256};
use rp_database::{Draft, Expect, SharedStore, StoreError, Stored, Version};
use rp_documents::{Collection, Document as _, Person, SessionRecord, Unknown};
use rp_seal::Keyring;
use serde_json::Value;
use tower_sessions::session::{Id, Record};
use tower_sessions::session_store::{Error, Result as StoreResult};
use tower_sessions::{Session, SessionStore};

use crate::session_cache::{CachedSession, SessionCache};
use crate::session_user::{KEY, SID, SessionStart, SessionUser};

/// The session cookie. The prefix makes browsers refuse it without `Secure`, with a domain or another path.
pub const COOKIE: &str = "__Host-aro";

/// The idle end moves at most this often: one write a minute and session.
const TOUCH: Duration = Duration::from_secs(60);

/// Why no session was begun.
#[derive(Debug, thiserror::Error)]
pub enum MintError {
    #[error(transparent)]
    Session(#[from] tower_sessions::session::Error),
    #[error("the session has no id")]
    NoId,
}

/// Sessions of browsers.
#[derive(Debug, Clone)]
pub struct Sessions(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    store: SharedStore,
    keyring: Keyring,
    clock: SharedClock,
    times: rp_config::Session,
    cache: Arc<SessionCache>,
}

impl Sessions {
    pub async fn start(
        store: &SharedStore,
        keyring: &Keyring,
        clock: &SharedClock,
        times: rp_config::Session,
    ) -> Result<Self, StoreError> {
        let cache = SessionCache::start(Arc::clone(store)).await?;
        Ok(Self(Arc::new(Inner {
            store: Arc::clone(store),
            keyring: keyring.clone(),
            clock: Arc::clone(clock),
            times,
            cache,
        })))
    }

    /// For the session layer.
    pub fn store(&self) -> Self {
        self.clone()
    }

    /// The stored id of a request's session.
    pub fn key(&self, session: &Session) -> Option<String> {
        session.id().map(|id| stored_id(&id))
    }

    /// When a session of that sign-in ends in any case.
    pub fn end_of(&self, signed_in: Timestamp) -> Timestamp {
        signed_in + self.0.times.max_age
    }

    /// A session without a browser; gives `name=value`.
    ///
    /// # Errors
    /// The session could not be stored.
    pub async fn mint(&self, start: &SessionStart) -> Result<String, MintError> {
        let session = Session::new(None, Arc::new(self.clone()), None);
        start.fill(&session).await?;
        session.save().await?;
        let id = session.id().ok_or(MintError::NoId)?;
        Ok(format!("{COOKIE}={id}"))
    }

    /// Whether the person has an active session.
    pub async fn any(&self, sub: &str) -> Result<bool, StoreError> {
        let found = self.list_for_person(sub).await?;
        Ok(found.iter().any(|(record, _)| self.0.is_alive(record)))
    }

    /// The user of a living session by its stored id, as the store has it now; `None`: it has ended.
    pub async fn user_of(&self, id: &str) -> Result<Option<SessionUser>, StoreError> {
        let found = self.0.store.get(Collection::Sessions, id).await?;
        let cached = found.and_then(|stored| self.0.open(&stored).ok());
        let lives = cached.filter(|cached| self.0.is_alive(&cached.record));
        Ok(lives.and_then(|cached| SessionUser::in_data(&cached.data)))
    }

    /// A person's sessions as they are stored.
    async fn list_for_person(&self, sub: &str) -> Result<Vec<(SessionRecord, Stored)>, StoreError> {
        let (mut found, mut from) = (Vec::new(), None::<String>);
        loop {
            let page = self.0.store.list(Collection::Sessions, Some(sub), from.as_deref(), 1000).await?;
            let read = |stored: Stored| Some((serde_json::from_str(&stored.body).ok()?, stored));
            found.extend(page.items.into_iter().filter_map(read));
            from = page.continuation;
            if from.is_none() {
                return Ok(found);
            }
        }
    }

    /// Writes the current groups into every session of a person; returns how many sessions changed.
    pub async fn set_groups(&self, sub: &str, groups: &[String]) -> Result<usize, StoreError> {
        let mut changed = 0;
        for (record, stored) in self.list_for_person(sub).await? {
            changed += usize::from(self.0.write_groups(record, stored, groups).await?);
        }
        Ok(changed)
    }

    /// Ends the sessions that began with the provider's session of that name, and are that person's where one
    /// is named; gives whose they were.
    pub async fn end_provider_session(
        &self,
        sid: &str,
        sub: Option<&str>,
    ) -> Result<Vec<String>, StoreError> {
        let (sid, mut ended, mut from) = (sha256(sid.as_bytes()), Vec::new(), None::<String>);
        loop {
            let page = self.0.store.list(Collection::Sessions, sub, from.as_deref(), 1000).await?;
            for stored in &page.items {
                let Ok(record) = serde_json::from_str::<SessionRecord>(&stored.body) else { continue };
                if record.sid == Some(sid) {
                    self.0.remove(&stored.id).await?;
                    ended.push(record.sub);
                }
            }
            from = page.continuation;
            if from.is_none() {
                return Ok(ended);
            }
        }
    }

    /// Ends every session of a person.
    pub async fn end_all(&self, sub: &str) -> Result<usize, StoreError> {
        let found = self.list_for_person(sub).await?;
        for (_, stored) in &found {
            self.0.remove(&stored.id).await?;
        }
        Ok(found.len())
    }
}

/// Whether a session is still valid, for streams that stay open longer than a request.
#[derive(Debug)]
pub enum SessionStatus {
    /// Unchanged since the last check.
    Same,
    /// It is valid, and its person has changed to this.
    Changed(Person),
    Ended,
    /// The store has not answered for a while.
    Unsure,
}

/// The version of a session at the last check.
#[derive(Debug, Default)]
pub struct SessionWatch(Option<Version>);

impl Sessions {
    /// Whether the session of that stored id is still valid. Costs no query while nothing changes, and does not count
    /// as using the session.
    pub async fn status(&self, id: &str, known: &mut SessionWatch) -> SessionStatus {
        let inner = &self.0;
        for _ in 0..2 {
            let cached = match inner.find(id).await {
                Ok(Some(cached)) => cached,
                Ok(None) => return SessionStatus::Ended,
                Err(_) => return SessionStatus::Unsure,
            };
            if !inner.is_alive(&cached.record) {
                // Another replica may have moved its end since.
                inner.cache.forget(id);
                continue;
            }
            if known.0 == Some(cached.version) {
                return SessionStatus::Same;
            }
            known.0 = Some(cached.version);
            let user = SessionUser::in_data(&cached.data);
            return user.map_or(SessionStatus::Ended, |user| SessionStatus::Changed(user.person));
        }
        SessionStatus::Ended
    }
}

impl Sessions {
    /// Counts as a use of a valid session: moves its idle end.
    pub async fn record_use(&self, id: &str) {
        if let Ok(Some(cached)) = self.0.find(id).await
            && self.0.is_alive(&cached.record)
        {
            self.0.touch(&cached).await;
        }
    }
}

/// A copy of the store opens nothing: the id is the hash of the cookie's value.
fn stored_id(id: &Id) -> String {
    sha256(id.to_string().as_bytes()).to_string()
}

fn associated(id: &str) -> String {
    format!("{}/{id}/sealed", Collection::Sessions.name())
}

fn backend(error: &StoreError) -> Error {
    Error::Backend(chain(error).to_string())
}

impl Inner {
    fn seal(&self, record: &Record) -> StoreResult<SessionRecord> {
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

    fn open(&self, stored: &Stored) -> StoreResult<CachedSession> {
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

    fn is_alive(&self, record: &SessionRecord) -> bool {
        let now = self.clock.now();
        now < record.not_after && now < record.idle_until
    }

    async fn find(&self, id: &str) -> StoreResult<Option<Arc<CachedSession>>> {
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
    async fn touch(&self, cached: &CachedSession) {
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
    async fn write_groups(
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

    async fn remove(&self, id: &str) -> Result<(), StoreError> {
        self.cache.forget(id);
        // Deletes the session in any version, because the person signs out.
        match self.store.delete(Collection::Sessions, id, Expect::Any).await {
            Ok(()) | Err(StoreError::Gone { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

fn draft(record: &SessionRecord) -> StoreResult<Draft> {
    Ok(Draft {
        id: record.id.clone(),
        partition: record.partition().to_owned(),
        unique_key: None,
        body: serde_json::to_string(record).map_err(|error| Error::Encode(error.to_string()))?,
        expires_at: Some(record.idle_until),
    })
}

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
