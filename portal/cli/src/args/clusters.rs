//! `aro clusters …`

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::Connection;

/// Rows that a list without `--limit` has at most.
const ROWS: u32 = 500;

/// States that the portal knows (`portal-model`, `index::filter`); a story asks it for each.
const STATES: [&str; 13] = [
    "healthy",
    "succeeded",
    "degraded",
    "failed",
    "noanswer",
    "creating",
    "updating",
    "adminupdating",
    "deleting",
    "canceled",
    "maintenance",
    "imported",
    "unknown",
];

/// `aro clusters …`; bare it lists them.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct ClustersArgs {
    #[command(subcommand)]
    pub verb: Option<ClustersVerb>,
    #[command(flatten)]
    pub filter: Box<ClusterFilter>,
    #[command(flatten)]
    pub connection: Connection,
}

impl ClustersArgs {
    pub(crate) fn connection(&self) -> &Connection {
        self.verb.as_ref().map_or(&self.connection, ClustersVerb::connection)
    }

    /// What to do.
    pub(crate) fn verb(self) -> ClustersVerb {
        let Self { verb, filter, connection } = self;
        verb.unwrap_or(ClustersVerb::List { search: None, filter, connection })
    }
}

/// Which clusters, in which order: as on the portal's page.
#[derive(Debug, Args)]
pub struct ClusterFilter {
    /// States, e.g. failed,degraded,noanswer
    #[arg(long, value_delimiter = ',', value_name = "STATE,…", value_parser = STATES, ignore_case = true, help_heading = "Filters")]
    pub state: Vec<String>,
    /// Version: 4.18, <4.16 or a range such as 4.14..4.16
    #[arg(long, help_heading = "Filters")]
    pub version: Option<String>,
    /// With this operator degraded; any
    #[arg(long, value_name = "NAME", help_heading = "Filters")]
    pub operator: Option<String>,
    /// With this alert firing; any
    #[arg(long, value_name = "NAME", help_heading = "Filters")]
    pub alert: Option<String>,
    /// With a certificate that ends within so many days
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(0..=3650), help_heading = "Filters")]
    pub expires: Option<u32>,
    /// In their state for at least so long, e.g. 12h or 7d
    #[arg(long, value_name = "LENGTH", value_parser = super::length, help_heading = "Filters")]
    pub age: Option<String>,
    /// With this part of the last look failing; any
    #[arg(long, value_name = "NAME", help_heading = "Filters")]
    pub collector: Option<String>,
    /// Not looked at for so many minutes
    #[arg(long, value_name = "MINUTES", help_heading = "Filters")]
    pub unseen: Option<u32>,
    /// Of this Azure region
    #[arg(long, help_heading = "Filters")]
    pub region: Option<String>,
    /// In this phase of their installation
    #[arg(long, help_heading = "Filters")]
    pub phase: Option<String>,
    /// Where it comes from
    #[arg(long, value_parser = ["aro", "imported"], help_heading = "Filters")]
    pub source: Option<String>,
    /// A view of the portal's page
    #[arg(long, value_parser = ["not-healthy", "in-progress", "failed", "imported"], help_heading = "Filters")]
    pub view: Option<String>,
    /// Order: name, state, version, created, modified, looked, certificate, alerts, …
    #[arg(long, value_name = "COLUMN", help_heading = "Filters")]
    pub sort: Option<String>,
    /// The order turned round
    #[arg(long, help_heading = "Filters")]
    pub reverse: bool,
    /// Rows at most
    #[arg(long, default_value_t = ROWS, value_parser = clap::value_parser!(u32).range(1..=100_000), help_heading = "Filters")]
    pub limit: u32,
}

impl ClusterFilter {
    /// As the portal takes them; what is not given is empty.
    pub(crate) fn query(&self) -> Vec<(&'static str, String)> {
        let text = |value: &Option<String>| value.clone().unwrap_or_default();
        let number = |value: Option<u32>| value.map(|number| number.to_string()).unwrap_or_default();
        vec![
            ("state", self.state.join(",")),
            ("version", text(&self.version)),
            ("operator", text(&self.operator)),
            ("alert", text(&self.alert)),
            ("expires", number(self.expires)),
            ("age", text(&self.age)),
            ("collector", text(&self.collector)),
            ("unseen", number(self.unseen)),
            ("region", text(&self.region)),
            ("phase", text(&self.phase)),
            ("source", text(&self.source)),
            ("view", text(&self.view)),
            ("sort", text(&self.sort)),
            ("reverse", if self.reverse { "true".to_owned() } else { String::new() }),
        ]
    }
}

#[derive(Debug, Subcommand)]
pub enum ClustersVerb {
    /// List clusters, all or those that a search and filters find
    List {
        /// Words in the name, resource group, subscription, version, operators or alerts
        search: Option<String>,
        #[command(flatten)]
        filter: Box<ClusterFilter>,
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
        /// JSON with user, private_key and machines, to sign in to its machines
        #[arg(long, value_name = "FILE")]
        ssh: Option<PathBuf>,
        #[command(flatten)]
        tunnel: Box<ImportTunnel>,
        #[command(flatten)]
        connection: Connection,
    },
    /// Take an imported cluster away from the portal
    Remove {
        /// The name that it got at its import
        #[arg(add = crate::completer::clusters())]
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

/// What tunnels may reach of an imported cluster.
#[derive(Debug, Args)]
pub struct ImportTunnel {
    /// Where tunnels may lead, e.g. console.apps.example:443, or HOST:PORT=ADDRESS:PORT where only browsers know the name
    #[arg(long, value_name = "HOST:PORT")]
    pub destination: Vec<String>,
    /// Address of its web console, of a host among the destinations
    #[arg(long, value_name = "URL")]
    pub console: Option<String>,
    /// PEM file with the authorities of the destinations' certificates, where they are not publicly trusted
    #[arg(long, value_name = "FILE")]
    pub destinations_ca: Option<PathBuf>,
}

impl ClustersVerb {
    pub(crate) const fn connection(&self) -> &Connection {
        match self {
            Self::List { connection, .. }
            | Self::Import { connection, .. }
            | Self::Remove { connection, .. }
            | Self::Imported { connection } => connection,
        }
    }
}
