//! Commands in a container by WebSocket, with bytes both ways.

use std::time::Duration;

use anyhow::Result;
use async_trait::async_trait;

use crate::environment::{ClusterAccess, Environment, SOCKET, frame};
use crate::load::{Turn, Workload};
use crate::windows::Dependency;

const PATH: &str = "/api/v1/namespaces/default/pods/web/exec?command=sh&command=-c&command=echo%20started%3B%20cat&stdin=true&stdout=true";

pub(crate) struct Exec {
    access: ClusterAccess,
}

impl Exec {
    pub(crate) fn new(access: ClusterAccess) -> Self {
        Self { access }
    }
}

#[async_trait]
impl Workload for Exec {
    fn name(&self) -> &'static str {
        "exec"
    }

    fn workers(&self) -> usize {
        2
    }

    fn pause(&self) -> Duration {
        Duration::from_secs(1)
    }

    fn dependencies(&self) -> &'static [Dependency] {
        &[Dependency::Portals, Dependency::Cluster]
    }

    async fn attempt(&self, environment: &Environment, turn: Turn) -> Result<()> {
        let headers = format!("{SOCKET}Sec-WebSocket-Protocol: v5.channel.k8s.io\r\n");
        let mut wire = environment.api_wire(&self.access, PATH, &headers).await?;
        wire.upgraded().await?;
        wire.says("started").await?;
        let word = format!("bytes-of-{}-{}", turn.worker, turn.number);
        // Channel 0 is the standard input.
        wire.send(frame(2, format!("\0{word}\n").as_bytes())?).await?;
        wire.says(&word).await
        // The connection is dropped with the command running, as when somebody closes a terminal's window.
    }
}
