//! One request with its token, its tries and its deadline.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{HeaderName, HeaderValue};
use rp_base::Secret;
use tokio::time::Instant;
use url::Url;

use super::{Arm, CloudAccess, Inner};
use crate::error::{AzureError, ErrorKind};
use crate::metrics::ObservedCall;
use crate::retry;
use crate::token::{Issuer, TokenScope};
use crate::transport::{CallName, HttpResponse};

pub(crate) const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// A request, to be made as often as the policy says. Never printed: its address and body may have secrets.
pub(crate) struct HttpRequest<'a> {
    pub(crate) name: CallName,
    /// `None`: the address has its own proof (SAS).
    pub(crate) scope: Option<TokenScope<'a>>,
    pub(crate) method: http::Method,
    pub(crate) url: Url,
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    /// With its media type.
    pub(crate) body: Option<(HeaderValue, Bytes)>,
}

impl Arm {
    /// A request with all its tries.
    pub(crate) async fn exchange(&self, http_request: &HttpRequest<'_>) -> Result<HttpResponse, AzureError> {
        let inner = &*self.0;
        let deadline = Instant::now() + inner.patience;
        let mut backoff = inner.retry.backoff();
        let mut renewed = false;
        let mut tried = 1;
        loop {
            let started = Instant::now();
            let error = match self.once(http_request, deadline.min(started + inner.retry.per_try)).await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            // A token that Azure refuses is fetched anew, once: its rights or keys may have changed.
            let refused = error.status == Some(401) && error.operation == http_request.name.shown && !renewed;
            let wait = if let Some(scope) = http_request.scope.filter(|_| refused) {
                renewed = true;
                inner.tokens.forget(scope);
                Some(Duration::ZERO)
            } else {
                let wait = retry::wait(&inner.retry, tried, &error, &mut backoff, &*inner.retrier.random);
                tried += 1;
                wait
            };
            let Some(wait) = wait.filter(|wait| Instant::now() + *wait < deadline) else { return Err(error) };
            inner.transport.metrics.retry(&ObservedCall {
                client: http_request.name.client,
                operation: http_request.name.operation,
                code: error.status.map_or(-1, i32::from),
                took: started.elapsed(),
                failed: true,
            });
            tracing::info!(error = %error, retry_after = wait.as_secs(), "asking Azure again");
            inner.retrier.sleep.sleep(wait).await;
        }
    }

    async fn once(
        &self,
        http_request: &HttpRequest<'_>,
        deadline: Instant,
    ) -> Result<HttpResponse, AzureError> {
        let inner = &*self.0;
        let late = || AzureError::new(http_request.name.shown, ErrorKind::Timeout, "too many calls at once");
        let room = tokio::time::timeout_at(deadline, inner.room.acquire()).await;
        let _room = room.map_err(|_| late())?.map_err(|_| late())?;
        let mut request = inner.transport.http.request(http_request.method.clone(), http_request.url.clone());
        request = request.timeout(inner.retry.per_try).header(http::header::ACCEPT, "application/json");
        if let Some(scope) = http_request.scope {
            request = request.bearer_auth(inner.token(scope, deadline).await?.expose());
        }
        for (name, value) in &http_request.headers {
            request = request.header(name, value);
        }
        if let Some((kind, body)) = &http_request.body {
            request = request.header(http::header::CONTENT_TYPE, kind).body(body.clone());
        }
        let not =
            |_| AzureError::new(http_request.name.shown, ErrorKind::Request, "the request cannot be made");
        inner.transport.exchange(http_request.name, request.build().map_err(not)?, deadline).await
    }
}

impl Inner {
    /// A token of the cache; where one has to be fetched, by these connections and counted for this use.
    pub(super) async fn token(
        &self,
        scope: TokenScope<'_>,
        deadline: Instant,
    ) -> Result<Arc<Secret<String>>, AzureError> {
        let CloudAccess { endpoints, clock, random, .. } = &*self.cloud;
        let issuer = Issuer { endpoints, transport: &self.transport, clock: &**clock, random: &**random };
        self.tokens.bearer(scope, issuer, deadline).await
    }
}
