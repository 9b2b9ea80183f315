//! Changes of the Ignition configs that `create ignition-configs` made (`contract/installer.md` §7). Applied twice they give
//! the same.

mod bootstrap;
mod logging;
mod pointer;

pub use bootstrap::{BootstrapAdditions, bootstrap};
pub use logging::BootstrapLogging;
pub use pointer::pointer;

use std::net::Ipv4Addr;

use rp_node_config::ignition::{Config, IgnitionError};

use crate::authority::AuthorityError;

/// Why an Ignition config of the installer cannot be changed.
#[derive(Debug, thiserror::Error)]
pub enum TransformError {
    #[error(transparent)]
    Ignition(#[from] IgnitionError),
    #[error(transparent)]
    Authority(#[from] AuthorityError),
    #[error("the bootstrap config has no file {path}")]
    Missing { path: &'static str },
    #[error("{path} of the bootstrap config has another form than the installer's")]
    Form { path: String },
    #[error("the Ignition config of {role} names no place where the rest of it is")]
    NoPointer { role: &'static str },
}

/// What a master's machine is given: the installer's pointer config of masters, with the address in the place of the name.
///
/// # Errors
/// It is no pointer config.
pub fn master_pointer(ignition: &[u8], address: Ipv4Addr) -> Result<Vec<u8>, TransformError> {
    Ok(pointer(Config::parse(ignition)?, "master", address)?.to_bytes())
}
