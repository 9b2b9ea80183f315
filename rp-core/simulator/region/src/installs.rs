//! The clusters that are installed while the region runs.

use std::collections::HashMap;
use std::net::Ipv4Addr;
use std::sync::Arc;

use parking_lot::RwLock;
use rp_base::{SharedClock, Timestamp};
use rp_simulator::fleet::Cluster;
use rp_simulator::installed::{InstallFault, InstallStatus, InstalledCluster, NewCluster};
use rp_simulator::machines::machines;
use rustls::ServerConfig;

use super::{RegionError, connect};

/// Clusters that can be installed in one region.
const MOST: usize = 10_000;

/// One of them, with the TLS of its API server.
#[derive(Debug)]
struct Installation {
    cluster: Arc<InstalledCluster>,
    tls: Arc<ServerConfig>,
}

/// The installed clusters of a region, and how to add more.
#[derive(Debug, Clone)]
pub struct Installs {
    by_key: Arc<RwLock<HashMap<String, Installation>>>,
    clock: SharedClock,
}

impl Installs {
    pub(crate) fn new(clock: SharedClock) -> Self {
        Self { by_key: Arc::default(), clock }
    }

    /// Begins an installation, unless there is one of that name.
    ///
    /// # Errors
    /// The certificates cannot be used; or the region is full.
    pub fn begin(&self, about: NewCluster) -> Result<(), RegionError> {
        if self.by_key.read().contains_key(&about.key) {
            return Ok(());
        }
        let tls = connect::server_tls(&about.client_authority, &about.server)?;
        let key = about.key.clone();
        let cluster = Arc::new(InstalledCluster::new(about));
        let mut all = self.by_key.write();
        if all.len() >= MOST {
            return Err(RegionError::TooMany);
        }
        all.entry(key).or_insert(Installation { cluster, tls });
        Ok(())
    }

    /// Where it is now.
    pub fn state(&self, key: &str) -> InstallStatus {
        self.find(key).map_or(InstallStatus::Unknown, |installed| installed.state(self.clock.now()))
    }

    /// Removes a cluster with everything that was written into it; no error when there is none.
    pub fn remove(&self, key: &str) {
        if let Some(installed) = self.by_key.write().remove(key) {
            installed.cluster.remove();
        }
    }

    /// Names of all, with the instant when the installation of each began.
    pub fn all(&self) -> Vec<(String, Timestamp, Option<InstallFault>)> {
        let told = |one: &Installation| {
            let about = &one.cluster.about;
            (about.key.clone(), about.began, about.rollout.fault.clone())
        };
        self.by_key.read().values().map(told).collect()
    }

    /// The machines that a cluster has when it is complete: name, whether it is a master, zone.
    pub fn machines(&self, key: &str) -> Vec<(String, bool, usize)> {
        let Some(installed) = self.find(key) else { return Vec::new() };
        let complete = installed.completed_at();
        let all = machines(&InstalledCluster::at(&installed, complete), complete);
        all.into_iter().map(|machine| (machine.name, machine.master, machine.zone)).collect()
    }

    /// The cluster behind a private address, with the TLS of its API server.
    pub(crate) fn at(&self, ip: Ipv4Addr) -> Option<(Cluster, Arc<ServerConfig>)> {
        let all = self.by_key.read();
        let found = all.values().find(|one| one.cluster.about.private_ip == ip)?;
        Some((InstalledCluster::at(&found.cluster, self.clock.now()), Arc::clone(&found.tls)))
    }

    fn find(&self, key: &str) -> Option<Arc<InstalledCluster>> {
        self.by_key.read().get(key).map(|installed| Arc::clone(&installed.cluster))
    }
}
