//! The API proxy's parts: what all its requests share.

use std::sync::Arc;
use std::time::Duration;

use rp_access::Access;
use rp_audit::Audit;
use rp_base::{SharedClock, SharedRandom};
use rp_metrics::Registry;
use rp_net::{Dialer, Directory};
use rp_recording::Recordings;
use tokio_util::sync::CancellationToken;

use super::address::split;
use super::metrics::ApiMetrics;
use super::pool::Pools;
use crate::overseer::Overseer;

const SWEEP_EVERY: Duration = Duration::from_secs(60);

/// Timeouts of one request.
#[derive(Debug, Clone)]
pub struct Timeouts {
    /// Dial and TLS (`contract/portal.md` §12.2: 30 s).
    pub connect: Duration,
    /// The head of the answer, after the last byte of the request.
    pub head: Duration,
    /// Between two pieces of an answer that is no stream.
    pub idle: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(30),
            head: Duration::from_secs(90),
            idle: Duration::from_secs(300),
        }
    }
}

/// What the proxy is made of.
#[derive(Debug)]
pub struct ApiProxyParts {
    pub access: Arc<Access>,
    pub directory: Arc<dyn Directory>,
    pub dialer: Dialer,
    pub clock: SharedClock,
    pub random: SharedRandom,
    pub registry: Registry,
    pub timeouts: Timeouts,
    /// Of exec and attach.
    pub recordings: Recordings,
    /// Whether write rights open Secrets that hold releases of Helm (`access.helm_secrets`).
    pub helm_secrets: bool,
    /// Cuts upgraded streams when the process must end.
    pub cut: CancellationToken,
}

/// The Kubernetes API proxy (`contract/portal.md` §11).
#[derive(Debug)]
pub struct ApiProxy {
    pub(super) access: Arc<Access>,
    pub(super) audit: Audit,
    pub(super) directory: Arc<dyn Directory>,
    pub(super) pools: Arc<Pools>,
    pub(super) clock: SharedClock,
    pub(super) random: SharedRandom,
    pub(super) metrics: ApiMetrics,
    pub(super) timeouts: Timeouts,
    pub(super) recordings: Recordings,
    pub(super) helm_secrets: bool,
    pub(super) overseer: Arc<Overseer>,
    pub(super) cut: CancellationToken,
}

impl ApiProxy {
    /// Starts the proxy's housekeeping.
    pub fn new(parts: ApiProxyParts) -> Arc<Self> {
        let pools = Pools::new(parts.dialer, parts.timeouts.connect);
        let swept = Arc::downgrade(&pools);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(SWEEP_EVERY).await;
                let Some(pools) = swept.upgrade() else { return };
                pools.sweep();
            }
        });
        Arc::new(Self {
            audit: parts.access.audit().clone(),
            access: parts.access,
            directory: parts.directory,
            pools,
            clock: parts.clock,
            random: parts.random,
            metrics: ApiMetrics::register(&parts.registry),
            timeouts: parts.timeouts,
            recordings: parts.recordings,
            helm_secrets: parts.helm_secrets,
            overseer: Overseer::start(),
            cut: parts.cut,
        })
    }

    /// Whether a path is the proxy's. Decided before any router normalises.
    pub fn matches(path: &str) -> bool {
        split(path).is_some()
    }
}
