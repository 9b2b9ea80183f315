//! What the portal is made of.

use std::sync::Arc;

use rp_access::{Access, Caller};
use rp_audit::{Audit, AuditError};
use rp_base::{SharedClock, SharedRandom, chain};
use rp_database::{SharedStore, StoreError};
use rp_documents::{Entry, Outcome, Person, Phase};
use rp_seal::Keyring;
use tokio_util::sync::CancellationToken;

use crate::auth::{Codes, Provider, SessionStart, Sessions, SignIns, Throttle};
use crate::index::ClusterIndex;
use crate::live::{LiveMetrics, PageLimiter};
use crate::metrics::PortalMetrics;
use crate::parts::{ClusterAccess, PortalParts, SessionRules, SignInParts, Site};
use crate::vms::Vms;

/// The state of a running portal. Cheap to clone.
#[derive(Debug, Clone)]
pub struct PortalState(pub(crate) Arc<Parts>);

#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) store: SharedStore,
    pub(crate) audit: Audit,
    pub(crate) access: Arc<Access>,
    pub(crate) keyring: Keyring,
    pub(crate) clock: SharedClock,
    pub(crate) random: SharedRandom,
    pub(crate) site: Site,
    pub(crate) clusters: ClusterAccess,
    pub(crate) sign_in: SignInState,
    pub(crate) discovered: crate::look::Discovered,
    pub(crate) moments: crate::look::ObjectHistory,
    pub(crate) live: PageLimiter,
    pub(crate) live_metrics: LiveMetrics,
    pub(crate) stopping: CancellationToken,
    pub(crate) index: Arc<ClusterIndex>,
    pub(crate) operations: Arc<crate::operations::Operations>,
    pub(crate) vms: Vms,
    pub(crate) metrics: PortalMetrics,
}

/// Sign-in, sessions and login codes.
#[derive(Debug)]
pub(crate) struct SignInState {
    pub(crate) provider: Provider,
    pub(crate) sessions: Sessions,
    pub(crate) rules: SessionRules,
    pub(crate) sign_ins: SignIns,
    pub(crate) codes: Codes,
    /// Limits device logins, each of which costs a row in the store.
    pub(crate) waiting: Throttle,
    /// Limits the user codes that a person may try.
    pub(crate) letters: Throttle,
}

/// Why the portal cannot start. An unreachable provider does not prevent the start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("the store cannot be read")]
    Store(#[from] StoreError),
    #[error("the sign-in settings cannot be used: {0}")]
    SignIn(String),
}

impl PortalState {
    /// Reads the clusters and starts following the store; does not ask the provider.
    ///
    /// # Errors
    /// [`StartError`].
    pub async fn new(parts: PortalParts) -> Result<Self, StartError> {
        let sign_in = SignInState::start(&parts).await?;
        let index = ClusterIndex::start(&parts.store, &parts.clock).await?;
        let operations = crate::operations::Operations::start(&parts.store);
        let vms = Vms::new(parts.vm_states, Arc::clone(&parts.store), Arc::clone(&parts.clock));
        let parts = Arc::new(Parts {
            store: parts.store,
            audit: parts.audit,
            access: parts.access,
            keyring: parts.keyring,
            clock: parts.clock,
            random: parts.random,
            site: parts.site,
            clusters: parts.clusters,
            sign_in,
            discovered: crate::look::Discovered::default(),
            moments: crate::look::ObjectHistory::default(),
            live: PageLimiter::new(parts.live),
            live_metrics: LiveMetrics::register(&parts.metrics),
            stopping: parts.stopping,
            index,
            operations,
            vms,
            metrics: PortalMetrics::register(&parts.metrics),
        });
        crate::auth::start_revalidation(&parts);
        Ok(Self(parts))
    }

    /// Begins a session for a person without a sign-in and gives its cookie, `name=value`: for the
    /// development server's scripts only.
    ///
    /// # Errors
    /// The session could not be stored.
    pub async fn mint_session(&self, person: Person) -> Result<String, String> {
        let at = self.0.clock.now();
        let start = SessionStart { person, at, auth_time: Some(at), id_token: None, sid: None };
        self.0.sign_in.sessions.mint(&start).await
    }

    /// Checks every person who is due with the provider, without waiting for the next round.
    ///
    /// # Errors
    /// The store did not answer.
    pub async fn revalidate(&self) -> Result<usize, StoreError> {
        crate::auth::revalidation_round(&self.0).await
    }

    /// Ends every session of a person, on every replica within a second.
    ///
    /// # Errors
    /// The store did not answer; some may have ended.
    pub async fn end_sessions(&self, sub: &str) -> Result<usize, StoreError> {
        self.0.sign_in.sessions.end_all(sub).await
    }

    /// The clusters as the portal sees them.
    pub fn index(&self) -> &Arc<ClusterIndex> {
        &self.0.index
    }
}

impl SignInState {
    /// Follows the sessions of the store; does not ask the provider.
    async fn start(parts: &PortalParts) -> Result<Self, StartError> {
        let PortalParts { store, keyring, clock, random, .. } = parts;
        let SignInParts { oidc, sessions: rules, exchange } = &parts.sign_in;
        let exchange = match exchange {
            Some(exchange) => Arc::clone(exchange),
            None => crate::auth::network_exchange(oidc).map_err(StartError::SignIn)?,
        };
        let provider = Provider::new(oidc.clone(), &parts.site.urls.portal, exchange, Arc::clone(clock))
            .map_err(StartError::SignIn)?;
        let sessions = Sessions::start(store, keyring, clock, *rules).await?;
        let sign_ins = SignIns::new(Arc::clone(store), keyring.clone(), Arc::clone(random), rules.revalidate);
        let codes = Codes::new(Arc::clone(store), keyring.clone(), Arc::clone(clock), Arc::clone(random));
        Ok(Self {
            provider,
            sessions,
            rules: *rules,
            sign_ins,
            codes,
            waiting: Throttle::new(10, 300),
            letters: Throttle::new(20, 3000),
        })
    }
}

impl Parts {
    /// A durable entry before a change; the change must not happen when it fails.
    pub(crate) async fn promise(
        &self,
        caller: &Caller,
        verb: &str,
        fill: impl FnOnce(&mut Entry),
    ) -> Result<(), AuditError> {
        let mut entry = caller.entry(self.clock.now(), Phase::Single, verb);
        fill(&mut entry);
        self.audit.promise(entry).await.map(drop)
    }

    /// An entry of a read or a refusal, written within 100 ms.
    pub(crate) async fn note(
        &self,
        caller: &Caller,
        verb: &str,
        result: Outcome,
        fill: impl FnOnce(&mut Entry),
    ) {
        let mut entry = caller.entry(self.clock.now(), Phase::Single, verb);
        entry.result = result;
        fill(&mut entry);
        if let Err(error) = self.audit.queue(entry).await {
            tracing::error!(error = %chain(&error), verb, "an audit entry was not taken");
        }
    }
}
