//! Telling the client that sessions here have ended (OpenID Connect Back-Channel Logout 1.0).

use std::time::Duration;

use rp_base::{Id, chain};
use rp_net::tls::TlsError;
use serde_json::json;
use url::Url;

use super::{Backchannel, Shared};

const TIME_OUT: Duration = Duration::from_secs(10);
const EVENT: &str = "http://schemas.openid.net/event/backchannel-logout";
/// Seconds.
const LIFE: i64 = 120;

/// Sends logout tokens.
#[derive(Debug)]
pub(super) struct Notifier {
    client: reqwest::Client,
    uri: Url,
}

impl Notifier {
    pub(super) fn new(told: Backchannel) -> Result<Self, TlsError> {
        Ok(Self { client: rp_net::http::client(told.ca_pem.as_deref(), TIME_OUT)?, uri: told.uri })
    }
}

/// Sends one logout notification, without waiting: for one session (`sid`), or all of the subject.
pub(super) fn notify(shared: &Shared, sub: Option<&str>, sid: Option<&Id>) {
    let Some(notifier) = &shared.backchannel else { return };
    let now = shared.clock.now().seconds();
    let mut claims = json!({
        "iss": shared.issuer, "aud": shared.client_id, "iat": now, "exp": now + LIFE,
        "jti": Id::random(&*shared.random), "events": { EVENT: {} },
    });
    if let Some(sub) = sub {
        claims["sub"] = json!(sub);
    }
    if let Some(sid) = sid {
        claims["sid"] = json!(sid);
    }
    let token = match shared.key.sign_as("logout+jwt", &claims) {
        Ok(token) => token,
        Err(error) => return tracing::error!(error = %chain(&error), "a logout token could not be signed"),
    };
    let request = notifier.client.post(notifier.uri.clone()).form(&[("logout_token", token)]);
    tokio::spawn(async move {
        match request.send().await {
            Ok(answer) if answer.status().is_success() => {}
            Ok(answer) => {
                tracing::warn!(status = answer.status().as_u16(), "the client refused a logout token");
            }
            Err(error) => tracing::warn!(error = %chain(&error), "the client was not told of a logout"),
        }
    });
}
