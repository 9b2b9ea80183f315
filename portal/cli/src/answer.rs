//! What the portal is asked and answers: segments of paths, members of bodies, JSON, or a refusal in its own words.

use reqwest::Response;
use reqwest::header::RETRY_AFTER;
use rp_base::text;
use serde_json::Value;

use crate::CliError;
use crate::error::Refusal;

/// Answers larger than this are not ours.
const MOST: usize = 32 * 1024 * 1024;

/// The whole answer, bounded.
pub(crate) async fn bytes(mut response: Response) -> Result<Vec<u8>, CliError> {
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|_| CliError::Answer("it broke off"))? {
        if bytes.len() + chunk.len() > MOST {
            return Err(CliError::Answer("too long"));
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

/// An answer as JSON; an empty one is null.
pub(crate) async fn json(response: Response) -> Result<Value, CliError> {
    let bytes = bytes(response).await?;
    if bytes.is_empty() {
        return Ok(Value::Null);
    }
    serde_json::from_slice(&bytes).map_err(|_| CliError::Answer("not JSON"))
}

/// The portal's own words, bare or under `error`; else what the status says.
pub(crate) async fn refused(response: Response) -> CliError {
    let status = response.status().as_u16();
    let reason = response.status().canonical_reason().unwrap_or("an error");
    let request_id = response
        .headers()
        .get("x-request-id")
        .and_then(|value| value.to_str().ok())
        .map_or_else(String::new, |id| text::clean(id, 100));
    let wait = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse::<u32>().ok());
    let unnamed = Refusal {
        code: format!("http_{status}"),
        message: match status {
            300..=399 | 401 => "the portal does not know you, or your session has ended".to_owned(),
            _ => format!("the portal answered {status} {reason}"),
        },
        side: String::new(),
        action: String::new(),
        request_id: request_id.clone(),
    };
    let body = bytes(response).await.unwrap_or_default();
    let value: Value = serde_json::from_slice(&body).unwrap_or_default();
    let inner = value.get("error").filter(|inner| inner.is_object()).unwrap_or(&value);
    let mut refusal = serde_json::from_value(inner.clone()).unwrap_or(unnamed);
    if refusal.request_id.is_empty() {
        refusal.request_id = request_id;
    }
    // Who stands before the portal has no words for it.
    if let (true, Some(seconds)) = (refusal.action.is_empty(), wait) {
        refusal.action = format!("Try again in {seconds} s.");
    }
    CliError::Refused { status, refusal }
}

/// The rows of a list.
pub(crate) fn items(answer: &Value) -> &[Value] {
    answer.get("items").or(Some(answer)).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// What can stand between two slashes of one of our paths without changing the path.
pub(crate) fn segment(text: &str) -> Result<&str, CliError> {
    let sound = !text.is_empty()
        && text != "."
        && text != ".."
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.()".contains(&byte));
    if sound {
        Ok(text)
    } else {
        Err(CliError::Usage("a name has letters, digits, - _ . ( ) only".to_owned()))
    }
}

/// The values of a list; empty: it is none.
pub(crate) fn rows(list: &Value) -> &[Value] {
    list.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// Puts what is there under a name.
pub(crate) fn put(body: &mut Value, name: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        body[name] = value.into();
    }
}
