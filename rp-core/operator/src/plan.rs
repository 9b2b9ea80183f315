//! Carrying out what `rp-operator-objects` decided.

use rp_operator_objects::{Change, ObjectRef, Plan};

use crate::api::{Api, ApiError};
use crate::apply::{Applied, Checksums, Owner, create_only, ensure};
use crate::kinds::{Kind, ObjectName};

/// Carries out a plan in its order; gives whether something was written. A merge that was decided on an older version is
/// a conflict: the reconciliation is repeated and decides again.
///
/// # Errors
/// The first [`ApiError`]; what comes after it is not done.
pub async fn carry_out(api: &Api, plan: &Plan, owner: Option<&Owner>) -> Result<bool, ApiError> {
    let mut changed = false;
    let applied = plan.changes.iter().filter_map(|change| match change {
        Change::Apply(object) | Change::Create(object) => Some(object),
        Change::Delete(_) | Change::Merge { .. } => None,
    });
    let checksums = Checksums::of(applied);
    for change in &plan.changes {
        changed |= match change {
            Change::Apply(object) => {
                ensure(api, &checksums.annotated(object), owner).await? != Applied::Unchanged
            }
            Change::Create(object) => create_only(api, object, owner).await? != Applied::Unchanged,
            Change::Delete(object) => api.delete(name_of("delete", object)?).await?,
            Change::Merge { object, patch, resource_version } => {
                let name = name_of("patch", object)?;
                let mut patch = patch.clone();
                if let Some(version) = resource_version {
                    patch["metadata"]["resourceVersion"] = version.as_str().into();
                }
                api.merge(name, &patch).await?;
                tracing::info!(object = %name, "Update");
                true
            }
        };
    }
    Ok(changed)
}

fn name_of<'a>(verb: &'static str, object: &'a ObjectRef) -> Result<ObjectName<'a>, ApiError> {
    let kind = Kind::named(&object.api_version, &object.kind);
    let kind = kind.ok_or_else(|| ApiError::Request { verb, object: object.to_string() })?;
    Ok(ObjectName { kind, namespace: &object.namespace, name: &object.name })
}
