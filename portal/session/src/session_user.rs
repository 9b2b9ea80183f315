//! What a session holds.

use rp_base::{Secret, Timestamp};
use rp_documents::Person;
use serde::{Deserialize, Serialize};
use tower_sessions::Session;
use tower_sessions::session::Error;

pub const KEY: &str = "user";
const ID_TOKEN: &str = "id_token";
pub const SID: &str = "sid";

/// Who is signed in by a session.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SessionUser {
    pub person: Person,
    pub signed_in: Timestamp,
    /// When the person authenticated at the provider; `None`: unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auth_time: Option<Timestamp>,
}

/// A session that begins.
#[derive(Debug, Clone)]
pub struct SessionStart {
    pub person: Person,
    pub at: Timestamp,
    pub auth_time: Option<Timestamp>,
    pub id_token: Option<Secret<String>>,
    /// The provider's name of its session, for back-channel logout.
    pub sid: Option<String>,
}

impl SessionUser {
    /// The session's user; `None` when nobody is signed in.
    pub async fn load(session: &Session) -> Result<Option<Self>, Error> {
        session.get(KEY).await
    }

    /// The user in stored data.
    pub fn in_data(data: &std::collections::HashMap<String, serde_json::Value>) -> Option<Self> {
        data.get(KEY).and_then(|value| serde_json::from_value(value.clone()).ok())
    }

    /// The ID token that the sign-in gave, as a hint for sign-out.
    pub async fn id_token(session: &Session) -> Option<Secret<String>> {
        session.get::<String>(ID_TOKEN).await.ok().flatten().map(Secret::new)
    }
}

impl SessionStart {
    /// Fills a session, gives it a new id, so that a planted cookie opens nothing, and stores it: what the session layer
    /// cannot store it answers with a bare 500.
    ///
    /// # Errors
    /// The store does not take it.
    pub async fn fill(&self, session: &Session) -> Result<(), Error> {
        session.clear().await;
        let user = SessionUser { person: self.person.clone(), signed_in: self.at, auth_time: self.auth_time };
        session.insert(KEY, user).await?;
        if let Some(sid) = &self.sid {
            session.insert(SID, sid).await?;
        }
        if let Some(token) = &self.id_token {
            session.insert(ID_TOKEN, token.expose()).await?;
        }
        session.cycle_id().await?;
        session.save().await
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use async_trait::async_trait;
    use tower_sessions::SessionStore;
    use tower_sessions::session::{Id, Record};
    use tower_sessions::session_store::{Error as StoreError, Result};

    use super::*;

    #[derive(Debug)]
    struct Away;

    #[async_trait]
    impl SessionStore for Away {
        async fn create(&self, _: &mut Record) -> Result<()> {
            self.delete(&Id::default()).await
        }

        async fn save(&self, _: &Record) -> Result<()> {
            self.delete(&Id::default()).await
        }

        async fn load(&self, _: &Id) -> Result<Option<Record>> {
            Ok(None)
        }

        async fn delete(&self, _: &Id) -> Result<()> {
            Err(StoreError::Backend("away".to_owned()))
        }
    }

    #[tokio::test]
    async fn a_session_that_is_not_stored_does_not_begin() {
        let start = SessionStart {
            person: Person { sub: "s".to_owned(), name: "n".to_owned(), groups: Vec::new() },
            at: Timestamp::from_millis(0),
            auth_time: None,
            id_token: None,
            sid: None,
        };
        let session = Session::new(None, Arc::new(Away), None);
        assert!(matches!(start.fill(&session).await, Err(Error::Store(_))));
    }
}
