//! What a running task reads and writes through: the cluster's document under the cluster's lease, and its own position
//! and result in the manifest.

use std::sync::Arc;

use parking_lot::Mutex;
use rp_base::text::clean;
use rp_documents::cluster::Worker;
use rp_documents::{ClusterDocument, Leased as _, ManifestDocument, OpenShiftCluster};

use crate::lease::{LeaseError, LeasedDocument};
use crate::task::TaskError;

/// Characters of a result that people are shown.
const SHOWN: usize = 2000;
/// Lines of a result.
const MOST_LINES: usize = 20;

/// One run of one manifest.
#[derive(Debug)]
pub struct Run {
    cluster: Arc<LeasedDocument<ClusterDocument>>,
    manifest: LeasedDocument<ManifestDocument>,
    lines: Mutex<Vec<String>>,
}

impl Run {
    pub(crate) fn new(
        cluster: Arc<LeasedDocument<ClusterDocument>>,
        manifest: LeasedDocument<ManifestDocument>,
    ) -> Self {
        Self { cluster, manifest, lines: Mutex::default() }
    }

    pub(crate) const fn manifest(&self) -> &LeasedDocument<ManifestDocument> {
        &self.manifest
    }

    pub(crate) const fn held_cluster(&self) -> &Arc<LeasedDocument<ClusterDocument>> {
        &self.cluster
    }

    /// The cluster's document as it stands.
    ///
    /// # Errors
    /// The lease is lost, or the store is away.
    pub async fn cluster(&self) -> Result<Arc<ClusterDocument>, TaskError> {
        self.cluster.read().await.map(Arc::new).map_err(task_error)
    }

    /// Changes the cluster under its lease and gives what was written. `change` may run more than once, on newer
    /// documents.
    ///
    /// # Errors
    /// The lease is lost, or the store is away.
    pub async fn patch_cluster(
        &self,
        change: impl Fn(&mut OpenShiftCluster, Worker) + Sync,
    ) -> Result<Arc<ClusterDocument>, TaskError> {
        let change = |document: &mut ClusterDocument| {
            let by = Worker::holding(&document.lease());
            change(&mut document.cluster, by);
        };
        self.cluster.patch(change).await.map(Arc::new).map_err(task_error)
    }

    /// The step to go on with; `None`: the first.
    pub async fn position(&self) -> Option<String> {
        let position = self.manifest.cached().await.maintenance_manifest.position;
        Some(position).filter(|position| !position.is_empty())
    }

    /// The next run goes on with the step of that stored name.
    ///
    /// # Errors
    /// The lease is lost, or the store is away.
    pub async fn save(&self, next_step: &str) -> Result<(), TaskError> {
        let written = self.manifest.patch(|document| {
            document.maintenance_manifest.position = next_step.to_owned();
        });
        written.await.map(drop).map_err(task_error)
    }

    /// Adds a sentence to the result that people read; no secrets. What exceeds its bounds is left out.
    pub fn record_line(&self, text: &str) {
        let mut lines = self.lines.lock();
        if lines.len() < MOST_LINES {
            lines.push(clean(text, SHOWN));
        }
    }

    /// The result so far.
    pub(crate) fn result(&self) -> String {
        clean(&self.lines.lock().join("; "), SHOWN)
    }
}

fn task_error(error: LeaseError) -> TaskError {
    match error {
        LeaseError::Lost => TaskError::Lost,
        LeaseError::Store(text) => TaskError::Transient(format!("the store: {text}")),
    }
}
