//! Why a machine was not reached.

use rp_documents::Side;
use rp_net::DialError;
use russh::ChannelOpenFailure;

use crate::ssh::host_keys::HostKeyError;
use crate::ssh::keys::KeysError;
use crate::ssh::machines::MachinesError;

/// Why a machine was not reached. The text is for people.
#[derive(Debug, thiserror::Error)]
pub enum LegError {
    #[error("the machines of this cluster cannot be signed in to: no key of theirs is known")]
    NoKey,
    #[error("the stored key of the cluster's machines cannot be used")]
    BadKey(#[source] KeysError),
    #[error("{0}")]
    Machines(#[source] MachinesError),
    #[error("no control plane machine is ready to pass the connection on")]
    NoMaster,
    #[error("{0}")]
    HostKey(#[source] HostKeyError),
    #[error("{0}")]
    Dial(#[source] DialError),
    #[error("the machine does not accept the cluster's key")]
    KeyRefused,
    #[error("the machine did not answer in time")]
    Slow,
    #[error("the connection to the machine broke off")]
    Broken(#[source] russh::Error),
    #[error("the machine refused to open the channel")]
    ChannelRefused(ChannelOpenFailure),
    #[error("too many channels to this machine are open with this access; close some")]
    Full,
    #[error("the access ended: {}", .0.sentence())]
    Ended(rp_access::EndReason),
}

impl LegError {
    /// Whose fault it is.
    pub fn side(&self) -> Side {
        match self {
            Self::BadKey(_) => Side::Us,
            Self::Dial(error) => error.side,
            Self::Machines(error) => error.side(),
            Self::Ended(_) | Self::Full => Side::You,
            Self::NoKey
            | Self::NoMaster
            | Self::HostKey(_)
            | Self::KeyRefused
            | Self::Slow
            | Self::Broken(_)
            | Self::ChannelRefused(_) => Side::Cluster,
        }
    }

    pub(super) fn from_russh(error: russh::Error) -> Self {
        match error {
            russh::Error::ChannelOpenFailure(why) => Self::ChannelRefused(why),
            russh::Error::ConnectionTimeout | russh::Error::KeepaliveTimeout => Self::Slow,
            other => Self::Broken(other),
        }
    }
}
