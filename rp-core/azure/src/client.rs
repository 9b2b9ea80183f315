//! One identity in one tenant: [`Arm`] with the second layer of tries and with waiting.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use http::header::{IF_MATCH, IF_NONE_MATCH};
use http::{HeaderValue, Method};
use serde_json::Value;
use url::Url;

use crate::arm::{Arm, Call, HttpRequest, JSON};
use crate::cloud::Audience;
use crate::error::{AzureError, ErrorKind};
use crate::names;
use crate::operation::{self, Operation, OperationMethod, PollResult};
use crate::path::is_resource_id;
use crate::resources::{BeginResponse, Precondition, Request, Resources};
use crate::retry::Repeat;
use crate::token::TokenScope;
use crate::transport::CallName;

/// How operations that last are waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Polling {
    /// Before the first look when Azure says nothing; grows by half up to `most`.
    pub first: Duration,
    pub most: Duration,
    /// Waits in all; then the operation counts as one without end.
    pub limit: Duration,
}

impl Polling {
    /// For steps.
    pub const STEPS: Self =
        Self { first: Duration::from_secs(2), most: Duration::from_secs(15), limit: Duration::from_hours(1) };
    /// For stand-ins, which are quick.
    pub const QUICK: Self = Self {
        first: Duration::from_millis(10),
        most: Duration::from_millis(500),
        limit: Duration::from_mins(10),
    };
}

/// What one identity may do in one tenant.
#[derive(Clone)]
pub struct Client {
    pub(crate) arm: Arm,
    pub(crate) tenant: Arc<str>,
    pub(crate) repeat: Repeat,
    polling: Polling,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("tenant", &self.tenant).finish_non_exhaustive()
    }
}

impl Arm {
    /// This credential in one tenant, with the second layer of tries and the waits that the client was made with.
    pub fn in_tenant(&self, tenant: &str) -> Client {
        let (repeat, polling) = self.call_settings();
        Client { arm: self.clone(), tenant: tenant.into(), repeat, polling }
    }
}

impl Client {
    /// The same with other repeats: [`Repeat::RBAC`] for what reads by rights that were just given.
    #[must_use]
    pub fn repeating(&self, repeat: Repeat) -> Self {
        Self { repeat, ..self.clone() }
    }

    /// The tenant in which it asks.
    pub fn tenant(&self) -> &str {
        &self.tenant
    }

    /// Forgets the token: the next call signs in anew, with what the credential is then.
    pub fn renew(&self) {
        self.arm.forget(&self.tenant);
    }

    /// The claims of the identity's own token, as they stand: nothing of it is verified.
    ///
    /// # Errors
    /// [`AzureError`]; also when the token is no JWT.
    pub async fn claims(&self, audience: Audience) -> Result<Value, AzureError> {
        let bearer = self.arm.bearer(&self.tenant, audience).await?;
        let part = bearer.expose().split('.').nth(1).map(|part| URL_SAFE_NO_PAD.decode(part));
        let claims = part.and_then(Result::ok).and_then(|part| serde_json::from_slice(&part).ok());
        claims.ok_or_else(|| AzureError::new("token", ErrorKind::Malformed, "the token cannot be read"))
    }

    pub(crate) fn scope(&self, audience: Audience) -> TokenScope<'_> {
        TokenScope { tenant: &self.tenant, audience }
    }

    fn url(&self, request: &Request<'_>) -> Result<Url, AzureError> {
        let not = || AzureError::new("ask Azure", ErrorKind::Request, "this is no resource id");
        if !is_resource_id(request.id) {
            return Err(not());
        }
        let mut url = self.arm.endpoints().resource_manager.join(request.id).map_err(|_| not())?;
        url.query_pairs_mut().extend_pairs(request.query).append_pair("api-version", request.api_version);
        Ok(url)
    }

    async fn once(&self, request: &Request<'_>, url: &Url) -> Result<BeginResponse, AzureError> {
        let name = names::call_name(&request.method, request.id);
        let not = |_| AzureError::new(name.shown, ErrorKind::Request, "the condition cannot be sent");
        let mut headers = Vec::new();
        match request.when {
            Some(Precondition::Absent) => headers.push((IF_NONE_MATCH, HeaderValue::from_static("*"))),
            Some(Precondition::Unchanged(etag)) => headers.push((IF_MATCH, etag.parse().map_err(not)?)),
            None => {}
        }
        let body = request.body.map(|body| (JSON, Bytes::from(body.to_string())));
        let http_request = HttpRequest {
            name,
            scope: Some(self.scope(Audience::ResourceManager)),
            method: request.method.clone(),
            url: url.clone(),
            headers,
            body,
        };
        let answer = self.arm.exchange(&http_request).await?;
        let malformed = |_| AzureError::new(name.shown, ErrorKind::Malformed, "");
        let body = match answer.body.is_empty() {
            true => Value::Null,
            false => serde_json::from_slice(&answer.body).map_err(malformed)?,
        };
        let asked = OperationMethod::from_method(&request.method);
        let operation =
            asked.map(|asked| operation::started_operation(name.shown, asked, url, &answer, &body));
        let operation = operation.transpose()?.flatten();
        if let Some(state) = operation::state(&body)
            && asked == Some(OperationMethod::Write)
            && operation.is_none()
            && operation::is_failed(state)
        {
            return Err(AzureError::from_operation(name.shown, state, &body["properties"]["error"]));
        }
        Ok(BeginResponse { status: answer.status, body, operation })
    }

    async fn read(&self, name: CallName, local: &str) -> Result<crate::transport::HttpResponse, AzureError> {
        let own = &self.arm.endpoints().resource_manager;
        let url = own.join(local).ok().filter(|url| url.origin() == own.origin() && local.starts_with('/'));
        let url =
            url.ok_or_else(|| AzureError::new(name.shown, ErrorKind::Request, "this is no operation"))?;
        let scope = Some(self.scope(Audience::ResourceManager));
        self.arm
            .exchange(&HttpRequest { name, scope, method: Method::GET, url, headers: Vec::new(), body: None })
            .await
    }
}

const POLL: CallName =
    CallName { client: "operations", operation: "poll", shown: "wait for Azure's operation" };

#[async_trait]
impl Resources for Client {
    async fn begin(&self, request: &Request<'_>) -> Result<BeginResponse, AzureError> {
        let url = self.url(request)?;
        let what = names::call_name(&request.method, request.id).shown;
        self.arm.retrier().repeat(self.repeat, what, || self.once(request, &url)).await
    }

    async fn look(&self, operation: &Operation) -> Result<PollResult, AzureError> {
        let polled = || async {
            let mut found =
                operation::poll_result(POLL.shown, operation, self.read(POLL, &operation.poll).await);
            if let Err(error) = &mut found
                && error.url().is_empty()
            {
                // The resource tells more of what failed than the address of its operation.
                let place = operation.result.as_deref().unwrap_or(&operation.poll);
                error.more().url = place.split('?').next().unwrap_or_default().to_owned();
            }
            found
        };
        self.arm.retrier().repeat(self.repeat, POLL.shown, polled).await
    }

    async fn wait(&self, operation: &Operation) -> Result<Value, AzureError> {
        let (mut own, mut waited) = (self.polling.first, Duration::ZERO);
        let mut told = Some(Duration::from_secs(operation.retry_after)).filter(|wait| !wait.is_zero());
        loop {
            let wait = told.unwrap_or(own);
            own = own.mul_f64(1.5).min(self.polling.most);
            waited += wait;
            if waited > self.polling.limit {
                return Err(AzureError::new(POLL.shown, ErrorKind::Timeout, "the operation does not end"));
            }
            self.arm.retrier().sleep.sleep(wait).await;
            match self.look(operation).await? {
                PollResult::Running(next) => told = next,
                PollResult::Done(result) => return Ok(result),
                PollResult::ResultAt(local) => {
                    let answer = self.read(POLL, &local).await?;
                    let unread = |_| AzureError::new(POLL.shown, ErrorKind::Malformed, "");
                    return match answer.body.is_empty() {
                        true => Ok(Value::Null),
                        false => serde_json::from_slice(&answer.body).map_err(unread),
                    };
                }
            }
        }
    }

    async fn list_with(
        &self,
        path: &str,
        api_version: &str,
        query: &[(&str, &str)],
    ) -> Result<Vec<Value>, AzureError> {
        let CallName { client, .. } = names::call_name(&Method::GET, path);
        let shown = "list resources";
        let call =
            Call { client, operation: "list", shown, tenant: &self.tenant, id: path, api_version, query };
        self.arm.retrier().repeat(self.repeat, shown, || self.arm.list(&call)).await
    }
}
