//! The clusters, each a function of (seed, index).

mod cluster_names;
mod dice;
mod document;
mod shape;
mod transient_fault;

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use rp_base::Timestamp;

use super::installed::{InstalledCluster, NewCluster};
use super::written::{FleetWrites, WrittenObjects};
pub use dice::Dice;
pub use shape::{ClusterShape, DegradedOperator};
pub use transient_fault::{Episode, Faults, TransientFault};

/// The most clusters of one fleet.
pub const MOST_CLUSTERS: usize = 100_000;

/// Azure locations with the short form that appears in names.
const LOCATIONS: [(&str, &str); 8] = [
    ("westeurope", "weu"),
    ("northeurope", "neu"),
    ("swedencentral", "swc"),
    ("eastus", "eus"),
    ("eastus2", "eus2"),
    ("uksouth", "uks"),
    ("australiaeast", "aue"),
    ("germanywestcentral", "gwc"),
];

/// Versions: OpenShift minor, last patch, Kubernetes version under it.
const VERSIONS: [(u32, u32, &str); 5] = [
    (16, 48, "v1.29.14"),
    (17, 36, "v1.30.12"),
    (18, 22, "v1.31.9"),
    (19, 11, "v1.32.7"),
    (20, 3, "v1.33.4"),
];

/// Every cluster of a region.
#[derive(Debug, Clone)]
pub struct Fleet {
    seed: u64,
    count: usize,
    locations: Vec<String>,
    faults: Option<Faults>,
    writes: FleetWrites,
    /// Ages count back from here.
    epoch: Timestamp,
}

/// One simulated cluster.
#[derive(Debug, Clone)]
pub struct Cluster {
    pub index: usize,
    pub name: String,
    pub subscription: String,
    pub resource_group: String,
    pub location: String,
    /// `x.y.z` that runs.
    pub version: String,
    /// The target `x.y.z` of an upgrade; the same as `version` without one.
    pub wanted: String,
    /// `gitVersion` of its API server.
    pub kubernetes: &'static str,
    /// Full DNS domain.
    pub domain: String,
    pub infra_id: String,
    pub workers: usize,
    /// As it is now.
    pub shape: ClusterShape,
    /// Its state without transient faults.
    pub base: ClusterShape,
    /// The transient fault that it has or recently had.
    pub episode: Option<Episode>,
    pub created: Timestamp,
    /// When the cluster came into the state it is in.
    pub since: Timestamp,
    pub epoch: Timestamp,
    pub seed: u64,
    /// How far its installation is, of a hundred.
    pub rolled: u8,
    /// It came while the region runs.
    pub installed: Option<Arc<InstalledCluster>>,
    /// What clients wrote into the clusters of its fleet.
    pub(crate) writes: FleetWrites,
}

impl Fleet {
    /// A fleet; `locations` may be empty.
    pub fn new(seed: u64, count: usize, mut locations: Vec<String>, epoch: Timestamp) -> Self {
        if locations.is_empty() {
            locations = LOCATIONS.iter().take(3).map(|(name, _)| (*name).to_owned()).collect();
        }
        Self { seed, count, locations, faults: None, writes: FleetWrites::default(), epoch }
    }

    /// How many clusters.
    pub const fn len(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Every cluster, in order of its index.
    pub fn clusters(&self) -> impl Iterator<Item = Cluster> + '_ {
        (0..self.count).filter_map(|index| self.cluster(index))
    }

    /// The cluster of that index.
    pub fn cluster(&self, index: usize) -> Option<Cluster> {
        if index >= self.count {
            return None;
        }
        let mut dice = Dice::new(self.seed, index as u64);
        let shape = ClusterShape::draw(index, &mut dice);
        // Two of three are in the first location.
        let place = if dice.below(3) > 0 { 0 } else { dice.below(self.locations.len()) };
        let location = self.locations.get(place)?.clone();
        let short =
            LOCATIONS.iter().find(|(name, _)| *name == location).map_or(&*location, |(_, short)| short);
        let (word, purpose, round) = cluster_names::name(self.seed, index);
        let name = format!("{word}-{purpose}-{short}-{round:02}");
        // Teams have a subscription or a few, of about a dozen clusters each.
        let team = dice.below((self.count / 12).clamp(3, 900));
        let subscription = Dice::new(self.seed, 0xA5A5_0000 + team as u64).uuid();
        let (minor, last_patch, kubernetes) = VERSIONS[dice.below(VERSIONS.len())];
        let patch = last_patch - u32::try_from(dice.below(4)).unwrap_or(0).min(last_patch - 1);
        let version = format!(
            "4.{minor}.{}",
            if shape == ClusterShape::Upgrading { patch.saturating_sub(1) } else { patch }
        );
        let age = Duration::from_mins(60 * 24 * (20 + dice.below(900) as u64) + dice.below(1440) as u64);
        let created = self.epoch
            - if shape.is_installing() { Duration::from_mins(8 + dice.below(30) as u64) } else { age };
        let stem: String = name.chars().take(21).collect();
        Some(Cluster {
            index,
            resource_group: format!(
                "{}-{}",
                cluster_names::GROUPS[team % cluster_names::GROUPS.len()],
                cluster_names::STAGES[dice.below(cluster_names::STAGES.len())]
            ),
            subscription,
            domain: format!("{}.{location}.aroapp.invalid", dice.letters(8)),
            infra_id: format!("{}-{}", stem.trim_end_matches('-'), dice.letters(5)),
            location,
            version,
            wanted: format!("4.{minor}.{patch}"),
            kubernetes,
            workers: 3 + if dice.below(5) == 0 { dice.below(20) } else { dice.below(4) },
            since: if shape.is_installing() {
                created
            } else {
                self.epoch - Duration::from_mins(5 + dice.below(6000) as u64)
            },
            shape,
            base: shape,
            episode: None,
            created,
            epoch: self.epoch,
            seed: self.seed,
            rolled: 100,
            installed: None,
            writes: self.writes.clone(),
            name,
        })
    }

    /// The cluster behind a private address.
    pub fn at(&self, ip: Ipv4Addr) -> Option<Cluster> {
        let [ten, x, y, z] = ip.octets();
        if ten != 10 || x < 64 || z == 0 || z == 255 {
            return None;
        }
        let index = ((usize::from(x) - 64) * 256 + usize::from(y)) * 254 + usize::from(z) - 1;
        self.cluster(index).filter(|cluster| cluster.private_ip() == Some(ip))
    }
}

impl Cluster {
    /// One whose installation begins; the rest of it is a function of its name.
    pub fn fresh(about: &NewCluster) -> Self {
        let number = dice::hash(&about.key);
        let minor = about.version.split('.').nth(1).and_then(|minor| minor.parse::<u32>().ok()).unwrap_or(0);
        let under = VERSIONS.iter().rev().find(|(known, ..)| *known <= minor).unwrap_or(&VERSIONS[0]);
        Self {
            // Beyond those that always are there.
            index: MOST_CLUSTERS + usize::try_from(number % 1_000_000).unwrap_or(0),
            name: about.name.clone(),
            subscription: about.subscription.clone(),
            resource_group: about.resource_group.clone(),
            location: about.location.clone(),
            version: about.version.clone(),
            wanted: about.version.clone(),
            kubernetes: under.2,
            domain: about.domain.clone(),
            infra_id: about.infra_id.clone(),
            workers: about.workers,
            shape: ClusterShape::Refusing,
            base: ClusterShape::Refusing,
            episode: None,
            created: about.began,
            since: about.began,
            epoch: about.began + Duration::from_secs(30),
            seed: number,
            rolled: 0,
            installed: None,
            writes: FleetWrites::default(),
        }
    }

    /// The private endpoint's address; `None` while there is no endpoint yet.
    pub fn private_ip(&self) -> Option<Ipv4Addr> {
        if let Some(installed) = &self.installed {
            return Some(installed.about.private_ip);
        }
        if self.shape == ClusterShape::Bootstrapping {
            return None;
        }
        let octet = |number: usize| u8::try_from(number).ok();
        let (high, low) = (self.index / 254, self.index % 254);
        Some(Ipv4Addr::new(10, octet(64 + high / 256)?, octet(high % 256)?, octet(low + 1)?))
    }

    /// What clients wrote into it, if anything.
    pub fn written(&self) -> Option<Arc<WrittenObjects>> {
        self.installed
            .as_ref()
            .map_or_else(|| self.writes.find(self.index), |installed| Some(Arc::clone(&installed.kept)))
    }

    /// The same, made when there is nothing yet.
    pub fn open_written(&self) -> Arc<WrittenObjects> {
        self.installed
            .as_ref()
            .map_or_else(|| self.writes.open(self.index), |installed| Arc::clone(&installed.kept))
    }

    /// Its resource version: milliseconds since 1970, or the version of the last write where that is newer.
    pub fn version(&self, now: Timestamp) -> u64 {
        self.written().map_or_else(|| now.millis().unsigned_abs(), |written| written.version(now))
    }

    /// Dice for one part of the cluster: the same part always rolls the same.
    pub fn dice(&self, part: &str) -> Dice {
        Dice::new(self.seed ^ self.index as u64, dice::hash(part))
    }
}
