//! Watches, each on a connection of its own, which must stay open.

use std::time::Duration;

use anyhow::{Context as _, Result};
use async_trait::async_trait;
use tests_kit::WireError;

use crate::environment::{ClusterAccess, Environment};
use crate::load::{Turn, Workload};
use crate::windows::Dependency;

/// A watch is held so long.
const HELD: Duration = Duration::from_secs(20);

pub(crate) struct Watches {
    access: ClusterAccess,
}

impl Watches {
    pub(crate) fn new(access: ClusterAccess) -> Self {
        Self { access }
    }
}

#[async_trait]
impl Workload for Watches {
    fn name(&self) -> &'static str {
        "watches"
    }

    fn workers(&self) -> usize {
        30
    }

    fn pause(&self) -> Duration {
        Duration::from_millis(500)
    }

    fn dependencies(&self) -> &'static [Dependency] {
        &[Dependency::Portals, Dependency::Cluster]
    }

    async fn attempt(&self, environment: &Environment, _: Turn) -> Result<()> {
        let mut wire = environment.api_wire(&self.access, "/api/v1/pods?watch=true", "").await?;
        wire.streams("\"ADDED\"").await?;
        // An error here is a watch that stayed open.
        match wire.closed(HELD).await {
            Err(_) => Ok(()),
            Ok(text) => Err(WireError::ended(&text)).context("the watch ended before its time"),
        }
    }
}
