use serde_json::json;

use super::*;

fn body(state: &str, more: &Value) -> Value {
    let mut properties = json!({"provisioningState": state, "future": [1]});
    for (name, value) in more.as_object().unwrap() {
        properties[name] = value.clone();
    }
    json!({
        "id": "a", "key": "k", "leaseOwner": "w", "leaseExpires": 9, "leaseToken": 4, "dequeues": 3,
        "asyncOperationId": "o", "correlationData": {"requestTime": "2026-01-01T00:00:00Z"}, "retry": {"count": 2},
        "operation": {"id": "o", "kind": state, "phase": "", "next": "action.x"}, "later": {"x": 1},
        "openShiftCluster": {"properties": properties},
    })
}

fn wrong() -> Wrong {
    Wrong::told(&CloudError::bad("Code", "target", "A sentence."), "and what we know")
}

/// State, what else stands in the properties, end, then: state, failed state, maintenance, admin error, dequeues.
type Row<'a> = (&'a str, Value, Target, bool, [&'a str; 4], u32);

#[test]
fn every_row_of_the_state_machine() {
    let admin = "400: Code: target: A sentence.: and what we know";
    let rows: Vec<Row<'_>> = vec![
        ("Creating", json!({}), Target::NextPhase, false, ["Creating", "", "", ""], 0),
        ("Creating", json!({}), Target::Succeeded, false, ["Succeeded", "", "", ""], 0),
        ("Creating", json!({}), Target::Failed, true, ["Failed", "Creating", "", ""], 3),
        ("Updating", json!({}), Target::Succeeded, false, ["Succeeded", "", "", ""], 0),
        (
            "Updating",
            json!({"lastProvisioningState": "Failed", "failedProvisioningState": "Updating"}),
            Target::Succeeded,
            false,
            ["Succeeded", "", "", ""],
            0,
        ),
        ("Updating", json!({}), Target::Failed, true, ["Failed", "Updating", "", ""], 3),
        (
            "AdminUpdating",
            json!({"lastProvisioningState": "Succeeded", "maintenanceState": "Planned", "lastAdminUpdateError": "old"}),
            Target::Succeeded,
            false,
            ["Succeeded", "", "None", ""],
            0,
        ),
        (
            "AdminUpdating",
            json!({"lastProvisioningState": "Failed", "failedProvisioningState": "Updating"}),
            Target::Succeeded,
            false,
            ["Failed", "Updating", "None", ""],
            3,
        ),
        ("AdminUpdating", json!({}), Target::Succeeded, false, ["Succeeded", "", "None", ""], 0),
        (
            "AdminUpdating",
            json!({"lastProvisioningState": "Succeeded", "maintenanceState": "Unplanned"}),
            Target::Failed,
            true,
            ["Succeeded", "AdminUpdating", "Unplanned", admin],
            0,
        ),
        (
            "AdminUpdating",
            json!({"lastProvisioningState": "Failed", "failedProvisioningState": "Updating"}),
            Target::Failed,
            true,
            ["Failed", "Updating", "", admin],
            3,
        ),
        (
            "AdminUpdating",
            json!({"lastProvisioningState": "Updating"}),
            Target::Failed,
            true,
            ["Failed", "AdminUpdating", "", admin],
            3,
        ),
        ("Deleting", json!({}), Target::Failed, true, ["Failed", "Deleting", "", ""], 3),
    ];
    for (state, more, target, failed, want, dequeues) in rows {
        let mut body = body(state, &more);
        body["openShiftCluster"]["properties"]["maintenanceTask"] = json!("Everything");
        let operation = operation_of(&body).unwrap();
        let error = failed.then(wrong);
        apply(&mut body, operation, target, error.as_ref());
        let row = format!("{state} {more} {target:?}");
        let names =
            ["provisioningState", "failedProvisioningState", "maintenanceState", "lastAdminUpdateError"];
        assert_eq!(names.map(|name| text(&body, name)), want, "{row}");
        assert_eq!(Lease::of(&body), Lease { token: 4, dequeues, ..Lease::default() }, "{row}");
        assert_eq!(body["later"], json!({"x": 1}), "{row}");
        assert_eq!(body["openShiftCluster"]["properties"]["future"], json!([1]), "{row}");
        assert!(body.get("retry").is_none(), "{row}");
        let terminal = target != Target::NextPhase;
        for name in ["asyncOperationId", "correlationData", "operation"] {
            assert_eq!(body.get(name).is_none(), terminal, "{row}: {name}");
        }
        let properties = &body["openShiftCluster"]["properties"];
        assert_eq!(properties.get("maintenanceTask").is_none(), terminal, "{row}");
        assert!(properties.get("lastProvisioningState").is_none() || !terminal, "{row}");
    }
}

#[test]
fn only_abnormal_ends_are_counted() {
    let mut handed = body("Updating", &json!({}));
    release(&mut handed, 0, false, 0);
    assert_eq!(Lease::of(&handed), Lease { token: 4, dequeues: 2, ..Lease::default() });
    assert_eq!(text(&handed, "provisioningState"), "Updating");
    assert_eq!(handed["asyncOperationId"], "o");
    let mut crashed = body("Updating", &json!({}));
    release(&mut crashed, 77, true, 0);
    assert_eq!(Lease::of(&crashed), Lease { expires: 77, token: 4, dequeues: 3, ..Lease::default() });
    let mut later = body("Updating", &json!({}));
    release(&mut later, 77, false, 3);
    assert_eq!(retries(&later), 3);
}

#[test]
fn the_customer_reads_what_was_made_for_them_and_nothing_else() {
    let wrong = wrong();
    assert_eq!(wrong.body, json!({"code": "Code", "message": "A sentence.", "target": "target"}));
    let internal = Wrong::internal("password hunter2 at https://x");
    assert_eq!(internal.body, json!({"code": "InternalServerError", "message": "Internal server error."}));
    let azure = CloudError::bad("X", "", "NullOrInvalidGuidExcludePrincipalId of y");
    let converted = Wrong::told(&azure, "");
    assert_eq!((converted.status, converted.body), (500, internal.body));
}

#[test]
fn documents_of_any_shape_are_ended_without_a_panic() {
    for mut odd in [json!(null), json!([]), json!({"openShiftCluster": 5}), json!({"openShiftCluster": {}})] {
        assert_eq!(operation_of(&odd), None);
        assert_eq!(phase_of(&odd), "");
        apply(&mut odd, Operation::Update, Target::Failed, Some(&wrong()));
        release(&mut odd, 5, true, 1);
    }
}
