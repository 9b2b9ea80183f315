use super::*;

#[test]
fn a_position_belongs_to_its_operation_and_phase() {
    let mut body = json!({
        "asyncOperationId": "o1",
        "leaseToken": 2, "dequeues": 4, "retry": {"count": 1},
        "openShiftCluster": {"properties": {"provisioningState": "Creating", "install": {"phase": "InstallPhaseBootstrap"}}},
    });
    assert_eq!(begin(&mut body, "Creating", "own"), "o1");
    assert_eq!(position_of(&body), None);
    save_in(&mut body, "action.b");
    assert_eq!(position_of(&body).as_deref(), Some("action.b"));
    assert_eq!(Lease::of(&body).dequeues, 1, "it came further: earlier takes were not in vain");
    assert!(body.get("retry").is_none());
    // The same step again is no progress.
    body["dequeues"] = json!(3);
    save_in(&mut body, "action.b");
    assert_eq!(Lease::of(&body).dequeues, 3);
    // Taken again: it goes on.
    assert_eq!(begin(&mut body, "Creating", "other"), "o1");
    assert_eq!(position_of(&body).as_deref(), Some("action.b"));
    // The next phase begins at its first step.
    body["openShiftCluster"]["properties"]["install"]["phase"] = json!("InstallPhaseRemoveBootstrap");
    assert_eq!(position_of(&body), None);
    // And so does another operation, whatever an earlier release left behind.
    body["asyncOperationId"] = json!("o2");
    assert_eq!(begin(&mut body, "Creating", "own"), "o2");
    assert_eq!(body["operation"], json!({"id": "o2", "kind": "Creating"}));
}

#[test]
fn an_operation_that_nobody_asked_for_has_an_id_of_its_own() {
    let mut body = json!({"openShiftCluster": {"properties": {"provisioningState": "Deleting"}}});
    assert_eq!(begin(&mut body, "Deleting", "own"), "own");
    save_in(&mut body, "action.a");
    assert_eq!(begin(&mut body, "Deleting", "other"), "own");
    assert_eq!(position_of(&body).as_deref(), Some("action.a"));
    assert_eq!(begin(&mut body, "Updating", "third"), "third");
    assert_eq!(position_of(&body), None);
}
