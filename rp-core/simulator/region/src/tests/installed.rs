//! Clusters that come while the region runs.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rp_base::{ManualClock, Secret, SharedClock, Timestamp};
use serde_json::{Value, json};

use super::client::{Bench, DEADLINE, ask, json as read};
use rp_simulator::installed::{CertificatePair, InstallFault, InstallStatus, NewCluster, Rollout};

use crate::server_leaf;

const IP: Ipv4Addr = Ipv4Addr::new(10, 8, 0, 4);
const NAME: &str =
    "/subscriptions/s/resourcegroups/g/providers/microsoft.redhatopenshift/openshiftclusters/mine";

/// An authority and a client of it.
struct Authority {
    certificate: String,
    key: Secret<String>,
    client: CertificatePair,
}

fn authority(name: &str) -> Authority {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.distinguished_name.push(DnType::OrganizationalUnitName, "openshift");
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let certificate = params.self_signed(&key).unwrap().pem();
    let issuer = Issuer::from_params(&params, &key);
    let mut leaf = CertificateParams::new(Vec::new()).unwrap();
    leaf.distinguished_name.push(DnType::CommonName, "system:aro-service");
    leaf.distinguished_name.push(DnType::OrganizationName, "system:masters");
    let leaf_key = KeyPair::generate().unwrap();
    let client = leaf.signed_by(&leaf_key, &issuer).unwrap().pem();
    let client = CertificatePair { certificate: client, key: Secret::new(leaf_key.serialize_pem()) };
    Authority { certificate, key: Secret::new(key.serialize_pem()), client }
}

struct Installed {
    bench: Bench,
    clock: ManualClock,
    root: Authority,
    signer: Authority,
}

impl Installed {
    async fn begin(fault: Option<InstallFault>) -> Self {
        let clock = ManualClock::at(Timestamp::from_seconds(1_790_000_000));
        let shared: SharedClock = Arc::new(clock.clone());
        let bench = Bench::at(None, Arc::clone(&shared)).await;
        let (root, signer) = (authority("root-ca"), authority("admin-kubeconfig-signer"));
        let began = shared.now();
        let about = NewCluster {
            key: NAME.to_owned(),
            name: "mine".to_owned(),
            subscription: "s".to_owned(),
            resource_group: "g".to_owned(),
            location: "westeurope".to_owned(),
            version: "4.17.27".to_owned(),
            domain: "mine.example".to_owned(),
            infra_id: "mine-abcde".to_owned(),
            workers: 3,
            client_id: "00000000-0000-0000-0000-00000000000c".to_owned(),
            subnets: ["masters", "workers"].map(|subnet| {
                format!("/subscriptions/s/resourceGroups/net/providers/Microsoft.Network/virtualNetworks/hub/subnets/{subnet}")
            }),
            private_ip: IP,
            client_authority: signer.certificate.clone(),
            server: server_leaf(&root.certificate, &root.key, "mine.example", began).unwrap(),
            began,
            rollout: Rollout { api: Duration::from_secs(30), operators: Duration::from_secs(100), fault },
        };
        bench.region.installs().begin(about.clone()).unwrap();
        // A second time is as good.
        bench.region.installs().begin(about).unwrap();
        Self { bench, clock, root, signer }
    }

    async fn call(&self, method: &str, path: &str, kind: &str, body: &Value) -> (u16, Value) {
        let body = if method == "GET" { Bytes::new() } else { Bytes::from(body.to_string()) };
        let request = ask(method, path).header("content-type", kind).body(Full::new(body)).unwrap();
        let pair = &self.signer.client;
        read(self.bench.send_to(IP.into(), &self.root.certificate, pair, request).await).await
    }

    async fn get(&self, path: &str) -> Value {
        let (status, body) = self.call("GET", path, "", &Value::Null).await;
        assert_eq!(status, 200, "{path}: {body}");
        body
    }

    async fn available(&self) -> usize {
        let all = self.get("/apis/config.openshift.io/v1/clusteroperators").await;
        let available = |operator: &&Value| {
            operator["status"]["conditions"]
                .as_array()
                .is_some_and(|all| all.iter().any(|c| c["type"] == "Available" && c["status"] == "True"))
        };
        all["items"].as_array().unwrap().iter().filter(available).count()
    }

    fn state(&self) -> InstallStatus {
        self.bench.region.installs().state(NAME)
    }
}

#[tokio::test]
async fn operators_and_nodes_come_one_after_the_other() {
    let it = Installed::begin(None).await;
    assert!(it.bench.dial(IP.into(), DEADLINE).await.is_err(), "there is no API server yet");
    assert!(matches!(it.state(), InstallStatus::Running(_)));
    it.clock.advance(Duration::from_secs(31));
    let first = it.available().await;
    assert_eq!(it.get("/api/v1/nodes").await["items"].as_array().unwrap().len(), 3);
    it.clock.advance(Duration::from_secs(60));
    let later = it.available().await;
    assert!(first < later && later < 34, "{first}, {later}");
    it.clock.advance(Duration::from_secs(60));
    assert_eq!((it.available().await, it.state()), (34, InstallStatus::Complete));
    assert_eq!(it.get("/api/v1/nodes").await["items"].as_array().unwrap().len(), 6);
    let version = it.get("/apis/config.openshift.io/v1/clusterversions/version").await;
    assert_eq!(version["status"]["history"][0]["state"], "Completed");
    // Its identity and location are as the customer requested.
    let machines =
        it.get("/apis/machine.openshift.io/v1beta1/namespaces/openshift-machine-api/machines").await;
    let subnets: std::collections::BTreeSet<_> = machines["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|machine| machine["spec"]["providerSpec"]["value"].clone())
        .map(|told| format!("{} {} {}", told["networkResourceGroup"], told["vnet"], told["subnet"]))
        .collect();
    assert_eq!(Vec::from_iter(subnets), [r#""net" "hub" "masters""#, r#""net" "hub" "workers""#]);
    let principal = it.get("/api/v1/namespaces/kube-system/secrets/azure-credentials").await;
    let client = base64::Engine::encode(
        &base64::engine::general_purpose::STANDARD,
        "00000000-0000-0000-0000-00000000000c",
    );
    assert_eq!(principal["data"]["azure_client_id"], client);
    it.bench.region.installs().remove(NAME);
    assert_eq!(it.state(), InstallStatus::Unknown);
    assert!(it.bench.dial(IP.into(), DEADLINE).await.is_err(), "it is gone");
}

#[tokio::test]
async fn one_that_stops_says_at_which_operator() {
    let it = Installed::begin(Some(InstallFault::Operator("etcd".to_owned()))).await;
    it.clock.advance(Duration::from_secs(200));
    let InstallStatus::Failed { message, .. } = it.state() else { panic!("{:?}", it.state()) };
    assert!(message.contains("etcd is not"), "{message}");
    let etcd = it.get("/apis/config.openshift.io/v1/clusteroperators/etcd").await;
    assert!(super::degraded(&etcd), "{etcd}");
    let silent = Installed::begin(Some(InstallFault::NoApi)).await;
    silent.clock.advance(Duration::from_secs(10_000));
    assert!(matches!(silent.state(), InstallStatus::Running(_)));
    assert!(silent.bench.dial(IP.into(), DEADLINE).await.is_err());
}

#[tokio::test]
async fn what_is_written_is_kept() {
    let it = Installed::begin(None).await;
    it.clock.advance(Duration::from_secs(200));
    let path = "/api/v1/namespaces/openshift-config/secrets";
    let secret = json!({"metadata": {"name": "own"}, "data": {"a": "Yg=="}});
    assert_eq!(it.call("POST", path, "application/json", &secret).await.0, 201);
    assert_eq!(it.call("POST", path, "application/json", &secret).await.0, 409);
    assert_eq!(it.get(&format!("{path}/own")).await["data"]["a"], "Yg==");
    let hub = "/apis/config.openshift.io/v1/operatorhubs/cluster";
    let patch = json!({"spec": {"disableAllDefaultSources": true}});
    assert_eq!(it.call("PATCH", hub, "application/merge-patch+json", &patch).await.0, 200);
    assert_eq!(it.get(hub).await["spec"]["disableAllDefaultSources"], true);
    assert_eq!(it.call("DELETE", &format!("{path}/own"), "", &json!({})).await.0, 200);
    assert_eq!(it.call("GET", &format!("{path}/own"), "", &Value::Null).await.0, 404);
    // What is written into one cluster is in that one only.
    let request = ask("POST", path).body(Full::new(Bytes::from(secret.to_string()))).unwrap();
    assert_eq!(it.bench.send(0, &it.bench.identity.service, request).await.status(), 201);
    assert_eq!(it.call("GET", &format!("{path}/own"), "", &Value::Null).await.0, 404);
}
