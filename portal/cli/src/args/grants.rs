//! `aro grants …`

use clap::{Args, Subcommand};

use super::{Connection, seconds};

/// `aro grants …`
#[derive(Debug, Args)]
pub struct GrantsArgs {
    #[command(subcommand)]
    pub verb: GrantsVerb,
}

#[derive(Debug, Subcommand)]
pub enum GrantsVerb {
    /// List grants: yours, or those of others for who may see them
    List {
        /// Everybody's
        #[arg(long)]
        all: bool,
        /// Only on this cluster: its name or resource id
        #[arg(long, add = crate::completer::clusters())]
        cluster: Option<String>,
        /// Only of this person
        #[arg(long, value_name = "SUBJECT")]
        owner: Option<String>,
        /// Only in this state; `ended` is everything that opens nothing any more
        #[arg(long, value_parser = ["active", "ended", "expired", "revoked"])]
        state: Option<String>,
        /// Only of this kind
        #[arg(long, value_parser = KINDS)]
        kind: Option<String>,
        /// Only with this text
        #[arg(long)]
        text: Option<String>,
        /// Rows at most
        #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..=100_000))]
        limit: u32,
        #[command(flatten)]
        connection: Connection,
    },
    /// All of one grant, with its open streams
    Show {
        /// The grant's id, as aro grants list shows it
        #[arg(add = crate::completer::grants())]
        id: String,
        #[command(flatten)]
        connection: Connection,
    },
    /// Let a grant of yours live longer
    Extend {
        /// The grant's id, as aro grants list shows it
        #[arg(add = crate::completer::grants())]
        id: String,
        /// How long from now, e.g. 30m, 8h
        #[arg(long, value_parser = seconds)]
        life: u64,
        #[command(flatten)]
        connection: Connection,
    },
    /// End grants now, and every stream they hold open
    Revoke(RevokeArgs),
}

/// Kinds of grants.
pub(crate) const KINDS: [&str; 8] =
    ["kubeconfig", "cli", "ssh", "terminal", "metrics", "tunnel", "page", "robot"];

#[derive(Debug, Args)]
pub struct RevokeArgs {
    /// Grants by their ids
    #[arg(required_unless_present_any = ["person", "cluster", "everything"], num_args = 1..=100, add = crate::completer::grants())]
    pub ids: Vec<String>,
    /// All of a person; `me` is you
    #[arg(long, value_name = "SUBJECT", conflicts_with_all = ["ids", "cluster", "everything"])]
    pub person: Option<String>,
    /// All on a cluster: its name or resource id
    #[arg(long, conflicts_with_all = ["ids", "everything"], add = crate::completer::clusters())]
    pub cluster: Option<String>,
    /// All of everybody
    #[arg(long, conflicts_with = "ids")]
    pub everything: bool,
    /// Why; stands in the audit
    #[arg(long)]
    pub why: Option<String>,
    /// Do not ask back
    #[arg(short, long)]
    pub yes: bool,
    #[command(flatten)]
    pub connection: Connection,
}

impl GrantsVerb {
    pub(crate) const fn connection(&self) -> &Connection {
        match self {
            Self::List { connection, .. }
            | Self::Show { connection, .. }
            | Self::Extend { connection, .. } => connection,
            Self::Revoke(args) => &args.connection,
        }
    }
}
