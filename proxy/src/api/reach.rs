//! How a cluster is reached from this process: the route, the last dial, and a test dial step by step.

use std::sync::Arc;
use std::time::Duration;

use http::{Method, Request, Uri, header};
use rp_base::Timestamp;
use rp_documents::ResourceId;
use rp_net::{DirectoryError, Endpoint, Port, PrivateWay, Source, tls};
use tokio::time::Instant;

use super::error::ProxyError;
use super::handle::ApiProxy;
use super::pool::{Class, Outgoing, Upstream};

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

impl ApiProxy {
    /// How a cluster is reached: label and value.
    ///
    /// # Errors
    /// It is not known, or has no way yet.
    pub async fn way(&self, id: &ResourceId) -> Result<Vec<(&'static str, String)>, DirectoryError> {
        let target = self.directory().find(id).await?;
        let (way, address) = match &target.endpoint {
            Endpoint::Private { ip } => {
                let way = match self.pools().private_way() {
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
            Source::Aro => "Ours: what its document holds",
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
        let noted = self.pools().last_dial(id)?;
        let at = self.clock().now() - noted.at.elapsed();
        Some(DialRecord { at, took: noted.took, error: noted.error })
    }

    /// Dials a cluster anew and asks for its version.
    pub async fn reach(&self, id: &ResourceId) -> ReachReport {
        let mut reach = ReachReport::default();
        let mut began = Instant::now();
        let mut step = |reach: &mut ReachReport, result: Result<(), String>| {
            let (name, took) = (STEPS.get(reach.done.len()).copied().unwrap_or("Answer"), began.elapsed());
            began = Instant::now();
            match result {
                Ok(()) => reach.done.push((name, took)),
                Err(why) => reach.failed = Some((name, took, why)),
            }
            reach.failed.is_none()
        };
        let upstream = self.upstream_for(id).await;
        let go = step(&mut reach, upstream.as_ref().map(|_| ()).map_err(Clone::clone));
        if let Ok(upstream) = upstream.as_ref()
            && go
        {
            let stream = upstream.dialer().dial(&upstream.target, Port::Api, PATIENCE).await;
            let stream = stream.map_err(|error| sentence(&ProxyError::Dial(error)));
            if step(&mut reach, stream.as_ref().map(|_| ()).map_err(Clone::clone))
                && let Ok(stream) = stream
            {
                let (config, name) = upstream.tls();
                let shaken = tokio::time::timeout(PATIENCE, tls::connect(config, name, stream)).await;
                let shaken = shaken.map_err(|_| "It did not finish its handshake in time.".to_owned());
                let shaken = shaken
                    .and_then(|done| done.map(drop).map_err(|error| sentence(&ProxyError::Dial(error))));
                if step(&mut reach, shaken) {
                    let answer = version(upstream).await;
                    step(&mut reach, answer);
                }
            }
        }
        let come_to = reach.done.len() + usize::from(reach.failed.is_some());
        reach.left = STEPS.iter().skip(come_to).copied().collect();
        reach
    }

    async fn upstream_for(&self, id: &ResourceId) -> Result<Arc<Upstream>, String> {
        let target =
            self.directory().find(id).await.map_err(|error| sentence(&ProxyError::Directory(error)))?;
        self.pools().for_target(&target, Class::Read).map_err(|error| sentence(&error))
    }
}

fn sentence(error: &ProxyError) -> String {
    error.words().1
}

/// Whether an API server answers: `/version` needs no rights.
async fn version(upstream: &Arc<Upstream>) -> Result<(), String> {
    let uri = Uri::builder()
        .scheme("https")
        .authority(upstream.authority.clone())
        .path_and_query(format!("{}/version", upstream.target.base_path()))
        .build();
    let mut head = Request::new(());
    *head.method_mut() = Method::GET;
    *head.uri_mut() = uri.map_err(|_| "Its address cannot be used.".to_owned())?;
    if let Some(authorization) = &upstream.authorization {
        head.headers_mut().insert(header::AUTHORIZATION, authorization.clone());
    }
    let answer = upstream.send(head, Outgoing::Empty, PATIENCE).await.map_err(|error| sentence(&error))?;
    match answer.status().as_u16() {
        200..=299 => Ok(()),
        status => Err(format!("It answered with {status}.")),
    }
}
