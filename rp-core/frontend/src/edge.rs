//! Limits, readiness and heartbeat of the frontend
//! (`contract/frontend.md` §2, §13).

use std::sync::Arc;
use std::time::{Duration, Instant};

use rp_audit::Audit;
use rp_base::chain;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::dependencies::FrontendParts;
use crate::metrics::Metrics;
use crate::not_ready::NotReady;

/// Most request bodies in memory at a time; each is at most 1 MiB.
const BODIES: usize = 512;
/// Most streamed answers of administrators' actions at a time.
const STREAMS: usize = 64;
/// Of the heartbeat (`contract/frontend.md` §14.3).
const PERIOD: Duration = Duration::from_secs(60);

/// How requests are bounded, counted and audited.
#[derive(Debug, Clone)]
pub struct Edge {
    /// `None`: nothing is audited.
    pub audit: Option<Audit>,
    pub metrics: Metrics,
    pub ready: ReadyWindow,
    /// Time limit for reading the body of a request.
    pub read_time: Duration,
    /// When a running operation is to be asked for again (`contract/frontend.md` "Do better" 8).
    pub poll_after: Duration,
    /// Lower-case hosts that a `Referer` may name. The URLs in responses are built from it, so only these hosts may
    /// decide where a client goes next (`contract/clients.md` "Do better" 2). `.x`: hosts below x;
    /// `*`: any; empty: URLs in responses use our address.
    pub referers: Vec<String>,
    /// Our address, where a request has no `Referer` that may be used.
    pub own: Url,
    /// Permits for request bodies in memory.
    pub bodies: Arc<Semaphore>,
    /// Permits for streamed answers of administrators' actions.
    pub streams: Arc<Semaphore>,
}

impl Default for Edge {
    fn default() -> Self {
        Self {
            audit: None,
            metrics: Metrics::default(),
            ready: ReadyWindow::default(),
            read_time: Duration::from_secs(10),
            poll_after: Duration::from_secs(10),
            referers: vec!["management.azure.com".to_owned()],
            own: contract_address(),
            bodies: Arc::new(Semaphore::new(BODIES)),
            streams: Arc::new(Semaphore::new(STREAMS)),
        }
    }
}

/// The contract's address of the API (`contract/frontend.md` §2 step 6).
#[expect(clippy::expect_used, reason = "a constant")]
fn contract_address() -> Url {
    Url::parse("https://localhost:8443").expect("a URL")
}

/// The time window in which the process is ready.
#[derive(Debug, Clone)]
pub struct ReadyWindow {
    /// Not before this instant, so that a load balancer does not send requests too early.
    from: Instant,
    /// Not after this is cancelled.
    leaving: CancellationToken,
}

impl ReadyWindow {
    /// After `delay`, until `leaving`.
    pub fn new(delay: Duration, leaving: CancellationToken) -> Self {
        let now = Instant::now();
        Self { from: now.checked_add(delay).unwrap_or(now), leaving }
    }
}

impl Default for ReadyWindow {
    fn default() -> Self {
        Self::new(Duration::ZERO, CancellationToken::new())
    }
}

/// Whether requests can be served; the error names what is waited for.
pub(crate) async fn ready(parts: &FrontendParts) -> Result<(), NotReady> {
    let ready = &parts.edge.ready;
    if ready.leaving.is_cancelled() {
        return Err(NotReady::Ending);
    }
    if Instant::now() < ready.from {
        return Err(NotReady::Starting);
    }
    if !parts.offers.ready() {
        return Err(NotReady::Offers);
    }
    parts.authorizer.ready().await?;
    parts.store.ready().await?;
    if let Some(audit) = &parts.edge.audit {
        audit.ready()?;
    }
    Ok(())
}

/// Emits the heartbeat at the start and every minute while ready.
pub(crate) async fn heartbeat(parts: &FrontendParts) {
    let mut ticks = tokio::time::interval(PERIOD);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let ready = ready(parts).await;
        parts.edge.metrics.heartbeat(ready.is_ok(), &parts.commit);
        if let Err(error) = ready {
            tracing::info!(reason = %chain(&error), "the API is not ready");
        }
    }
}
