//! Single requests to the cluster's API, and reads of a log, which the audit log is promised before they are answered.

use std::time::Duration;

use anyhow::{Result, ensure};
use async_trait::async_trait;
use tests_kit::Session;

use crate::environment::{ClusterAccess, Environment};
use crate::load::{Turn, Workload};
use crate::promises::Promise;
use crate::windows::Dependency;

/// Every so many requests one reads the log.
const LOG_EVERY: u64 = 4;

pub(crate) struct Requests {
    /// Keeps its connections.
    kept: Session,
    /// A connection for each request: each may meet another replica.
    fresh: Session,
    pod: String,
}

impl Requests {
    pub(crate) fn new(environment: &Environment, access: &ClusterAccess) -> Result<Self> {
        let kept = environment.proxy(&access.token)?;
        let fresh = kept.from_address(environment.site.authority.pem(), "127.0.0.1".parse()?)?;
        Ok(Self { kept, fresh, pod: format!("{}/api/v1/namespaces/default/pods/web", access.mount) })
    }
}

#[async_trait]
impl Workload for Requests {
    fn name(&self) -> &'static str {
        "requests"
    }

    fn workers(&self) -> usize {
        4
    }

    fn pause(&self) -> Duration {
        Duration::from_millis(150)
    }

    fn dependencies(&self) -> &'static [Dependency] {
        &[Dependency::Portals, Dependency::Cluster]
    }

    async fn attempt(&self, environment: &Environment, turn: Turn) -> Result<()> {
        let client = if turn.worker.is_multiple_of(2) { &self.kept } else { &self.fresh };
        if !turn.number.is_multiple_of(LOG_EVERY) {
            let pod = client.get(&self.pod).await?.ok()?.json()?;
            ensure!(pod["metadata"]["name"] == "web", "another object than the pod: {pod}");
            return Ok(());
        }
        let answer = client.get(&format!("{}/log?tailLines=5", self.pod)).await?.ok()?;
        let request_id = answer.header("x-request-id").to_owned();
        ensure!(!request_id.is_empty(), "an answer without a request id");
        environment.promises.note(Promise::Entry { request_id });
        Ok(())
    }
}
