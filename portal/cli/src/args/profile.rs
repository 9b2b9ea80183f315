//! `aro profile …`

use clap::{Args, Subcommand};

use super::Connection;

/// `aro profile …`
#[derive(Debug, Args)]
pub struct ProfileArgs {
    #[command(subcommand)]
    pub verb: ProfileVerb,
}

#[derive(Debug, Subcommand)]
pub enum ProfileVerb {
    /// List the sign-ins of this machine, and which one is used
    List {
        #[command(flatten)]
        connection: Connection,
    },
    /// Use a sign-in wherever --profile and `ARO_PROFILE` name none
    Use {
        /// The name given by aro login --profile
        #[arg(add = crate::completer::profiles())]
        name: String,
        #[command(flatten)]
        connection: Connection,
    },
}

impl ProfileVerb {
    pub(crate) const fn connection(&self) -> &Connection {
        match self {
            Self::List { connection } | Self::Use { connection, .. } => connection,
        }
    }
}
