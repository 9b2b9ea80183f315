//! Reads what the collectors of one look need, each list once and page by page (`contract/monitor.md` §2,
//! §8).
//!
//! Bodies are not asked for compressed: inside a region, inflating a list costs several times what decrypting it does,
//! and deflating it costs the cluster's API server more than both.

mod error;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rp_documents::ResourceId;
use rp_kube::connect::ClientOptions;
use rp_kube::lean::LeanClient;
use rp_net::{Budget, Cost};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

pub use self::error::FetchError;
use crate::cluster_objects::{ClusterObjects, Request, Resource};

/// Bounds of the reads of one look.
#[derive(Debug, Clone, Copy)]
pub struct FetchLimits {
    /// Reads at once.
    pub parallel: usize,
    /// Objects of one page.
    pub page: usize,
    /// Bytes of one page, or of one object.
    pub answer_bytes: usize,
    /// Pages of one list.
    pub pages: usize,
    /// Maximum size of Alertmanager's response, bytes.
    pub alert_bytes: usize,
    /// Longest `Retry-After` that is waited for.
    pub retry_after: Duration,
}

impl Default for FetchLimits {
    fn default() -> Self {
        Self {
            parallel: 5,
            page: 500,
            answer_bytes: 64 * 1024 * 1024,
            pages: 1000,
            alert_bytes: 8 * 1024 * 1024,
            retry_after: Duration::from_secs(5),
        }
    }
}

/// Buffers for bodies, shared by all looks of a process: memory grows with concurrent reads, not with clusters.
/// Also limits concurrent decoding: one processor is always left free, as the process may also serve users.
#[derive(Debug)]
pub struct Buffers {
    kept: Mutex<Vec<Vec<u8>>>,
    turns: Semaphore,
}

impl Default for Buffers {
    fn default() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Self { kept: Mutex::default(), turns: Semaphore::new(processors.saturating_sub(1).max(1)) }
    }
}

impl Buffers {
    /// Buffers that are kept.
    const MOST: usize = 32;
    /// A buffer that grew larger for one cluster is not kept for all.
    const LARGEST: usize = 4 * 1024 * 1024;

    fn take(&self) -> Vec<u8> {
        self.kept.lock().pop().unwrap_or_default()
    }

    fn give_back(&self, buffer: Vec<u8>) {
        if buffer.capacity() <= Self::LARGEST {
            let mut kept = self.kept.lock();
            if kept.len() < Self::MOST {
                kept.push(buffer);
            }
        }
    }
}

/// The reads of one look.
#[derive(Debug)]
pub struct Fetcher {
    lean: Arc<LeanClient>,
    cluster: ResourceId,
    budget: Budget,
    limits: FetchLimits,
    buffers: Arc<Buffers>,
    room: Semaphore,
    /// Ends every read.
    cancel: CancellationToken,
}

impl Fetcher {
    /// Reads of one look over the cluster's client, until `cancel`.
    pub fn new(
        lean: Arc<LeanClient>,
        budget: Budget,
        limits: FetchLimits,
        buffers: Arc<Buffers>,
        cancel: CancellationToken,
    ) -> Self {
        let cluster = lean.target().id.clone();
        let room = Semaphore::new(limits.parallel.max(1));
        Self { lean, cluster, budget, limits, buffers, room, cancel }
    }

    /// Reads a resource into `seen`; an error is stored there, too.
    pub async fn fetch(&self, need: &Resource, seen: &ClusterObjects) {
        let read = async {
            match need {
                Resource::Alerts => self.alerts(need, seen).await,
                need => self.pages(need, seen).await,
            }
        };
        let read = tokio::select! {
            biased;
            () = self.cancel.cancelled() => Err(FetchError::Deadline),
            read = read => read,
        };
        if let Err(error) = read {
            seen.fail(need, error);
        }
    }

    /// The status of a health endpoint, whatever it is.
    ///
    /// # Errors
    /// There was no response.
    pub async fn status(&self, path: &str) -> Result<u16, FetchError> {
        let ask = async {
            self.pay(Cost::REQUEST).await?;
            let mut body = self.buffers.take();
            let got = self.lean.get(path, self.limits.answer_bytes, &mut body).await;
            self.buffers.give_back(body);
            Ok(got?.status.as_u16())
        };
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => Err(FetchError::Deadline),
            status = ask => status,
        }
    }

    async fn pay(&self, cost: Cost) -> Result<(), FetchError> {
        let taken = self.budget.take(&self.cluster, cost).await;
        taken.map_err(|crowded| FetchError::Crowded(crowded.0.as_secs()))
    }

    async fn pages(&self, need: &Resource, seen: &ClusterObjects) -> Result<(), FetchError> {
        let request = need.request();
        let mut body = self.buffers.take();
        let read = self.read_pages(need, &request, seen, &mut body).await;
        self.buffers.give_back(body);
        read
    }

    async fn read_pages(
        &self,
        need: &Resource,
        request: &Request,
        seen: &ClusterObjects,
        body: &mut Vec<u8>,
    ) -> Result<(), FetchError> {
        let mut from: Option<String> = None;
        let mut expired = false;
        for _ in 0..self.limits.pages {
            let path = path(request, self.limits.page, from.as_deref());
            match self.read(&path, request.paged, body).await {
                Ok(()) => {}
                // The continue token expired: the list is read again from the beginning, once.
                Err(error) if error.code() == 410 && from.is_some() => {
                    if expired {
                        return Err(FetchError::Expired);
                    }
                    expired = true;
                    from = None;
                    seen.restart(need);
                    continue;
                }
                Err(error) => return Err(error),
            }
            let next = {
                let _turn = self.buffers.turns.acquire().await.map_err(|_| FetchError::Deadline)?;
                seen.page(need, body)
            };
            from = next.map_err(|error| FetchError::Malformed(error.to_string()))?;
            if from.is_none() {
                return Ok(());
            }
        }
        Err(FetchError::TooLong(self.limits.pages))
    }

    /// One response of status 200; when the API server is busy and sends `Retry-After`, retried once.
    async fn read(&self, path: &str, list: bool, body: &mut Vec<u8>) -> Result<(), FetchError> {
        let cost = if list { Cost::LIST } else { Cost::REQUEST };
        let mut again = true;
        loop {
            self.pay(cost).await?;
            let got = {
                let _room = self.room.acquire().await.map_err(|_| FetchError::Deadline)?;
                self.lean.get(path, self.limits.answer_bytes, body).await?
            };
            if got.status.is_success() {
                return Ok(());
            }
            match got.retry_after {
                Some(wait) if again && got.status.as_u16() == 429 && wait <= self.limits.retry_after => {
                    again = false;
                    tokio::time::sleep(wait).await;
                }
                _ => return Err(FetchError::status(got.status.as_u16(), got.retry_after, body)),
            }
        }
    }

    /// Reads alerts over a temporary port-forward.
    async fn alerts(&self, need: &Resource, seen: &ClusterObjects) -> Result<(), FetchError> {
        self.pay(Cost::REQUEST).await?;
        let _room = self.room.acquire().await.map_err(|_| FetchError::Deadline)?;
        let options = ClientOptions { user_agent: "aro (monitor)".to_owned(), ..ClientOptions::default() };
        let client = self.lean.client(&options).map_err(|error| FetchError::Broken(error.to_string()))?;
        let body = rp_prometheus::alertmanager::alerts(&client, self.limits.alert_bytes).await;
        let body = body.map_err(|error| FetchError::alerts(&error))?;
        let body = body.ok_or_else(FetchError::no_alertmanager)?;
        seen.page(need, &body).map(drop).map_err(|error| FetchError::Malformed(error.to_string()))
    }
}

/// Path and query of one page.
fn path(request: &Request, page: usize, from: Option<&str>) -> String {
    let mut path = request.path.to_string();
    let mut first = true;
    let mut add = |name: &str, value: &str| {
        path.push(if std::mem::take(&mut first) { '?' } else { '&' });
        escape(&mut path, name);
        path.push('=');
        escape(&mut path, value);
    };
    for (name, value) in &request.query {
        add(name, value);
    }
    if request.paged {
        add("limit", &page.to_string());
        if let Some(from) = from {
            add("continue", from);
        }
    }
    path
}

/// Everything but the unreserved characters of RFC 3986 §2.3.
fn escape(into: &mut String, text: &str) {
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            into.push(char::from(byte));
        } else {
            // Writing to a `String` does not fail.
            let _ = write!(into, "%{byte:02X}");
        }
    }
}
