use serde_json::json;

use super::*;

const ID: &str = "/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/g/providers/Microsoft.RedHatOpenShift/openShiftClusters/c";

fn body(state: &str, more: &Value) -> ClusterDocument {
    let mut properties = json!({"provisioningState": state, "future": [1]});
    for (name, value) in more.as_object().unwrap() {
        properties[name] = value.clone();
    }
    let stored = json!({
        "id": "a", "key": "k", "partitionKey": "p", "leaseOwner": "w", "leaseExpires": 9, "leaseToken": 4, "dequeues": 3,
        "asyncOperationId": "o", "correlationData": {"requestTime": "2026-01-01T00:00:00Z"}, "retry": {"count": 2},
        "operation": {"id": "o", "kind": state, "phase": "", "next": "action.x"}, "later": {"x": 1},
        "openShiftCluster": {"id": ID, "properties": properties},
    });
    serde_json::from_value(stored).unwrap()
}

fn ended(mut document: ClusterDocument, end: OperationEnd, failure: Option<&OperationFailure>) -> Value {
    let worker = Worker::holding(&document.lease());
    apply(&mut document, worker, end, failure);
    serde_json::to_value(document).unwrap()
}

fn text<'a>(body: &'a Value, name: &str) -> &'a str {
    body["openShiftCluster"]["properties"][name].as_str().unwrap_or_default()
}

fn lease(body: &Value) -> Lease {
    serde_json::from_value::<ClusterDocument>(body.clone()).unwrap().lease()
}

fn failure() -> OperationFailure {
    OperationFailure::for_customer(&CloudError::bad("Code", "target", "A sentence."), "and what we know")
}

/// State, what else stands in the properties, end, then: state, failed state, maintenance, admin error, dequeues.
type Row<'a> = (&'a str, Value, OperationEnd, bool, [&'a str; 4], u32);

#[test]
fn every_row_of_the_state_machine() {
    let admin = "400: Code: target: A sentence.: and what we know";
    let rows: Vec<Row<'_>> = vec![
        ("Creating", json!({}), OperationEnd::NextPhase, false, ["Creating", "", "", ""], 0),
        ("Creating", json!({}), OperationEnd::Succeeded, false, ["Succeeded", "", "", ""], 0),
        ("Creating", json!({}), OperationEnd::Failed, true, ["Failed", "Creating", "", ""], 3),
        ("Updating", json!({}), OperationEnd::Succeeded, false, ["Succeeded", "", "", ""], 0),
        (
            "Updating",
            json!({"lastProvisioningState": "Failed", "failedProvisioningState": "Updating"}),
            OperationEnd::Succeeded,
            false,
            ["Succeeded", "", "", ""],
            0,
        ),
        ("Updating", json!({}), OperationEnd::Failed, true, ["Failed", "Updating", "", ""], 3),
        (
            "AdminUpdating",
            json!({"lastProvisioningState": "Succeeded", "maintenanceState": "Planned", "lastAdminUpdateError": "old"}),
            OperationEnd::Succeeded,
            false,
            ["Succeeded", "", "None", ""],
            0,
        ),
        (
            "AdminUpdating",
            json!({"lastProvisioningState": "Failed", "failedProvisioningState": "Updating"}),
            OperationEnd::Succeeded,
            false,
            ["Failed", "Updating", "None", ""],
            3,
        ),
        ("AdminUpdating", json!({}), OperationEnd::Succeeded, false, ["Succeeded", "", "None", ""], 0),
        (
            "AdminUpdating",
            json!({"lastProvisioningState": "Succeeded", "maintenanceState": "Unplanned"}),
            OperationEnd::Failed,
            true,
            ["Succeeded", "AdminUpdating", "Unplanned", admin],
            0,
        ),
        (
            "AdminUpdating",
            json!({"lastProvisioningState": "Failed", "failedProvisioningState": "Updating"}),
            OperationEnd::Failed,
            true,
            ["Failed", "Updating", "", admin],
            3,
        ),
        (
            "AdminUpdating",
            json!({"lastProvisioningState": "Updating"}),
            OperationEnd::Failed,
            true,
            ["Failed", "AdminUpdating", "", admin],
            3,
        ),
        ("Deleting", json!({}), OperationEnd::Failed, true, ["Failed", "Deleting", "", ""], 3),
    ];
    for (state, more, target, failed, want, dequeues) in rows {
        let mut more = more;
        more["maintenanceTask"] = json!("Everything");
        let body = ended(body(state, &more), target, failed.then(failure).as_ref());
        let row = format!("{state} {more} {target:?}");
        let names =
            ["provisioningState", "failedProvisioningState", "maintenanceState", "lastAdminUpdateError"];
        assert_eq!(names.map(|name| text(&body, name)), want, "{row}");
        assert_eq!(lease(&body), Lease { token: 4, dequeues, ..Lease::default() }, "{row}");
        assert_eq!(body["later"], json!({"x": 1}), "{row}");
        assert_eq!(body["openShiftCluster"]["properties"]["future"], json!([1]), "{row}");
        assert!(body.get("retry").is_none(), "{row}");
        let terminal = target != OperationEnd::NextPhase;
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
    release(&mut handed, 0, false);
    assert_eq!(handed.lease(), Lease { token: 4, dequeues: 2, ..Lease::default() });
    assert_eq!(operation_of(&handed), Some(Operation::Update));
    assert_eq!(&*handed.async_operation_id, "o");
    let mut crashed = body("Updating", &json!({}));
    release(&mut crashed, 77, true);
    assert_eq!(crashed.lease(), Lease { expires: 77, token: 4, dequeues: 3, ..Lease::default() });
    let worker = Worker::holding(&crashed.lease());
    crashed.set_retries(worker, 3);
    assert_eq!(crashed.retries(), 3);
    crashed.set_retries(worker, 0);
    assert!(crashed.retry.is_absent());
}

#[test]
fn the_customer_reads_what_was_made_for_them_and_nothing_else() {
    let failure = failure();
    assert_eq!(failure.body, json!({"code": "Code", "message": "A sentence.", "target": "target"}));
    let internal = OperationFailure::internal("password hunter2 at https://x");
    assert_eq!(internal.body, json!({"code": "InternalServerError", "message": "Internal server error."}));
    let azure = CloudError::bad("X", "", "NullOrInvalidGuidExcludePrincipalId of y");
    let converted = OperationFailure::for_customer(&azure, "");
    assert_eq!((converted.status, converted.body), (500, internal.body));
}

#[test]
fn a_state_that_nobody_writes_is_no_work_and_has_no_end() {
    let odd = body("Paused", &json!({"install": 5}));
    assert_eq!((operation_of(&odd), phase_of(&odd)), (None, ""));
    let after = ended(odd, OperationEnd::Failed, Some(&failure()));
    assert_eq!(text(&after, "provisioningState"), "Paused");
    assert_eq!(after["openShiftCluster"]["properties"]["install"], 5);
}
