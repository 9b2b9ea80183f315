//! The subnets of the cluster (`contract/operator.md` §7 "Cluster subnets list", §8.29): their network security groups
//! and service endpoints.

mod change;
mod list;

use std::time::Duration;

use rp_azure::{Client, ErrorKind, Precondition, Resources as _};
use rp_base::Timestamp;
use rp_operator_api::{Flag, SINGLETON};
use serde_json::{Value, json};
use time::OffsetDateTime;

use self::change::{Wanted, changed};
pub(super) use self::list::{SubnetOf, of_cluster};
use crate::controller::{Outcome, ReconcileError, Reconciled, Run};
use crate::kinds::{CLUSTER, ObjectName};

pub(super) const API_VERSION: &str = "2024-05-01";
/// When a network security group was put right last; the monitor reads it.
const ANNOTATION: &str = "aro.openshift.io/lastSubnetReconcileTimestamp";
/// Attempts of a change that meets the customer's.
const ATTEMPTS: u32 = 3;
/// Before the next attempt.
const BETWEEN: Duration = Duration::from_secs(1);

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
    let text = |error: &dyn std::error::Error| rp_base::chain(error).to_string();
    let mut attempt = 1;
    loop {
        let present = azure.get(&subnet.id, API_VERSION).await.map_err(|error| text(&error))?;
        let Some(present) = present else {
            tracing::info!(subnet = subnet.id, "the subnet is not there");
            return Ok(false);
        };
        let change = changed(&present, &run.cluster.spec, subnet, wanted)?;
        let Some(change) = change else { return Ok(false) };
        if let Some((old, new)) = &change.group {
            tracing::info!(
                subnet = subnet.id,
                "Fixing NSG from {} to {new}",
                old.as_deref().unwrap_or("nil")
            );
        }
        // Only if nobody changed the subnet meanwhile (`contract/operator.md` "Do better" 20).
        let etag = present.get("etag").and_then(Value::as_str);
        let put = match etag {
            Some(etag) => {
                azure.put_when(&subnet.id, API_VERSION, &change.body, Precondition::Unchanged(etag)).await
            }
            None => azure.put(&subnet.id, API_VERSION, &change.body).await,
        };
        match put {
            Ok(_) => return Ok(change.group.is_some()),
            Err(error) if error.kind == ErrorKind::Conflict && attempt < ATTEMPTS => {
                attempt += 1;
                tokio::time::sleep(BETWEEN).await;
            }
            Err(error) => return Err(text(&error)),
        }
    }
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
