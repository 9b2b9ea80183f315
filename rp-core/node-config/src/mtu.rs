//! The MTU of 3900 bytes (`contract/installer.md` §7 step 1).

use crate::NodeFiles;
use crate::ignition::File;

const SCRIPT: &str = include_str!("mtu/30-eth0-mtu-3900");

/// The name of the MachineConfig of a role.
pub fn machine_config_name(role: &str) -> String {
    format!("99-{role}-mtu")
}

/// The file by which NetworkManager sets the MTU when the interface goes up.
pub fn node_files() -> NodeFiles {
    let path = "/etc/NetworkManager/dispatcher.d/30-eth0-mtu-3900";
    NodeFiles { files: vec![File::text(path, 0o555, SCRIPT)], units: Vec::new() }
}
