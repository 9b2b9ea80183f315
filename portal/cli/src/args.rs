//! What may stand on the command line.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use url::Url;

/// Verbs for people. Flatten it into the binary's own subcommands.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Find clusters; put clusters of your own under the portal
    Clusters(ClustersArgs),
    /// Take a kubeconfig for a cluster
    Kubeconfig(KubeconfigArgs),
    /// See and end what was given out
    Grants(GrantsArgs),
    /// Who did what
    Audit(AuditArgs),
    /// Who the portal takes you for
    Whoami(WhoamiArgs),
}

impl Verb {
    pub(crate) const fn format(&self) -> Format {
        match self {
            Self::Clusters(args) => args.verb.connection().output,
            Self::Kubeconfig(args) => args.connection.output,
            Self::Grants(args) => match &args.verb {
                GrantsVerb::List { connection, .. } | GrantsVerb::Revoke { connection, .. } => {
                    connection.output
                }
            },
            Self::Audit(args) => match &args.verb {
                AuditVerb::List { connection, .. } => connection.output,
            },
            Self::Whoami(args) => args.connection.output,
        }
    }
}

/// How an answer is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    Table,
    Json,
    Yaml,
}

/// Where the portal is and who asks.
#[derive(Debug, Clone, Args)]
pub struct Connection {
    /// The portal's address, e.g. <https://portal.example>
    #[arg(long, env = "ARO_PORTAL", value_name = "URL", help_heading = "Connection")]
    pub portal: Url,
    /// File with a token
    #[arg(long, env = "ARO_TOKEN_FILE", value_name = "FILE", help_heading = "Connection")]
    pub token_file: Option<PathBuf>,
    /// File with a session's cookie, as `aro-dev session` prints it; taken before a token
    #[arg(long, value_name = "FILE", help_heading = "Connection")]
    pub session_cookie_file: Option<PathBuf>,
    /// PEM file with authorities to trust beside the system's
    #[arg(long, env = "ARO_CA_FILE", value_name = "FILE", help_heading = "Connection")]
    pub ca_file: Option<PathBuf>,
    /// How to write the answer
    #[arg(short, long, value_enum, default_value_t = Format::Table, help_heading = "Connection")]
    pub output: Format,
}

/// `aro clusters …`
#[derive(Debug, Args)]
pub struct ClustersArgs {
    #[command(subcommand)]
    pub verb: ClustersVerb,
}

#[derive(Debug, Subcommand)]
pub enum ClustersVerb {
    /// List clusters, all or those that a search finds
    List {
        /// Words in the name, resource group, subscription or version
        search: Option<String>,
        /// Rows at most
        #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..=100_000))]
        limit: u32,
        #[command(flatten)]
        connection: Connection,
    },
    /// Put a cluster of your own under the portal; needs the role admin
    Import {
        /// Its kubeconfig, with all certificates and keys inside; `-` reads standard input
        #[arg(long, value_name = "FILE")]
        kubeconfig: PathBuf,
        /// The name it gets here
        #[arg(long)]
        name: String,
        /// The kubeconfig's context; without it the current one
        #[arg(long)]
        context: Option<String>,
        /// Groups to impersonate for a person with more than read rights
        #[arg(long, value_delimiter = ',', value_name = "GROUP,…")]
        as_groups: Vec<String>,
        #[command(flatten)]
        connection: Connection,
    },
    /// Take an imported cluster away from the portal
    Remove {
        name: String,
        #[command(flatten)]
        connection: Connection,
    },
    /// List imported clusters
    Imported {
        #[command(flatten)]
        connection: Connection,
    },
}

impl ClustersVerb {
    const fn connection(&self) -> &Connection {
        match self {
            Self::List { connection, .. }
            | Self::Import { connection, .. }
            | Self::Remove { connection, .. }
            | Self::Imported { connection } => connection,
        }
    }
}

/// `aro kubeconfig CLUSTER`
#[derive(Debug, Args)]
pub struct KubeconfigArgs {
    /// A cluster's name or resource id
    pub cluster: String,
    /// Why you need it; stands in the audit
    #[arg(long)]
    pub reason: String,
    /// How much it opens
    #[arg(long, default_value = "read", value_parser = ["read", "write", "admin"])]
    pub rights: String,
    /// How long it lives, e.g. 30m, 8h; without it the portal's default
    #[arg(long, value_parser = seconds)]
    pub life: Option<u64>,
    /// Write it to this file (mode 0600, replaced as a whole) instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub file: Option<PathBuf>,
    #[command(flatten)]
    pub connection: Connection,
}

/// `aro grants …`
#[derive(Debug, Args)]
pub struct GrantsArgs {
    #[command(subcommand)]
    pub verb: GrantsVerb,
}

#[derive(Debug, Subcommand)]
pub enum GrantsVerb {
    /// List grants
    List {
        #[command(flatten)]
        connection: Connection,
    },
    /// End a grant now
    Revoke {
        id: String,
        /// Why; stands in the audit
        #[arg(long)]
        why: Option<String>,
        #[command(flatten)]
        connection: Connection,
    },
}

/// `aro audit …`
#[derive(Debug, Args)]
pub struct AuditArgs {
    #[command(subcommand)]
    pub verb: AuditVerb,
}

#[derive(Debug, Subcommand)]
pub enum AuditVerb {
    /// List entries, newest first
    List {
        /// Only of this person
        #[arg(long)]
        person: Option<String>,
        /// Only on this cluster: its resource id
        #[arg(long)]
        target: Option<String>,
        /// Only this verb, e.g. get, exec, sign-in
        #[arg(long)]
        verb: Option<String>,
        /// Only entries with this text
        #[arg(long)]
        text: Option<String>,
        /// Rows at most
        #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=100_000))]
        limit: u32,
        #[command(flatten)]
        connection: Connection,
    },
}

/// `aro whoami`
#[derive(Debug, Args)]
pub struct WhoamiArgs {
    #[command(flatten)]
    pub connection: Connection,
}

/// Seconds of `90s`, `30m`, `8h`, `2d` or a bare number of seconds.
pub(crate) fn seconds(text: &str) -> Result<u64, String> {
    let wrong = || "give a number with s, m, h or d, such as 30m or 8h".to_owned();
    let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let number: u64 = number.parse().map_err(|_| wrong())?;
    let factor = match unit {
        "" | "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 86_400,
        _ => return Err(wrong()),
    };
    number.checked_mul(factor).filter(|total| *total > 0).ok_or_else(wrong)
}
