//! Tokens checked by a process beside this one (`contract/frontend.md` §3 ARM 1).

use std::net::SocketAddr;
use std::time::Duration;

use async_trait::async_trait;
use axum::extract::ConnectInfo;
use http::header::{AUTHORIZATION, HOST};
use http::{HeaderValue, request};
use reqwest::StatusCode;
use rp_base::chain;
use rp_net::http::client;
use rp_net::tls::TlsError;
use url::Url;

use super::TokenCheck;
use crate::not_ready::NotReady;

const TIME: Duration = Duration::from_secs(5);
/// After the first and after the second try.
const WAITS: [Duration; 2] = [Duration::from_millis(100), Duration::from_millis(200)];

/// The process that checks tokens.
#[derive(Debug, Clone)]
pub struct Mise {
    address: Url,
    http: reqwest::Client,
}

impl Mise {
    /// For the process at that origin.
    ///
    /// # Errors
    /// No client can be made.
    pub fn new(address: Url) -> Result<Self, TlsError> {
        Ok(Self { address, http: client(None, TIME)? })
    }

    fn at(&self, path: &str) -> Url {
        let mut url = self.address.clone();
        url.set_path(path);
        url
    }

    async fn ask(&self, head: &request::Parts) -> Result<StatusCode, reqwest::Error> {
        let host = head.headers.get(HOST).and_then(|value| value.to_str().ok());
        let host =
            host.or_else(|| head.uri.authority().map(http::uri::Authority::as_str)).unwrap_or_default();
        let peer = head.extensions.get::<ConnectInfo<SocketAddr>>();
        let empty = HeaderValue::from_static("");
        let request = self
            .http
            .post(self.at("/ValidateRequest"))
            .header(AUTHORIZATION, head.headers.get(AUTHORIZATION).unwrap_or(&empty).clone())
            .header("Original-Uri", format!("http://{host}{}", head.uri.path()))
            .header("Original-Method", head.method.as_str())
            .header("X-Forwarded-For", peer.map(|info| info.0.ip().to_string()).unwrap_or_default());
        Ok(request.send().await?.status())
    }
}

#[async_trait]
impl TokenCheck for Mise {
    async fn accepts(&self, head: &request::Parts) -> bool {
        let mut waits = WAITS.into_iter();
        loop {
            let again = match self.ask(head).await {
                Ok(StatusCode::OK) => return true,
                Ok(status) => {
                    let passing =
                        matches!(status, StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS);
                    if !status.is_server_error() && !passing {
                        return false;
                    }
                    format!("it answered {status}")
                }
                Err(error) => chain(&error).to_string(),
            };
            let Some(wait) = waits.next() else {
                tracing::error!(reason = again, "the token check does not answer");
                return false;
            };
            tokio::time::sleep(wait).await;
        }
    }

    async fn ready(&self) -> Result<(), NotReady> {
        let answer = self.http.get(self.at("/readyz")).send().await.map_err(NotReady::TokenCheckAway)?;
        match answer.status() {
            StatusCode::OK => Ok(()),
            status => Err(NotReady::TokenCheck(status)),
        }
    }
}
