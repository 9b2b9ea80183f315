//! What the plan asks of its caller, and what it asks about a cluster.

use std::sync::Arc;
use std::time::Duration;

use rp_documents::ResourceId;
use tokio_util::sync::CancellationToken;

use crate::view::ClusterView;
use crate::worker::Round;

/// Whether a cluster may be looked at, by its subscription.
#[derive(Debug, Clone)]
pub(crate) enum Tenancy {
    /// Imported clusters have none.
    NotNeeded,
    Of(Arc<str>),
    /// Unknown, deleted, suspended or warned.
    Invalid,
    /// Subscriptions were not read yet.
    NotReady,
}

/// An action that the caller has to perform.
#[derive(Debug)]
pub(crate) enum Action {
    /// A look is to begin. [`super::Plan::done`] ends it.
    Look(Box<LookStart>),
    /// A round that was skipped; `warn`: it is time to log this again.
    Skipped { id: ResourceId, warn: bool },
    /// The worker ended: drop the state of the cluster.
    Forget(ResourceId),
    /// The document is gone and its bucket is ours: remove its mirrored documents.
    Remove { document: Box<str>, bucket: u8 },
}

/// A look that is to begin.
#[derive(Debug)]
pub(crate) struct LookStart {
    pub(crate) key: Arc<str>,
    pub(crate) view: Arc<ClusterView>,
    pub(crate) round: Round,
    pub(crate) cancel: CancellationToken,
    /// Delay after the scheduled instant.
    pub(crate) late: Duration,
}
