//! What the wiring gives the portal.

use std::sync::Arc;
use std::time::Duration;

use proxy::prom::Prom;
use rp_access::Access;
use rp_audit::Audit;
use rp_base::{SharedClock, SharedRandom};
use rp_database::SharedStore;
use rp_metrics::Registry;
use rp_net::Networks;
use rp_observe::Observer;
use rp_recording::Recordings;
use rp_seal::Keyring;
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::auth::{Exchange, OidcConfig};
use crate::live::LiveLimits;
use crate::run_books::RunBooks;
use crate::vms::VmSource;

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
    /// A session that is unused for this long ends.
    pub idle: Duration,
    /// A session ends after this time even if it is used.
    pub absolute: Duration,
    /// The provider is asked about each person within this time, where it gave a refresh token.
    pub revalidate: Duration,
    /// A person whom the provider has not confirmed for this long raises an alarm.
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

/// Link text and address.
#[derive(Debug, Clone)]
pub struct Link {
    pub text: String,
    pub url: String,
}

/// Identity of this portal: addresses, region, version.
#[derive(Debug, Clone)]
pub struct Site {
    pub urls: Urls,
    pub region: String,
    /// The build's version, as `/api/info` says it.
    pub version: String,
    /// Everything here is a simulation; every page shows that.
    pub simulated: bool,
    /// Portals of other regions.
    pub regions: Vec<Link>,
    /// Where run-books are.
    pub run_books: RunBooks,
}

/// Services that reach clusters.
#[derive(Debug)]
pub struct ClusterAccess {
    /// With a viewer's own access.
    pub api: Arc<proxy::ApiProxy>,
    /// What tunnels may lead to.
    pub places: Arc<proxy::tunnel_endpoint::Destinations>,
    /// Questions to the Prometheus of clusters.
    pub prom: Prom,
    /// Watches of clusters that somebody looks at.
    pub observer: Observer,
    /// Budget of requests to each cluster, shared with every other component that sends requests to it.
    pub budget: rp_net::Budget,
    /// Recordings of sessions.
    pub recordings: Recordings,
    /// Shells in the browser.
    pub terminals: proxy::terminal::Terminals,
    /// To machines; `None`: there is none.
    pub ssh: Option<crate::ssh::SshParts>,
    /// Where imported clusters may be.
    pub networks: Networks,
    /// The same for people, e.g. `10.0.0.0/8`.
    pub network_names: Vec<String>,
}

/// How people sign in.
#[derive(Debug)]
pub struct SignInParts {
    pub oidc: OidcConfig,
    pub sessions: SessionRules,
    /// How the provider is reached; `None`: over the network, trusting the host's CAs and the configured one.
    pub exchange: Option<Arc<dyn Exchange>>,
}

/// What the wiring passes in.
#[derive(Debug)]
pub struct PortalParts {
    pub store: SharedStore,
    pub audit: Audit,
    pub access: Arc<Access>,
    pub keyring: Keyring,
    pub clock: SharedClock,
    pub random: SharedRandom,
    /// Where the portal's metrics are registered.
    pub metrics: Registry,
    pub site: Site,
    pub clusters: ClusterAccess,
    pub sign_in: SignInParts,
    /// Power and allocation of virtual machines; `None`: Azure is not configured.
    pub vm_states: Option<VmSource>,
    /// How many pages follow a cluster.
    pub live: LiveLimits,
    /// Cancelled when this process stops: open streams end.
    pub stopping: CancellationToken,
}
