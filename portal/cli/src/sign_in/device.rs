//! A code that is entered in a browser anywhere (RFC 8628).

use std::time::Duration;

use rp_base::Secret;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::client::Client;
use crate::{CliError, Exit, Output};

/// RFC 8628 §3.2: the interval where none is given.
const INTERVAL: u64 = 5;
/// RFC 8628 §3.5: what "slow down" adds.
const SLOWER: Duration = Duration::from_secs(5);
const LONGEST_INTERVAL: Duration = Duration::from_secs(60);
/// The longest validity of a code that is waited for, seconds.
const LONGEST_LIFE: u64 = 1800;

#[derive(Deserialize)]
struct DeviceCodeResponse {
    device_code: Secret<String>,
    user_code: String,
    verification_uri: String,
    #[serde(default)]
    verification_uri_complete: Option<String>,
    expires_in: u64,
    #[serde(default)]
    interval: Option<u64>,
}

/// Gives the portal's answer with the token.
pub(super) async fn sign_in(client: &Client, out: &mut Output) -> Result<Value, CliError> {
    let answer = client.post("/api/v1/login/device", &json!({ "client": own_name() })).await?;
    let asked: DeviceCodeResponse =
        serde_json::from_value(answer).map_err(|_| CliError::Answer("no device code"))?;
    out.note("Open this address in a browser on any device:");
    out.note(&format!("  {}", asked.verification_uri));
    out.note("and enter the code:");
    out.note(&format!("  {}", asked.user_code));
    if let Some(address) = &asked.verification_uri_complete {
        out.note("or open this, and compare the code:");
        out.note(&format!("  {address}"));
    }
    let life = asked.expires_in.min(LONGEST_LIFE);
    let waited = CliError::Waited(life / 60);
    let polling = poll(client, &asked);
    tokio::time::timeout(Duration::from_secs(life), polling).await.map_err(|_| waited)?
}

/// How the page calls us, so that the person sees which terminal asks.
fn own_name() -> String {
    let host = std::fs::read_to_string("/etc/hostname").unwrap_or_default();
    let host = rp_base::text::clean(host.trim(), 100);
    if host.is_empty() { "aro".to_owned() } else { format!("aro on {host}") }
}

async fn poll(client: &Client, asked: &DeviceCodeResponse) -> Result<Value, CliError> {
    let mut interval = Duration::from_secs(asked.interval.unwrap_or(INTERVAL).max(1)).min(LONGEST_INTERVAL);
    let body = json!({ "device_code": asked.device_code.expose() });
    loop {
        tokio::time::sleep(interval).await;
        match client.post("/api/v1/login/token", &body).await {
            Ok(answer) => return Ok(answer),
            Err(error) => interval = next(error, interval)?.min(LONGEST_INTERVAL),
        }
    }
}

/// How long to wait after an answer that was no token (RFC 8628 §3.5); the error itself when it is final.
fn next(error: CliError, interval: Duration) -> Result<Duration, CliError> {
    if error.exit() == Exit::Away {
        // A time-out makes the intervals longer.
        return Ok(interval * 2);
    }
    let CliError::Refused { status, refusal } = &error else { return Err(error) };
    match refusal.code.as_str() {
        _ if *status == 429 => Ok(interval + SLOWER),
        "authorization_pending" => Ok(interval),
        "slow_down" => Ok(interval + SLOWER),
        "access_denied" => Err(CliError::Declined(refusal.message.clone())),
        _ => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Refusal;

    fn refused(status: u16, code: &str) -> CliError {
        let refusal = Refusal {
            code: code.to_owned(),
            message: "No.".to_owned(),
            side: String::new(),
            action: String::new(),
            request_id: String::new(),
        };
        CliError::Refused { status, refusal }
    }

    #[test]
    fn asks_as_often_as_it_is_told() {
        let five = Duration::from_secs(5);
        assert_eq!(next(refused(400, "authorization_pending"), five).unwrap(), five);
        assert_eq!(next(refused(400, "slow_down"), five).unwrap(), five * 2);
        assert_eq!(next(refused(429, "too_often"), five).unwrap(), five * 2);
        assert_eq!(next(refused(503, "store_away"), five).unwrap(), five * 2);
        assert_eq!(next(refused(400, "access_denied"), five).unwrap_err().exit(), Exit::NotAllowed);
        let error = next(refused(400, "expired_token"), five).unwrap_err();
        assert_eq!((error.exit(), error.refusal().code.as_str()), (Exit::NotSignedIn, "expired_token"));
    }
}
