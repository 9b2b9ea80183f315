//! What the portal is made of.

use std::sync::Arc;
use std::time::Duration;

use proxy::prom::Prom;
use rp_access::{Access, Caller};
use rp_audit::{Audit, AuditError};
use rp_base::{SharedClock, SharedRandom, chain};
use rp_database::{SharedStore, StoreError};
use rp_documents::{Entry, Outcome, Person, Phase};
use rp_metrics::Registry;
use rp_net::Networks;
use rp_observe::Observer;
use rp_recording::Recordings;
use rp_seal::Keyring;
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::auth::{Codes, Exchange, OidcConfig, Provider, SessionStart, Sessions, SignIns, Throttle};
use crate::index::ClusterIndex;
use crate::live::{LiveLimits, LiveMetrics, Places};
use crate::metrics::PortalMetrics;
use crate::run_books::RunBooks;
use crate::vms::{VmSource, Vms};

/// Addresses as people see them; never taken from a `Host` header (`contract/portal.md` "Do better" 10).
#[derive(Debug, Clone)]
pub struct Urls {
    /// The portal's own origin, e.g. `https://westeurope.admin.example`.
    pub portal: Url,
    /// Origin of the API proxy: another host name than the portal's.
    pub proxy: Url,
    /// PEM of the CA that issued the proxy's certificate; `None` when it is publicly trusted.
    pub ca_pem: Option<String>,
}

/// How long sessions last and how often the provider is asked about their people (`[session]`).
#[derive(Debug, Clone, Copy)]
pub struct SessionRules {
    /// Unused for so long: over.
    pub idle: Duration,
    /// Over in any case.
    pub absolute: Duration,
    /// The provider is asked about each person within this time, where it gave a refresh token.
    pub revalidate: Duration,
    /// People whom it has not confirmed for so long are an alarm.
    pub alarm_after: Duration,
    /// Its back-channel logout ends grants too.
    pub backchannel_ends_grants: bool,
    /// Life of a token of the command line.
    pub cli_life: Duration,
}

impl Default for SessionRules {
    fn default() -> Self {
        Self {
            idle: Duration::from_secs(3600),
            absolute: Duration::from_secs(12 * 3600),
            revalidate: Duration::from_secs(300),
            alarm_after: Duration::from_secs(1800),
            backchannel_ends_grants: false,
            cli_life: Duration::from_secs(12 * 3600),
        }
    }
}

/// Words and an address.
#[derive(Debug, Clone)]
pub struct Link {
    pub text: String,
    pub url: String,
}

/// What the wiring passes in.
#[derive(Debug)]
pub struct PortalParts {
    pub store: SharedStore,
    pub audit: Audit,
    pub access: Arc<Access>,
    /// Questions to the Prometheus of clusters.
    pub prom: Prom,
    /// The way to clusters with a viewer's own access.
    pub api: Arc<proxy::ApiProxy>,
    /// What tunnels may lead to.
    pub places: Arc<proxy::tunnels::Places>,
    /// Requests that a cluster is asked to bear, shared with whoever else asks it.
    pub budget: rp_net::Budget,
    /// Watches of clusters that somebody looks at.
    pub observer: Observer,
    /// Recordings of sessions.
    pub recordings: Recordings,
    /// How many pages follow a cluster.
    pub live: LiveLimits,
    /// Cancelled when this process stops: open streams end.
    pub stopping: CancellationToken,
    pub keyring: Keyring,
    pub clock: SharedClock,
    pub random: SharedRandom,
    pub oidc: OidcConfig,
    pub urls: Urls,
    pub region: String,
    /// The build's version, as `/api/info` says it.
    pub version: String,
    /// Everything here is a simulation: said on every page.
    pub simulated: bool,
    /// Portals of other regions.
    pub regions: Vec<Link>,
    pub sessions: SessionRules,
    /// Where imported clusters may be.
    pub networks: Networks,
    /// The same for people, e.g. `10.0.0.0/8`.
    pub network_names: Vec<String>,
    /// Where the portal's metrics are registered.
    pub metrics: Registry,
    /// Where run-books are.
    pub run_books: RunBooks,
    /// Power and allocation of virtual machines; `None`: Azure is not configured.
    pub vm_states: Option<VmSource>,
    /// Shells in the browser.
    pub terminals: proxy::terminal::Terminals,
    /// The way to machines; `None`: there is none.
    pub ssh: Option<crate::ssh::SshParts>,
    /// How the provider is reached; `None`: over the network, trusting the host's CAs and the configured one.
    pub exchange: Option<Arc<dyn Exchange>>,
}

/// The portal in motion. Cheap to clone.
#[derive(Debug, Clone)]
pub struct PortalState(pub(crate) Arc<Parts>);

#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) store: SharedStore,
    pub(crate) audit: Audit,
    pub(crate) access: Arc<Access>,
    pub(crate) prom: Prom,
    pub(crate) api: Arc<proxy::ApiProxy>,
    pub(crate) places: Arc<proxy::tunnels::Places>,
    pub(crate) budget: rp_net::Budget,
    pub(crate) discovered: crate::look::Discovered,
    pub(crate) moments: crate::look::Moments,
    pub(crate) observer: Observer,
    pub(crate) recordings: Recordings,
    pub(crate) live: Places,
    pub(crate) live_metrics: LiveMetrics,
    pub(crate) stopping: CancellationToken,
    pub(crate) keyring: Keyring,
    pub(crate) clock: SharedClock,
    pub(crate) random: SharedRandom,
    pub(crate) urls: Urls,
    pub(crate) region: String,
    pub(crate) version: String,
    pub(crate) simulated: bool,
    pub(crate) regions: Vec<Link>,
    pub(crate) networks: Networks,
    pub(crate) network_names: Vec<String>,
    pub(crate) provider: Provider,
    pub(crate) sessions: Sessions,
    pub(crate) rules: SessionRules,
    pub(crate) sign_ins: SignIns,
    pub(crate) codes: Codes,
    /// Programs that wait for a browser cost a row each.
    pub(crate) waiting: Throttle,
    /// Letters that a person tries.
    pub(crate) letters: Throttle,
    pub(crate) index: Arc<ClusterIndex>,
    pub(crate) operations: Arc<crate::operations::Operations>,
    pub(crate) run_books: RunBooks,
    pub(crate) vms: Vms,
    pub(crate) terminals: proxy::terminal::Terminals,
    pub(crate) ssh: Option<crate::ssh::SshParts>,
    pub(crate) metrics: PortalMetrics,
}

/// The portal cannot start. A provider that is away is no reason.
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
        let exchange = match parts.exchange {
            Some(exchange) => exchange,
            None => crate::auth::network_exchange(&parts.oidc).map_err(StartError::SignIn)?,
        };
        let provider = Provider::new(parts.oidc, &parts.urls.portal, exchange, Arc::clone(&parts.clock))
            .map_err(StartError::SignIn)?;
        let sessions = Sessions::start(&parts.store, &parts.keyring, &parts.clock, parts.sessions).await?;
        let rules = parts.sessions;
        let (store, keyring, random) =
            (|| Arc::clone(&parts.store), &parts.keyring, || Arc::clone(&parts.random));
        let sign_ins = SignIns::new(store(), keyring.clone(), random(), rules.revalidate);
        let codes = Codes::new(store(), keyring.clone(), Arc::clone(&parts.clock), random());
        let index = ClusterIndex::start(&parts.store, &parts.clock).await?;
        let operations = crate::operations::Operations::start(&parts.store);
        let vms = Vms::new(parts.vm_states, store(), Arc::clone(&parts.clock));
        let parts = Arc::new(Parts {
            store: parts.store,
            audit: parts.audit,
            access: parts.access,
            prom: parts.prom,
            api: parts.api,
            places: parts.places,
            budget: parts.budget,
            discovered: crate::look::Discovered::default(),
            moments: crate::look::Moments::default(),
            observer: parts.observer,
            recordings: parts.recordings,
            live: Places::new(parts.live),
            live_metrics: LiveMetrics::register(&parts.metrics),
            stopping: parts.stopping,
            keyring: parts.keyring,
            clock: parts.clock,
            random: parts.random,
            urls: parts.urls,
            region: parts.region,
            version: parts.version,
            simulated: parts.simulated,
            regions: parts.regions,
            networks: parts.networks,
            network_names: parts.network_names,
            provider,
            sessions,
            rules,
            sign_ins,
            codes,
            waiting: Throttle::new(10, 300),
            letters: Throttle::new(20, 3000),
            index,
            operations,
            run_books: parts.run_books,
            vms,
            terminals: parts.terminals,
            ssh: parts.ssh,
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
        self.0.sessions.mint(&start).await
    }

    /// Asks the provider about everybody who is due, without waiting for the next round.
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
        self.0.sessions.end_all(sub).await
    }

    /// The clusters as the portal sees them.
    pub fn index(&self) -> &Arc<ClusterIndex> {
        &self.0.index
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
