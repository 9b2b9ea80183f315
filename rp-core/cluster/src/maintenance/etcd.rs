//! etcd of a cluster: one broken member is replaced, and certificates before 4.9 are renewed, on the order of a person
//! (`contract/frontend.md` §11.5, §11.6).

mod backup;
mod members;
mod operator;
mod renewal;

use rp_actions::etcd::NAMESPACE;
use rp_documents::maintenance::Task;

use self::backup::back_up_data;
use self::members::{check, is_replaced, remove};
use self::operator::{allow_two_members, delete_certificates, redeploy, restore_overrides};
use super::nodes::{MACHINE, SHORT};
use super::{TaskFailure, failure};
use crate::context::Context;
use crate::engine::{self, PlanError};
use crate::errors::StepError;
use crate::kube_api::{Kube, secrets};
use crate::metrics::StepMetrics;
use crate::step::Step;
use crate::{action, condition};

/// The object of the etcd operator.
const ETCD: &str = "/apis/operator.openshift.io/v1/etcds/cluster";
/// What begins the names of the Secrets with certificates of one member.
const CERTIFICATES: [&str; 3] = ["etcd-peer-", "etcd-serving-", "etcd-serving-metrics-"];

const WAIT: Step = condition!("waitMember", 30, is_replaced);
/// The steps while the etcd operator is told to bear two members.
const WITH_TWO: [Step; 4] = [
    action!("allowTwoMembers", allow_two_members).within(SHORT),
    action!("deleteCertificates", delete_certificates).within(SHORT),
    action!("redeploy", redeploy).within(SHORT),
    WAIT,
];

/// The steps of a task on etcd.
pub(super) fn plan(task: Task) -> Vec<Step> {
    match task {
        Task::RecoverEtcd => {
            let mut steps = vec![
                action!("checkMembers", check).within(SHORT),
                action!("backUpData", back_up_data).within(MACHINE),
                action!("removeMember", remove).within(SHORT),
            ];
            steps.extend(WITH_TWO);
            steps.push(action!("restoreOverrides", restore_overrides).within(SHORT));
            steps
        }
        Task::RenewEtcdCertificates => renewal::plan(),
        _ => Vec::new(),
    }
}

/// Runs what is left of the plan. What a failure that no attempt follows would leave behind in the cluster is put back.
pub(super) async fn run(context: &Context, task: Task, metrics: &StepMetrics) -> Result<(), TaskFailure> {
    let Err(stopped) = engine::run(context, &plan(task), metrics).await else { return Ok(()) };
    match task {
        Task::RenewEtcdCertificates => renewal::taken_back(context, stopped).await,
        _ => Err(recovery_failed(context, stopped).await),
    }
}

/// A member that did not join in the time of its step is for a person to look at: another attempt would only wait again.
async fn recovery_failed(context: &Context, stopped: PlanError) -> TaskFailure {
    let step = stopped.step;
    let failed = match failure(Task::RecoverEtcd, stopped.error) {
        TaskFailure::Transient(text) if step.is_some_and(|step| step.name == WAIT.name) => {
            TaskFailure::Terminal(text)
        }
        failed => failed,
    };
    let bears_two = step.is_some_and(|step| WITH_TWO.iter().any(|one| one.name == step.name));
    if bears_two
        && matches!(failed, TaskFailure::Terminal(_))
        && let Err(error) = restore_overrides(context).await
    {
        tracing::warn!(
            resource_id = context.document().cluster_id(),
            error = %rp_base::chain(&error),
            "the etcd operator bears two members after a recovery that failed"
        );
    }
    failed
}

fn secret_path(name: &str) -> String {
    format!("{}/{name}", secrets(NAMESPACE))
}

/// Deletes Secrets of etcd; those that are gone stay so.
async fn delete_secrets(kube: &Kube, names: &[String]) -> Result<(), StepError> {
    for name in names {
        kube.delete(&secret_path(name)).await?;
    }
    Ok(())
}

#[cfg(test)]
mod real_tests;
#[cfg(test)]
mod tests;
