//! `aro notifications …`

use clap::{Args, Subcommand};

use super::Connection;

/// `aro notifications …`
#[derive(Debug, Args)]
pub struct NotificationsArgs {
    #[command(subcommand)]
    pub verb: NotificationsVerb,
}

#[derive(Debug, Subcommand)]
pub enum NotificationsVerb {
    /// Who outside is told, and how each receiver is; needs the role admin
    List {
        /// What was sent to this destination, in place of the list of destinations
        destination: Option<String>,
        /// Notifications that wait, and that are over, at most
        #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=100))]
        limit: u32,
        #[command(flatten)]
        connection: Connection,
    },
    /// Send a test to a destination; needs the role admin
    Test {
        /// The destination's name in the settings
        destination: String,
        #[command(flatten)]
        connection: Connection,
    },
}

impl NotificationsVerb {
    pub(crate) const fn connection(&self) -> &Connection {
        match self {
            Self::List { connection, .. } | Self::Test { connection, .. } => connection,
        }
    }
}
