//! What may stand on the command line: one file a verb.

mod actions;
mod audit;
mod clusters;
mod elevation;
mod grants;
mod kubeconfig;
mod manifests;
mod notifications;
mod objects;
mod operations;
mod operator;
mod profile;
mod promql;
mod proxy_local;
mod recordings;
mod robots;
mod sign_in;
mod ssh;
mod tunnel;

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use url::Url;

pub use actions::{
    ActionArgs, CsrActionArgs, CsrArgs, CsrVerb, DrainArgs, NodeActionArgs, NodeArgs, NodeVerb, PodArgs,
    PodVerb, WorkloadArgs, WorkloadKindArg, WorkloadVerb,
};
pub use audit::{AuditArgs, AuditFilter, AuditVerb, ReportFormat, Span};
pub use clusters::{ClusterFilter, ClustersArgs, ClustersVerb, ImportTunnel};
pub use elevation::{ElevateArgs, ElevationVerb, ElevationsArgs};
pub use grants::{GrantsArgs, GrantsVerb, RevokeArgs};
pub use kubeconfig::{CredentialArgs, KubeconfigArgs, KubectlArgs};
pub use manifests::{ManifestsArgs, ManifestsVerb, OrderArgs};
pub use notifications::{NotificationsArgs, NotificationsVerb};
pub use objects::{EventsArgs, LogsArgs, ObjectsArgs};
pub use operations::{OperationsArgs, OperationsVerb};
pub use operator::{OperatorArgs, OperatorVerb, SetFlagsArgs};
pub use profile::{ProfileArgs, ProfileVerb};
pub use promql::PromqlArgs;
pub use proxy_local::ProxyLocalArgs;
pub use recordings::{PlayArgs, RecordingsArgs, RecordingsFilter, RecordingsVerb};
pub use robots::{RobotCreateArgs, RobotsArgs, RobotsVerb};
pub use sign_in::{LoginArgs, LogoutArgs, WhoamiArgs};
pub use ssh::{ScpArgs, SerialArgs, SshArgs, SshConfigArgs, SshRefreshArgs, SshVerb};
pub use tunnel::{AccessArgs, ConsoleArgs, TunnelArgs};

/// Verbs for people. Flatten it into the binary's own subcommands.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Sign in to a portal
    Login(LoginArgs),
    /// End the sign-in
    Logout(LogoutArgs),
    /// Choose among the sign-ins of this machine
    Profile(ProfileArgs),
    /// Who the portal takes you for
    Whoami(WhoamiArgs),
    /// Find clusters; put clusters of your own under the portal
    Clusters(Box<ClustersArgs>),
    /// Nodes of a cluster
    Nodes(ObjectsArgs),
    /// Cluster operators of a cluster
    Operators(ObjectsArgs),
    /// Events of a cluster
    Events(EventsArgs),
    /// The log of a pod
    Logs(LogsArgs),
    /// Take a kubeconfig for a cluster
    Kubeconfig(KubeconfigArgs),
    /// Run kubectl on a cluster
    Kubectl(KubectlArgs),
    /// Print a token for kubectl: what a kubeconfig of `aro kubeconfig` runs
    #[command(hide = true)]
    Credential(CredentialArgs),
    /// A shell on a machine of a cluster, or a command there
    Ssh(Box<SshArgs>),
    /// Copy files to and from machines of a cluster
    Scp(Box<ScpArgs>),
    /// What a machine wrote to its serial console
    Serial(Box<SerialArgs>),
    /// Reach a cluster's web console and other routes through a proxy on this machine
    Tunnel(TunnelArgs),
    /// Open a cluster's web console in a browser of its own
    Console(Box<ConsoleArgs>),
    /// See, search, play and keep recorded sessions
    Recordings(RecordingsArgs),
    /// See, extend and end what was given out
    Grants(GrantsArgs),
    /// Ask for more rights, for a while and a reason
    Elevate(ElevateArgs),
    /// See, decide, end and review elevations
    Elevations(ElevationsArgs),
    /// What is done with a cluster, step by step
    Operations(OperationsArgs),
    /// The ARO operator inside a cluster: its conditions and its flags
    Operator(OperatorArgs),
    /// Act on a node of a cluster: cordon, uncordon, drain
    Node(NodeArgs),
    /// Approve or deny a certificate signing request of a cluster
    Csr(CsrArgs),
    /// Delete a pod of the platform
    Pod(PodArgs),
    /// Restart or scale a workload of the platform
    Workload(WorkloadArgs),
    /// Maintenance of clusters: what is planned, what runs, and ordering it
    Manifests(ManifestsArgs),
    /// Ask the Prometheus of many clusters one question
    Promql(PromqlArgs),
    /// Named identities of scripts
    Robots(RobotsArgs),
    /// Messages to receivers outside: how each is, and a test
    Notifications(NotificationsArgs),
    /// Who did what. The binary parses it, together with the verbs on audit that need no portal.
    #[command(skip)]
    Audit(AuditArgs),
    /// Clusters on this machine's loopback. The binary parses it, together with the verbs on the proxy that serve.
    #[command(skip)]
    ProxyLocal(Box<ProxyLocalArgs>),
}

impl Verb {
    pub(crate) fn format(&self) -> Format {
        match self {
            Self::Login(args) => args.output,
            Self::Logout(args) => args.connection.output,
            Self::Profile(args) => args.verb.connection().output,
            Self::Whoami(args) => args.connection.output,
            Self::Clusters(args) => args.connection().output,
            Self::Nodes(args) | Self::Operators(args) => args.connection.output,
            Self::Events(args) => args.connection.output,
            Self::Logs(args) => args.connection.output,
            Self::Kubeconfig(args) => args.connection.output,
            Self::Kubectl(args) => args.connection.output,
            Self::ProxyLocal(args) => args.connection.output,
            Self::Credential(_) => Format::Table,
            Self::Ssh(args) => args.connection().output,
            Self::Scp(args) => args.connection.output,
            Self::Serial(args) => args.connection.output,
            Self::Tunnel(args) => args.connection.output,
            Self::Console(args) => args.connection.output,
            Self::Recordings(args) => args.verb.connection().output,
            Self::Grants(args) => args.verb.connection().output,
            Self::Elevate(args) => args.connection.output,
            Self::Elevations(args) => args.verb.connection().output,
            Self::Operations(args) => args.verb.connection().output,
            Self::Operator(args) => args.verb.connection().output,
            Self::Node(args) => args.verb.action().connection.output,
            Self::Csr(args) => args.verb.action().connection.output,
            Self::Pod(args) => args.verb.action().connection.output,
            Self::Workload(args) => args.verb.action().connection.output,
            Self::Manifests(args) => args.verb.connection().output,
            Self::Promql(args) => args.connection.output,
            Self::Robots(args) => args.verb.connection().output,
            Self::Notifications(args) => args.verb.connection().output,
            Self::Audit(args) => args.verb.connection().output,
        }
    }
}

/// How an answer is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    Table,
    Json,
    Yaml,
    /// Of lists and `promql`
    Csv,
    /// Of lists: names alone, one a line
    Name,
}

/// Where the portal is and who asks.
#[derive(Debug, Clone, Args)]
pub struct Connection {
    /// The portal's address, e.g. <https://portal.example>; without it the one that was signed in to
    #[arg(long, env = "ARO_PORTAL", value_name = "URL", help_heading = "Connection")]
    pub portal: Option<Url>,
    /// Which sign-in to use, where there are several
    #[arg(long, env = "ARO_PROFILE", value_name = "NAME", help_heading = "Connection", add = crate::completer::profiles())]
    pub profile: Option<String>,
    /// File with a token, in place of a sign-in
    #[arg(long, env = "ARO_TOKEN_FILE", value_name = "FILE", help_heading = "Connection")]
    pub token_file: Option<PathBuf>,
    /// File with a session's cookie, as `aro-dev session` prints it; taken before a token
    #[arg(long, value_name = "FILE", help_heading = "Connection")]
    pub session_cookie_file: Option<PathBuf>,
    /// PEM file with authorities to trust beside the system's
    #[arg(long, env = "ARO_CA_FILE", value_name = "FILE", help_heading = "Connection")]
    pub ca_file: Option<PathBuf>,
    /// Folder of the sign-ins; without it aro under `XDG_CONFIG_HOME` or ~/.config
    #[arg(long, env = "ARO_CONFIG_DIR", value_name = "FOLDER", help_heading = "Connection")]
    pub config_dir: Option<PathBuf>,
    /// How to write the answer
    #[arg(short, long, value_enum, default_value_t = Format::Table, help_heading = "Connection")]
    pub output: Format,
}

/// Seconds of `90s`, `30m`, `8h`, `2d` or a bare number of seconds.
pub(crate) fn seconds(text: &str) -> Result<u64, String> {
    let wrong = || "give a number above 0 with s, m, h or d, such as 30m or 8h".to_owned();
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

/// A day, a minute or an instant as the portal reads it (`rp_base::Timestamp`, RFC 3339), handed on as it is.
pub(crate) fn instant(text: &str) -> Result<String, String> {
    let full = match text.len() {
        10 => format!("{text}T00:00:00Z"),
        16 => format!("{text}:00Z"),
        19 => format!("{text}Z"),
        _ => text.to_owned(),
    };
    let wrong = |_| {
        "give a day such as 2026-11-21, a minute such as 2026-11-21T03:12, or an instant in RFC 3339 such as \
         2026-11-21T03:12:00Z; without a zone it is UTC"
            .to_owned()
    };
    rp_base::Timestamp::parse(&full).map(|_| text.to_owned()).map_err(wrong)
}

/// A length as [`seconds`] reads it, handed on as it is.
pub(crate) fn length(text: &str) -> Result<String, String> {
    seconds(text).map(|_| text.to_owned())
}
