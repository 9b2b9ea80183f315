//! One client for each cluster, kept from look to look (`contract/monitor.md` §7).

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use rp_documents::ResourceId;
use rp_kube::connect::{ClientError, Identity};
use rp_kube::lean::{LeanClient, LeanOptions};
use rp_net::{Dialer, Directory, DirectoryError};

/// Why there is no client.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    #[error(transparent)]
    Client(#[from] ClientError),
}

impl ConnectError {
    /// The label value for the metric of failed connections.
    pub const fn stage(&self) -> &'static str {
        match self {
            Self::Directory(DirectoryError::Unknown) => "unknown",
            Self::Directory(DirectoryError::NotReachable(_)) => "not_reachable",
            Self::Directory(DirectoryError::Unusable(_)) | Self::Client(_) => "unusable",
            Self::Directory(DirectoryError::Unavailable(_)) => "directory",
        }
    }
}

/// The clients of a process. A client is replaced when address, trust or credential of its cluster change.
#[derive(Debug)]
pub struct Connections {
    directory: Arc<dyn Directory>,
    dialer: Dialer,
    options: LeanOptions,
    kept: Mutex<HashMap<ResourceId, Arc<LeanClient>>>,
}

impl Connections {
    /// Nothing is dialled yet.
    pub fn new(directory: Arc<dyn Directory>, dialer: Dialer, options: LeanOptions) -> Self {
        Self { directory, dialer, options, kept: Mutex::default() }
    }

    /// The client of a cluster: the kept one, where the cluster's target is the same as before.
    ///
    /// # Errors
    /// [`ConnectError`]; nothing was dialled.
    pub async fn to(&self, id: &ResourceId) -> Result<Arc<LeanClient>, ConnectError> {
        let target = self.directory.find(id).await?;
        let same = |lean: &&Arc<LeanClient>| lean.target().fingerprint == target.fingerprint;
        if let Some(lean) = self.kept.lock().get(id).filter(same) {
            return Ok(Arc::clone(lean));
        }
        let lean =
            Arc::new(LeanClient::new(self.dialer.clone(), target, Identity::Admin, self.options.clone())?);
        self.kept.lock().insert(id.clone(), Arc::clone(&lean));
        Ok(lean)
    }

    /// Drops the client: the cluster is no longer ours, or its connection must not be reused.
    pub fn forget(&self, id: &ResourceId) {
        // Closed after the lock is released.
        let gone = self.kept.lock().remove(id);
        drop(gone);
    }

    /// Number of clients that are kept.
    pub fn len(&self) -> usize {
        self.kept.lock().len()
    }

    /// Whether no client is kept.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
