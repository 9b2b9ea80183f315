//! What is put on the machines of a cluster (`contract/installer.md` §7 and §8, `contract/operator.md` §8.11 and §8.12):
//! Ignition configs, name resolution of the node, the MTU, registries. Pure: text in, text out.
//!
//! The installer and the operator write the same files. A difference of one byte is another MachineConfig, and another
//! MachineConfig restarts every machine of a pool: `tests/golden.rs` holds the bytes.
//!
//! Entry rule: a file or a unit of a machine that both the installer and the operator write.

pub mod dnsmasq;
pub mod etc_hosts;
pub mod ignition;
pub mod machine_config;
pub mod mtu;
pub mod names;
mod node_files;
pub mod registries;

pub use node_files::NodeFiles;
