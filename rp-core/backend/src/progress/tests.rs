use serde_json::{Value, json};

use super::*;

const ID: &str = "/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/g/providers/Microsoft.RedHatOpenShift/openShiftClusters/c";

fn document(envelope: &Value, properties: &Value) -> ClusterDocument {
    let mut stored = json!({"id": "a", "key": "k", "partitionKey": "p",
        "openShiftCluster": {"id": ID, "properties": properties}});
    for (name, value) in envelope.as_object().unwrap() {
        stored[name] = value.clone();
    }
    serde_json::from_value(stored).unwrap()
}

#[test]
fn a_position_belongs_to_its_operation_and_phase() {
    let creating = ProvisioningState::Creating;
    let mut body = document(
        &json!({"asyncOperationId": "o1", "leaseToken": 2, "dequeues": 4, "retry": {"count": 1}}),
        &json!({"provisioningState": "Creating", "install": {"phase": "InstallPhaseBootstrap"}}),
    );
    let by = Worker::holding(&body.lease());
    assert_eq!(begin(&mut body, by, creating, "own"), "o1");
    assert_eq!(position_of(&body), None);
    save_in(&mut body, by, "action.b");
    assert_eq!(position_of(&body).as_deref(), Some("action.b"));
    assert_eq!(body.lease().dequeues, 1, "it came further: earlier takes were not in vain");
    assert!(body.retry.is_absent());
    // The same step again is no progress.
    body.dequeues.set(by, 3);
    save_in(&mut body, by, "action.b");
    assert_eq!(body.lease().dequeues, 3);
    // Taken again: it goes on.
    assert_eq!(begin(&mut body, by, creating, "other"), "o1");
    assert_eq!(position_of(&body).as_deref(), Some("action.b"));
    // The next phase begins at its first step.
    body.cluster.properties.install.phase.set(by, "InstallPhaseRemoveBootstrap");
    assert_eq!(position_of(&body), None);
    // And so does another operation, whatever an earlier release left behind.
    body.async_operation_id.set(by, "o2");
    assert_eq!(begin(&mut body, by, creating, "own"), "o2");
    assert_eq!(serde_json::to_value(&body.operation).unwrap(), json!({"id": "o2", "kind": "Creating"}));
}

#[test]
fn an_operation_that_nobody_asked_for_has_an_id_of_its_own() {
    let mut body = document(&json!({}), &json!({"provisioningState": "Deleting"}));
    let by = Worker::holding(&body.lease());
    assert_eq!(begin(&mut body, by, ProvisioningState::Deleting, "own"), "own");
    save_in(&mut body, by, "action.a");
    assert_eq!(begin(&mut body, by, ProvisioningState::Deleting, "other"), "own");
    assert_eq!(position_of(&body).as_deref(), Some("action.a"));
    assert_eq!(begin(&mut body, by, ProvisioningState::Updating, "third"), "third");
    assert_eq!(position_of(&body), None);
}
