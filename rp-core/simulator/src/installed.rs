//! Clusters that are installed while the region runs, from the API server's first response to the last operator.
//!
//! The state of such a cluster is a function of the time since its installation began, as with all others; what clients
//! write into it is kept in memory.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rp_base::{Secret, Timestamp};

use super::fleet::{Cluster, ClusterShape};
use super::objects::OPERATORS;
use super::written::WrittenObjects;

/// Its operators roll out in so many parts.
const PARTS: u8 = 100;

/// A certificate and its key, as PEM.
#[derive(Debug, Clone)]
pub struct CertificatePair {
    pub certificate: String,
    pub key: Secret<String>,
}

/// What is to be installed.
#[derive(Debug, Clone)]
pub struct NewCluster {
    /// Lower-cased resource id: its name among all.
    pub key: String,
    pub name: String,
    pub subscription: String,
    pub resource_group: String,
    pub location: String,
    /// `x.y.z`.
    pub version: String,
    /// Full DNS domain: its API is `api.<domain>`.
    pub domain: String,
    pub infra_id: String,
    pub workers: usize,
    /// Who it is towards Azure; empty: workload identities.
    pub client_id: String,
    /// Resource ids of the subnets of its masters and workers, as the customer named them.
    pub subnets: [String; 2],
    /// Of its private endpoint, in 10.0.0.0/8.
    pub private_ip: Ipv4Addr,
    /// PEM of the authority whose client certificates it accepts.
    pub client_authority: String,
    /// What its API server shows.
    pub server: CertificatePair,
    pub began: Timestamp,
    pub rollout: Rollout,
}

/// The timeline of an installation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rollout {
    /// Until the API server answers.
    pub api: Duration,
    /// From then until every operator is available.
    pub operators: Duration,
    pub fault: Option<InstallFault>,
}

/// How an installation fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InstallFault {
    /// It stops at this operator, which stays degraded, and reports it at the end.
    Operator(String),
    /// The API server never answers, and the installation never ends.
    NoApi,
}

/// The status of an installation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InstallStatus {
    /// No installation has that name.
    Unknown,
    /// The current step, as text for users.
    Running(String),
    Complete,
    Failed {
        reason: String,
        message: String,
    },
}

/// A cluster that was installed.
#[derive(Debug)]
pub struct InstalledCluster {
    pub about: NewCluster,
    pub kept: Arc<WrittenObjects>,
    gone: AtomicBool,
    /// As fresh as on its first day; what varies over time is filled in by [`InstalledCluster::at`].
    template: Cluster,
}

impl InstalledCluster {
    /// One whose installation began as it says.
    pub fn new(about: NewCluster) -> Self {
        Self { template: Cluster::fresh(&about), kept: Arc::default(), gone: AtomicBool::new(false), about }
    }

    /// It is removed: views of it that are still open show a cluster that is silent.
    pub fn remove(&self) {
        self.gone.store(true, Ordering::Relaxed);
    }

    /// The instant when its last operator is available.
    pub fn completed_at(&self) -> Timestamp {
        let Rollout { api, operators, .. } = self.about.rollout;
        self.about.began + api + operators
    }

    /// How much of the roll-out is over, in parts; `None`: the API server does not answer yet.
    fn part(&self, now: Timestamp) -> Option<u8> {
        let Rollout { api, operators, fault } = &self.about.rollout;
        let since = now.since(self.about.began).checked_sub(*api)?;
        if *fault == Some(InstallFault::NoApi) {
            return None;
        }
        let share = since.as_millis().saturating_mul(PARTS.into()) / operators.as_millis().max(1);
        Some(u8::try_from(share).unwrap_or(PARTS).min(PARTS))
    }

    /// The cluster at an instant.
    pub fn at(this: &Arc<Self>, now: Timestamp) -> Cluster {
        let part = this.part(now);
        let (shape, part) = match part {
            _ if this.gone.load(Ordering::Relaxed) => (ClusterShape::Silent, part.unwrap_or(0)),
            None => (ClusterShape::Refusing, 0),
            Some(part) if part < PARTS || this.about.rollout.fault.is_some() => {
                (ClusterShape::Finishing, part)
            }
            Some(part) => (ClusterShape::Healthy, part),
        };
        let rollout = &this.about.rollout;
        let since =
            this.about.began + rollout.api + rollout.operators.mul_f64(f64::from(part) / f64::from(PARTS));
        Cluster {
            shape,
            base: shape,
            since,
            rolled: part,
            installed: Some(Arc::clone(this)),
            ..this.template.clone()
        }
    }

    /// The operator at which it stops.
    fn stuck(&self) -> Option<&str> {
        match &self.about.rollout.fault {
            Some(InstallFault::Operator(name)) => Some(name),
            _ => None,
        }
    }

    /// Where its installation is.
    pub fn state(&self, now: Timestamp) -> InstallStatus {
        let Some(part) = self.part(now) else {
            return InstallStatus::Running("the API server does not answer yet".to_owned());
        };
        let all = OPERATORS.len();
        let ready = ready(part, self.stuck());
        match self.stuck() {
            Some(operator) if part >= PARTS => InstallStatus::Failed {
                reason: "OperatorNotAvailable".to_owned(),
                message: format!(
                    "{ready} of {all} cluster operators are available; {operator} is not: {}",
                    STUCK_MESSAGE
                ),
            },
            None if part >= PARTS => InstallStatus::Complete,
            _ => InstallStatus::Running(format!("{ready} of {all} cluster operators are available")),
        }
    }
}

/// The message of an operator that never becomes available.
const STUCK_MESSAGE: &str = "its deployment has no ready replica: the image cannot be pulled";

/// Operators that are available, of those in order of name.
fn ready(part: u8, stuck: Option<&str>) -> usize {
    let mut names = OPERATORS;
    names.sort_unstable();
    let ready = names.len() * usize::from(part) / usize::from(PARTS);
    let at = stuck.and_then(|stuck| names.iter().position(|name| *name == stuck));
    at.map_or(ready, |at| ready.min(at))
}

impl Cluster {
    /// Operators that are available of a cluster that was installed here; `None`: it always was there.
    pub fn operators_ready(&self) -> Option<usize> {
        let installed = self.installed.as_ref()?;
        Some(ready(self.rolled, installed.stuck()))
    }

    /// The operator that never becomes available, with its message.
    pub fn stuck_operator(&self) -> Option<(&str, &'static str)> {
        self.installed.as_ref()?.stuck().map(|name| (name, STUCK_MESSAGE))
    }

    /// The same at another instant; `None`: it is one of those that always were there.
    pub fn reinstalled(&self, now: Timestamp) -> Option<Self> {
        self.installed.as_ref().map(|installed| InstalledCluster::at(installed, now))
    }
}
