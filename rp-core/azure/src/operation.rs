//! Operations that last: how Azure is asked whether one is done (ARM resource provider contract, asynchronous API).

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use url::Url;

use crate::error::{AzureError, ErrorKind};
use crate::transport::{HttpResponse, retry_after};

/// Where an operation's state is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PollSource {
    /// A status document: `Azure-AsyncOperation`.
    Status,
    /// 202 until it is done: `Location`.
    Location,
    /// `properties.provisioningState` of the resource.
    State,
}

/// An operation that Azure has begun. It may be stored and waited for by another process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Operation {
    pub told: PollSource,
    /// Path and query at the resource manager.
    pub poll: String,
    /// Path and query where the result is read in the end; none: the last answer is the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// A missing resource means success.
    #[serde(default)]
    pub deletes: bool,
    /// Seconds that Azure wants to have passed before the first look.
    #[serde(default)]
    pub retry_after: u64,
}

/// Result of one poll of an operation.
#[derive(Debug, Clone, PartialEq)]
pub enum PollResult {
    /// Not done; when Azure wants to be asked again, if it said so.
    Running(Option<Duration>),
    /// Done; the result, `null` when there is none.
    Done(Value),
    /// Done; the result is at that path and query.
    ResultAt(String),
}

/// The kind of request that began the operation, as far as its end depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OperationMethod {
    /// PUT or PATCH: the result is the resource.
    Write,
    /// The result is at `Location`, or in the status.
    Post,
    Delete,
}

impl OperationMethod {
    pub(crate) fn from_method(method: &http::Method) -> Option<Self> {
        match *method {
            http::Method::PUT | http::Method::PATCH => Some(Self::Write),
            http::Method::POST => Some(Self::Post),
            http::Method::DELETE => Some(Self::Delete),
            _ => None,
        }
    }
}

/// The operation that an answer begins; none: it is done already. `own` is the request's address.
pub(crate) fn started_operation(
    shown: &'static str,
    asked: OperationMethod,
    own: &Url,
    answer: &HttpResponse,
    body: &Value,
) -> Result<Option<Operation>, AzureError> {
    let header = |name: &str| -> Result<Option<String>, AzureError> {
        let Some(text) = answer.headers.get(name) else { return Ok(None) };
        let link = text.to_str().ok().and_then(|text| same_origin_path(own, text));
        link.map(Some)
            .ok_or_else(|| AzureError::new(shown, ErrorKind::Malformed, "the operation goes on elsewhere"))
    };
    let (status, location) = (header("azure-asyncoperation")?, header("location")?);
    let resource = (asked == OperationMethod::Write).then(|| path_and_query(own));
    let wait = retry_after(&answer.headers).unwrap_or_default().as_secs();
    let new = |told, poll, result| {
        Some(Operation { told, poll, result, deletes: asked == OperationMethod::Delete, retry_after: wait })
    };
    Ok(if let Some(poll) = status {
        let result = if asked == OperationMethod::Post { location } else { resource };
        new(PollSource::Status, poll, result)
    } else if let Some(poll) = location.filter(|_| answer.status == 202) {
        new(PollSource::Location, poll, resource)
    } else {
        let running = answer.status == 202 || asked == OperationMethod::Write && !is_final(state(body));
        // A deletion that is only accepted goes on until the resource is not there any more.
        let own = resource.or_else(|| (asked == OperationMethod::Delete).then(|| path_and_query(own)));
        own.filter(|_| running).and_then(|own| new(PollSource::State, own, None))
    })
}

/// Reads the answer to a poll. An answer without a state of the operation is an error.
pub(crate) fn poll_result(
    shown: &'static str,
    operation: &Operation,
    answer: Result<HttpResponse, AzureError>,
) -> Result<PollResult, AzureError> {
    let answer = match answer {
        Ok(answer) => answer,
        Err(error) if error.is_missing() && operation.deletes => return Ok(PollResult::Done(Value::Null)),
        Err(error) => return Err(error),
    };
    let unread = |why| AzureError::new(shown, ErrorKind::Malformed, why);
    let body: Value = match answer.body.is_empty() {
        true => Value::Null,
        false => serde_json::from_slice(&answer.body).map_err(|_| unread(""))?,
    };
    let running = || Ok(PollResult::Running(retry_after(&answer.headers)));
    let state = match operation.told {
        PollSource::Location if answer.status == 202 => return running(),
        PollSource::Location => None,
        PollSource::Status => body["status"].as_str(),
        PollSource::State => state(&body),
    };
    match state {
        Some(state) if is_failed(state) => Err(AzureError::from_operation(shown, state, failure(&body))),
        // What is there still is not deleted, whatever its state was before.
        _ if operation.deletes && operation.told == PollSource::State => running(),
        Some(_) if !is_final(state) => running(),
        None if operation.told == PollSource::Status && answer.status == 202 => running(),
        None if operation.told == PollSource::Status && !body.is_null() => Err(unread("it tells no status")),
        _ => Ok(match (&operation.result, operation.told) {
            (Some(_), PollSource::Location)
                if body.is_object() && state.is_none() && body["id"].is_string() =>
            {
                PollResult::Done(body)
            }
            (Some(result), _) => PollResult::ResultAt(result.clone()),
            (None, PollSource::Status) => PollResult::Done(take_output(body)),
            (None, _) => PollResult::Done(body),
        }),
    }
}

/// The status document's own result, where it has one.
fn take_output(mut body: Value) -> Value {
    let found = ["properties", "output"].into_iter().find(|name| !body[*name].is_null());
    found.map_or(Value::Null, |name| body[name].take())
}

/// The error that a status document or a failed resource tells.
fn failure(body: &Value) -> &Value {
    let told = [&body["error"], &body["properties"]["error"]];
    told.into_iter().find(|error| error.is_object()).unwrap_or(&Value::Null)
}

pub(crate) fn state(body: &Value) -> Option<&str> {
    body["properties"]["provisioningState"].as_str()
}

/// A body without a state is a resource that is there.
fn is_final(state: Option<&str>) -> bool {
    state.is_none_or(|state| state.eq_ignore_ascii_case("succeeded") || is_failed(state))
}

pub(crate) fn is_failed(state: &str) -> bool {
    ["failed", "canceled", "cancelled"].iter().any(|word| state.eq_ignore_ascii_case(word))
}

/// Path and query of a link that leads to where the request went: a token goes nowhere else.
fn same_origin_path(own: &Url, link: &str) -> Option<String> {
    let link = own.join(link).ok()?;
    (link.origin() == own.origin()).then(|| path_and_query(&link))
}

pub(crate) fn path_and_query(url: &Url) -> String {
    match url.query() {
        Some(query) => format!("{}?{query}", url.path()),
        None => url.path().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use http::HeaderMap;

    fn answer(status: u16, body: &str) -> HttpResponse {
        HttpResponse { status, headers: HeaderMap::new(), body: Bytes::from(body.to_owned()) }
    }

    #[test]
    fn a_deletion_that_is_only_accepted_ends_when_there_is_nothing_any_more() {
        let own: Url = "https://azure.invalid/a/b?api-version=1".parse().unwrap();
        let begin = |status| {
            started_operation("delete", OperationMethod::Delete, &own, &answer(status, ""), &Value::Null)
                .unwrap()
        };
        assert_eq!((begin(200), begin(204)), (None, None));
        let operation = begin(202).unwrap();
        assert_eq!((operation.told, operation.poll.as_str()), (PollSource::State, "/a/b?api-version=1"));
        for body in ["", "{}", r#"{"properties":{"provisioningState":"Succeeded"}}"#] {
            let look = poll_result("delete", &operation, Ok(answer(200, body)));
            assert_eq!(look.unwrap(), PollResult::Running(None), "{body}");
        }
        let failed = r#"{"properties":{"provisioningState":"Failed"}}"#;
        assert!(poll_result("delete", &operation, Ok(answer(200, failed))).is_err());
        let gone = AzureError::from_response("get", 404, br#"{"error":{"code":"ResourceNotFound"}}"#);
        assert_eq!(poll_result("delete", &operation, Err(gone)).unwrap(), PollResult::Done(Value::Null));
    }
}
