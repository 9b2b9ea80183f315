//! What a running task reads and writes through: the cluster's document under the cluster's lease, and its own position
//! and result in the manifest.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rp_base::Timestamp;
use rp_base::text::clean;
use rp_documents::cluster::Worker;
use rp_documents::maintenance::{Manifest, ManifestStep};
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
    /// Steps that ended and do not stand in the manifest yet.
    steps: Mutex<Vec<ManifestStep>>,
    /// The stored position, which names the step that runs; empty: none is stored.
    current: Mutex<String>,
}

impl Run {
    pub(crate) fn new(
        cluster: Arc<LeasedDocument<ClusterDocument>>,
        manifest: LeasedDocument<ManifestDocument>,
    ) -> Self {
        Self {
            cluster,
            manifest,
            lines: Mutex::default(),
            steps: Mutex::default(),
            current: Mutex::default(),
        }
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
        self.current.lock().clone_from(&position);
        Some(position).filter(|position| !position.is_empty())
    }

    /// The next run goes on with the step of that stored name.
    ///
    /// # Errors
    /// The lease is lost, or the store is away.
    pub async fn save(&self, next_step: &str) -> Result<(), TaskError> {
        self.write(next_step, |_| {}).await
    }

    /// The manifest as it was last read or written.
    pub async fn order(&self) -> Manifest {
        self.manifest.cached().await.maintenance_manifest
    }

    /// Keeps why a resize is taken back, and goes on with that step of the way back.
    ///
    /// # Errors
    /// The lease is lost, or the store is away.
    pub async fn turn_back(&self, cause: &str, next_step: &str) -> Result<(), TaskError> {
        self.write(next_step, |manifest| {
            if let Some(resize) = &mut manifest.resize {
                resize.cause = clean(cause, SHOWN);
            }
        })
        .await
    }

    /// Adds a step that ended; it is written with the next save, or with the end of the run. A step that a plan has more
    /// than once is told apart by its position.
    pub fn record_step(&self, name: &str, took: Duration) {
        let milliseconds = i64::try_from(took.as_millis()).unwrap_or(i64::MAX);
        let current = self.current.lock().clone();
        let is_current = current.split('#').next() == Some(name);
        let name = if is_current { current.as_str() } else { name };
        let mut steps = self.steps.lock();
        if steps.len() < Manifest::MOST_STEPS {
            steps.push(ManifestStep { name: name.to_owned(), milliseconds, ..ManifestStep::default() });
        }
    }

    /// Steps that ended and do not stand in the manifest yet.
    pub(crate) fn unwritten_steps(&self) -> Vec<ManifestStep> {
        self.steps.lock().clone()
    }

    /// How often the manifest was taken since it last came further.
    pub(crate) async fn dequeues(&self) -> u32 {
        self.manifest.cached().await.lease().dequeues
    }

    /// Holds the cluster for this run and those that go on with it until then, or for nobody any more.
    ///
    /// # Errors
    /// The lease is lost, or the store is away.
    pub(crate) async fn hold_cluster(&self, until: Option<Timestamp>) -> Result<(), TaskError> {
        let change = |document: &mut ClusterDocument| {
            let by = Worker::holding(&document.lease());
            match until {
                Some(until) => document.maintenance_hold_until.set(by, until.seconds()),
                None => document.maintenance_hold_until.clear(by),
            }
        };
        self.cluster.patch(change).await.map(drop).map_err(task_error)
    }

    /// Stores the next step and another change, and adds the steps that ended since. A task that must come to its end
    /// is worn out only by attempts without any progress.
    async fn write(&self, next_step: &str, change: impl Fn(&mut Manifest) + Sync) -> Result<(), TaskError> {
        let steps = self.unwritten_steps();
        let written = self.manifest.patch(|document| {
            next_step.clone_into(&mut document.maintenance_manifest.position);
            change(&mut document.maintenance_manifest);
            document.maintenance_manifest.add_steps(&steps);
            if !document.maintenance_manifest.gives_way() {
                document.dequeues = document.dequeues.min(1);
            }
        });
        written.await.map_err(task_error)?;
        self.steps.lock().drain(..steps.len());
        next_step.clone_into(&mut self.current.lock());
        Ok(())
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
