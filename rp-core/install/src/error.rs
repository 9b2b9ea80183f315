//! What is wrong with the inputs of an installation.

use rp_node_config::ignition::IgnitionError;
use rp_node_config::names::NameError;
use rp_node_config::registries::RepositoryError;
use rp_openshift::pull_secret::PullSecretError;

use crate::ssh_key::SshKeyError;
use crate::zones::ZoneError;

/// Why the installer cannot be given its inputs. No text holds a secret.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    #[error("{field} is missing")]
    Missing { field: &'static str },
    #[error("{field} is not {expected}")]
    Malformed { field: &'static str, expected: &'static str },
    #[error("{field}: {error}")]
    Name { field: &'static str, error: NameError },
    #[error("the version {version} has no data of an operating system image: `osImage` of its document")]
    NoImage { version: String },
    #[error("the virtual machine size {size} has no image of generation {generation} for it")]
    Generation { size: String, generation: &'static str },
    #[error(transparent)]
    Zones(#[from] ZoneError),
    #[error(transparent)]
    SshKey(#[from] SshKeyError),
    #[error(transparent)]
    PullSecret(#[from] PullSecretError),
    #[error("a repository of images: {0}")]
    Repository(#[from] RepositoryError),
    #[error(transparent)]
    Ignition(#[from] IgnitionError),
}
