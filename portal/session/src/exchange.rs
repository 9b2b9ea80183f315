//! How the provider is reached: one request, one bounded answer.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use rp_net::tls::TlsError;

use crate::config::OidcConfig;

const TIME_OUT: Duration = Duration::from_secs(10);
/// Key sets and tokens are a few KiB.
const MOST: usize = 1024 * 1024;

/// Sends one request to the provider, without following redirects.
#[async_trait]
pub trait Exchange: Send + Sync + std::fmt::Debug + 'static {
    /// # Errors
    /// No answer, or one that is too large.
    async fn send(&self, request: http::Request<Vec<u8>>) -> Result<http::Response<Vec<u8>>, ExchangeError>;
}

/// The provider gave no usable answer.
#[derive(Debug, thiserror::Error)]
pub enum ExchangeError {
    #[error("the provider did not answer")]
    NoAnswer(#[source] Box<dyn std::error::Error + Send + Sync>),
    #[error("the provider's answer is larger than 1 MiB")]
    TooLarge,
}

/// Over the network.
#[derive(Debug, Clone)]
pub struct HttpExchange(reqwest::Client);

impl HttpExchange {
    /// Uses a client that follows no redirects and has time-outs.
    pub const fn new(client: reqwest::Client) -> Self {
        Self(client)
    }
}

/// The exchange of production: the host's CAs and the configured one.
///
/// # Errors
/// The configured CA cannot be used.
pub fn network_exchange(config: &OidcConfig) -> Result<Arc<dyn Exchange>, TlsError> {
    Ok(Arc::new(HttpExchange::new(rp_net::http::client(config.ca_pem.as_deref(), TIME_OUT)?)))
}

fn no_answer(error: impl std::error::Error + Send + Sync + 'static) -> ExchangeError {
    ExchangeError::NoAnswer(Box::new(error))
}

#[async_trait]
impl Exchange for HttpExchange {
    async fn send(&self, request: http::Request<Vec<u8>>) -> Result<http::Response<Vec<u8>>, ExchangeError> {
        let request = reqwest::Request::try_from(request).map_err(no_answer)?;
        let mut answer = self.0.execute(request).await.map_err(no_answer)?;
        let (status, headers) = (answer.status(), answer.headers().clone());
        let mut body = Vec::new();
        while let Some(chunk) = answer.chunk().await.map_err(no_answer)? {
            if body.len() + chunk.len() > MOST {
                return Err(ExchangeError::TooLarge);
            }
            body.extend_from_slice(&chunk);
        }
        let mut response = http::Response::new(body);
        *response.status_mut() = status;
        *response.headers_mut() = headers;
        Ok(response)
    }
}
