//! What handlers work with.

use std::sync::Arc;

use axum::extract::FromRef;
use portal_session::fault::Fault;
use portal_session::revalidate;
use portal_session::session_store::MintError;
use portal_session::state::{SessionParts, SessionState, StartError};
use rp_database::StoreError;
use rp_documents::Person;
use rp_notify::Notifications;
use tokio_util::sync::CancellationToken;

use crate::fleet_maintenance::FleetMaintenance;
use crate::fleet_schedules::FleetSchedules;
use crate::index::ClusterIndex;
use crate::live_limits::{LiveLimits, LiveMetrics, PageLimiter};
use crate::objects::ObjectHistory;
use crate::objects::kinds::Discovered;
use crate::operations::Operations;
use crate::parts::{ClusterAccess, PortalParts};
use crate::ssh::{self, SshParts};
use crate::vms::Vms;

/// The state of a running portal. Cheap to clone.
#[derive(Debug, Clone, FromRef)]
pub struct PortalState {
    /// Who asks, and what they may.
    pub session: Arc<SessionState>,
    /// What is known of clusters.
    pub model: Arc<Model>,
}

/// What pages and JSON show alike, and how clusters are reached.
#[derive(Debug)]
pub struct Model {
    pub clusters: ClusterAccess,
    pub index: Arc<ClusterIndex>,
    pub operations: Arc<Operations>,
    pub maintenance: Arc<FleetMaintenance>,
    pub schedules: Arc<FleetSchedules>,
    pub notifications: Notifications,
    pub vms: Vms,
    pub discovered: Discovered,
    pub moments: ObjectHistory,
    pub live: PageLimiter,
    /// Exports of the audit log that run.
    pub exports: PageLimiter,
    pub live_metrics: LiveMetrics,
    pub stopping: CancellationToken,
}

impl PortalState {
    /// Reads the clusters and starts following the store; does not ask the provider.
    ///
    /// # Errors
    /// [`StartError`].
    pub async fn new(parts: PortalParts) -> Result<Self, StartError> {
        let PortalParts { store, audit, access, keyring, clock, random, metrics, site, sign_in, .. } = parts;
        let session = SessionParts {
            store: Arc::clone(&store),
            clock: Arc::clone(&clock),
            metrics: metrics.clone(),
            audit,
            access,
            keyring,
            random,
            site,
            sign_in,
        };
        let session = SessionState::start(session).await?;
        let model = Model {
            index: ClusterIndex::start(&store, &clock).await?,
            operations: Operations::start(&store),
            maintenance: FleetMaintenance::start(&store, &clock),
            schedules: FleetSchedules::start(&store),
            notifications: parts.notifications,
            vms: Vms::new(parts.vm_states, store, clock),
            discovered: Discovered::default(),
            moments: ObjectHistory::default(),
            live: PageLimiter::new(parts.live),
            exports: PageLimiter::new(LiveLimits::EXPORTS),
            live_metrics: LiveMetrics::register(&metrics),
            stopping: parts.stopping,
            clusters: parts.clusters,
        };
        revalidate::start(&session);
        Ok(Self { session, model: Arc::new(model) })
    }

    /// Begins a session for a person without a sign-in and gives its cookie, `name=value`: for the
    /// development server's scripts only.
    ///
    /// # Errors
    /// The session could not be stored.
    pub async fn mint_session(&self, person: Person) -> Result<String, MintError> {
        self.session.mint_session(person).await
    }

    /// Checks every person who is due with the provider, without waiting for the next round.
    ///
    /// # Errors
    /// The store did not answer.
    pub async fn revalidate(&self) -> Result<usize, StoreError> {
        revalidate::check_due(&self.session).await
    }

    /// Ends every session of a person, on every replica within a second.
    ///
    /// # Errors
    /// The store did not answer; some may have ended.
    pub async fn end_sessions(&self, sub: &str) -> Result<usize, StoreError> {
        self.session.sign_in.sessions.end_all(sub).await
    }

    /// The way to machines.
    ///
    /// # Errors
    /// There is none here.
    pub fn ssh(&self) -> Result<&SshParts, Fault> {
        self.model.clusters.ssh.as_ref().ok_or_else(ssh::switched_off)
    }

    /// The clusters as the portal sees them.
    pub fn index(&self) -> &Arc<ClusterIndex> {
        &self.model.index
    }
}
