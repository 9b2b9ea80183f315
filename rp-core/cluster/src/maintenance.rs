//! The tasks of maintenance as plans of steps (`contract/mimo.md` §5).

mod checks;
mod etcd;
mod flags;
mod nodes;
mod power;
mod resize;

use rp_azure::ErrorClass;
use rp_documents::maintenance::{Resize, Task};
use rp_kube::{ExecError, KubeError, api_status};

use crate::context::Context;
use crate::errors::StepError;
use crate::manager::Job;
use crate::manager_impl::ClusterManager;
use crate::progress::ProgressError;
use crate::step::{LONG_ACTION, Step};
use crate::{action, condition, conditions, engine, operator, resources};

/// What a manifest says beside its task.
#[derive(Debug, Clone, Default)]
pub struct TaskOrder {
    /// Of a resize of the control plane.
    pub resize: Option<Resize>,
    /// The machine that the task is about; empty: it is about none.
    pub machine: String,
    /// Skips the steps in the cluster.
    pub force: bool,
}

/// Why a task did not reach its end.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TaskFailure {
    /// May pass: to be repeated later.
    #[error("{0}")]
    Transient(String),
    /// Repeating does not help.
    #[error("{0}")]
    Terminal(String),
    #[error("the lease was lost")]
    Lost,
    /// The process stops, or others wait for the cluster: the work goes on from the last saved step.
    #[error("handed over")]
    HandedOver,
}

impl ClusterManager {
    /// Runs a task of maintenance from its saved position. The job's operation is [`crate::Operation::AdminUpdate`].
    ///
    /// # Errors
    /// What ended it.
    pub async fn maintain(&self, task: Task, order: TaskOrder, job: Job) -> Result<(), TaskFailure> {
        let context = Context::new(self.environment(), job).with_order(order);
        tracing::info!(resource_id = context.document().cluster_id(), "maintenance: {}", task.name());
        if task == Task::ResizeControlPlane {
            return Box::pin(resize::run(&context, self.step_metrics())).await;
        }
        if matches!(task, Task::RecoverEtcd | Task::RenewEtcdCertificates) {
            return Box::pin(etcd::run(&context, task, self.step_metrics())).await;
        }
        if task.is_on_machine() {
            return Box::pin(power::run(&context, task, self.step_metrics())).await;
        }
        let plan = plan(task);
        let ran = Box::pin(engine::run(&context, &plan, self.step_metrics())).await;
        ran.map_err(|stopped| failure(task, stopped.error))
    }
}

const API_UP: Step = condition!("apiServersReady", 5, conditions::api_servers_ready);
const FIX_SSH: Step = action!("fixSSH", resources::machines::fix_ssh);
const SYNC: Step = action!("syncClusterObject", operator::sync_cluster_object);
const FLAGS: Step = action!("updateOperatorFlags", flags::update_operator_flags);

/// The steps of a task. A task that cannot run ([`Task::build`]) has none, and is refused before; those of a resize, of
/// tasks on machines and on etcd have modules of their own.
fn plan(task: Task) -> Vec<Step> {
    let operator_update = || {
        vec![
            API_UP,
            action!("ensureAROOperator", operator::update),
            condition!("aroDeploymentReady", 20, operator::aro_deployment_ready),
            condition!("ensureAROOperatorRunningDesiredVersion", 5, operator::running_desired_version),
            SYNC,
        ]
    };
    let otel = |profile: Step| vec![profile, API_UP, FLAGS];
    match task {
        Task::TlsCertificates => vec![API_UP, action!("rotateCertificates", checks::rotate_certificates)],
        Task::OperatorReset => {
            let mut steps = vec![action!("clearOperatorVersion", flags::clear_operator_version)];
            steps.extend(operator_update());
            steps
        }
        Task::OperatorFlags => vec![API_UP, FLAGS],
        Task::OperatorUpdate => operator_update(),
        Task::SyncClusterObject => vec![SYNC],
        Task::RegistryTokenCheck => vec![action!("checkRegistryToken", checks::check_registry_token)],
        Task::IdentityCertificate
        | Task::ResizeControlPlane
        | Task::StartMachine
        | Task::StopMachine
        | Task::RestartMachine
        | Task::RedeployMachine
        | Task::RecoverEtcd
        | Task::RenewEtcdCertificates => Vec::new(),
        Task::BalancerZones => vec![
            action!(
                "migrateInternalLoadBalancerZones",
                resources::zone_migration::migrate_internal_load_balancer_zones
            )
            .within(LONG_ACTION),
            FIX_SSH,
        ],
        Task::FixSsh => vec![FIX_SSH],
        Task::OtelDefault | Task::OtelMinimalLogs => {
            otel(action!("setOtelMinimalLogs", flags::set_minimal_logs))
        }
        Task::OtelMaxLogs => otel(action!("setOtelMaxLogs", flags::set_max_logs)),
        Task::OtelReducedLogs => otel(action!("setOtelReducedLogs", flags::set_reduced_logs)),
    }
}

/// Whether every error of the task may pass (`contract/mimo.md` §5).
const fn is_always_transient(task: Task) -> bool {
    match task {
        Task::TlsCertificates
        | Task::OperatorReset
        | Task::OperatorUpdate
        | Task::SyncClusterObject
        | Task::IdentityCertificate
        | Task::BalancerZones => true,
        Task::OperatorFlags
        | Task::RegistryTokenCheck
        | Task::FixSsh
        | Task::ResizeControlPlane
        | Task::StartMachine
        | Task::StopMachine
        | Task::RestartMachine
        | Task::RedeployMachine
        | Task::RecoverEtcd
        | Task::RenewEtcdCertificates
        | Task::OtelDefault
        | Task::OtelMaxLogs
        | Task::OtelReducedLogs
        | Task::OtelMinimalLogs => false,
    }
}

fn failure(task: Task, error: StepError) -> TaskFailure {
    match error {
        StepError::Lost | StepError::Progress(ProgressError::Lost) => TaskFailure::Lost,
        StepError::Stopping => TaskFailure::HandedOver,
        error if is_always_transient(task) || may_pass(&error) => TaskFailure::Transient(error.to_string()),
        error => TaskFailure::Terminal(error.to_string()),
    }
}

fn may_pass_in_cluster(error: &KubeError) -> bool {
    api_status(error).is_none_or(|status| matches!(status, 409 | 429) || status >= 500)
}

/// Whether a repetition may succeed. A condition that was not met in time usually is later (`contract/mimo.md` "Do
/// better" 6).
fn may_pass(error: &StepError) -> bool {
    match error {
        StepError::Azure(error) => {
            matches!(error.class(), ErrorClass::Throttled | ErrorClass::Conflict | ErrorClass::Unavailable)
        }
        StepError::Kube { error, .. } => may_pass_in_cluster(error),
        StepError::Exec { error, .. } => match error.as_ref() {
            ExecError::Kube(error) => may_pass_in_cluster(error),
            ExecError::TimedOut(_) | ExecError::Broken(_) => true,
            ExecError::TooLong(_) => false,
        },
        StepError::Unmet { .. }
        | StepError::Overdue { .. }
        | StepError::Progress(ProgressError::Store(_))
        | StepError::Installer(_) => true,
        StepError::Cloud(_)
        | StepError::Explained { .. }
        | StepError::Seal(_)
        | StepError::Progress(ProgressError::Lost)
        | StepError::Lost
        | StepError::Stopping
        | StepError::Other(_) => false,
    }
}

#[cfg(test)]
mod tests;
