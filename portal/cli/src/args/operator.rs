//! `aro operator …`

use clap::{Args, Subcommand};

use super::{Connection, seconds};

/// `aro operator …`
#[derive(Debug, Args)]
pub struct OperatorArgs {
    #[command(subcommand)]
    pub verb: OperatorVerb,
}

#[derive(Debug, Subcommand)]
pub enum OperatorVerb {
    /// What the ARO operator of a cluster reports: its conditions, what is wrong first, and what to do
    Status {
        /// Name or resource id of the cluster
        #[arg(add = crate::completer::clusters())]
        cluster: String,
        #[command(flatten)]
        connection: Connection,
    },
    /// The flags of the ARO operator of a cluster: what is set, where, and what holds
    Flags {
        /// Name or resource id of the cluster
        #[arg(add = crate::completer::clusters())]
        cluster: String,
        /// Only those that differ from the default, are not written yet, or are wrong
        #[arg(long)]
        changed: bool,
        #[command(flatten)]
        connection: Connection,
    },
    /// Set flags of the ARO operator of a cluster; needs an elevation to write rights
    Set(SetFlagsArgs),
}

#[derive(Debug, Args)]
pub struct SetFlagsArgs {
    /// Name or resource id of the cluster
    #[arg(add = crate::completer::clusters())]
    pub cluster: String,
    /// Flags and their values, e.g. aro.banner.enabled=true
    #[arg(value_name = "FLAG=VALUE", value_parser = assignment, required_unless_present = "default")]
    pub flags: Vec<(String, String)>,
    /// Take this flag back to its default; may be repeated
    #[arg(long, value_name = "FLAG")]
    pub default: Vec<String>,
    /// Why, for the record
    #[arg(long)]
    pub reason: String,
    /// Wait until the flags are written to the cluster; exit code 0 when they are, 1 when they are not
    #[arg(long)]
    pub wait: bool,
    /// How long to wait for it at most, e.g. 30m, 8h
    #[arg(long, value_parser = seconds, default_value = "2h", value_name = "LENGTH")]
    pub wait_limit: u64,
    #[command(flatten)]
    pub connection: Connection,
}

impl OperatorVerb {
    pub(crate) const fn connection(&self) -> &Connection {
        match self {
            Self::Set(args) => &args.connection,
            Self::Status { connection, .. } | Self::Flags { connection, .. } => connection,
        }
    }
}

/// Name and value of `FLAG=VALUE`; the value may be empty and may have further equals signs.
fn assignment(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => {
            Err("give FLAG=VALUE, such as aro.banner.enabled=true; --default FLAG takes a flag back"
                .to_owned())
        }
    }
}
