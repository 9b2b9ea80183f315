//! Features in preview (`contract/operator.md` §8.24): flow logs of the network security groups.

use std::time::Duration;

use rp_azure::{Client, Resources as _};
use rp_operator_api::preview::NsgFlowLogs;
use rp_operator_api::{PreviewFeature, SINGLETON};
use serde::Deserialize as _;
use serde_json::{Value, json};

use super::subnets;
use crate::apply::covers;
use crate::azure::{EditError, edit, subscription};
use crate::controller::{Outcome, ReconcileError, Reconciled, Run};
use crate::kinds::{ObjectName, PREVIEW_FEATURE};

/// When subnets are looked at again of which one has no group: another controller gives it one.
const INCOMPLETE: Duration = Duration::from_secs(300);

pub(super) async fn reconcile(run: &Run<'_>) -> Reconciled {
    // Without the object there is no feature (`contract/operator.md` "Do better" 17).
    let Some(object) = run.api().get(ObjectName::of_cluster(&PREVIEW_FEATURE, SINGLETON)).await? else {
        return Ok(Outcome::done());
    };
    let feature = PreviewFeature::deserialize(object);
    let feature = feature.map_err(|_| ReconcileError::invalid("PreviewFeature cluster cannot be read"))?;
    let complete = match &feature.spec.nsg_flow_logs {
        Some(logs) => keep(run, logs).await?,
        None => true,
    };
    Ok(Outcome { requeue: (!complete).then_some(INCOMPLETE), ..Outcome::done() })
}

/// Keeps the flow logs; gives whether every subnet has a group.
async fn keep(run: &Run<'_>, logs: &NsgFlowLogs) -> Result<bool, ReconcileError> {
    subscription(&logs.network_watcher_id)?;
    let azure = run.context.azure.client(run.cluster)?;
    let (mut groups, mut complete) = (Vec::<String>::new(), true);
    for subnet in subnets::of_cluster(run).await? {
        let present = azure.get(&subnet.id, subnets::API_VERSION).await?;
        let group = present
            .as_ref()
            .and_then(|present| present.pointer("/properties/networkSecurityGroup/id")?.as_str());
        complete &= group.is_some();
        // A subnet without a group has no flow log (`contract/operator.md` "Do better" 19).
        groups.extend(
            group
                .filter(|group| !groups.iter().any(|known| known.eq_ignore_ascii_case(group)))
                .map(str::to_owned),
        );
    }
    for group in &groups {
        let name = group.rsplit('/').next().unwrap_or_default();
        let id = format!("{}/flowLogs/{name}", logs.network_watcher_id);
        if !logs.enabled {
            azure.delete(&id, subnets::API_VERSION).await?;
            continue;
        }
        let wanted = flow_log(logs, group, &run.cluster.spec.location)?;
        keep_one(&azure, &id, &wanted).await?;
    }
    Ok(complete)
}

/// Keeps one flow log; members and tags that the feature does not name stay. Gives whether it was written.
async fn keep_one(azure: &Client, id: &str, wanted: &Value) -> Result<bool, EditError> {
    edit(azure, id, subnets::API_VERSION, |present| {
        let Some(present) = present else { return Ok(Some(wanted.clone())) };
        if covers(&present["properties"], &wanted["properties"]) {
            return Ok(None);
        }
        let mut body = present.clone();
        overlay(&mut body, wanted);
        Ok(Some(body))
    })
    .await
}

/// Sets the members of `wanted`, and leaves the others.
fn overlay(body: &mut Value, wanted: &Value) {
    match (body, wanted) {
        (Value::Object(body), Value::Object(wanted)) => {
            for (name, value) in wanted {
                overlay(body.entry(name.clone()).or_insert(Value::Null), value);
            }
        }
        (body, wanted) => *body = wanted.clone(),
    }
}

fn flow_log(logs: &NsgFlowLogs, group: &str, location: &str) -> Result<Value, ReconcileError> {
    let minutes = logs.traffic_analytics_interval.strip_suffix('m').and_then(|text| text.parse::<u32>().ok());
    let minutes =
        minutes.ok_or_else(|| ReconcileError::invalid("trafficAnalyticsInterval is not 60m or 10m"))?;
    let workspace = &logs.traffic_analytics_log_analytics_workspace_id;
    Ok(json!({
        "location": location,
        "properties": {
            "targetResourceId": group,
            "enabled": true,
            "storageId": logs.storage_account_resource_id,
            "retentionPolicy": { "days": logs.retention_days, "enabled": true },
            "format": { "type": "JSON", "version": logs.version },
            "flowAnalyticsConfiguration": { "networkWatcherFlowAnalyticsConfiguration": {
                "enabled": !workspace.is_empty(),
                "workspaceResourceId": workspace,
                "trafficAnalyticsInterval": minutes,
            } },
        },
    }))
}

#[cfg(test)]
mod tests {
    use rp_simulator_azure::{Fault, FaultResponse};

    use super::*;
    use crate::testing::{Cloud, GROUP};

    #[tokio::test]
    async fn a_flow_log_is_written_on_change_and_not_over_somebody_elses() {
        let cloud = Cloud::start().await;
        let id = format!("{GROUP}/providers/Microsoft.Network/networkWatchers/w/flowLogs/nsg");
        let logs = NsgFlowLogs { enabled: true, ..NsgFlowLogs::default() };
        let wanted = flow_log(&logs, "/g", "eastus").unwrap();
        assert!(keep_one(&cloud.client, &id, &wanted).await.unwrap());
        assert!(!keep_one(&cloud.client, &id, &wanted).await.unwrap(), "it is right already");
        let mut theirs = cloud.control.get(&id).unwrap();
        theirs["tags"] = json!({ "team": "theirs" });
        theirs["properties"]["enabled"] = json!(false);
        theirs["properties"]["later"] = json!(1);
        assert!(cloud.control.put(&id, theirs));
        cloud.control.fail(Fault {
            method: Some(http::Method::PUT),
            path: "flowLogs".to_owned(),
            times: Some(1),
            answer: FaultResponse::status(412, "PreconditionFailed"),
        });
        assert!(keep_one(&cloud.client, &id, &wanted).await.unwrap());
        assert_eq!(cloud.answers("PUT"), [201, 412, 200]);
        let kept = cloud.control.get(&id).unwrap();
        assert_eq!(kept["properties"]["enabled"], true);
        assert_eq!((&kept["tags"]["team"], &kept["properties"]["later"]), (&json!("theirs"), &json!(1)));
    }

    #[test]
    fn a_flow_log_has_the_settings_of_the_feature() {
        let logs = NsgFlowLogs {
            enabled: true,
            storage_account_resource_id: "/s".to_owned(),
            ..NsgFlowLogs::default()
        };
        let properties = &flow_log(&logs, "/g", "eastus").unwrap()["properties"];
        assert_eq!(properties["retentionPolicy"], json!({ "days": 90, "enabled": true }));
        assert_eq!(properties["format"]["version"], 2);
        let analytics = &properties["flowAnalyticsConfiguration"]["networkWatcherFlowAnalyticsConfiguration"];
        assert_eq!(
            (&analytics["trafficAnalyticsInterval"], &analytics["enabled"]),
            (&json!(60), &json!(false))
        );
        let wrong = NsgFlowLogs { traffic_analytics_interval: "1h".to_owned(), ..logs };
        assert!(flow_log(&wrong, "/g", "eastus").is_err());
    }
}
