//! The two layers of tries and the looks at operations, without waiting.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use rp_base::SystemRandom;
use serde_json::json;

use crate::operation::{self, Operation, OperationMethod, PollResult, PollSource};
use crate::retry::{Repeat, Retrier, RetryPolicy, Sleep, is_retryable, is_transient, wait};
use crate::transport::HttpResponse;
use crate::{AzureError, ErrorClass, ErrorKind};

/// Remembers what it was asked to pass.
#[derive(Debug, Default)]
struct VirtualSleep(Mutex<Vec<Duration>>);

#[async_trait]
impl Sleep for VirtualSleep {
    async fn sleep(&self, time: Duration) {
        self.0.lock().push(time);
    }
}

fn answered(status: u16, body: &str) -> AzureError {
    AzureError::from_response("put resource", status, body.as_bytes())
}

async fn repeated(policy: Repeat, errors: Vec<AzureError>) -> (Result<usize, AzureError>, Vec<f64>) {
    let passed = Arc::new(VirtualSleep::default());
    let retrier = Retrier { sleep: Arc::clone(&passed) as Arc<dyn Sleep>, random: Arc::new(SystemRandom) };
    let errors = Mutex::new(errors);
    let tried = Mutex::new(0);
    let done = retrier
        .repeat(policy, "put resource", || async {
            *tried.lock() += 1;
            let mut errors = errors.lock();
            if errors.is_empty() { Ok(*tried.lock()) } else { Err(errors.remove(0)) }
        })
        .await;
    let waits = passed.0.lock().iter().map(Duration::as_secs_f64).collect();
    (done, waits)
}

#[tokio::test]
async fn the_wrapper_tries_four_times_after_15_30_and_60_seconds() {
    let throttled = || answered(429, "");
    let (done, waits) = repeated(Repeat::STEPS, vec![throttled(); 9]).await;
    assert_eq!(done.map_err(|error| error.status), Err(Some(429)));
    let fits = |at: usize, middle: f64| (middle * 0.9..=middle * 1.1).contains(&waits[at]);
    assert!(waits.len() == 3 && fits(0, 15.0) && fits(1, 30.0) && fits(2, 60.0), "{waits:?}");
    let mut told = throttled();
    told.retry_after = Some(Duration::from_secs(7));
    assert_eq!(repeated(Repeat::STEPS, vec![told]).await, (Ok(2), vec![7.0]));
    let forbidden = || answered(403, "");
    assert_eq!(repeated(Repeat::STEPS, vec![forbidden()]).await.1, Vec::<f64>::new());
    let (done, waits) = repeated(Repeat::RBAC, vec![forbidden(); 20]).await;
    assert!(done.is_err() && waits.len() == 11 && (54.0..=66.0).contains(&waits[10]), "{waits:?}");
    assert_eq!(repeated(Repeat::NONE, vec![throttled()]).await.1, Vec::<f64>::new());
}

#[test]
fn each_layer_takes_what_the_contract_gives_it() {
    let text = |status: u16, text: &str| {
        answered(status, &json!({"error": {"code": "x", "message": text}}).to_string())
    };
    for (error, first, second) in [
        (answered(500, ""), true, false),
        (answered(503, ""), true, false),
        (answered(429, ""), true, true),
        (answered(409, ""), false, false),
        (text(409, "Please retry later."), false, true),
        (text(400, "Please retry later."), false, false),
        (text(401, "AADSTS7000216: no secret"), false, true),
        (text(400, "Code=\"RetryableError\""), false, true),
        (answered(404, ""), false, false),
        (AzureError::new("x", ErrorKind::Broken, ""), true, false),
    ] {
        assert_eq!((is_transient(&error), is_retryable(&error)), (first, second), "{error}");
        let mut backoff = RetryPolicy::STEPS.backoff();
        let steps = wait(&RetryPolicy::STEPS, 1, &error, &mut backoff, &SystemRandom);
        assert_eq!(steps.is_some(), first, "{error}");
        let quick = wait(&RetryPolicy::QUICK, 1, &error, &mut backoff, &SystemRandom);
        assert_eq!(quick.is_some(), first || second, "{error}");
    }
}

#[test]
fn errors_are_classed_by_everything_inside_them() {
    let deployment = |code: &str, message: &str| {
        let inner = json!({"error": {"code": code, "message": message}}).to_string();
        json!({"error": {"code": "DeploymentFailed", "message": "At least one failed.",
            "details": [{"code": "Forbidden", "message": inner}]}})
        .to_string()
    };
    let class = |status: u16, body: &str| answered(status, body).class();
    assert_eq!(class(404, ""), ErrorClass::Missing);
    assert_eq!(class(429, ""), ErrorClass::Throttled);
    assert_eq!(class(409, ""), ErrorClass::Conflict);
    assert_eq!(class(503, ""), ErrorClass::Unavailable);
    assert_eq!(class(400, ""), ErrorClass::Other);
    assert_eq!(class(200, &deployment("LinkedAuthorizationFailed", "no")), ErrorClass::Authorization);
    assert_eq!(class(409, &deployment("ScopeLocked", "no")), ErrorClass::Lock);
    assert_eq!(class(200, &deployment("RequestDisallowedByPolicy", "no")), ErrorClass::Policy);
    assert_eq!(
        class(200, &deployment("OperationNotAllowed", "exceeding approved Cores Quota")),
        ErrorClass::Quota
    );
    assert_eq!(
        class(409, &deployment("OperationNotAllowed", "the VM is being deleted")),
        ErrorClass::Conflict
    );
    let failed = answered(200, &deployment("AuthorizationFailed", "no"));
    assert!(failed.is_authorization_failed() && failed.is_authorization());
    assert_eq!(
        failed.service().map(|service| service.innermost().code),
        Some("AuthorizationFailed".to_owned())
    );
    let template = json!({"error": {"code": "InvalidTemplateDeployment",
        "message": "Authorization failed for template resource 'x' of type 'y'."}});
    assert!(answered(403, &template.to_string()).is_authorization());
    for (number, retried) in [(700_016, true), (7_000_215, true), (7_000_222, false)] {
        let body = json!({"error": "invalid_client", "error_description": format!("AADSTS{number}: no.")});
        let error = answered(401, &body.to_string());
        assert_eq!((error.aadsts(), error.is_authorization()), (Some(number), retried));
        assert_eq!(error.class(), ErrorClass::Authorization);
    }
}

fn answer(status: u16, headers: &[(&'static str, &str)], body: &serde_json::Value) -> HttpResponse {
    let mut map = http::HeaderMap::new();
    for (name, value) in headers {
        map.insert(*name, value.parse().unwrap());
    }
    let body = if body.is_null() { String::new() } else { body.to_string() };
    HttpResponse { status, headers: map, body: body.into() }
}

fn started_operation(asked: OperationMethod, answer: &HttpResponse) -> Result<Option<Operation>, AzureError> {
    let own = "https://management.azure.com/subscriptions/s/resourceGroups/g?api-version=1".parse().unwrap();
    let body = serde_json::from_slice(&answer.body).unwrap_or_default();
    operation::started_operation("put resource", asked, &own, answer, &body)
}

#[test]
fn an_operation_is_followed_where_azure_says() {
    let status = "https://management.azure.com/ops/1?api-version=1";
    let running = json!({"properties": {"provisioningState": "Updating"}});
    let own = "/subscriptions/s/resourceGroups/g?api-version=1".to_owned();
    let found = started_operation(
        OperationMethod::Write,
        &answer(201, &[("azure-asyncoperation", status), ("retry-after", "3")], &running),
    );
    let found = found.unwrap().unwrap();
    assert_eq!(
        (found.told, found.poll.as_str(), found.retry_after),
        (PollSource::Status, "/ops/1?api-version=1", 3)
    );
    assert_eq!(found.result, Some(own.clone()));
    let stored = serde_json::to_string(&found).unwrap();
    assert_eq!(serde_json::from_str::<Operation>(&stored).unwrap(), found);
    let late = [("location", "/ops/2"), ("retry-after", "18446744073709551615")];
    let late =
        started_operation(OperationMethod::Delete, &answer(202, &late, &json!(null))).unwrap().unwrap();
    assert_eq!(late.retry_after, 600);
    let found =
        started_operation(OperationMethod::Delete, &answer(202, &[("location", "/ops/2")], &json!(null)))
            .unwrap()
            .unwrap();
    assert_eq!((found.told, found.deletes, found.result), (PollSource::Location, true, None));
    let found = started_operation(OperationMethod::Write, &answer(200, &[], &running)).unwrap().unwrap();
    assert_eq!((found.told, found.poll), (PollSource::State, own));
    assert_eq!(
        started_operation(OperationMethod::Write, &answer(200, &[], &json!({"properties": {}}))).unwrap(),
        None
    );
    assert_eq!(started_operation(OperationMethod::Delete, &answer(200, &[], &json!(null))).unwrap(), None);
    for elsewhere in ["https://evil.example/ops/1", "//evil.example/ops", "http://management.azure.com/x"] {
        assert!(
            started_operation(
                OperationMethod::Delete,
                &answer(202, &[("location", elsewhere)], &json!(null))
            )
            .is_err(),
            "{elsewhere}"
        );
    }
}

#[test]
fn looks_end_in_a_result_or_in_the_operations_own_error() {
    let status = Operation {
        told: PollSource::Status,
        poll: "/o".into(),
        result: Some("/r".into()),
        deletes: false,
        retry_after: 0,
    };
    let look = |of: &Operation, status: u16, headers: &[(&'static str, &str)], body: serde_json::Value| {
        operation::poll_result("wait", of, Ok(answer(status, headers, &body)))
    };
    let running = look(&status, 200, &[("retry-after", "86400")], json!({"status": "InProgress"}));
    assert_eq!(running.unwrap(), PollResult::Running(Some(Duration::from_mins(10))));
    assert_eq!(
        look(&status, 200, &[], json!({"status": "Succeeded"})).unwrap(),
        PollResult::ResultAt("/r".into())
    );
    let failed = look(
        &status,
        200,
        &[],
        json!({"status": "Failed", "error": {"code": "ScopeLocked", "message": "no"}}),
    );
    let failed = failed.unwrap_err();
    assert_eq!((failed.kind, failed.class()), (ErrorKind::Failed, ErrorClass::Lock));
    let cancelled = look(&status, 200, &[], json!({"status": "Canceled"})).unwrap_err();
    assert_eq!(cancelled.code, "Canceled");
    // What another than Azure answers is no end.
    let page = operation::poll_result(
        "wait",
        &status,
        Ok(HttpResponse { body: "<html>".into(), ..answer(200, &[], &json!(null)) }),
    );
    assert_eq!(page.unwrap_err().kind, ErrorKind::Malformed);
    assert_eq!(look(&status, 200, &[], json!({"a": 1})).unwrap_err().kind, ErrorKind::Malformed);
    let post = Operation { result: None, ..status.clone() };
    let done = look(&post, 200, &[], json!({"status": "Succeeded", "properties": {"a": 1}}));
    assert_eq!(done.unwrap(), PollResult::Done(json!({"a": 1})));
    let location = Operation { told: PollSource::Location, result: None, deletes: true, ..status };
    assert_eq!(look(&location, 202, &[], json!(null)).unwrap(), PollResult::Running(None));
    assert_eq!(look(&location, 204, &[], json!(null)).unwrap(), PollResult::Done(json!(null)));
    let gone = operation::poll_result("wait", &location, Err(answered(404, "")));
    assert_eq!(gone.unwrap(), PollResult::Done(json!(null)));
}
