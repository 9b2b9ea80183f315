//! An old fix of routes (`contract/operator.md` §8.27). No supported version needs it, so it is only removed.

use crate::controller::{Outcome, Reconciled, Run};
use crate::kinds::{CLUSTER_ROLE_BINDING, NAMESPACE, ObjectName};

pub(super) const NAME: &str = "openshift-azure-routefix";
const BINDING: &str = "routefix";

pub(super) async fn reconcile(run: &Run<'_>) -> Reconciled {
    let namespace = ObjectName::of_cluster(&NAMESPACE, NAME);
    // Deleting takes a while: what is being deleted is not deleted again.
    let present = run.api().get(namespace).await?;
    if present.is_some_and(|present| present.pointer("/metadata/deletionTimestamp").is_none()) {
        run.api().delete(namespace).await?;
    }
    run.api().delete(ObjectName::of_cluster(&CLUSTER_ROLE_BINDING, BINDING)).await?;
    Ok(Outcome::done())
}
