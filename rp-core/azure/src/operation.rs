//! Operations that last: how Azure is asked whether one is done (ARM resource provider contract, asynchronous API).

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use url::Url;

use crate::error::{AzureError, ErrorKind};
use crate::transport::{Answer, retry_after};

/// Where an operation's state is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Told {
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
    pub told: Told,
    /// Path and query at the resource manager.
    pub poll: String,
    /// Path and query where the result is read in the end; none: the last answer is the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// What is gone is done.
    #[serde(default)]
    pub deletes: bool,
    /// Seconds that Azure wants to have passed before the first look.
    #[serde(default)]
    pub retry_after: u64,
}

/// What a look at an operation tells.
#[derive(Debug, Clone, PartialEq)]
pub enum Look {
    /// Not done; when Azure wants to be asked again, if it said so.
    Running(Option<Duration>),
    /// Done; the result, `null` when there is none.
    Done(Value),
    /// Done; the result is at that path and query.
    ResultAt(String),
}

/// What was asked, as far as the end of the operation depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    /// PUT or PATCH: the result is the resource.
    Write,
    /// The result is at `Location`, or in the status.
    Post,
    Delete,
}

impl Asked {
    pub(crate) fn of(method: &http::Method) -> Option<Self> {
        match *method {
            http::Method::PUT | http::Method::PATCH => Some(Self::Write),
            http::Method::POST => Some(Self::Post),
            http::Method::DELETE => Some(Self::Delete),
            _ => None,
        }
    }
}

/// The operation that an answer begins; none: it is done already. `own` is the request's address.
pub(crate) fn begun(
    shown: &'static str,
    asked: Asked,
    own: &Url,
    answer: &Answer,
    body: &Value,
) -> Result<Option<Operation>, AzureError> {
    let header = |name: &str| -> Result<Option<String>, AzureError> {
        let Some(text) = answer.headers.get(name) else { return Ok(None) };
        let link = text.to_str().ok().and_then(|text| local(own, text));
        link.map(Some)
            .ok_or_else(|| AzureError::new(shown, ErrorKind::Malformed, "the operation goes on elsewhere"))
    };
    let (status, location) = (header("azure-asyncoperation")?, header("location")?);
    let resource = (asked == Asked::Write).then(|| of_url(own));
    let wait = retry_after(&answer.headers).unwrap_or_default().as_secs();
    let new = |told, poll, result| {
        Some(Operation { told, poll, result, deletes: asked == Asked::Delete, retry_after: wait })
    };
    Ok(if let Some(poll) = status {
        let result = if asked == Asked::Post { location } else { resource };
        new(Told::Status, poll, result)
    } else if let Some(poll) = location.filter(|_| answer.status == 202) {
        new(Told::Location, poll, resource)
    } else {
        let running = answer.status == 202 || asked == Asked::Write && !is_final(state(body));
        // A deletion that is only accepted goes on until the resource is not there any more.
        let own = resource.or_else(|| (asked == Asked::Delete).then(|| of_url(own)));
        own.filter(|_| running).and_then(|own| new(Told::State, own, None))
    })
}

/// What an answer to a poll says. An answer that tells nothing of the operation is no success.
pub(crate) fn looked(
    shown: &'static str,
    operation: &Operation,
    answer: Result<Answer, AzureError>,
) -> Result<Look, AzureError> {
    let answer = match answer {
        Ok(answer) => answer,
        Err(error) if error.is_missing() && operation.deletes => return Ok(Look::Done(Value::Null)),
        Err(error) => return Err(error),
    };
    let unread = |why| AzureError::new(shown, ErrorKind::Malformed, why);
    let body: Value = match answer.body.is_empty() {
        true => Value::Null,
        false => serde_json::from_slice(&answer.body).map_err(|_| unread(""))?,
    };
    let running = || Ok(Look::Running(retry_after(&answer.headers)));
    let state = match operation.told {
        Told::Location if answer.status == 202 => return running(),
        Told::Location => None,
        Told::Status => body["status"].as_str(),
        Told::State => state(&body),
    };
    match state {
        Some(state) if is_failed(state) => Err(AzureError::of_operation(shown, state, failure(&body))),
        // What is there still is not deleted, whatever its state was before.
        _ if operation.deletes && operation.told == Told::State => running(),
        Some(_) if !is_final(state) => running(),
        None if operation.told == Told::Status && answer.status == 202 => running(),
        None if operation.told == Told::Status && !body.is_null() => Err(unread("it tells no status")),
        _ => Ok(match (&operation.result, operation.told) {
            (Some(_), Told::Location) if body.is_object() && state.is_none() && body["id"].is_string() => {
                Look::Done(body)
            }
            (Some(result), _) => Look::ResultAt(result.clone()),
            (None, Told::Status) => Look::Done(inside(body)),
            (None, _) => Look::Done(body),
        }),
    }
}

/// The status document's own result, where it has one.
fn inside(mut body: Value) -> Value {
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
fn local(own: &Url, link: &str) -> Option<String> {
    let link = own.join(link).ok()?;
    (link.origin() == own.origin()).then(|| of_url(&link))
}

pub(crate) fn of_url(url: &Url) -> String {
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

    fn answer(status: u16, body: &str) -> Answer {
        Answer { status, headers: HeaderMap::new(), body: Bytes::from(body.to_owned()) }
    }

    #[test]
    fn a_deletion_that_is_only_accepted_ends_when_there_is_nothing_any_more() {
        let own: Url = "https://azure.invalid/a/b?api-version=1".parse().unwrap();
        let begin = |status| begun("delete", Asked::Delete, &own, &answer(status, ""), &Value::Null).unwrap();
        assert_eq!((begin(200), begin(204)), (None, None));
        let operation = begin(202).unwrap();
        assert_eq!((operation.told, operation.poll.as_str()), (Told::State, "/a/b?api-version=1"));
        for body in ["", "{}", r#"{"properties":{"provisioningState":"Succeeded"}}"#] {
            let look = looked("delete", &operation, Ok(answer(200, body)));
            assert_eq!(look.unwrap(), Look::Running(None), "{body}");
        }
        let failed = r#"{"properties":{"provisioningState":"Failed"}}"#;
        assert!(looked("delete", &operation, Ok(answer(200, failed))).is_err());
        let gone = AzureError::of_answer("get", 404, br#"{"error":{"code":"ResourceNotFound"}}"#);
        assert_eq!(looked("delete", &operation, Err(gone)).unwrap(), Look::Done(Value::Null));
    }
}
