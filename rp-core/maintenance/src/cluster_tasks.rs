//! The tasks as `rp-cluster` does them.

use std::sync::Arc;

use async_trait::async_trait;
use rp_cluster::{
    Change, ClusterManager, Job, Operation, Progress, ProgressError, StepEvent, TaskFailure, TaskOrder,
};
use rp_documents::ClusterDocument;
use rp_documents::maintenance::Manifest;

use crate::run::Run;
use crate::task::{TaskError, TaskJob, TaskRunner};

/// [`TaskRunner`] by the steps of clusters.
#[derive(Debug)]
pub struct ClusterTasks {
    manager: ClusterManager,
}

impl ClusterTasks {
    /// By that manager.
    pub const fn new(manager: ClusterManager) -> Self {
        Self { manager }
    }
}

#[async_trait]
impl TaskRunner for ClusterTasks {
    async fn run(&self, job: TaskJob) -> Result<(), TaskError> {
        let TaskJob { task, document, subscription, run, lost, stopping } = job;
        let Manifest { resize, machine, force, .. } = run.order().await;
        let order = TaskOrder { resize, machine, force };
        let job = Job {
            operation: Operation::AdminUpdate,
            document,
            subscription,
            progress: Arc::new(RunProgress(run)),
            lost,
            stopping,
        };
        self.manager.maintain(task, order, job).await.map_err(|failure| match failure {
            TaskFailure::Transient(text) => TaskError::Transient(text),
            TaskFailure::Terminal(text) => TaskError::Terminal(text),
            TaskFailure::Lost => TaskError::Lost,
            TaskFailure::HandedOver => TaskError::HandedOver,
        })
    }
}

/// What the steps store, by the run.
#[derive(Debug)]
struct RunProgress(Arc<Run>);

#[async_trait]
impl Progress for RunProgress {
    async fn read(&self) -> Result<Arc<ClusterDocument>, ProgressError> {
        self.0.cluster().await.map_err(progress_error)
    }

    async fn patch(&self, change: Change) -> Result<Arc<ClusterDocument>, ProgressError> {
        self.0.patch_cluster(|cluster, by| change(cluster, by)).await.map_err(progress_error)
    }

    async fn position(&self) -> Result<Option<String>, ProgressError> {
        Ok(self.0.position().await)
    }

    async fn save(&self, next_step: &str) -> Result<(), ProgressError> {
        self.0.save(next_step).await.map_err(progress_error)
    }

    async fn turn_back(&self, cause: &str, next_step: &str) -> Result<(), ProgressError> {
        self.0.turn_back(cause, next_step).await.map_err(progress_error)
    }

    /// Lines of steps are the result that people read, and steps that ended are in the manifest; beginnings are in the
    /// process's log.
    fn record_event(&self, event: StepEvent<'_>) {
        match event {
            StepEvent::Line { text, .. } => self.0.record_line(text),
            StepEvent::Done { name, took } | StepEvent::Failed { name, took, .. } => {
                self.0.record_step(name, took);
            }
            StepEvent::Started { .. } | StepEvent::Waiting { .. } | StepEvent::Diagnostic { .. } => {}
        }
    }

    async fn create_billing_record(&self, _: &str, _: &str, _: &str) -> Result<(), ProgressError> {
        Err(ProgressError::Store("maintenance writes no billing records".to_owned()))
    }

    async fn end_billing_record(&self) -> Result<(), ProgressError> {
        Err(ProgressError::Store("maintenance writes no billing records".to_owned()))
    }
}

fn progress_error(error: TaskError) -> ProgressError {
    match error {
        TaskError::Lost | TaskError::HandedOver => ProgressError::Lost,
        TaskError::Transient(text) | TaskError::Terminal(text) => ProgressError::Store(text),
    }
}
