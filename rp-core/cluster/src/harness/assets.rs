//! Assets as an installer makes them, with real keys, and a runner that gives them.

use std::collections::BTreeMap;

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use parking_lot::Mutex;
use rcgen::{CertificateParams, DnType, IsCa, KeyPair, KeyUsagePurpose};
use rp_base::{Clock as _, Secret, SystemClock, SystemRandom};
use rp_documents::OpenShiftVersionDocument;
use rp_install::authority::{Authority, Client, KeyedCertificate};
use rp_install::runner::{Assets, InstallOrder, InstallRunner, RunError};
use rp_install::state::InstallerState;
use serde_json::{Value, json};

use crate::installer::Versions;
use crate::progress::ProgressError;

/// An authority of that name.
pub(crate) fn authority(name: &str) -> KeyedCertificate {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    params.not_before = (SystemClock.now() - std::time::Duration::from_hours(24)).to_datetime();
    KeyedCertificate {
        certificate: params.self_signed(&key).unwrap().pem(),
        key: Secret::new(key.serialize_pem()),
    }
}

fn pair(of: &KeyedCertificate) -> Value {
    json!({"CertRaw": STANDARD.encode(&of.certificate), "KeyRaw": STANDARD.encode(of.key.expose())})
}

/// A state whose password says whose it is.
pub(crate) fn state(password: &str) -> InstallerState {
    let (root, signer, servers) = (authority("root-ca"), authority("signer"), authority("servers"));
    let client = Client {
        user: "system:admin",
        organisation: Some("system:masters"),
        validity: std::time::Duration::from_hours(24 * 3650),
    };
    let admin =
        Authority::read("signer", &signer).unwrap().client(client, &SystemRandom, SystemClock.now()).unwrap();
    let pointer = json!({"ignition": {"version": "3.2.0", "config": {"merge": [
        {"source": "https://api-int.test.eastus.aroapp.io:22623/config/master"}]}}});
    let state = json!({
        "*tls.RootCA": pair(&root),
        "*tls.AdminKubeConfigSignerCertKey": pair(&signer),
        "*kubeconfig.AdminInternalClient": {"Config": {
            "clusters": [{"name": "test", "cluster": {"server": "https://api-int.test.eastus.aroapp.io:6443",
                "certificate-authority-data": STANDARD.encode(&servers.certificate)}}],
            "users": [{"name": "admin", "user": {
                "client-certificate-data": STANDARD.encode(&admin.certificate),
                "client-key-data": STANDARD.encode(admin.key.expose())}}],
            "contexts": [{"name": "admin", "context": {"cluster": "test", "user": "admin"}}],
            "current-context": "admin"}},
        "*machine.Master": {"File": {"Data": STANDARD.encode(pointer.to_string())}},
        "*password.KubeadminPassword": {"Password": password},
        "*installconfig.InstallConfig": {"config": {"networking": {"networkType": "OVNKubernetes"}}},
    });
    InstallerState::parse(state.to_string().as_bytes()).unwrap()
}

/// A runner that makes other assets each time, unless it keeps those of an earlier run.
#[derive(Debug, Default)]
pub(crate) struct FakeRunner {
    kept: Mutex<BTreeMap<String, Assets>>,
    pub(crate) runs: Mutex<u32>,
    /// The next run fails so.
    pub(crate) fails: Mutex<Option<RunError>>,
}

impl FakeRunner {
    pub(crate) fn keeps_nothing(&self) -> bool {
        self.kept.lock().is_empty()
    }
}

#[async_trait]
impl InstallRunner for FakeRunner {
    async fn assets(&self, order: &InstallOrder) -> Result<Assets, RunError> {
        if let Some(error) = self.fails.lock().take() {
            return Err(error);
        }
        // A stop of the process or a lost lease may come between.
        tokio::task::yield_now().await;
        if let Some(kept) = self.kept.lock().get(&order.id) {
            return Ok(kept.clone());
        }
        let run = {
            let mut runs = self.runs.lock();
            *runs += 1;
            *runs
        };
        let password = format!("password-of-run-{run}");
        let made = Assets {
            bootstrap: Secret::new(
                json!({"ignition": {"version": "3.2.0"}, "of": password}).to_string().into(),
            ),
            master: Secret::new(Vec::new()),
            worker: Secret::new(Vec::new()),
            state: state(&password),
        };
        self.kept.lock().insert(order.id.clone(), made.clone());
        Ok(made)
    }

    async fn remove(&self, id: &str) -> Result<(), RunError> {
        self.kept.lock().remove(id);
        Ok(())
    }

    async fn kept(&self) -> Result<Vec<String>, RunError> {
        Ok(self.kept.lock().keys().cloned().collect())
    }
}

/// The one version that clusters of tests have.
#[derive(Debug)]
pub(crate) struct OneVersion;

#[async_trait]
impl Versions for OneVersion {
    async fn all(&self) -> Result<Vec<OpenShiftVersionDocument>, ProgressError> {
        let version = json!({"id": "v", "openShiftVersion": {"properties": {"version": "4.17.27", "enabled": true,
            "openShiftPullspec": "quay.io/openshift-release-dev/ocp-release@sha256:0",
            "osImage": {"sku": "aro_417", "version": "417.94.20250101"}}}});
        Ok(vec![serde_json::from_value(version).unwrap()])
    }
}
