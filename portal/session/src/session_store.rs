//! tower-sessions on our store: hashed ids, sealed content, idle and absolute end (`contract/portal.md`
//! "Do better" 6). Writer of the collection Sessions.

mod layer;
mod records;

use std::sync::Arc;

use rp_base::{SharedClock, Timestamp, sha256};
use rp_database::{SharedStore, StoreError, Stored, Version};
use rp_documents::{Collection, Person, SessionRecord};
use rp_seal::Keyring;
use tower_sessions::Session;

use crate::session_cache::SessionCache;
use crate::session_user::{SessionStart, SessionUser};

use records::stored_id;

/// The session cookie. The prefix makes browsers refuse it without `Secure`, with a domain or another path.
pub const COOKIE: &str = "__Host-aro";

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
