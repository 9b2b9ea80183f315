//! Tokens, kept until shortly before their end.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rp_base::{Clock, Random, Secret, Timestamp};
use serde::Deserialize;
use tokio::time::Instant;

use crate::cloud::{Audience, Endpoints};
use crate::credential::{Credential, TokenRequest, failed};
use crate::error::{AzureError, ErrorKind};
use crate::retry::{self, RetryPolicy};
use crate::transport::{CallName, Transport};

pub(crate) const OPERATION: &str = "token";
const NAME: CallName = CallName { client: "tokens", operation: "get", shown: OPERATION };

/// A token is fetched anew when less than this is left of it, while it still serves.
const EARLY: Duration = Duration::from_mins(5);
/// A token with less than this is not shown any more.
const LAST: Duration = Duration::from_secs(30);
/// After a token could not be fetched early, the next try.
const AGAIN: Duration = Duration::from_secs(30);
/// The most tenants whose tokens are kept.
const MOST_TENANTS: usize = 20_000;
/// Longest life that is believed.
const MOST_LIFE: u64 = 48 * 3600;

/// Tenant and audience of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TokenScope<'a> {
    pub(crate) tenant: &'a str,
    pub(crate) audience: Audience,
}

/// Where tokens are fetched, and by what: the client that needs one.
#[derive(Clone, Copy)]
pub(crate) struct Issuer<'a> {
    pub(crate) endpoints: &'a Endpoints,
    pub(crate) transport: &'a Transport,
    pub(crate) clock: &'a dyn Clock,
    pub(crate) random: &'a dyn Random,
}

/// Tokens of one credential, by tenant and audience.
pub(crate) struct Tokens {
    credential: Credential,
    slots: Mutex<HashMap<Box<str>, Arc<Slot>>>,
}

/// One tenant's token. The task that fetches holds the lock, so that of many callers one asks.
#[derive(Default)]
struct Slot {
    fetching: tokio::sync::Mutex<()>,
    token: Mutex<Option<Token>>,
}

impl Slot {
    /// The token, while it need not be renewed.
    fn fresh(&self, now: Timestamp) -> Option<Arc<Secret<String>>> {
        self.bearer(|token| now < token.renew)
    }

    /// The token, while Azure takes it.
    fn usable(&self, now: Timestamp) -> Option<Arc<Secret<String>>> {
        self.bearer(|token| now + LAST < token.end)
    }

    fn bearer(&self, is_good: impl Fn(&Token) -> bool) -> Option<Arc<Secret<String>>> {
        self.token.lock().as_ref().filter(|token| is_good(token)).map(|token| Arc::clone(&token.bearer))
    }
}

#[derive(Clone)]
struct Token {
    bearer: Arc<Secret<String>>,
    end: Timestamp,
    renew: Timestamp,
}

#[derive(Deserialize)]
struct TokenResponse {
    access_token: Secret<String>,
    /// A number, or digits in a text (metadata service).
    expires_in: serde_json::Value,
    #[serde(default)]
    refresh_in: serde_json::Value,
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tokens").field("credential", &self.credential).finish_non_exhaustive()
    }
}

impl Tokens {
    pub(crate) fn new(credential: Credential) -> Self {
        Self { credential, slots: Mutex::default() }
    }

    /// A token for calls in that tenant.
    pub(crate) async fn bearer(
        &self,
        scope: TokenScope<'_>,
        issuer: Issuer<'_>,
        deadline: Instant,
    ) -> Result<Arc<Secret<String>>, AzureError> {
        let clock = issuer.clock;
        let slot = self.slot(scope, clock.now());
        if let Some(bearer) = slot.fresh(clock.now()) {
            return Ok(bearer);
        }
        // While one fetches early, the others go on with the old one.
        let Ok(guard) = slot.fetching.try_lock() else {
            if let Some(old) = slot.usable(clock.now()) {
                return Ok(old);
            }
            // Who fetches may have more time than this caller.
            let late = |_| AzureError::new(OPERATION, ErrorKind::Timeout, "");
            let _guard = tokio::time::timeout_at(deadline, slot.fetching.lock()).await.map_err(late)?;
            return match slot.fresh(clock.now()) {
                Some(bearer) => Ok(bearer),
                None => self.fetch(&slot, scope, issuer, deadline).await,
            };
        };
        if let Some(bearer) = slot.fresh(clock.now()) {
            return Ok(bearer);
        }
        let fetched = self.fetch(&slot, scope, issuer, deadline).await;
        drop(guard);
        match (fetched, slot.usable(clock.now())) {
            (Err(error), Some(old)) => {
                tracing::warn!(error = %error, "no new token from Azure yet");
                if let Some(token) = slot.token.lock().as_mut() {
                    token.renew = clock.now() + AGAIN;
                }
                Ok(old)
            }
            (fetched, _) => fetched,
        }
    }

    /// Forgets a tenant's token: Azure refused it.
    pub(crate) fn forget(&self, scope: TokenScope<'_>) {
        if let Some(slot) = self.slots.lock().get(self.key(scope).as_str()) {
            *slot.token.lock() = None;
        }
    }

    fn key(&self, scope: TokenScope<'_>) -> String {
        let tenant = if self.credential.is_of_one_tenant() { "" } else { scope.tenant };
        format!("{:?} {tenant}", scope.audience)
    }

    /// The tenant's slot. With too many of them, those whose token is over make room.
    fn slot(&self, scope: TokenScope<'_>, now: Timestamp) -> Arc<Slot> {
        let key = self.key(scope);
        let mut slots = self.slots.lock();
        if let Some(slot) = slots.get(key.as_str()) {
            return Arc::clone(slot);
        }
        if slots.len() >= MOST_TENANTS {
            let ended = |slot: &Arc<Slot>| slot.token.lock().as_ref().is_none_or(|token| token.end <= now);
            slots.retain(|_, slot| !ended(slot));
        }
        Arc::clone(slots.entry(key.into()).or_default())
    }

    async fn fetch(
        &self,
        slot: &Slot,
        scope: TokenScope<'_>,
        issuer: Issuer<'_>,
        deadline: Instant,
    ) -> Result<Arc<Secret<String>>, AzureError> {
        let policy = RetryPolicy { attempts: 2, ..RetryPolicy::QUICK };
        let mut backoff = policy.backoff();
        for tried in 1.. {
            let asked = issuer.clock.now();
            let end = deadline.min(Instant::now() + self.credential.patience());
            let error = match self.ask(scope, issuer, end).await {
                Ok(issued) => return keep(slot, issued, asked),
                Err(error) => error,
            };
            let wait = retry::wait(&policy, tried, &error, &mut backoff, issuer.random);
            match wait.filter(|wait| Instant::now() + *wait < deadline) {
                Some(wait) => tokio::time::sleep(wait).await,
                None => return Err(error),
            }
        }
        Err(failed("not tried"))
    }

    async fn ask(
        &self,
        scope: TokenScope<'_>,
        issuer: Issuer<'_>,
        deadline: Instant,
    ) -> Result<TokenResponse, AzureError> {
        let Issuer { endpoints, transport, clock, random } = issuer;
        let audience_scope = endpoints.scope(scope.audience);
        let TokenRequest { url, form, headers } =
            self.credential.ask(endpoints, scope.tenant, &audience_scope, clock.now(), random).await?;
        let http = &transport.http;
        let mut request = match &form {
            Some(form) => {
                let form: Vec<(&str, &str)> =
                    form.iter().map(|(key, text)| (*key, text.expose().as_str())).collect();
                http.post(url).form(&form)
            }
            None => http.get(url),
        };
        for (name, text) in &headers {
            request = request.header(*name, text.expose());
        }
        let request = request.build().map_err(|_| failed("the request cannot be made"))?;
        let answer = transport.exchange(NAME, request, deadline).await?;
        serde_json::from_slice(&answer.body).map_err(|_| AzureError::new(OPERATION, ErrorKind::Malformed, ""))
    }
}

fn keep(slot: &Slot, issued: TokenResponse, asked: Timestamp) -> Result<Arc<Secret<String>>, AzureError> {
    let seconds = |value: &serde_json::Value| value.as_u64().or_else(|| value.as_str()?.parse().ok());
    let life = seconds(&issued.expires_in).filter(|life| (1..=MOST_LIFE).contains(life));
    let life = Duration::from_secs(life.ok_or_else(|| failed("the token has no sensible life"))?);
    if issued.access_token.expose().is_empty()
        || !issued.access_token.expose().bytes().all(|b| b.is_ascii_graphic())
    {
        return Err(failed("the token cannot stand in a header"));
    }
    // A short token is renewed at half of its life; Azure may want it earlier than we do.
    let early = life.saturating_sub(EARLY).max(life / 2);
    let early = seconds(&issued.refresh_in).map_or(early, |wanted| early.min(Duration::from_secs(wanted)));
    let bearer = Arc::new(issued.access_token);
    *slot.token.lock() = Some(Token { bearer: Arc::clone(&bearer), end: asked + life, renew: asked + early });
    Ok(bearer)
}
