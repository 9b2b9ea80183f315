//! What the provider remembers, in memory. Secrets are kept as hashes; every table is bounded.

use std::collections::HashMap;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rp_base::{Digest, Id, Random, Timestamp, sha256};

use super::limit::Attempts;

/// Entries of one table.
const MOST: usize = 20_000;
/// Lifetime of a code (RFC 6749 §4.1.2 allows ten minutes).
pub(super) const CODE_LIFE: Duration = Duration::from_mins(1);
pub(super) const ACCESS_LIFE: Duration = Duration::from_hours(1);
const REFRESH_LIFE: Duration = Duration::from_hours(24 * 14);
const SESSION_LIFE: Duration = Duration::from_hours(12);

/// A browser session at the provider.
#[derive(Debug, Clone)]
pub(super) struct Session {
    /// Its name in tokens; the cookie's secret is another.
    pub sid: Id,
    pub sub: String,
    pub at: Timestamp,
}

/// One authorisation; its codes and tokens share the family.
#[derive(Debug, Clone)]
pub(super) struct Authorization {
    pub family: Id,
    pub sub: String,
    pub scope: String,
    pub nonce: Option<String>,
    pub auth_time: Timestamp,
    pub sid: Id,
}

/// A code that was sent to the client.
#[derive(Debug, Clone)]
pub(super) struct Code {
    pub granted: Authorization,
    pub redirect_uri: String,
    pub challenge: String,
    pub used: bool,
}

/// A refresh token; a used one is kept so that its reuse is detected.
#[derive(Debug, Clone)]
pub(super) struct Refresh {
    pub granted: Authorization,
    pub used: bool,
}

/// A table whose entries expire.
#[derive(Debug)]
pub(super) struct Table<V>(HashMap<Digest, (Timestamp, V)>);

impl<V> Default for Table<V> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<V> Table<V> {
    /// Keeps `value` under a new random secret and gives the secret. `None` when the table is full.
    fn put(&mut self, value: V, now: Timestamp, life: Duration, random: &dyn Random) -> Option<String> {
        if self.0.len() >= MOST {
            self.0.retain(|_, (end, _)| *end > now);
            if self.0.len() >= MOST {
                return None;
            }
        }
        let secret = secret(random);
        self.0.insert(sha256(secret.as_bytes()), (now + life, value));
        Some(secret)
    }

    /// The entry of that secret, unless it has expired.
    pub(super) fn get_mut(&mut self, secret: &str, now: Timestamp) -> Option<&mut V> {
        self.0.get_mut(&sha256(secret.as_bytes())).filter(|(end, _)| *end > now).map(|(_, value)| value)
    }

    fn remove(&mut self, secret: &str) {
        self.0.remove(&sha256(secret.as_bytes()));
    }
}

/// Everything remembered.
#[derive(Debug, Default)]
pub(super) struct State {
    pub sessions: Table<Session>,
    pub codes: Table<Code>,
    pub access: Table<Authorization>,
    pub refresh: Table<Refresh>,
    pub attempts: Attempts,
}

impl State {
    pub(super) fn open_session(
        &mut self,
        session: Session,
        now: Timestamp,
        random: &dyn Random,
    ) -> Option<String> {
        self.sessions.put(session, now, SESSION_LIFE, random)
    }

    pub(super) fn close_session(&mut self, secret: &str) {
        self.sessions.remove(secret);
    }

    pub(super) fn issue_code(&mut self, code: Code, now: Timestamp, random: &dyn Random) -> Option<String> {
        self.codes.put(code, now, CODE_LIFE, random)
    }

    pub(super) fn issue_access(
        &mut self,
        granted: Authorization,
        now: Timestamp,
        random: &dyn Random,
    ) -> Option<String> {
        self.access.put(granted, now, ACCESS_LIFE, random)
    }

    pub(super) fn issue_refresh(
        &mut self,
        granted: Authorization,
        now: Timestamp,
        random: &dyn Random,
    ) -> Option<String> {
        self.refresh.put(Refresh { granted, used: false }, now, REFRESH_LIFE, random)
    }

    /// Ends the token of that secret and its family, whichever of both kinds it is (RFC 7009 §2.1).
    pub(super) fn revoke_token(&mut self, secret: &str, now: Timestamp) {
        let refresh = self.refresh.get_mut(secret, now).map(|refresh| refresh.granted.family.clone());
        let family =
            refresh.or_else(|| self.access.get_mut(secret, now).map(|granted| granted.family.clone()));
        if let Some(family) = family {
            self.revoke(&family);
        }
    }

    /// Ends the sessions of a subject; offline tokens stay valid.
    pub(super) fn end_sessions(&mut self, sub: &str) {
        self.sessions.0.retain(|_, (_, session)| session.sub != sub);
    }

    /// Ends everything of a subject.
    pub(super) fn end_person(&mut self, sub: &str) {
        self.end_sessions(sub);
        self.codes.0.retain(|_, (_, code)| code.granted.sub != sub);
        self.access.0.retain(|_, (_, granted)| granted.sub != sub);
        self.refresh.0.retain(|_, (_, refresh)| refresh.granted.sub != sub);
    }

    /// Ends every token of a family: something of it was used twice (RFC 9700 §4.14.2).
    pub(super) fn revoke(&mut self, family: &Id) {
        self.access.0.retain(|_, (_, granted)| granted.family != *family);
        self.refresh.0.retain(|_, (_, refresh)| refresh.granted.family != *family);
    }
}

/// 256 random bits as text.
pub(super) fn secret(random: &dyn Random) -> String {
    let mut bytes = [0u8; 32];
    random.fill(&mut bytes);
    URL_SAFE_NO_PAD.encode(bytes)
}
