//! The cluster monitor (`contract/monitor.md` §8): its order, and where its collectors' needs come from.

use std::sync::Arc;

use tokio::time::Instant;

use super::{Inner, Looking};
use crate::collect::{CLUSTER_VERSION, COLLECTORS, HEALTHZ, OPENSHIFT5, PING, Told, provisioning};
use crate::fetch::{FetchError, Fetcher};
use crate::mirror;
use crate::names::own;
use crate::runner::{Runner, Source};
use crate::sample::{Sample, Text};
use crate::seen::{Need, Seen, Via, subnet_ids};

impl Looking {
    /// Tells that nobody knows the health of the API server.
    pub(super) fn unknown_health(&self) {
        self.seen.healthz(0);
        let mut told = Told::default();
        // Its error is that there is no answer, and that is told already.
        let _ = (HEALTHZ.run)(&self.seen, &mut told);
        self.findings.told(told);
    }
}

impl Inner {
    /// All of the cluster monitor; what it finds goes into `looking`.
    pub(super) async fn cluster(&self, looking: &Looking) {
        let began = Instant::now();
        if looking.round.hourly {
            let mut told = Told::new(true);
            provisioning(&looking.seen, &mut told);
            looking.findings.told(told);
        }
        let lean = match self.connections.to(&looking.view.id).await {
            Ok(lean) => lean,
            Err(error) => {
                let id = &looking.view.id;
                tracing::error!(resource_id = %id, error = %rp_base::chain(&error), "no way to the cluster");
                self.no_way(looking, error.stage());
                looking.seen.healthz(0);
                Runner::new(&looking.seen, &Nowhere, &looking.stop, &looking.findings).one(&HEALTHZ).await;
                return;
            }
        };
        let (options, stop) = (&self.options, looking.stop.clone());
        let buffers = Arc::clone(&self.buffers);
        let fetcher = Fetcher::new(Arc::clone(&lean), self.budget.clone(), options.fetch, buffers, stop);
        let remote = Remote { inner: self, looking, fetcher };
        let runner = Runner::new(&looking.seen, &remote, &looking.stop, &looking.findings);
        if self.first(looking, &remote, &runner).await {
            let wanted =
                |name: &str| options.only.as_ref().is_none_or(|only| only.iter().any(|it| it == name));
            runner.all(COLLECTORS.iter().filter(|it| wanted(it.name)), options.parallel).await;
            if !looking.stop.is_cancelled() && !looking.findings.any_failed() {
                let seconds = began.elapsed().as_secs_f64();
                looking.findings.sample(Sample::float(&own::CLUSTER_DURATION, seconds, []));
            }
            if self.mirrors(looking.round) {
                runner.have(&mirror::needs(&looking.seen)).await;
            }
        }
        lean.settle(options.keep);
    }

    /// What comes before the others; false: nothing else is asked.
    async fn first(&self, looking: &Looking, remote: &Remote<'_>, runner: &Runner<'_, Remote<'_>>) -> bool {
        let seen = &looking.seen;
        match remote.fetcher.status("/healthz").await {
            Ok(code) => seen.healthz(code),
            Err(error) => {
                seen.healthz(0);
                let id = &looking.view.id;
                tracing::error!(resource_id = %id, %error, "the API server's health cannot be read");
                if let Some(stage) = error.stage() {
                    self.no_way(looking, stage);
                }
            }
        }
        if !runner.one(&HEALTHZ).await {
            seen.ping(remote.fetcher.status("/healthz/ping").await.unwrap_or(0));
            runner.one(&PING).await;
            return false;
        }
        runner.one(&CLUSTER_VERSION).await && {
            runner.one(&OPENSHIFT5).await;
            true
        }
    }

    fn no_way(&self, looking: &Looking, stage: &'static str) {
        self.emitters.about(&looking.dims, &Sample::one(&own::CONNECT_ERROR, [Text::Borrowed(stage)]));
    }
}

/// The API server, and what is asked elsewhere.
struct Remote<'a> {
    inner: &'a Inner,
    looking: &'a Looking,
    fetcher: Fetcher,
}

impl Source for Remote<'_> {
    async fn fetch(&self, need: &Need, seen: &Seen) {
        match (need.request().via, &self.inner.subnets) {
            (Via::Api | Via::Alertmanager, _) => self.fetcher.fetch(need, seen).await,
            (Via::Azure, Some(subnets)) => {
                let view = &self.looking.view;
                let ids = subnet_ids(view);
                tokio::select! {
                    biased;
                    () = self.looking.stop.cancelled() => seen.fail(need, FetchError::Deadline),
                    prefixes = subnets.prefixes(view, &ids) => seen.subnets(prefixes),
                }
            }
            (Via::Azure, None) => {
                seen.fail(need, FetchError::NotAsked("Azure is not configured"));
            }
            (Via::Hive, _) => seen.fail(need, FetchError::NotAsked("this is read from Hive's cluster")),
        }
    }
}

/// There is no way to the cluster.
struct Nowhere;

impl Source for Nowhere {
    async fn fetch(&self, need: &Need, seen: &Seen) {
        seen.fail(need, FetchError::NotAsked("there is no way to the cluster"));
    }
}
