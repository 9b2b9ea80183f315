//! What Azure knows of a simulated cluster: its machines, and whose its security groups are.

use rp_base::Timestamp;

use super::fleet::Cluster;
use super::objects::{View, nodes};

/// A virtual machine of a cluster, which is a node there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machine {
    pub name: String,
    pub master: bool,
    pub zone: usize,
    pub running: bool,
}

/// The machines of a cluster at an instant, masters first.
pub fn machines(cluster: &Cluster, now: Timestamp) -> Vec<Machine> {
    let machine = |node: nodes::Node| Machine {
        name: node.name,
        master: node.master,
        zone: node.zone,
        running: node.ready,
    };
    nodes::nodes(&View { cluster, now }).into_iter().map(machine).collect()
}

impl Cluster {
    /// Whether its owner brought network security groups along (`preconfiguredNSG`).
    pub fn has_own_security_group(&self) -> bool {
        self.dice("security group").below(5) == 0
    }

    /// Whether one of them denies what the cluster needs.
    pub fn has_denying_rule(&self) -> bool {
        self.has_own_security_group() && self.dice("denying rule").below(4) == 0
    }
}
