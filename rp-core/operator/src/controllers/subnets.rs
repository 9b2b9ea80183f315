//! The subnets of the cluster (`contract/operator.md` §7 "Cluster subnets list", §8.29): their network security groups
//! and service endpoints.

mod change;
mod list;

use rp_azure::Client;
use rp_base::Timestamp;
use rp_operator_api::{Flag, SINGLETON};
use serde_json::json;
use time::OffsetDateTime;

use self::change::{Wanted, changed};
pub(super) use self::list::{SubnetOf, of_cluster};
use crate::azure::edit;
use crate::controller::{Outcome, ReconcileError, Reconciled, Run};
use crate::kinds::{CLUSTER, ObjectName};

pub(super) const API_VERSION: &str = "2024-05-01";
/// When a network security group was put right last; the monitor reads it.
const ANNOTATION: &str = "aro.openshift.io/lastSubnetReconcileTimestamp";

pub(super) async fn reconcile(run: &Run<'_>) -> Reconciled {
    let wanted = Wanted {
        groups: run.on(Flag::SubnetsNsg),
        // With the gateway enabled, the services are reached through it.
        endpoints: run.on(Flag::SubnetsEndpoints) && run.cluster.spec.gateway_domains.is_empty(),
    };
    if !wanted.groups && !wanted.endpoints {
        return Ok(Outcome::done());
    }
    let azure = run.context.azure.client(run.cluster)?;
    let mut errors = Vec::new();
    let mut fixed = false;
    for subnet in of_cluster(run).await? {
        match keep(run, &azure, &subnet, wanted).await {
            Ok(group) => fixed |= group,
            Err(error) => errors.push(error),
        }
    }
    if fixed {
        note(run).await?;
    }
    if errors.is_empty() { Ok(Outcome::done()) } else { Err(ReconcileError::invalid(errors.join("\n"))) }
}

/// Puts one subnet right; gives whether its network security group was changed.
async fn keep(run: &Run<'_>, azure: &Client, subnet: &SubnetOf, wanted: Wanted) -> Result<bool, String> {
    let mut fixes = false;
    let edited = edit(azure, &subnet.id, API_VERSION, |present| {
        fixes = false;
        let Some(present) = present else {
            tracing::info!(subnet = subnet.id, "the subnet is not there");
            return Ok(None);
        };
        let change = changed(present, &run.cluster.spec, subnet, wanted)?;
        if let Some((old, new)) = change.as_ref().and_then(|change| change.group.as_ref()) {
            fixes = true;
            tracing::info!(
                subnet = subnet.id,
                "Fixing NSG from {} to {new}",
                old.as_deref().unwrap_or("nil")
            );
        }
        Ok(change.map(|change| change.body))
    });
    edited.await.map_err(|error| rp_base::chain(&error).to_string())?;
    Ok(fixes)
}

async fn note(run: &Run<'_>) -> Result<(), ReconcileError> {
    let now = rfc1123(run.context.clock.now());
    let patch = json!({ "metadata": { "annotations": { ANNOTATION: now } } });
    run.api().merge(ObjectName::of_cluster(&CLUSTER, SINGLETON), &patch).await?;
    Ok(())
}

/// `Mon, 02 Jan 2006 15:04:05 UTC`.
fn rfc1123(at: Timestamp) -> String {
    let at: OffsetDateTime = at.to_datetime();
    let first = |text: String| text.get(..3).unwrap_or_default().to_owned();
    let (weekday, month) = (first(at.weekday().to_string()), first(at.month().to_string()));
    let (hour, minute, second) = at.to_hms();
    format!("{weekday}, {:02} {month} {} {hour:02}:{minute:02}:{second:02} UTC", at.day(), at.year())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_has_the_form_that_the_monitor_reads() {
        let at = Timestamp::parse("2026-01-02T03:04:05Z").unwrap();
        assert_eq!(rfc1123(at), "Fri, 02 Jan 2026 03:04:05 UTC");
    }
}
