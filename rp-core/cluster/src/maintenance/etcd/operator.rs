//! What the etcd operator is told while one member is missing: to bear two, to make new certificates, and to begin anew.

use serde_json::{Value, json};

use super::super::nodes::{again, node_name};
use super::{CERTIFICATES, ETCD, delete_secrets};
use crate::context::Context;
use crate::errors::StepError;
use crate::kube_api::{Kube, merge_into};

/// On the operator's object: its overrides before the recovery, as JSON.
pub(super) const OVERRIDES: &str = "maintenance.aro.openshift.io/etcd-overrides";
/// On the operator's object: the reason of the redeployment, which is another one in each recovery.
pub(super) const REASON: &str = "maintenance.aro.openshift.io/etcd-redeployment";

/// Removes the reason that an order left which ended after too many attempts: each recovery has one of its own. What the
/// overrides were before is kept.
pub(super) async fn forget_redeployment(kube: &Kube) -> Result<(), StepError> {
    let forget = |etcd: &mut Value| {
        let notes = etcd.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut);
        notes.is_some_and(|notes| notes.remove(REASON).is_some())
    };
    kube.set(ETCD, forget).await
}

/// Lets the operator work with two members, and notes what its overrides were.
pub(super) async fn allow_two_members(context: &Context) -> Result<(), StepError> {
    let reason = format!("single-master-recovery-{}", context.env.clock.now());
    let allow = |etcd: &mut Value| {
        let notes = &etcd["metadata"]["annotations"];
        if notes[REASON].is_string() {
            // An attempt that died has done it.
            return false;
        }
        let now = || Value::String(etcd["spec"]["unsupportedConfigOverrides"].to_string());
        let before = if notes[OVERRIDES].is_string() { notes[OVERRIDES].clone() } else { now() };
        merge_into(
            etcd,
            &json!({
                "metadata": {"annotations": {OVERRIDES: before, REASON: reason}},
                "spec": {"unsupportedConfigOverrides": {"useUnsupportedUnsafeNonHANonProductionUnstableEtcd": true}},
            }),
        )
    };
    again(context, || async { Kube::connect(context)?.set(ETCD, allow).await }).await
}

/// Deletes the certificates of the member; the operator makes new ones.
pub(super) async fn delete_certificates(context: &Context) -> Result<(), StepError> {
    again(context, || async {
        let kube = Kube::connect(context)?;
        let node = node_name(context, &kube).await?;
        delete_secrets(&kube, &CERTIFICATES.map(|kind| format!("{kind}{node}"))).await
    })
    .await
}

/// Has the operator deploy all members anew.
pub(super) async fn redeploy(context: &Context) -> Result<(), StepError> {
    let redeploy = |etcd: &mut Value| {
        let reason = etcd["metadata"]["annotations"][REASON].clone();
        reason.is_string() && merge_into(etcd, &json!({"spec": {"forceRedeploymentReason": reason}}))
    };
    again(context, || async { Kube::connect(context)?.set(ETCD, redeploy).await }).await
}

/// Puts the operator's overrides back as they were, and removes the notes.
pub(super) async fn restore_overrides(context: &Context) -> Result<(), StepError> {
    let restore = |etcd: &mut Value| {
        let notes = etcd.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut);
        let Some(notes) = notes else { return false };
        notes.remove(REASON);
        let Some(Value::String(before)) = notes.remove(OVERRIDES) else { return false };
        let before = serde_json::from_str(&before).unwrap_or(Value::Null);
        let Some(spec) = etcd.get_mut("spec").and_then(Value::as_object_mut) else { return true };
        match before {
            Value::Null => spec.remove("unsupportedConfigOverrides"),
            before => spec.insert("unsupportedConfigOverrides".to_owned(), before),
        };
        true
    };
    again(context, || async { Kube::connect(context)?.set(ETCD, restore).await }).await
}
