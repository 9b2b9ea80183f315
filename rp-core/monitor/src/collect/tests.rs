//! Test bench for collectors: objects in, lines out.

use std::sync::Arc;

use rp_base::Timestamp;
use rp_documents::ResourceId;
use rp_net::Source;
use serde_json::{Value, json};

use super::{COLLECTORS, CollectError, Collector, CollectorOutput, metrics_of_collector};
use crate::cluster_objects::{ClusterObjects, Resource};
use crate::fetch::FetchError;
use crate::names::Scope;
use crate::sample::Value as Number;
use crate::view::ClusterView;

mod arbitrary;

/// Sat, 21 Nov 2026 12:00:00 UTC.
pub(crate) const NOW: Timestamp = Timestamp::from_seconds(1_795_262_400);

/// A cluster of ours.
pub(crate) fn aro() -> ClusterView {
    let id = "/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/rg/providers/Microsoft.RedHatOpenShift/openShiftClusters/x";
    let mut view = ClusterView::bare("x".to_owned(), ResourceId::parse(id).unwrap(), Source::Aro);
    view.provisioning_state = "Succeeded".to_owned();
    view.provisioned_by = "old".to_owned();
    view.api_url = "https://api.x.eastus.aroapp.io:6443/".to_owned();
    view.service_principal = true;
    view
}

pub(crate) fn named(name: &str) -> &'static Collector {
    COLLECTORS.iter().find(|collector| collector.name == name).unwrap()
}

/// The samples as `NAME VALUE KEY=TEXT …`, sorted.
pub(crate) fn lines(told: &CollectorOutput) -> Vec<String> {
    let mut lines: Vec<String> = told.samples.iter().map(line).collect();
    lines.sort();
    lines
}

fn line(sample: &crate::sample::Sample) -> String {
    assert!(sample.is_sound(), "{sample:?}");
    let Number::Int(value) = sample.value else { panic!("{sample:?}") };
    let dims: String = sample.statsd().map(|(name, text)| format!(" {name}={text}")).collect();
    format!("{} {value}{dims}", sample.metric.name)
}

/// [`ClusterObjects`] with test data.
pub(crate) struct CollectorBench {
    pub(crate) seen: ClusterObjects,
    fed: Vec<(Resource, Result<String, FetchError>)>,
}

impl CollectorBench {
    pub(crate) fn new(cluster: ClusterView) -> Self {
        Self { seen: ClusterObjects::new(Arc::new(cluster), NOW, false, "commit"), fed: Vec::new() }
    }

    /// The same in an hourly round.
    pub(crate) fn hourly(self) -> Self {
        let seen = ClusterObjects::new(Arc::new(self.seen.cluster().clone()), NOW, true, "commit");
        self.fed.into_iter().fold(Self { seen, fed: Vec::new() }, |all, (need, body)| match body {
            Ok(body) => all.body(&need, body),
            Err(error) => all.error(&need, error),
        })
    }

    #[expect(clippy::needless_pass_by_value, reason = "what json! makes is given away")]
    pub(crate) fn with(self, need: &Resource, object: Value) -> Self {
        self.body(need, object.to_string())
    }

    #[expect(clippy::needless_pass_by_value, reason = "what json! makes is given away")]
    pub(crate) fn with_items(self, need: &Resource, items: Value) -> Self {
        self.with(need, json!({"items": items}))
    }

    pub(crate) fn failed(self, need: &Resource, code: u16) -> Self {
        self.error(need, FetchError::Status { code, message: "no".to_owned(), retry_after: None })
    }

    fn body(mut self, need: &Resource, body: String) -> Self {
        assert_eq!(self.seen.page(need, body.as_bytes()).unwrap(), None);
        self.fed.push((need.clone(), Ok(body)));
        self
    }

    fn error(mut self, need: &Resource, error: FetchError) -> Self {
        self.seen.fail(need, error.clone());
        self.fed.push((need.clone(), Err(error)));
        self
    }

    pub(crate) fn told(&self, collector: &Collector) -> Result<CollectorOutput, CollectError> {
        let mut told = CollectorOutput::new(self.seen.hourly());
        (collector.run)(&self.seen, &mut told).map(|()| told)
    }

    /// Lines, and the error's text as the last.
    pub(crate) fn run(&self, collector: &Collector) -> Vec<String> {
        let mut told = CollectorOutput::new(self.seen.hourly());
        let result = (collector.run)(&self.seen, &mut told);
        let mut lines = lines(&told);
        lines.extend(result.err().map(|error| error.to_string()));
        lines
    }
}

#[test]
fn collectors_stand_in_the_contracts_order() {
    let names: Vec<&str> = COLLECTORS.iter().map(|collector| collector.name).collect();
    let expected = [
        "emitAroOperatorHeartbeat",
        "emitAroOperatorConditions",
        "emitNSGReconciliation",
        "emitClusterOperatorConditions",
        "emitClusterOperatorVersions",
        "emitClusterVersionConditions",
        "emitClusterVersions",
        "emitDaemonsetStatuses",
        "emitMachineConfigPoolConditions",
        "emitMachineConfigPoolUnmanagedNodeCounts",
        "emitMachineConditions",
        "emitNodeConditions",
        "emitPodConditions",
        "emitCNVVirtualMachineInstanceStatuses",
        "emitSummary",
        "emitOperatorFlagsAndSupportBanner",
        "emitMaintenanceState",
        "emitIngressAndAPIServerCertificateExpiry",
        "emitEtcdCertificateExpiry",
        "emitPrometheusAlerts",
        "emitCWPStatus",
        "emitClusterAuthenticationType",
        "emitNetworkMTU",
    ];
    assert_eq!(names, expected);
}

#[test]
fn an_imported_cluster_without_openshift_fails_in_no_collector_but_alerts() {
    let id = ResourceId::imported("mine").unwrap();
    let fed = CollectorBench::new(ClusterView::bare("mine".to_owned(), id, Source::Imported)).hourly();
    for collector in COLLECTORS {
        loop {
            let needs: Vec<Resource> =
                (collector.needs)(&fed.seen).into_iter().filter(|need| !fed.seen.has(need)).collect();
            if needs.is_empty() {
                break;
            }
            for need in needs {
                fed.seen.fail(
                    &need,
                    FetchError::Status { code: 404, message: "not found".to_owned(), retry_after: None },
                );
            }
        }
        assert!(fed.told(collector).is_ok(), "{}", collector.name);
    }
}

#[test]
fn texts_of_errors_are_the_contracts() {
    assert_eq!(
        CollectError::log_text("cluster", "emitSummary", "a\nb"),
        "failure running cluster collector 'emitSummary':\n  a\n  b"
    );
}

#[test]
fn every_metric_of_a_cluster_has_a_collector() {
    let told: Vec<_> = COLLECTORS.iter().flat_map(|collector| metrics_of_collector(collector.name)).collect();
    let first = ["apiserver.", "cluster.provisioning", "cluster.openshift5.versions", "hive."];
    for metric in
        crate::names::ALL.iter().filter(|metric| metric.scope == Scope::Cluster && metric.kind.is_held())
    {
        let by_others = first.iter().any(|name| metric.name.starts_with(name));
        assert_eq!(told.iter().any(|other| std::ptr::eq(**other, *metric)), !by_others, "{}", metric.name);
    }
}
