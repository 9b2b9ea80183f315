//! New certificates for etcd of a cluster before 4.9, whose operator does not renew them by itself
//! (`contract/frontend.md` §11.6). Copies of the old ones lie in the cluster meanwhile, so that a process that dies loses none.

use std::time::Duration;

use rp_actions::control_plane::{ETCD as ETCD_OPERATOR, MASTERS};
use rp_actions::etcd::NAMESPACE;
use rp_openshift::{ClusterOperator, ClusterVersion, Etcd, Whole, condition};
use serde_json::{Value, json};
use tokio::time::Instant;
use x509_parser::pem::parse_x509_pem;

use super::super::nodes::{SHORT, again, unread_is_not_yet};
use super::super::{TaskFailure, failure};
use super::{CERTIFICATES, ETCD, Task, delete_secrets, secret_path};
use crate::conditions::CLUSTER_VERSION;
use crate::context::Context;
use crate::engine::PlanError;
use crate::errors::StepError;
use crate::kube_api::{Kube, secrets};
use crate::step::{ConditionStatus, Step};
use crate::{action, condition};

/// Ends the name of a copy.
const COPY: &str = "-before-renewal";
/// On a copy: the newest revision of etcd when it was made.
const REVISION: &str = "maintenance.aro.openshift.io/etcd-revision";
/// The least time that a new certificate is valid.
const LEAST_VALID: Duration = Duration::from_hours(24 * 1000);
/// For the members to run with the old certificates again.
const BACK: Duration = Duration::from_mins(30);

const DELETE: Step = action!("deleteCertificates", delete).within(SHORT);
const WAIT: Step = condition!("waitRevision", 30, is_deployed);

pub(super) fn plan() -> Vec<Step> {
    vec![
        action!("checkRenewal", check).within(SHORT),
        action!("keepCertificates", keep).within(SHORT),
        DELETE,
        WAIT,
        action!("checkCertificates", check_new).within(SHORT),
        action!("dropCopies", drop_copies).within(SHORT),
    ]
}

/// Names of the Secrets: three of each master.
pub(super) fn names(context: &Context) -> Vec<String> {
    let infra = context.document().infra_id().to_owned();
    let of_master = |n: usize| CERTIFICATES.map(|kind| format!("{kind}{infra}-master-{n}")).into_iter();
    (0..MASTERS).flat_map(of_master).collect()
}

/// Whether the cluster needs it and bears it.
async fn check(context: &Context) -> Result<(), StepError> {
    again(context, || async {
        let kube = Kube::connect(context)?;
        let version: ClusterVersion<Whole> = kube.get_required(CLUSTER_VERSION).await?;
        rp_actions::etcd::check_renewable(version.status.desired.version.as_str())
            .map_err(StepError::other)?;
        let etcd: Etcd<Whole> = kube.get_required(ETCD).await?;
        let signer = condition(&etcd.status.conditions, "EtcdCertSignerControllerDegraded");
        if signer.is_none_or(|signer| signer.status.as_str() != "False") {
            return Err(StepError::other("EtcdCertSignerController is in an unknown or degraded condition."));
        }
        let operator: ClusterOperator<Whole> = kube.get_required(&ETCD_OPERATOR.path()).await?;
        let available = condition(&operator.status.conditions, "Available");
        let is_expected = available.is_some_and(|found| found.reason.as_str() == "AsExpected");
        match operator.unsettled(ETCD_OPERATOR.name) {
            None if is_expected => {}
            None => return Err(StepError::other("etcd is available, but not AsExpected.")),
            Some(state) => {
                return Err(StepError::other(format!("{state}. Certificates are not renewed then.")));
            }
        }
        for name in names(context) {
            let left = validity(context, &name, &kube.get_required(&secret_path(&name)).await?)?;
            if left.is_zero() {
                return Err(StepError::other(format!("secret {name} is already expired, quitting.")));
            }
        }
        Ok(())
    })
    .await
}

/// How long the certificate of a Secret is still valid; zero: it has expired.
fn validity(context: &Context, name: &str, secret: &Value) -> Result<Duration, StepError> {
    use base64::Engine as _;
    let unreadable = || StepError::other(format!("the certificate of secret {name} cannot be read"));
    let text = secret["data"]["tls.crt"].as_str().ok_or_else(unreadable)?;
    let pem = base64::engine::general_purpose::STANDARD.decode(text).map_err(|_| unreadable())?;
    let (_, pem) = parse_x509_pem(&pem).map_err(|_| unreadable())?;
    let certificate = pem.parse_x509().map_err(|_| unreadable())?;
    let left = certificate.validity().not_after.timestamp() - context.env.clock.now().seconds();
    Ok(u64::try_from(left).map_or(Duration::ZERO, Duration::from_secs))
}

/// Makes a copy of every Secret beside it, with the revision that etcd has now.
async fn keep(context: &Context) -> Result<(), StepError> {
    again(context, || async {
        let kube = Kube::connect(context)?;
        let etcd: Etcd<Whole> = kube.get_required(ETCD).await?;
        let revision = etcd.status.latest_available_revision.0.unwrap_or_default();
        for name in names(context) {
            let found: Value = kube.get_required(&secret_path(&name)).await?;
            let copy = json!({
                "apiVersion": "v1", "kind": "Secret", "type": found["type"], "data": found["data"],
                "metadata": {"name": format!("{name}{COPY}"), "namespace": NAMESPACE,
                    "annotations": {REVISION: revision.to_string()}},
            });
            // One that is there was made by an attempt that died.
            kube.create(&secrets(NAMESPACE), &copy).await?;
        }
        Ok(())
    })
    .await
}

async fn delete(context: &Context) -> Result<(), StepError> {
    again(context, || async { delete_secrets(&Kube::connect(context)?, &names(context)).await }).await
}

/// Whether every node runs a newer revision than that of the copies.
async fn is_deployed(context: &Context) -> Result<ConditionStatus, StepError> {
    let looked = async {
        let kube = Kube::connect(context)?;
        let first = names(context).into_iter().next().unwrap_or_default();
        let copy: Value = kube.get_required(&secret_path(&format!("{first}{COPY}"))).await?;
        let kept = copy["metadata"]["annotations"][REVISION].as_str().and_then(|text| text.parse().ok());
        revision_after(&kube, kept.unwrap_or(i64::MAX)).await
    };
    Ok(unread_is_not_yet(looked.await))
}

async fn revision_after(kube: &Kube, before: i64) -> Result<ConditionStatus, StepError> {
    let etcd: Etcd<Whole> = kube.get_required(ETCD).await?;
    let latest = etcd.status.latest_available_revision.0.unwrap_or_default();
    if latest <= before {
        return Ok(ConditionStatus::not_yet(format!("revision {latest} is not newer than {before}")));
    }
    let nodes = &etcd.status.node_statuses;
    let behind = nodes.iter().find(|node| node.current_revision.0 != Some(latest));
    Ok(match behind {
        Some(node) => {
            ConditionStatus::not_yet(format!("node {} is not at revision {latest}", node.node_name.as_str()))
        }
        None if nodes.is_empty() => ConditionStatus::not_yet("no node has a revision"),
        None => ConditionStatus::Yes,
    })
}

async fn check_new(context: &Context) -> Result<(), StepError> {
    again(context, || async {
        let kube = Kube::connect(context)?;
        for name in names(context) {
            if validity(context, &name, &kube.get_required(&secret_path(&name)).await?)? < LEAST_VALID {
                return Err(StepError::other(
                    "etcd certificates renewal not successful, as at least one or all certificates are not renewed",
                ));
            }
        }
        Ok(())
    })
    .await
}

async fn drop_copies(context: &Context) -> Result<(), StepError> {
    let copies: Vec<String> = names(context).iter().map(|name| format!("{name}{COPY}")).collect();
    again(context, || async { delete_secrets(&Kube::connect(context)?, &copies).await }).await
}

/// Ends a renewal that failed: before anything was deleted nothing is to be done; after it the old certificates come back.
pub(super) async fn taken_back(context: &Context, stopped: PlanError) -> Result<(), TaskFailure> {
    let step = stopped.step.map(|step| step.name);
    let failed = failure(Task::RenewEtcdCertificates, stopped.error);
    let cause = match failed {
        TaskFailure::Terminal(cause) => cause,
        TaskFailure::Transient(cause) if step == Some(WAIT.name) => cause,
        passes => return Err(passes),
    };
    let put_back = step == Some(DELETE.name) || step == Some(WAIT.name);
    let undone = async {
        if put_back {
            restore(context).await?;
        }
        drop_copies(context).await
    };
    undone.await.map_err(|error| failure(Task::RenewEtcdCertificates, error))?;
    Err(TaskFailure::Terminal(match put_back {
        true => format!("etcd renewal failed, recovery performed to revert the changes. Cause: {cause}"),
        false => cause,
    }))
}

/// Puts the copies back, and waits until every node runs with them.
async fn restore(context: &Context) -> Result<(), StepError> {
    let kube = Kube::connect(context)?;
    let etcd: Etcd<Whole> = kube.get_required(ETCD).await?;
    let before = etcd.status.latest_available_revision.0.unwrap_or_default();
    for name in names(context) {
        let Some(copy) = kube.get::<Value>(&secret_path(&format!("{name}{COPY}"))).await? else { continue };
        let old = json!({
            "apiVersion": "v1", "kind": "Secret", "type": copy["type"], "data": copy["data"],
            "metadata": {"name": name, "namespace": NAMESPACE},
        });
        kube.ensure(&secrets(NAMESPACE), &old).await?;
    }
    let end = Instant::now() + context.env.periods.longest.map_or(BACK, |longest| BACK.min(longest));
    loop {
        match unread_is_not_yet(revision_after(&kube, before).await) {
            ConditionStatus::Yes => return Ok(()),
            // The old certificates are there; a person finds the operator behind.
            ConditionStatus::NotYet(seen) if Instant::now() >= end => {
                context.record_line("warning", &format!("after the way back: {seen}"));
                return Ok(());
            }
            ConditionStatus::NotYet(seen) => context.waiting(&seen),
        }
        context.sleep(context.env.periods.poll).await?;
    }
}
