//! Operations on clusters that failed.

use rp_documents::{NotificationEvent, NotificationKind, OperationLog, ProvisioningState};

use super::{ClusterPlace, Draft};

/// Whether the operation has ended and failed.
pub(crate) fn is_operation_told(log: &OperationLog) -> bool {
    log.ended.is_some() && log.result == ProvisioningState::Failed.name()
}

/// The failure of an operation that has ended; `None`: it runs, or it succeeded.
pub(crate) fn operation(log: &OperationLog, place: &ClusterPlace) -> Option<NotificationEvent> {
    let ended = log.ended.filter(|_| is_operation_told(log))?;
    let title = format!("Operation {} failed on {}", super::line(&log.kind), place.name());
    let step = log.steps.iter().rev().find(|step| step.failed).map(|step| step.name.as_str());
    Some(
        Draft::new(NotificationKind::OperationFailed, format!("operation/{}", log.id), ended, title)
            .cluster(place)
            .fact("Operation", &log.kind)
            .fact("Step", step.unwrap_or_default())
            .fact("Error", &log.error)
            .fact("Requested by", &log.asked_by)
            .fact("Began", &log.started.to_string())
            .fact("Ended", &ended.to_string())
            .advice(
                "Read the steps and the diagnostics of the operation; repeat it when the cause is removed.",
            )
            .page(format!("{}/operations", place.key), "Open the operations of the cluster"),
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_failed_is_told() {
        let log = |result: &str| -> OperationLog {
            serde_json::from_value(json!({
                "id": "7d1f", "key": "/c", "kind": "Updating", "started": "2026-11-27T10:00:00Z",
                "ended": "2026-11-27T10:05:00Z", "result": result, "error": "quota\nis used up", "steps": [
                    {"name": "action.a", "started": "2026-11-27T10:00:00Z", "attempts": 1},
                    {"name": "action.b", "started": "2026-11-27T10:01:00Z", "attempts": 3, "failed": true},
                ], "lines": [],
            }))
            .unwrap()
        };
        let key = "/subscriptions/6f1f0f2e-9d3e-4c61-8a57-0d1a2b3c4d5e/resourcegroups/g/providers/microsoft.redhatopenshift/openshiftclusters/harbor";
        let place = ClusterPlace { key: key.into(), region: "eastus".into() };
        assert_eq!(operation(&log("Succeeded"), &place), None);
        assert_eq!(operation(&OperationLog { ended: None, ..log("Failed") }, &place), None);
        let told = operation(&log("Failed"), &place).unwrap();
        assert_eq!(told.title, "Operation Updating failed on harbor");
        assert_eq!(told.page, format!("{key}/operations"));
        let fact =
            |name: &str| told.facts.iter().find(|fact| fact.name == name).map(|fact| fact.value.as_str());
        assert_eq!((fact("Step"), fact("Error")), (Some("action.b"), Some("quota\\nis used up")));
    }
}
