//! `aro elevate`, `aro elevations …`

use clap::{Args, Subcommand};

use super::{Connection, seconds};

/// `aro elevate`
#[derive(Debug, Args)]
pub struct ElevateArgs {
    /// The one cluster it is for: its name or resource id; without it every cluster
    #[arg(long, add = crate::completer::clusters())]
    pub cluster: Option<String>,
    /// Why you need it; stands in the audit and is read by the approver
    #[arg(long)]
    pub reason: String,
    /// The ticket it belongs to
    #[arg(long)]
    pub ticket: Option<String>,
    /// How long it lives once it is in force, e.g. 30m, 2h; without it the portal's default
    #[arg(long, value_parser = seconds)]
    pub life: Option<u64>,
    /// How much it allows
    #[arg(long, default_value = "write", value_parser = ["write", "admin"])]
    pub rights: String,
    /// At once, without an approver: alarms, and is reviewed afterwards
    #[arg(long)]
    pub break_glass: bool,
    /// Wait until somebody decides
    #[arg(long)]
    pub wait: bool,
    #[command(flatten)]
    pub connection: Connection,
}

/// `aro elevations …`
#[derive(Debug, Args)]
pub struct ElevationsArgs {
    #[command(subcommand)]
    pub verb: ElevationVerb,
}

#[derive(Debug, Subcommand)]
pub enum ElevationVerb {
    /// List elevations: yours, or those waiting for your decision
    List {
        /// Everybody's
        #[arg(long, conflicts_with_all = ["waiting", "unreviewed"])]
        all: bool,
        /// Everybody's that wait for a decision
        #[arg(long, conflicts_with_all = ["active", "unreviewed"])]
        waiting: bool,
        /// Only those that are in force: yours, with --all everybody's
        #[arg(long, conflicts_with = "unreviewed")]
        active: bool,
        /// Everybody's that broke the glass and were not reviewed
        #[arg(long)]
        unreviewed: bool,
        #[command(flatten)]
        connection: Connection,
    },
    /// All of one elevation
    Show {
        /// The elevation's id, as aro elevations list shows it
        #[arg(add = crate::completer::elevations())]
        id: String,
        #[command(flatten)]
        connection: Connection,
    },
    /// Let somebody have it
    Approve {
        /// The elevation's id, as aro elevations list shows it
        #[arg(add = crate::completer::elevations())]
        id: String,
        /// A word to the person; stands in the audit
        #[arg(long)]
        why: Option<String>,
        #[command(flatten)]
        connection: Connection,
    },
    /// Do not let somebody have it
    Refuse {
        /// The elevation's id, as aro elevations list shows it
        #[arg(add = crate::completer::elevations())]
        id: String,
        /// A word to the person; stands in the audit
        #[arg(long)]
        why: Option<String>,
        #[command(flatten)]
        connection: Connection,
    },
    /// End an elevation, or take a request back
    End {
        /// The elevation's id, as aro elevations list shows it
        #[arg(add = crate::completer::elevations())]
        id: String,
        /// Why; stands in the audit
        #[arg(long)]
        why: Option<String>,
        #[command(flatten)]
        connection: Connection,
    },
    /// Say what you found when you looked at what was done with it
    Review {
        /// The elevation's id, as aro elevations list shows it
        #[arg(add = crate::completer::elevations())]
        id: String,
        /// What you found
        #[arg(long)]
        note: String,
        /// The use was not right
        #[arg(long)]
        not_fine: bool,
        #[command(flatten)]
        connection: Connection,
    },
}

impl ElevationVerb {
    pub(crate) const fn connection(&self) -> &Connection {
        match self {
            Self::List { connection, .. }
            | Self::Show { connection, .. }
            | Self::Approve { connection, .. }
            | Self::Refuse { connection, .. }
            | Self::End { connection, .. }
            | Self::Review { connection, .. } => connection,
        }
    }
}
