//! Looks at the cluster: the monitors' own, which must go on, and people's at its page.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use async_trait::async_trait;
use reqwest::Method;
use rp_database::Typed;
use rp_documents::BucketLooks;

use crate::environment::Environment;
use crate::load::{Turn, Workload};
use crate::settings::LOOK_EVERY;
use crate::site::CLUSTER;
use crate::windows::Dependency;

/// The last look is no older, unless something was broken meanwhile. Far more than is due, for the machine is busy.
const OLDEST: Duration = Duration::from_secs(6 * LOOK_EVERY);

pub(crate) struct Looks;

#[async_trait]
impl Workload for Looks {
    fn name(&self) -> &'static str {
        "looks"
    }

    fn pause(&self) -> Duration {
        Duration::from_secs(3)
    }

    fn dependencies(&self) -> &'static [Dependency] {
        &[Dependency::Portals, Dependency::Cluster]
    }

    async fn attempt(&self, environment: &Environment, turn: Turn) -> Result<()> {
        let accept = [("accept", "text/html")];
        environment.alice.send(Method::GET, &environment.cluster, &accept, None).await?.ok()?;
        let now = Instant::now();
        let before = now.checked_sub(OLDEST * 2).context("the machine has just started")?;
        // The first look is due only after the import was seen.
        if turn.number < 2 * OLDEST.as_secs() / 3 || environment.windows.touches(before, now) {
            return Ok(());
        }
        let records: Typed<BucketLooks> = Typed::new(environment.store.clone());
        let all = records.all().await?;
        let last = all.iter().filter_map(|read| read.value.looks.get(CLUSTER)).map(|look| look.at).max();
        let age = environment.store.now().await?.since(last.context("no look at the cluster is recorded")?);
        ensure!(age < OLDEST, "the last look at the cluster was {} s ago", age.as_secs());
        Ok(())
    }
}
