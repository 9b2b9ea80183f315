//! The states of simulated clusters.

use rp_documents::ProvisioningState as State;

use super::{Cluster, Dice, Episode};

/// The state or fault of a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClusterShape {
    Healthy,
    /// One to three cluster operators are degraded.
    Degraded,
    /// One or two nodes are not ready.
    NodeDown,
    Upgrading,
    /// The ingress certificate ends within days.
    CertificateEnding,
    /// Valid texts that break careless pages: markup, right-to-left marks, very long texts.
    Hostile,
    /// Creating, phase `InstallPhaseBootstrap`: no API server yet.
    Bootstrapping,
    /// Creating, phase `InstallPhaseRemoveBootstrap`: some operators are still to come.
    Finishing,
    FailedCreate,
    FailedUpdate,
    /// Succeeded, but the last admin update did not.
    FailedAdminUpdate,
    Updating,
    AdminUpdating,
    Deleting,
    Maintenance,
    /// The proxy answers 504 for it.
    Refusing,
    /// The proxy never answers for it.
    Silent,
}

/// Shapes and how many of a thousand clusters have them.
const WEIGHTS: [(ClusterShape, usize); 17] = [
    (ClusterShape::Healthy, 852),
    (ClusterShape::Degraded, 26),
    (ClusterShape::NodeDown, 20),
    (ClusterShape::Upgrading, 22),
    (ClusterShape::CertificateEnding, 10),
    (ClusterShape::Hostile, 4),
    (ClusterShape::Bootstrapping, 8),
    (ClusterShape::Finishing, 5),
    (ClusterShape::FailedCreate, 8),
    (ClusterShape::FailedUpdate, 9),
    (ClusterShape::FailedAdminUpdate, 6),
    (ClusterShape::Updating, 8),
    (ClusterShape::AdminUpdating, 6),
    (ClusterShape::Deleting, 5),
    (ClusterShape::Maintenance, 4),
    (ClusterShape::Refusing, 4),
    (ClusterShape::Silent, 3),
];

impl ClusterShape {
    /// Among the first clusters every shape appears once, so that a small region shows all of them.
    pub(super) fn draw(index: usize, dice: &mut Dice) -> Self {
        let roll = dice.below(1000);
        if index < 3 * WEIGHTS.len() {
            return if index % 3 == 1 { WEIGHTS[index / 3].0 } else { Self::Healthy };
        }
        let mut left = roll;
        for (shape, weight) in WEIGHTS {
            match left.checked_sub(weight) {
                Some(rest) => left = rest,
                None => return shape,
            }
        }
        Self::Healthy
    }

    /// Whether the installation is going on.
    pub const fn is_installing(self) -> bool {
        matches!(self, Self::Bootstrapping | Self::Finishing)
    }

    /// Whether the API server can be reached.
    pub const fn answers(self) -> bool {
        !matches!(self, Self::Bootstrapping | Self::Refusing | Self::Silent)
    }

    /// `properties.provisioningState`.
    pub const fn provisioning_state(self) -> State {
        match self {
            Self::Bootstrapping | Self::Finishing => State::Creating,
            Self::FailedCreate | Self::FailedUpdate => State::Failed,
            Self::Updating => State::Updating,
            Self::AdminUpdating => State::AdminUpdating,
            Self::Deleting => State::Deleting,
            Self::Maintenance => State::Maintenance,
            Self::Healthy
            | Self::Degraded
            | Self::NodeDown
            | Self::Upgrading
            | Self::CertificateEnding
            | Self::Hostile
            | Self::FailedAdminUpdate
            | Self::Refusing
            | Self::Silent => State::Succeeded,
        }
    }
}

/// A degraded cluster operator.
#[derive(Debug, Clone)]
pub struct DegradedOperator {
    pub operator: &'static str,
    pub reason: &'static str,
    pub message: String,
}

/// Operator, reason, message; `{}` is a master's name.
const TROUBLES: [(&str, &str, &str); 8] = [
    (
        "etcd",
        "EtcdMembers_UnhealthyMembers",
        "EtcdMembersDegraded: 2 of 3 members are available, {} is unhealthy",
    ),
    (
        "authentication",
        "OAuthServerDeployment_UnavailablePod",
        "OAuthServerDeploymentDegraded: 1 of 3 requested instances are unavailable for oauth-openshift.openshift-authentication",
    ),
    (
        "ingress",
        "IngressDegraded",
        "The \"default\" ingress controller reports Degraded=True: DegradedConditions: 1 of 2 routers unavailable",
    ),
    (
        "monitoring",
        "UpdatingPrometheusFailed",
        "UpdatingPrometheus: prometheus-k8s-1 is pending: 0/6 nodes are available: 3 node(s) had volume node affinity conflict",
    ),
    (
        "image-registry",
        "StorageNotConfigured",
        "Unable to apply resources: unable to sync storage configuration: Azure: status 403: AuthorizationFailed",
    ),
    (
        "machine-config",
        "RequiredPoolsFailed",
        "Unable to apply 4.x: error during syncRequiredMachineConfigPools: pool worker has not progressed to latest configuration: node {} is reporting \"unexpected on-disk state\"",
    ),
    (
        "kube-apiserver",
        "NodeInstaller_InstallerPodFailed",
        "NodeInstallerDegraded: 1 nodes are failing on revision 41: installer-41-{} failed",
    ),
    ("dns", "DNSDegraded", "DNS default is degraded: 1 of 9 DNS pods is unavailable"),
];

/// Texts that are valid and unkind.
pub(super) const UNKIND: [&str; 5] = [
    "\"><img src=x onerror=alert(1)><script>alert('simulated')</script>",
    "' OR 1=1 -- ; DROP TABLE clusters; ${jndi:ldap://x.invalid/a} {{7*7}} %s%n",
    "\u{202e}desrever ma I\u{202c} \u{200b}\u{feff}zero-width \u{1f525}\u{fe0f} Z\u{0351}\u{036b}\u{0343}a\u{0329}l\u{0359}g\u{0347}o",
    "line one\nline two\r\nX-Injected: yes\tand\u{1b}[31m red",
    "https://user:not-a-secret@host.invalid/?q=<b>&next=javascript:alert(1)",
];

impl Cluster {
    /// The cluster operators that are degraded.
    pub fn troubles(&self) -> Vec<DegradedOperator> {
        self.troubles_in(self.shape, self.lasting())
    }

    /// Whether the healed transient fault was this operator's.
    pub fn was_troubled(&self, operator: &str) -> bool {
        let healed = self.episode.filter(|episode| episode.healed.is_some());
        healed.is_some_and(|episode| {
            self.troubles_in(ClusterShape::Degraded, Some(episode))
                .iter()
                .any(|trouble| trouble.operator == operator)
        })
    }

    fn troubles_in(&self, shape: ClusterShape, episode: Option<Episode>) -> Vec<DegradedOperator> {
        let mut dice = self.troubled_dice("troubles", episode);
        let count = match shape {
            ClusterShape::Degraded => 1 + dice.below(3),
            ClusterShape::Hostile => 2,
            ClusterShape::NodeDown | ClusterShape::FailedUpdate => 1,
            _ => 0,
        };
        let first = dice.below(TROUBLES.len());
        (0..count)
            .map(|n| {
                let (operator, reason, message) = TROUBLES[(first + n) % TROUBLES.len()];
                let node = format!("{}-master-{}", self.infra_id, dice.below(3));
                let message = match (shape, n) {
                    (ClusterShape::Hostile, 0) => UNKIND.join(" "),
                    // Real operators sometimes quote complete manifests.
                    (ClusterShape::Hostile, _) => {
                        format!("{} {}", UNKIND[0], "every word of a very long message ".repeat(2000))
                    }
                    _ => message.replace("{}", &node),
                };
                DegradedOperator { operator, reason, message }
            })
            .collect()
    }

    /// Random numbers that differ for each transient fault.
    fn troubled_dice(&self, part: &str, episode: Option<Episode>) -> Dice {
        match episode {
            Some(episode) => self.dice(&format!("{part}/{}", episode.number)),
            None => self.dice(part),
        }
    }

    /// How many nodes are not ready: the last master, or workers.
    pub fn nodes_down(&self) -> usize {
        match self.shape {
            ClusterShape::NodeDown => 1 + self.troubled_dice("down", self.lasting()).below(2),
            ClusterShape::FailedUpdate => 1,
            _ => 0,
        }
    }
}
