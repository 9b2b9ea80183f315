//! Long-running operations and waiting for their end (`contract/clients.md` §2.3).

use std::time::Duration;

use http::Method;
use tokio::time::{Instant, sleep};
use url::Url;

use crate::error::ClientError;
use crate::exchange::ApiResponse;
use crate::model::{Cluster, OperationStatus};
use crate::{Client, ClusterId};

/// The wait when the service names none.
const PAUSE: Duration = Duration::from_secs(30);
/// The shortest wait, whatever the service requests, so that it is not polled in a tight loop.
const LEAST: Duration = Duration::from_millis(50);

/// An accepted PUT or PATCH.
#[derive(Debug)]
pub struct AcceptedWrite {
    /// There was no such cluster before.
    pub created: bool,
    /// The cluster in the response.
    pub cluster: Cluster,
    pub operation: Operation,
}

impl AcceptedWrite {
    /// Waits for the end and returns the cluster as it is then.
    ///
    /// # Errors
    /// [`ClientError::Failed`] when it ended badly, [`ClientError::Unfinished`] after `limit`.
    pub async fn wait(self, limit: Duration) -> Result<Cluster, ClientError> {
        let client = self.operation.client.clone();
        let id = self.operation.id.clone();
        self.operation.wait(limit).await?;
        client.get(&id).await
    }
}

/// The result of a successful operation.
#[derive(Debug)]
pub enum OperationResult {
    /// With that last status.
    Status(Box<OperationStatus>),
    /// With that cluster, or with nothing: it is deleted.
    Result(Option<Box<Cluster>>),
}

/// A running operation.
#[derive(Debug, Clone)]
pub struct Operation {
    pub(crate) client: Client,
    pub(crate) id: ClusterId,
    status: Option<Url>,
    result: Option<Url>,
    after: Option<Duration>,
}

impl Operation {
    pub(crate) fn from_response(
        client: &Client,
        id: &ClusterId,
        answer: &ApiResponse,
    ) -> Result<Self, ClientError> {
        let link = |name: &str| answer.header(name).map(|link| client.wire.resolve_link(link)).transpose();
        let (status, result) = (link("azure-asyncoperation")?, link("location")?);
        if status.is_none() && result.is_none() {
            return Err(ClientError::Answer("it names no operation".to_owned()));
        }
        Ok(Self { client: client.clone(), id: id.clone(), status, result, after: pause(answer) })
    }

    /// Its status; `None`: the service gave no status URL.
    ///
    /// # Errors
    /// The API's error.
    pub async fn status(&self) -> Result<Option<OperationStatus>, ClientError> {
        let Some(url) = &self.status else { return Ok(None) };
        Ok(Some(self.get(url).await?.json()?))
    }

    /// Waits for the end: polls `Azure-AsyncOperation` if there is one, else `Location`, at the interval of `Retry-After`.
    ///
    /// # Errors
    /// [`ClientError::Failed`] when it ended badly, [`ClientError::Unfinished`] after `limit`.
    pub async fn wait(self, limit: Duration) -> Result<OperationResult, ClientError> {
        match self.status.clone() {
            Some(url) => self.by_status(&url, limit).await,
            None => self.wait_for_result(limit).await,
        }
    }

    async fn by_status(self, url: &Url, limit: Duration) -> Result<OperationResult, ClientError> {
        let began = Instant::now();
        let mut after = self.after;
        loop {
            self.pause(after, began, limit).await;
            let answer = self.get(url).await?;
            let now: OperationStatus = answer.json()?;
            if now.status.eq_ignore_ascii_case("Succeeded") {
                return Ok(OperationResult::Status(Box::new(now)));
            }
            if now.is_final() {
                return Err(ClientError::Failed { status: now.status, error: now.error.unwrap_or_default() });
            }
            if began.elapsed() >= limit {
                return Err(ClientError::Unfinished { status: now.status, after: limit });
            }
            after = pause(&answer);
        }
    }

    /// Waits by `Location` alone: 202 while it runs, then the cluster, or nothing when it is deleted.
    ///
    /// # Errors
    /// There is no `Location`; [`ClientError::Unfinished`] after `limit`.
    pub async fn wait_for_result(self, limit: Duration) -> Result<OperationResult, ClientError> {
        let began = Instant::now();
        let mut url =
            self.result.clone().ok_or_else(|| ClientError::Answer("it has no Location".to_owned()))?;
        let mut after = self.after;
        loop {
            self.pause(after, began, limit).await;
            let answer = self.get(&url).await?;
            match answer.status {
                202 => {}
                204 => return Ok(OperationResult::Result(None)),
                _ => return Ok(OperationResult::Result(Some(Box::new(answer.json()?)))),
            }
            if began.elapsed() >= limit {
                return Err(ClientError::Unfinished { status: "running".to_owned(), after: limit });
            }
            if let Some(link) = answer.header("location") {
                url = self.client.wire.resolve_link(link)?;
            }
            after = pause(&answer);
        }
    }

    async fn get(&self, url: &Url) -> Result<ApiResponse, ClientError> {
        self.client.wire.send(Method::GET, url.clone(), None).await
    }

    /// Waits as long as the service requests, but at most the caller's patience and the remaining time.
    async fn pause(&self, after: Option<Duration>, began: Instant, limit: Duration) {
        let wanted = after.unwrap_or(PAUSE).max(LEAST).min(self.client.wire.patience);
        sleep(wanted.min(limit.saturating_sub(began.elapsed()))).await;
    }
}

/// `Retry-After` in seconds; the service sends no dates.
fn pause(answer: &ApiResponse) -> Option<Duration> {
    answer.header("retry-after")?.trim().parse().ok().map(Duration::from_secs)
}
