//! The cluster monitor (`contract/monitor.md` §8): its order, and where its collectors' needs come from.

use std::sync::Arc;

use tokio::time::Instant;

use super::{Inner, LookContext};
use crate::cluster_objects::{ClusterObjects, Endpoint, Resource, subnet_ids};
use crate::collect::{CLUSTER_VERSION, COLLECTORS, CollectorOutput, HEALTHZ, OPENSHIFT5, PING, provisioning};
use crate::fetch::{FetchError, Fetcher};
use crate::mirror;
use crate::names::own;
use crate::runner::{Runner, Source};
use crate::sample::{Sample, Text};

impl LookContext {
    /// Emits that the health of the API server is unknown.
    pub(super) fn emit_unknown_health(&self) {
        self.seen.healthz(0);
        let mut told = CollectorOutput::default();
        // Its only error is the missing response, which is emitted already.
        let _ = (HEALTHZ.run)(&self.seen, &mut told);
        self.findings.add_output(told);
    }
}

impl Inner {
    /// Runs the cluster monitor; its findings go into `looking`.
    pub(super) async fn cluster(&self, looking: &LookContext) {
        let began = Instant::now();
        if looking.round.hourly {
            let mut told = CollectorOutput::new(true);
            provisioning(&looking.seen, &mut told);
            looking.findings.add_output(told);
        }
        let lean = match self.connections.to(&looking.view.id).await {
            Ok(lean) => lean,
            Err(error) => {
                let id = &looking.view.id;
                tracing::error!(resource_id = %id, error = %rp_base::chain(&error), "no way to the cluster");
                self.emit_connect_error(looking, error.stage());
                looking.seen.healthz(0);
                Runner::new(&looking.seen, &UnreachableSource, &looking.stop, &looking.findings)
                    .one(&HEALTHZ)
                    .await;
                return;
            }
        };
        let (options, stop) = (&self.options, looking.stop.clone());
        let buffers = Arc::clone(&self.buffers);
        let fetcher = Fetcher::new(Arc::clone(&lean), self.budget.clone(), options.fetch, buffers, stop);
        let remote = Remote { inner: self, looking, fetcher };
        let runner = Runner::new(&looking.seen, &remote, &looking.stop, &looking.findings);
        if self.check_api_health(looking, &remote, &runner).await {
            let wanted =
                |name: &str| options.only.as_ref().is_none_or(|only| only.iter().any(|it| it == name));
            runner.all(COLLECTORS.iter().filter(|it| wanted(it.name)), options.parallel).await;
            if !looking.stop.is_cancelled() && !looking.findings.any_failed() {
                let seconds = began.elapsed().as_secs_f64();
                looking.findings.sample(Sample::float(&own::CLUSTER_DURATION, seconds, []));
            }
            if self.mirrors(looking.round) {
                runner.fetch_all(&mirror::needs(&looking.seen)).await;
            }
        }
        lean.settle(options.keep);
    }

    /// Runs the collectors that come before all others; false: nothing else is read.
    async fn check_api_health(
        &self,
        looking: &LookContext,
        remote: &Remote<'_>,
        runner: &Runner<'_, Remote<'_>>,
    ) -> bool {
        let seen = &looking.seen;
        match remote.fetcher.status("/healthz").await {
            Ok(code) => seen.healthz(code),
            Err(error) => {
                seen.healthz(0);
                let id = &looking.view.id;
                tracing::error!(resource_id = %id, %error, "the API server's health cannot be read");
                if let Some(stage) = error.stage() {
                    self.emit_connect_error(looking, stage);
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

    fn emit_connect_error(&self, looking: &LookContext, stage: &'static str) {
        self.emitters.about(&looking.dims, &Sample::one(&own::CONNECT_ERROR, [Text::Borrowed(stage)]));
    }
}

/// Source for the API server and for resources of other endpoints.
struct Remote<'a> {
    inner: &'a Inner,
    looking: &'a LookContext,
    fetcher: Fetcher,
}

impl Source for Remote<'_> {
    async fn fetch(&self, need: &Resource, seen: &ClusterObjects) {
        match (need.request().via, &self.inner.subnets) {
            (Endpoint::Api | Endpoint::Alertmanager, _) => self.fetcher.fetch(need, seen).await,
            (Endpoint::Azure, Some(subnets)) => {
                let view = &self.looking.view;
                let ids = subnet_ids(view);
                tokio::select! {
                    biased;
                    () = self.looking.stop.cancelled() => seen.fail(need, FetchError::Deadline),
                    prefixes = subnets.prefixes(view, &ids) => seen.subnets(prefixes),
                }
            }
            (Endpoint::Azure, None) => {
                seen.fail(need, FetchError::NotAsked("Azure is not configured"));
            }
            (Endpoint::Hive, _) => seen.fail(need, FetchError::NotAsked("this is read from Hive's cluster")),
        }
    }
}

/// The source when there is no connection to the cluster.
struct UnreachableSource;

impl Source for UnreachableSource {
    async fn fetch(&self, need: &Resource, seen: &ClusterObjects) {
        seen.fail(need, FetchError::NotAsked("there is no way to the cluster"));
    }
}
