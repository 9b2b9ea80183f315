//! What the wiring gives the portal.

use std::sync::Arc;

use portal_session::site::Site;
use portal_session::state::SignInParts;
use proxy::prom::Prom;
use rp_access::Access;
use rp_audit::Audit;
use rp_base::{SharedClock, SharedRandom};
use rp_database::SharedStore;
use rp_metrics::Registry;
use rp_net::Networks;
use rp_notify::Notifications;
use rp_observe::Observer;
use rp_recording::Recordings;
use rp_seal::Keyring;
use tokio_util::sync::CancellationToken;

use crate::live_limits::LiveLimits;
use crate::vms::VmSource;

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
    /// Who outside is told, and what was sent.
    pub notifications: Notifications,
    /// Power and allocation of virtual machines; `None`: Azure is not configured.
    pub vm_states: Option<VmSource>,
    /// How many pages follow a cluster.
    pub live: LiveLimits,
    /// Cancelled when this process stops: open streams end.
    pub stopping: CancellationToken,
}
