//! The command line of `aro`.

use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;

use crate::audit::VerifyArgs;
use crate::config_args::ConfigArgs;
use crate::print::PrintArgs;
use crate::proxy_tools::{ConnectArgs, TunnelArgs};

/// The access and management plane of Azure Red Hat OpenShift.
#[derive(Debug, Parser)]
#[command(name = "aro", version, arg_required_else_help = true)]
#[command(after_long_help = portal_cli::EXIT_CODES)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run every role in one process
    Serve(ConfigArgs),
    /// Run one of several replicas of the portal and the API proxy, on PostgreSQL
    Portal(ConfigArgs),
    /// Carry connections: your clusters on this machine, the API proxy alone, development's CONNECT proxy, a tunnel to a
    /// remote listener
    Proxy(ProxyArgs),
    /// Run the resource provider's API, as one of any number of processes on PostgreSQL
    Rp(ConfigArgs),
    /// Look at every cluster from outside, as one of any number of processes; with a verb, at one cluster once
    Monitor(MonitorArgs),
    /// Schedule and run maintenance of clusters, as one of any number of processes on PostgreSQL
    #[command(aliases = ["mimo-actuator", "mimo-scheduler"])]
    Maintenance(ConfigArgs),
    /// Back up, restore, move and look at the store
    Store {
        #[command(subcommand)]
        verb: crate::store::StoreVerb,
    },
    /// Keys that seal what is secret in the store
    Keys {
        #[command(subcommand)]
        verb: crate::keys::KeysVerb,
    },
    /// Read the settings and name every mistake
    CheckConfig(ConfigArgs),
    /// Look for what is wrong with a deployment: certificates, names, store, keys, provider, limits, listeners
    Doctor(crate::doctor::DoctorArgs),
    /// Call the resource provider's API by hand
    Api(crate::api::ApiArgs),
    /// Print generated references
    Print(PrintArgs),
    /// Print a completion script for a shell, which asks this program for names of clusters and accesses
    Completion {
        #[arg(value_enum)]
        shell: Shell,
    },
    /// Say what the exit codes mean
    #[command(after_help = portal_cli::EXIT_CODES)]
    ExitCodes,
    /// Who did what
    Audit {
        #[command(subcommand)]
        verb: AuditCommand,
    },
    #[command(flatten)]
    Verb(portal_cli::Verb),
}

/// Audit: what the portal is asked, and what needs no portal.
#[derive(Debug, Subcommand)]
#[expect(clippy::large_enum_variant, reason = "there is one")]
pub enum AuditCommand {
    /// Check the log where it is stored, or lines of it; exit code 1 when something is wrong
    Verify(VerifyArgs),
    /// Print the whole log as JSON lines, without a portal
    Dump(ConfigArgs),
    /// Print the public key that checkpoints are signed with
    Key(ConfigArgs),
    #[command(flatten)]
    Portal(portal_cli::AuditVerb),
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct MonitorArgs {
    #[command(flatten)]
    pub config: ConfigArgs,
    /// None: the role
    #[command(subcommand)]
    pub verb: Option<MonitorVerb>,
}

#[derive(Debug, Subcommand)]
pub enum MonitorVerb {
    /// Look at one cluster and print what a look emits, each collector's time and error
    Once(crate::monitor_once::OnceArgs),
}

#[derive(Debug, Args)]
pub struct ProxyArgs {
    #[command(subcommand)]
    pub verb: ProxyVerb,
}

#[derive(Debug, Subcommand)]
pub enum ProxyVerb {
    /// Run one of several replicas of the API proxy alone, on PostgreSQL
    Serve(ConfigArgs),
    /// Serve clusters on this machine's loopback, for tools that do not support a path in a server's address
    Local(Box<portal_cli::ProxyLocalArgs>),
    /// Serve CONNECT into one subnet, for one client certificate
    Connect(ConnectArgs),
    /// Carry a local port to a remote TLS listener with a client certificate
    Tunnel(TunnelArgs),
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::Cli;

    /// Flags of verbs from several crates do not clash.
    #[test]
    fn the_whole_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
