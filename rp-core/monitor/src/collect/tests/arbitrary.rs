//! For arbitrary responses: no collector panics, and the output is valid.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::*;
use crate::collect::{CLUSTER_VERSION, HEALTHZ, OPENSHIFT5, PING, metrics_of_collector, provisioning};
use crate::sample::{MOST_SERIES, Sample, budget};
use crate::{health, hive, mirror};

/// Member names that collectors read, so that arbitrary objects exercise them deeply.
const KEYS: &[&str] = &[
    "metadata",
    "name",
    "namespace",
    "labels",
    "annotations",
    "generation",
    "spec",
    "status",
    "conditions",
    "type",
    "reason",
    "message",
    "version",
    "versions",
    "history",
    "state",
    "desired",
    "desiredUpdate",
    "providerSpec",
    "value",
    "spotVMOptions",
    "phase",
    "containerStatuses",
    "restartCount",
    "waiting",
    "lastState",
    "terminated",
    "items",
    "continue",
    "data",
    "tls.crt",
    "noProxy",
    "httpProxy",
    "clusterNetwork",
    "cidr",
    "serviceNetwork",
    "servers",
    "gatewayDomains",
    "domain",
    "operatorflags",
    "banner",
    "content",
    "defaultCertificate",
    "replicas",
    "machineCount",
    "alertname",
    "severity",
    "target",
    "secondary_target",
    "syncSets",
    "selectorSyncSets",
    "failureMessage",
    "endpointPublishingStrategy",
    "loadBalancer",
    "scope",
    "ingress",
    "ip",
    "osDisk",
    "diskSizeGB",
    "template",
    "readyReplicas",
    "azure_client_id",
    "azure_client_secret",
    "apiServerInternalURI",
    "clusterNetworkMTU",
];
const TEXTS: &[&str] = &[
    "",
    "True",
    "False",
    "Unknown",
    "default",
    "operator",
    "Completed",
    "4.8.1",
    "5.0.0",
    "x-ingress",
    "10.0.0.0/8",
    "aro-operator-master",
    "etcd-peer",
    "Available",
    "Degraded",
    "ContactSupport",
    "bm9uc2Vuc2U=",
    "\u{0}\u{202e}ü",
];

fn text() -> impl Strategy<Value = String> {
    prop_oneof![3 => prop::sample::select(TEXTS).prop_map(str::to_owned), 1 => ".{0,12}"]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(|float| json!(float)),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(8, 96, 8, |inner| {
        let key = prop_oneof![4 => prop::sample::select(KEYS).prop_map(str::to_owned), 1 => text()];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::Array),
            prop::collection::btree_map(key, inner, 0..10)
                .prop_map(|map| Value::Object(map.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

/// Resources of all collectors, including those requested only in certain cases.
fn every_need() -> Vec<Resource> {
    let mut needs: Vec<Resource> = super::super::pods::NAMESPACES.map(Resource::Pods).to_vec();
    needs.extend([
        Resource::ClusterVersion,
        Resource::ClusterOperators,
        Resource::Nodes,
        Resource::Machines,
        Resource::MachineSets,
        Resource::Pools,
        Resource::OperatorDeployments,
        Resource::LogDaemonSets,
        Resource::AroCluster,
        Resource::VirtualMachines,
        Resource::IngressControllers,
        Resource::RouterServices,
        Resource::Certificate("x-ingress".to_owned()),
        Resource::Certificate("x-apiserver".to_owned()),
        Resource::EtcdCertificates,
        Resource::Proxy,
        Resource::Network,
        Resource::Dns,
        Resource::Infrastructure,
        Resource::Credentials,
        Resource::Alerts,
        Resource::HiveDeployment("n".to_owned()),
        Resource::HiveSync("n".to_owned()),
    ]);
    needs
}

/// The body wrapped so that the envelope parses.
fn shaped(need: &Resource, value: &Value) -> Value {
    let list = || match value {
        Value::Array(_) => value.clone(),
        other => json!([other, other]),
    };
    match need {
        Resource::Alerts => list(),
        _ if need.request().paged => json!({"items": list()}),
        _ => value.clone(),
    }
}

fn check(values: &[Value], imported: bool) {
    let mut cluster = aro();
    cluster.hive_namespace = Some("n".to_owned());
    cluster.master_subnet = "/s".to_owned();
    if imported {
        cluster.id = ResourceId::imported("mine").unwrap();
    }
    let seen = ClusterObjects::new(Arc::new(cluster), NOW, true, "commit");
    for (need, value) in every_need().iter().zip(values.iter().cycle()) {
        // A body that is not an object is a malformed response, which the fetcher reports.
        if seen.page(need, shaped(need, value).to_string().as_bytes()).is_err() {
            seen.fail(need, FetchError::Malformed("x".to_owned()));
        }
    }
    seen.subnets(BTreeMap::from([("/s".to_owned(), Ok(vec!["10.0.0.0/24".to_owned()]))]));
    let mut told = CollectorOutput::new(true);
    provisioning(&seen, &mut told);
    let all =
        COLLECTORS.iter().chain(hive::COLLECTORS).chain([&HEALTHZ, &PING, &CLUSTER_VERSION, &OPENSHIFT5]);
    for collector in all {
        let _ = (collector.needs)(&seen);
        let before = told.samples.len();
        let _ = (collector.run)(&seen, &mut told);
        if COLLECTORS.iter().any(|other| other.name == collector.name) {
            let its = |sample: &Sample| {
                metrics_of_collector(collector.name).iter().any(|metric| std::ptr::eq(*metric, sample.metric))
            };
            assert!(told.samples[before..].iter().all(its), "{}", collector.name);
        }
    }
    for sample in &told.samples {
        assert!(sample.is_sound(), "{sample:?}");
    }
    assert!(budget(&told.samples).0.len() <= MOST_SERIES);
    let _ = health::health(&seen, &[], std::time::Duration::ZERO, None);
    let _ = mirror::draft(&seen);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn arbitrary_objects_never_panic(values in prop::collection::vec(value(), 1..12), imported in any::<bool>()) {
        check(&values, imported);
    }

    #[test]
    fn arbitrary_bytes_are_refused_or_read(body in prop::collection::vec(any::<u8>(), 0..200)) {
        let seen = ClusterObjects::new(Arc::new(aro()), NOW, true, "commit");
        for need in every_need() {
            let _ = seen.page(&need, &body);
        }
    }
}
