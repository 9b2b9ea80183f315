//! What sign-in and every request need of the process.

use std::sync::Arc;

use rp_access::{Access, Caller};
use rp_audit::{Audit, AuditError};
use rp_base::{SharedClock, SharedRandom, chain};
use rp_database::{SharedStore, StoreError};
use rp_documents::{Entry, Outcome, Person, Phase};
use rp_metrics::Registry;
use rp_seal::Keyring;

use crate::codes::Codes;
use crate::config::OidcConfig;
use crate::exchange::{Exchange, network_exchange};
use crate::metrics::PortalMetrics;
use crate::provider::{Provider, SettingsError};
use crate::session_store::{MintError, Sessions};
use crate::session_user::SessionStart;
use crate::sign_ins::SignIns;
use crate::site::Site;
use crate::throttle::Throttle;

/// How people sign in.
#[derive(Debug)]
pub struct SignInParts {
    pub oidc: OidcConfig,
    pub sessions: rp_config::Session,
    /// How the provider is reached; `None`: over the network, trusting the host's CAs and the configured one.
    pub exchange: Option<Arc<dyn Exchange>>,
}

/// What [`SessionState::start`] takes.
#[derive(Debug)]
pub struct SessionParts {
    pub store: SharedStore,
    pub audit: Audit,
    pub access: Arc<Access>,
    pub keyring: Keyring,
    pub clock: SharedClock,
    pub random: SharedRandom,
    /// Where the portal's metrics are registered.
    pub metrics: Registry,
    pub site: Site,
    pub sign_in: SignInParts,
}

/// Who asks, what they may, and the trail of it.
#[derive(Debug)]
pub struct SessionState {
    pub store: SharedStore,
    pub audit: Audit,
    pub access: Arc<Access>,
    pub keyring: Keyring,
    pub clock: SharedClock,
    pub random: SharedRandom,
    pub site: Site,
    pub sign_in: SignInState,
    pub metrics: PortalMetrics,
}

/// Sign-in, sessions and login codes.
#[derive(Debug)]
pub struct SignInState {
    pub provider: Provider,
    pub sessions: Sessions,
    pub rules: rp_config::Session,
    pub sign_ins: SignIns,
    pub codes: Codes,
    /// Limits device logins, each of which costs a row in the store.
    pub waiting: Throttle,
    /// Limits the user codes that a person may try.
    pub letters: Throttle,
}

/// Why the portal cannot start. An unreachable provider does not prevent the start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("the store cannot be read")]
    Store(#[from] StoreError),
    #[error("the sign-in settings cannot be used")]
    SignIn(#[from] SettingsError),
}

impl SessionState {
    /// Starts following the store; does not ask the provider.
    ///
    /// # Errors
    /// [`StartError`].
    pub async fn start(parts: SessionParts) -> Result<Arc<Self>, StartError> {
        let sign_in = SignInState::start(&parts).await?;
        let SessionParts { store, audit, access, keyring, clock, random, site, .. } = parts;
        let metrics = PortalMetrics::register(&parts.metrics);
        Ok(Arc::new(Self { store, audit, access, keyring, clock, random, site, sign_in, metrics }))
    }

    /// A durable entry before a change; the change must not happen when it fails.
    pub async fn promise(
        &self,
        caller: &Caller,
        verb: &str,
        fill: impl FnOnce(&mut Entry),
    ) -> Result<(), AuditError> {
        let mut entry = caller.entry(self.clock.now(), Phase::Single, verb);
        fill(&mut entry);
        self.audit.promise(entry).await.map(drop)
    }

    /// An entry of a read, a refusal or an end, written within 100 ms.
    pub async fn note(&self, caller: &Caller, verb: &str, result: Outcome, fill: impl FnOnce(&mut Entry)) {
        let mut entry = caller.entry(self.clock.now(), Phase::Single, verb);
        entry.result = result;
        fill(&mut entry);
        if let Err(error) = self.audit.queue(entry).await {
            tracing::error!(error = %chain(&error), verb, "an audit entry was not taken");
        }
    }

    /// Begins a session for a person without a sign-in and gives its cookie, `name=value`: for the
    /// development server's scripts only.
    ///
    /// # Errors
    /// The session could not be stored.
    pub async fn mint_session(&self, person: Person) -> Result<String, MintError> {
        let at = self.clock.now();
        let start = SessionStart { person, at, auth_time: Some(at), id_token: None, sid: None };
        self.sign_in.sessions.mint(&start).await
    }
}

impl SignInState {
    /// Follows the sessions of the store; does not ask the provider.
    async fn start(parts: &SessionParts) -> Result<Self, StartError> {
        let SessionParts { store, keyring, clock, random, .. } = parts;
        let SignInParts { oidc, sessions: rules, exchange } = &parts.sign_in;
        let exchange = match exchange {
            Some(exchange) => Arc::clone(exchange),
            None => network_exchange(oidc).map_err(SettingsError::from)?,
        };
        let provider = Provider::new(oidc.clone(), &parts.site.urls.portal, exchange, Arc::clone(clock))?;
        let sessions = Sessions::start(store, keyring, clock, rules.clone()).await?;
        let sign_ins = SignIns::new(Arc::clone(store), keyring.clone(), Arc::clone(random), rules.revalidate);
        let codes = Codes::new(Arc::clone(store), keyring.clone(), Arc::clone(clock), Arc::clone(random));
        Ok(Self {
            provider,
            sessions,
            rules: rules.clone(),
            sign_ins,
            codes,
            waiting: Throttle::new(10, 300),
            letters: Throttle::new(20, 3000),
        })
    }
}
