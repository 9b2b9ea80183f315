//! Azure Resource Manager: get, put, delete and list of resources.

mod exchange;
mod options;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use rp_base::{Secret, SharedClock, SharedRandom};
use rp_metrics::Registry;
use rp_net::tls::TlsError;
use serde::Deserialize;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::Semaphore;
use tokio::time::Instant;
use url::Url;

use crate::client::Polling;
use crate::cloud::{Audience, Endpoints};
use crate::credential::Credential;
use crate::error::{AzureError, ErrorKind};
use crate::metrics::CallMetrics;
use crate::path::is_resource_id;
use crate::retry::{Repeat, Retrier, RetryPolicy};
use crate::token::{TokenScope, Tokens};
use crate::transport::{CallName, HttpResponse, Transport};

pub(crate) use exchange::{HttpRequest, JSON};
pub use options::{ArmOptions, CallPolicy, CallSettings};

/// Calls at once, of all tenants.
const PARALLEL: usize = 64;
/// Longest exchange of any use. Each has a deadline of its own, which is earlier.
const LONGEST_EXCHANGE: Duration = Duration::from_mins(15);
/// Pages of one list, and items of all of them.
const MOST_PAGES: usize = 200;
const MOST_ITEMS: usize = 20_000;

/// One call.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// What kind of resource, for metrics: `subnets`.
    pub client: &'static str,
    /// What is done, for metrics: `get`.
    pub operation: &'static str,
    /// Both, for errors: `get subnet`.
    pub shown: &'static str,
    /// Whose directory the resource's subscription belongs to.
    pub tenant: &'a str,
    /// Resource id, or the path of a list: `/subscriptions/…`.
    pub id: &'a str,
    pub api_version: &'a str,
    /// Further parameters, such as `$expand`.
    pub query: &'a [(&'a str, &'a str)],
}

/// A client of one cloud with one credential. A cheap clone. Clients that are made from one another share its
/// connections, and with the same credential its tokens.
#[derive(Debug, Clone)]
pub struct Arm(Arc<Inner>);

/// One cloud as the process reaches it: shared by every client that is made from another.
#[derive(Debug)]
struct CloudAccess {
    endpoints: Endpoints,
    http: reqwest::Client,
    clock: SharedClock,
    random: SharedRandom,
    registry: Registry,
}

#[derive(Debug)]
struct Inner {
    cloud: Arc<CloudAccess>,
    tokens: Arc<Tokens>,
    transport: Transport,
    retrier: Retrier,
    repeat: Repeat,
    polling: Polling,
    retry: RetryPolicy,
    patience: Duration,
    room: Semaphore,
}

#[derive(Deserialize)]
struct Page<T> {
    #[serde(default = "Vec::new")]
    value: Vec<T>,
    #[serde(default, rename = "nextLink")]
    next: Option<String>,
}

impl Arm {
    /// A client. Nothing is asked yet.
    ///
    /// # Errors
    /// The extra CA cannot be used.
    pub fn new(options: ArmOptions) -> Result<Self, TlsError> {
        Self::with(options, CallSettings::default())
    }

    /// A client with its own call settings. Nothing is asked yet.
    ///
    /// # Errors
    /// The extra CA cannot be used.
    pub fn with(options: ArmOptions, call_settings: CallSettings) -> Result<Self, TlsError> {
        let http = rp_net::http::client(options.ca_pem.as_deref(), LONGEST_EXCHANGE)?;
        let ArmOptions { endpoints, credential, clock, random, registry, observer, retry, patience, .. } =
            options;
        let cloud = Arc::new(CloudAccess { endpoints, http, clock, random, registry });
        let tokens = Arc::new(Tokens::new(credential));
        Ok(Self::assemble(cloud, tokens, CallPolicy { retry, patience, call_settings, observer }))
    }

    /// This client for another use: connections and tokens are shared; tries, limits in time, the places for calls at
    /// once and the observer are its own.
    #[must_use]
    pub fn with_policy(&self, policy: CallPolicy) -> Self {
        Self::assemble(Arc::clone(&self.0.cloud), Arc::clone(&self.0.tokens), policy)
    }

    /// The same cloud, asked in the same way with another credential: connections are shared, tokens are not.
    #[must_use]
    pub fn with_credential(&self, credential: Credential) -> Self {
        let inner = &*self.0;
        Self(Arc::new(Inner {
            cloud: Arc::clone(&inner.cloud),
            tokens: Arc::new(Tokens::new(credential)),
            transport: inner.transport.clone(),
            retrier: inner.retrier.clone(),
            repeat: inner.repeat,
            polling: inner.polling,
            retry: inner.retry,
            patience: inner.patience,
            room: Semaphore::new(PARALLEL),
        }))
    }

    fn assemble(cloud: Arc<CloudAccess>, tokens: Arc<Tokens>, policy: CallPolicy) -> Self {
        let CallPolicy { retry, patience, call_settings, observer } = policy;
        let metrics = CallMetrics::new(&cloud.registry, observer);
        Self(Arc::new(Inner {
            transport: Transport { http: cloud.http.clone(), metrics },
            retrier: Retrier { sleep: call_settings.sleep, random: Arc::clone(&cloud.random) },
            cloud,
            tokens,
            repeat: call_settings.repeat,
            polling: call_settings.polling,
            retry,
            patience,
            room: Semaphore::new(PARALLEL),
        }))
    }

    /// Whether both take their tokens from one cache.
    pub fn shares_tokens_with(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0.tokens, &other.0.tokens)
    }

    /// Reads a resource.
    ///
    /// # Errors
    /// [`AzureError`], after the tries of the policy.
    pub async fn get<T: DeserializeOwned>(&self, call: &Call<'_>) -> Result<T, AzureError> {
        let answer = self.send(call, http::Method::GET, self.url(call)?, None).await?;
        read(call, &answer)
    }

    /// Creates or replaces a resource and gives what Azure made of it.
    ///
    /// # Errors
    /// [`AzureError`].
    pub async fn put<T: DeserializeOwned>(
        &self,
        call: &Call<'_>,
        body: &impl Serialize,
    ) -> Result<T, AzureError> {
        let body =
            serde_json::to_vec(body).map_err(|_| AzureError::new(call.shown, ErrorKind::Request, ""))?;
        let answer = self.send(call, http::Method::PUT, self.url(call)?, Some(body)).await?;
        read(call, &answer)
    }

    /// Deletes a resource; one that is not there is deleted (`contract/backend.md` §10).
    ///
    /// # Errors
    /// [`AzureError`].
    pub async fn delete(&self, call: &Call<'_>) -> Result<(), AzureError> {
        match self.send(call, http::Method::DELETE, self.url(call)?, None).await {
            Err(error) if !error.is_missing() => Err(error),
            _ => Ok(()),
        }
    }

    /// Reads a list to its end, page by page.
    ///
    /// # Errors
    /// [`AzureError`]; also when the list has no end within bounds, or leads to another host.
    pub async fn list<T: DeserializeOwned>(&self, call: &Call<'_>) -> Result<Vec<T>, AzureError> {
        let mut url = self.url(call)?;
        let mut items = Vec::new();
        for _ in 0..MOST_PAGES {
            let answer = self.send(call, http::Method::GET, url, None).await?;
            let page: Page<T> = read(call, &answer)?;
            items.extend(page.value);
            if items.len() > MOST_ITEMS {
                break;
            }
            let Some(next) = page.next.filter(|next| !next.is_empty()) else { return Ok(items) };
            url = self.next(call, &next)?;
        }
        Err(AzureError::new(call.shown, ErrorKind::Malformed, "the list does not end"))
    }

    /// A token goes to the resource manager and nowhere else.
    fn next(&self, call: &Call<'_>, link: &str) -> Result<Url, AzureError> {
        let url: Option<Url> = link.parse().ok();
        let own = &self.0.cloud.endpoints.resource_manager;
        url.filter(|url| url.origin() == own.origin())
            .ok_or_else(|| AzureError::new(call.shown, ErrorKind::Malformed, "the list goes on elsewhere"))
    }

    fn url(&self, call: &Call<'_>) -> Result<Url, AzureError> {
        let not = || AzureError::new(call.shown, ErrorKind::Request, "this is no resource id");
        if !is_resource_id(call.id) {
            return Err(not());
        }
        let mut url = self.0.cloud.endpoints.resource_manager.join(call.id).map_err(|_| not())?;
        url.query_pairs_mut().extend_pairs(call.query).append_pair("api-version", call.api_version);
        Ok(url)
    }

    async fn send(
        &self,
        call: &Call<'_>,
        method: http::Method,
        url: Url,
        body: Option<Vec<u8>>,
    ) -> Result<HttpResponse, AzureError> {
        self.exchange(&HttpRequest {
            name: CallName { client: call.client, operation: call.operation, shown: call.shown },
            scope: Some(TokenScope { tenant: call.tenant, audience: Audience::ResourceManager }),
            method,
            url,
            headers: Vec::new(),
            body: body.map(|body| (JSON, Bytes::from(body))),
        })
        .await
    }

    /// The endpoints of the cloud.
    pub(crate) fn endpoints(&self) -> &Endpoints {
        &self.0.cloud.endpoints
    }

    pub(crate) fn call_settings(&self) -> (Repeat, Polling) {
        (self.0.repeat, self.0.polling)
    }

    /// Retries with the client's clock and random source.
    pub(crate) fn retrier(&self) -> &Retrier {
        &self.0.retrier
    }

    /// A token whose claims the caller reads.
    pub(crate) async fn bearer(
        &self,
        tenant: &str,
        audience: Audience,
    ) -> Result<Arc<Secret<String>>, AzureError> {
        self.0.token(TokenScope { tenant, audience }, Instant::now() + self.0.patience).await
    }

    /// Forgets a tenant's token for the resource manager: the next call signs in anew.
    pub(crate) fn forget(&self, tenant: &str) {
        self.0.tokens.forget(TokenScope { tenant, audience: Audience::ResourceManager });
    }
}

fn read<T: DeserializeOwned>(call: &Call<'_>, answer: &HttpResponse) -> Result<T, AzureError> {
    serde_json::from_slice(&answer.body).map_err(|error| {
        let mut told = AzureError::new(call.shown, ErrorKind::Malformed, &error.to_string());
        told.request_id =
            answer.headers.get("x-ms-request-id").map(|id| format!("{id:?}")).unwrap_or_default();
        told
    })
}
