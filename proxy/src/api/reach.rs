//! How a cluster is reached from this process: the route, the last dial, and a test dial step by step.

use std::sync::Arc;
use std::time::Duration;

use http::{Method, Request, Uri, header};
use rp_base::Timestamp;
use rp_documents::ResourceId;
use rp_net::{DirectoryError, Endpoint, Port, PrivateWay, Source, tls};
use tokio::time::Instant;

use super::error::ProxyError;
use super::pool::{Class, Outgoing, Upstream};
use super::service::ApiProxy;

/// Timeout of each step of a test dial.
const PATIENCE: Duration = Duration::from_secs(8);
/// The steps of a dial, in order.
const STEPS: [&str; 4] = ["Target found", "Connection", "TLS", "Answer of the API server"];

/// A dial to a cluster that has happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DialRecord {
    pub at: Timestamp,
    /// Connection and TLS together.
    pub took: Duration,
    /// What went wrong, as a sentence; empty: nothing.
    pub error: String,
}

/// The last dial as the pool keeps it.
#[derive(Debug, Clone)]
pub(super) struct PoolDial {
    pub(super) at: Instant,
    pub(super) took: Duration,
    pub(super) error: String,
}

/// A dial, step by step.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReachReport {
    /// Steps that went well, and how long each took.
    pub done: Vec<(&'static str, Duration)>,
    /// The step that failed, how long it took, and why.
    pub failed: Option<(&'static str, Duration, String)>,
    /// Steps that were not come to.
    pub left: Vec<&'static str>,
}

/// Why a step of a dial failed, as a sentence for the person.
#[derive(Debug, thiserror::Error)]
enum StepError {
    #[error("{}", .0.words().1)]
    Proxy(ProxyError),
    #[error("It did not finish its handshake in time.")]
    Handshake,
    #[error("Its address cannot be used.")]
    Address,
    #[error("It answered with {0}.")]
    Status(u16),
}

/// The steps of a dial that is under way.
struct StepLog {
    report: ReachReport,
    /// When the current step began.
    began: Instant,
}

impl ApiProxy {
    /// How a cluster is reached: label and value.
    ///
    /// # Errors
    /// It is not known, or has no way yet.
    pub async fn way(&self, id: &ResourceId) -> Result<Vec<(&'static str, String)>, DirectoryError> {
        let target = self.directory.find(id).await?;
        let (way, address) = match &target.endpoint {
            Endpoint::Private { ip } => {
                let way = match self.pools.private_way() {
                    PrivateWay::Direct => "Private endpoint, directly",
                    PrivateWay::Connect(_) => "Private endpoint, through the CONNECT proxy",
                };
                (way.to_owned(), ip.to_string())
            }
            Endpoint::Direct { url } => {
                ("Directly".to_owned(), url.host_str().unwrap_or_default().to_owned())
            }
        };
        let port = match &target.endpoint {
            Endpoint::Private { .. } => 6443,
            Endpoint::Direct { url } => url.port_or_known_default().unwrap_or(443),
        };
        let whose = match target.source {
            Source::Aro => "Stored credential",
            Source::Imported => "Imported: what the kubeconfig held",
        };
        Ok(vec![
            ("Way", way),
            ("Address", address),
            ("Port", port.to_string()),
            ("Name in its certificate", target.server_name.clone()),
            ("Credentials", whose.to_owned()),
        ])
    }

    /// The last dial of this process to a cluster.
    pub fn last_dial(&self, id: &ResourceId) -> Option<DialRecord> {
        let noted = self.pools.last_dial(id)?;
        let at = self.clock.now() - noted.at.elapsed();
        Some(DialRecord { at, took: noted.took, error: noted.error })
    }

    /// Dials a cluster anew and asks for its version.
    pub async fn reach(&self, id: &ResourceId) -> ReachReport {
        let mut steps = StepLog { report: ReachReport::default(), began: Instant::now() };
        self.dial_anew(id, &mut steps).await;
        let mut report = steps.report;
        let come_to = report.done.len() + usize::from(report.failed.is_some());
        report.left = STEPS.iter().skip(come_to).copied().collect();
        report
    }

    /// `None`: a step failed.
    async fn dial_anew(&self, id: &ResourceId, steps: &mut StepLog) -> Option<()> {
        let upstream = steps.end(self.upstream_for(id).await)?;
        let stream = upstream.dialer().dial(&upstream.target, Port::Api, PATIENCE).await;
        let stream = steps.end(stream.map_err(|error| StepError::Proxy(ProxyError::Dial(error))))?;
        let (config, name) = upstream.tls();
        let shaken = match tokio::time::timeout(PATIENCE, tls::connect(config, name, stream)).await {
            Ok(shaken) => shaken.map(drop).map_err(|error| StepError::Proxy(ProxyError::Dial(error))),
            Err(_) => Err(StepError::Handshake),
        };
        steps.end(shaken)?;
        steps.end(version(&upstream).await)
    }

    async fn upstream_for(&self, id: &ResourceId) -> Result<Arc<Upstream>, StepError> {
        let target = self.directory.find(id).await;
        let target = target.map_err(|error| StepError::Proxy(ProxyError::Directory(error)))?;
        self.pools.for_target(&target, Class::Read).map_err(StepError::Proxy)
    }
}

impl StepLog {
    /// Notes how a step ended; `None`: it failed.
    fn end<T>(&mut self, result: Result<T, StepError>) -> Option<T> {
        let name = STEPS.get(self.report.done.len()).copied().unwrap_or("Answer");
        let took = self.began.elapsed();
        self.began = Instant::now();
        match result {
            Ok(value) => {
                self.report.done.push((name, took));
                Some(value)
            }
            Err(error) => {
                self.report.failed = Some((name, took, error.to_string()));
                None
            }
        }
    }
}

/// Whether an API server answers: `/version` needs no rights.
async fn version(upstream: &Arc<Upstream>) -> Result<(), StepError> {
    let uri = Uri::builder()
        .scheme("https")
        .authority(upstream.authority.clone())
        .path_and_query(format!("{}/version", upstream.target.base_path()))
        .build();
    let mut head = Request::new(());
    *head.method_mut() = Method::GET;
    *head.uri_mut() = uri.map_err(|_| StepError::Address)?;
    if let Some(authorization) = &upstream.authorization {
        head.headers_mut().insert(header::AUTHORIZATION, authorization.clone());
    }
    let answer = upstream.send(head, Outgoing::Empty, PATIENCE).await.map_err(StepError::Proxy)?;
    match answer.status().as_u16() {
        200..=299 => Ok(()),
        status => Err(StepError::Status(status)),
    }
}
