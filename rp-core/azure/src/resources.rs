//! Resources by their ids, whatever their type: bodies are data (`serde_json::Value`).

use std::fmt;

use async_trait::async_trait;
use http::Method;
use serde_json::Value;

use crate::error::AzureError;
use crate::operation::{Operation, PollResult};

/// A condition on what is stored (RFC 9110 §13.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precondition<'a> {
    /// `If-None-Match: *`: there is none yet.
    Absent,
    /// `If-Match`: it is still that version.
    Unchanged(&'a str),
}

/// One request to the resource manager.
#[derive(Debug, Clone)]
pub struct Request<'a> {
    pub method: Method,
    /// Resource id, perhaps with an action behind it: `/subscriptions/…/virtualMachines/v/start`.
    pub id: &'a str,
    pub api_version: &'a str,
    /// Further parameters, such as `$filter`.
    pub query: &'a [(&'a str, &'a str)],
    pub body: Option<&'a Value>,
    pub when: Option<Precondition<'a>>,
}

impl<'a> Request<'a> {
    /// Without body, further parameters or condition.
    pub const fn new(method: Method, id: &'a str, api_version: &'a str) -> Self {
        Self { method, id, api_version, query: &[], body: None, when: None }
    }
}

/// What a request got.
#[derive(Debug, Clone, PartialEq)]
pub struct BeginResponse {
    /// HTTP status, a success.
    pub status: u16,
    /// `null` when there is none.
    pub body: Value,
    /// To be waited for; none: it is done.
    pub operation: Option<Operation>,
}

/// Resources of one tenant, as one identity. Every call repeats what `contract/backend.md` §10 lets it
/// repeat. Dropping a future stops the waiting, not what Azure has begun.
#[async_trait]
pub trait Resources: Send + Sync + fmt::Debug + 'static {
    /// Makes a request and does not wait for what it begins.
    ///
    /// # Errors
    /// [`AzureError`], after the tries of the policies.
    async fn begin(&self, request: &Request<'_>) -> Result<BeginResponse, AzureError>;

    /// Looks once at an operation.
    ///
    /// # Errors
    /// [`AzureError`]; also the operation's own failure, with its details.
    async fn look(&self, operation: &Operation) -> Result<PollResult, AzureError>;

    /// Waits for the end of an operation, perhaps one that another process began, and gives its result.
    ///
    /// # Errors
    /// As [`Resources::look`]; also when it does not end within the client's limit.
    async fn wait(&self, operation: &Operation) -> Result<Value, AzureError>;

    /// Reads a list to its end, page by page.
    ///
    /// # Errors
    /// [`AzureError`]; also when the list has no end within bounds, or leads to another host.
    async fn list_with(
        &self,
        path: &str,
        api_version: &str,
        query: &[(&str, &str)],
    ) -> Result<Vec<Value>, AzureError>;

    /// [`Resources::list_with`] without further parameters.
    ///
    /// # Errors
    /// [`AzureError`].
    async fn list(&self, path: &str, api_version: &str) -> Result<Vec<Value>, AzureError> {
        self.list_with(path, api_version, &[]).await
    }

    /// Makes a request and waits for what it begins; gives the result, `null` when there is none.
    ///
    /// # Errors
    /// [`AzureError`].
    async fn run(&self, request: &Request<'_>) -> Result<Value, AzureError> {
        let begun = self.begin(request).await?;
        match begun.operation {
            Some(operation) => self.wait(&operation).await,
            None => Ok(begun.body),
        }
    }

    /// A resource; `None`: it is not there.
    ///
    /// # Errors
    /// [`AzureError`].
    async fn get(&self, id: &str, api_version: &str) -> Result<Option<Value>, AzureError> {
        missing(self.begin(&Request::new(Method::GET, id, api_version)).await.map(|begun| begun.body))
    }

    /// [`Resources::get`] with further parameters, such as `$expand`.
    ///
    /// # Errors
    /// [`AzureError`].
    async fn get_with(
        &self,
        id: &str,
        api_version: &str,
        query: &[(&str, &str)],
    ) -> Result<Option<Value>, AzureError> {
        let request = Request { query, ..Request::new(Method::GET, id, api_version) };
        missing(self.begin(&request).await.map(|begun| begun.body))
    }

    /// Whether it is there, without its body. Not every type answers this; groups, deployments and blobs do.
    ///
    /// # Errors
    /// [`AzureError`].
    async fn exists(&self, id: &str, api_version: &str) -> Result<bool, AzureError> {
        let asked = self.begin(&Request::new(Method::HEAD, id, api_version)).await;
        Ok(missing(asked)?.is_some())
    }

    /// Creates or replaces, and waits; gives what Azure made of it.
    ///
    /// # Errors
    /// [`AzureError`].
    async fn put(&self, id: &str, api_version: &str, body: &Value) -> Result<Value, AzureError> {
        self.run(&Request { body: Some(body), ..Request::new(Method::PUT, id, api_version) }).await
    }

    /// [`Resources::put`] under a condition; 412 (or 409) when it does not hold.
    ///
    /// # Errors
    /// [`AzureError`].
    async fn put_when(
        &self,
        id: &str,
        api_version: &str,
        body: &Value,
        when: Precondition<'_>,
    ) -> Result<Value, AzureError> {
        let put = Request::new(Method::PUT, id, api_version);
        self.run(&Request { body: Some(body), when: Some(when), ..put }).await
    }

    /// Writes over what was read (`None`: nothing was there), if it is still so; without a condition where what was read has
    /// no etag.
    ///
    /// # Errors
    /// [`AzureError`]: as [`Resources::put_when`].
    async fn put_over(
        &self,
        id: &str,
        api_version: &str,
        body: &Value,
        read: Option<&Value>,
    ) -> Result<Value, AzureError> {
        match read.map(|read| read.get("etag").and_then(Value::as_str)) {
            None => self.put_when(id, api_version, body, Precondition::Absent).await,
            Some(Some(etag)) => self.put_when(id, api_version, body, Precondition::Unchanged(etag)).await,
            Some(None) => self.put(id, api_version, body).await,
        }
    }

    /// [`Resources::put`] without waiting.
    ///
    /// # Errors
    /// [`AzureError`].
    async fn begin_put(
        &self,
        id: &str,
        api_version: &str,
        body: &Value,
    ) -> Result<BeginResponse, AzureError> {
        self.begin(&Request { body: Some(body), ..Request::new(Method::PUT, id, api_version) }).await
    }

    /// Changes some members, and waits.
    ///
    /// # Errors
    /// [`AzureError`].
    async fn patch(&self, id: &str, api_version: &str, body: &Value) -> Result<Value, AzureError> {
        self.run(&Request { body: Some(body), ..Request::new(Method::PATCH, id, api_version) }).await
    }

    /// An action: `…/listKeys`, `…/start`; waits, and gives its result.
    ///
    /// # Errors
    /// [`AzureError`].
    async fn post(&self, id: &str, api_version: &str, body: Option<&Value>) -> Result<Value, AzureError> {
        self.run(&Request { body, ..Request::new(Method::POST, id, api_version) }).await
    }

    /// Deletes, and waits; what is not there is deleted.
    ///
    /// # Errors
    /// [`AzureError`].
    async fn delete(&self, id: &str, api_version: &str) -> Result<(), AzureError> {
        missing(self.run(&Request::new(Method::DELETE, id, api_version)).await).map(|_| ())
    }

    /// Begins to delete; `None`: it is gone, or was not there.
    ///
    /// # Errors
    /// [`AzureError`].
    async fn begin_delete(&self, id: &str, api_version: &str) -> Result<Option<Operation>, AzureError> {
        let begun = missing(self.begin(&Request::new(Method::DELETE, id, api_version)).await)?;
        Ok(begun.and_then(|begun| begun.operation))
    }

    /// Deletes what is still that version (`If-Match`), and waits; what is not there is deleted.
    ///
    /// # Errors
    /// [`AzureError`].
    async fn delete_when(
        &self,
        id: &str,
        api_version: &str,
        when: Precondition<'_>,
    ) -> Result<(), AzureError> {
        let delete = Request { when: Some(when), ..Request::new(Method::DELETE, id, api_version) };
        missing(self.run(&delete).await).map(|_| ())
    }
}

/// 404 as `None`.
pub(crate) fn missing<T>(result: Result<T, AzureError>) -> Result<Option<T>, AzureError> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.is_missing() => Ok(None),
        Err(error) => Err(error),
    }
}
