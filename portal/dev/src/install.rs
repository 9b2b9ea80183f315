//! Installs simulated clusters: what the steps of a creation prepared becomes a cluster of the simulated region.
//!
//! How it goes is said by a tag of the cluster, `simulated-install`: `fails-at:OPERATOR` stops at an operator, `no-api`
//! never answers.

mod earlier;
mod graph;

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use async_trait::async_trait;
use parking_lot::Mutex;
use rp_base::{SharedClock, SharedRandom, Timestamp, chain};
use rp_cluster::{InstallError, InstallState, Installer};
use rp_core::Services;
use rp_documents::Collection;
use rp_install::state::InstallerState;
use rp_simulator::installed::{InstallFault, InstallStatus, NewCluster, Rollout};
use rp_simulator_azure::ArmControl;
use rp_simulator_region::{Installs, server_leaf};
use serde_json::{Value, json};

use crate::folder::{Folder, read_text, write_private};

/// The tag that scripts an installation.
pub(crate) const TAG: &str = "simulated-install";
/// Of the time that an installation takes, until the API server answers.
const API: f64 = 0.3;

/// The installer of a simulated region. What it has begun is written into the data folder, so that a restart goes on.
#[derive(Debug)]
pub(crate) struct RegionInstaller {
    installs: Installs,
    clock: SharedClock,
    /// What an installation takes.
    takes: Duration,
    /// Parent of clusters' domains.
    domain: String,
    azure: ArmControl,
    file: PathBuf,
    /// By lower-cased resource id.
    begun: Mutex<BTreeMap<String, Begun>>,
    random: SharedRandom,
}

/// An installation that was begun.
#[derive(Debug, Clone)]
struct Begun {
    at: Timestamp,
    graph: InstallerState,
}

impl Begun {
    /// As it is written into the folder, which only its owner reads.
    fn to_json(&self) -> Value {
        let graph: Value = serde_json::from_slice(self.graph.to_json().expose()).unwrap_or_default();
        json!({ "at": self.at.millis(), "graph": graph })
    }

    /// # Errors
    /// There is no graph, or its authorities cannot be read.
    fn read(value: &Value) -> anyhow::Result<Self> {
        let at = Timestamp::from_millis(value["at"].as_i64().context("it has no time")?);
        let graph = InstallerState::parse(value["graph"].to_string().as_bytes())?;
        graph.root()?;
        Ok(Self { at, graph })
    }
}

impl RegionInstaller {
    /// With the clusters that were begun before, as far as their documents are still there.
    pub(crate) async fn open(
        installs: Installs,
        folder: &Folder,
        services: &Services,
        takes: Duration,
        domain: String,
        azure: ArmControl,
    ) -> anyhow::Result<Self> {
        let file = folder.file("installed.json");
        let kept: BTreeMap<String, Value> = if file.exists() {
            serde_json::from_str(&read_text(&file)?).context("installed.json cannot be read")?
        } else {
            BTreeMap::new()
        };
        let clock = SharedClock::clone(&services.clock);
        let random = SharedRandom::clone(&services.random);
        let mut begun = BTreeMap::new();
        for (key, value) in kept {
            let Some(document) = stored(services, &key).await? else { continue };
            let read = match value.as_i64() {
                None => Begun::read(&value),
                Some(at) => earlier::read(services, &document, &domain, &random, Timestamp::from_millis(at)),
            };
            let back = read.and_then(|one| {
                let plan = plan(&document, &one, takes, &domain)?;
                begun.insert(key.clone(), one);
                Ok(installs.begin(plan)?)
            });
            match back {
                Ok(()) => machines(&azure, &installs, &document),
                Err(error) => {
                    tracing::error!(resource_id = %key, error = %chain(&*error), "a simulated cluster cannot be brought back");
                }
            }
        }
        Ok(Self { installs, clock, takes, domain, azure, file, begun: Mutex::new(begun), random })
    }

    /// With authorities of its own, as every installer makes them.
    fn new_one(&self, document: &Value) -> anyhow::Result<Begun> {
        let at = self.clock.now();
        let domain = domain_of(&document["openShiftCluster"], &self.domain);
        Ok(Begun { at, graph: graph::new(&domain, &*self.random, at)? })
    }

    fn keep(&self, begun: &BTreeMap<String, Begun>) -> Result<(), InstallError> {
        let all: BTreeMap<&String, Value> = begun.iter().map(|(key, one)| (key, one.to_json())).collect();
        let text = serde_json::to_string_pretty(&all).unwrap_or_default();
        write_private(&self.file, &text).map_err(|error| InstallError::Away(format!("{error:#}")))
    }
}

#[async_trait]
impl Installer for RegionInstaller {
    async fn begin(&self, document: &Value) -> Result<(), InstallError> {
        let key = text(document, "/key").to_lowercase();
        let known = self.begun.lock().get(&key).cloned();
        let one = match known {
            Some(one) => one,
            None => self.new_one(document).map_err(|error| InstallError::Refused(format!("{error:#}")))?,
        };
        let plan = plan(document, &one, self.takes, &self.domain)
            .map_err(|error| InstallError::Refused(chain(&*error).to_string()))?;
        let begun = self.installs.begin(plan);
        begun.map_err(|error| InstallError::Refused(chain(&error).to_string()))?;
        {
            // What was refused is not brought back by a restart.
            let mut begun = self.begun.lock();
            begun.insert(key, one);
            self.keep(&begun)?;
        }
        machines(&self.azure, &self.installs, document);
        Ok(())
    }

    async fn state(&self, cluster: &str) -> Result<InstallState, InstallError> {
        Ok(match self.installs.state(&cluster.to_lowercase()) {
            InstallStatus::Unknown => InstallState::Unknown,
            InstallStatus::Running(message) => InstallState::Running { message },
            InstallStatus::Complete => InstallState::Complete,
            InstallStatus::Failed { reason, message } => InstallState::Failed { reason, message },
        })
    }

    async fn graph(&self, cluster: &str) -> Result<InstallerState, InstallError> {
        let found = self.begun.lock().get(&cluster.to_lowercase()).map(|one| one.graph.clone());
        found.ok_or_else(|| InstallError::Refused("there is no such installation".to_owned()))
    }

    async fn remove(&self, cluster: &str) -> Result<(), InstallError> {
        let key = cluster.to_lowercase();
        self.installs.remove(&key);
        let mut begun = self.begun.lock();
        begun.remove(&key);
        self.keep(&begun)
    }
}

/// The virtual machines of a cluster, as an installer makes them in its resource group.
fn machines(azure: &ArmControl, installs: &Installs, document: &Value) {
    let cluster = &document["openShiftCluster"];
    let group = text(cluster, "/properties/clusterProfile/resourceGroupId");
    if azure.get(group).is_none() {
        // The folder is of a version that did not keep it. Without its manager nobody would delete it.
        let body = json!({"location": text(cluster, "/location"), "managedBy": text(cluster, "/id")});
        azure.put(group, body);
    }
    let size = |master| {
        let of =
            if master { "/properties/masterProfile/vmSize" } else { "/properties/workerProfiles/0/vmSize" };
        text(cluster, of)
    };
    for (name, master, zone) in installs.machines(&text(document, "/key").to_lowercase()) {
        let id = format!("{group}/providers/Microsoft.Compute/virtualMachines/{name}");
        let body = json!({"location": text(cluster, "/location"), "zones": [zone.to_string()],
            "properties": {"hardwareProfile": {"vmSize": size(master)}, "osProfile": {"computerName": name}}});
        if azure.get(&id).is_none() && !azure.put(&id, body) {
            tracing::warn!(id, "the stand-in for Azure does not take a machine");
        }
    }
}

/// The cluster's document; `None`: it is gone.
async fn stored(services: &Services, key: &str) -> anyhow::Result<Option<Value>> {
    let stored = services.store.get_by_key(Collection::OpenShiftClusters, key).await?;
    Ok(stored.map(|stored| serde_json::from_str(&stored.body)).transpose()?)
}

fn domain_of(cluster: &Value, parent: &str) -> String {
    let own = text(cluster, "/properties/clusterProfile/domain");
    if own.contains('.') { own.to_owned() } else { format!("{own}.{parent}") }
}

/// What is to come up.
fn plan(document: &Value, begun: &Begun, takes: Duration, parent: &str) -> anyhow::Result<NewCluster> {
    let cluster = document.get("openShiftCluster").context("the document has no cluster")?;
    let of = |pointer: &str| text(cluster, pointer).to_owned();
    let (root, signer) = (begun.graph.root()?, begun.graph.admin_kubeconfig_signer()?);
    let domain = domain_of(cluster, parent);
    let began = begun.at;
    let server = server_leaf(&root.certificate, &root.key, &domain, began)
        .context("no certificate for the API server")?;
    let private_ip: Ipv4Addr = of("/properties/networkProfile/privateEndpointIp")
        .parse()
        .map_err(|_| anyhow!("the private endpoint has no address"))?;
    let id = rp_documents::ResourceId::parse(text(cluster, "/id"))?;
    Ok(NewCluster {
        key: text(document, "/key").to_lowercase(),
        name: id.name().to_owned(),
        subscription: id.subscription().to_owned(),
        resource_group: id.resource_group().to_owned(),
        location: of("/location"),
        version: of("/properties/clusterProfile/version"),
        domain,
        infra_id: of("/properties/infraId"),
        workers: workers(cluster),
        client_id: of("/properties/servicePrincipalProfile/clientId"),
        subnets: [of("/properties/masterProfile/subnetId"), of("/properties/workerProfiles/0/subnetId")],
        private_ip,
        client_authority: signer.certificate,
        server,
        began,
        rollout: rollout(cluster, takes),
    })
}

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// Workers of all profiles; three where none is told.
fn workers(cluster: &Value) -> usize {
    let profiles = cluster.pointer("/properties/workerProfiles").and_then(Value::as_array);
    let counts = profiles.into_iter().flatten().filter_map(|profile| profile["count"].as_u64());
    match usize::try_from(counts.sum::<u64>()).unwrap_or(0) {
        0 => 3,
        count => count.min(500),
    }
}

fn rollout(cluster: &Value, takes: Duration) -> Rollout {
    let fault = match text(cluster, &format!("/tags/{TAG}")) {
        "no-api" => Some(InstallFault::NoApi),
        told => told.strip_prefix("fails-at:").map(|name| InstallFault::Operator(name.to_owned())),
    };
    Rollout { api: takes.mul_f64(API), operators: takes.mul_f64(1.0 - API), fault }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_scripts_how_it_goes() {
        let of = |tag: &str| rollout(&json!({"tags": {TAG: tag}}), Duration::from_secs(10)).fault;
        assert_eq!(of("no-api"), Some(InstallFault::NoApi));
        assert_eq!(of("fails-at:etcd"), Some(InstallFault::Operator("etcd".to_owned())));
        assert_eq!(of("whatever"), None);
        assert_eq!(rollout(&json!({}), Duration::from_secs(10)).api, Duration::from_secs(3));
    }

    #[test]
    fn workers_are_those_of_all_profiles() {
        let two = json!({"properties": {"workerProfiles": [{"count": 3}, {"count": 2}]}});
        assert_eq!((workers(&two), workers(&json!({}))), (5, 3));
    }
}
