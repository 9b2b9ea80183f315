//! The command line of `aro`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;
use ipnet::IpNet;

use crate::audit::VerifyArgs;

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
    /// Carry connections: the API proxy alone, development's CONNECT proxy, the tunnel to a remote listener
    Proxy(ProxyArgs),
    /// Run the resource provider's API, as one of any number of processes on PostgreSQL
    Rp(ConfigArgs),
    /// Look at every cluster from outside, as one of any number of processes; with a verb, at one cluster once
    Monitor(MonitorArgs),
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
    /// Call the resource provider's API by hand
    Api(crate::api::ApiArgs),
    /// Print generated references
    Print(PrintArgs),
    /// Print a completion script for a shell
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

#[derive(Debug, Clone, Args)]
pub struct ConfigArgs {
    /// Settings file
    #[arg(long, env = "ARO_CONFIG", default_value = "aro.toml", value_name = "FILE")]
    pub config: PathBuf,
    /// A setting that goes before file and environment, e.g. `listen.portal=0.0.0.0:8444`
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,
}

#[derive(Debug, Args)]
pub struct PrintArgs {
    #[arg(value_enum)]
    pub what: Printed,
    /// Of the Swagger: the version of the API, e.g. 2025-07-25
    #[arg(required_if_eq("what", "swagger"))]
    pub version: Option<String>,
    /// Of the Swagger: write the version's document and examples below this folder
    #[arg(long, value_name = "FOLDER", requires = "version")]
    pub into: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Printed {
    /// The settings, as Markdown
    ConfigReference,
    /// The metrics of `aro serve`, as Markdown
    Metrics,
    /// The portal's routes and who may call them, as Markdown
    Routes,
    /// The JSON API, as OpenAPI 3.1
    Openapi,
    /// A version of the resource provider's API, as Swagger 2.0
    Swagger,
    /// What each version of the resource provider's API changes, as Markdown
    ApiVersions,
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
    /// Serve CONNECT into one subnet, for one client certificate
    Connect(ConnectArgs),
    /// Carry a local port to a remote TLS listener with a client certificate
    Tunnel(TunnelArgs),
}

#[derive(Debug, Args)]
pub struct ConnectArgs {
    /// Where to listen, TLS
    #[arg(long, default_value = "0.0.0.0:8443")]
    pub listen: SocketAddr,
    /// Where to answer health checks, plain HTTP
    #[arg(long, default_value = "0.0.0.0:8080")]
    pub health: SocketAddr,
    /// PEM certificate of the listener
    #[arg(long, alias = "certFile", default_value = "secrets/proxy.pem")]
    pub cert_file: PathBuf,
    /// PEM key of the listener
    #[arg(long, alias = "keyFile", default_value = "secrets/proxy.key")]
    pub key_file: PathBuf,
    /// PEM certificate of the one client
    #[arg(long, alias = "clientCertFile", default_value = "secrets/proxy-client.pem")]
    pub client_cert_file: PathBuf,
    /// Where tunnels may end
    #[arg(long, default_value = "10.0.0.0/8")]
    pub subnet: IpNet,
    /// Ports beside 443, 6443 and 2200 to 2202
    #[arg(long = "port", value_name = "PORT")]
    pub more_ports: Vec<u16>,
}

#[derive(Debug, Args)]
pub struct TunnelArgs {
    /// Loopback address to listen on
    #[arg(long, default_value = "127.0.0.1:8443")]
    pub listen: SocketAddr,
    /// Remote listener, `host:port`
    #[arg(long)]
    pub to: String,
    /// Name in its certificate, when it is not the host
    #[arg(long)]
    pub server_name: Option<String>,
    /// PEM certificates that may have signed it
    #[arg(long)]
    pub ca_file: PathBuf,
    /// PEM client certificate
    #[arg(long)]
    pub cert_file: PathBuf,
    /// PEM client key
    #[arg(long)]
    pub key_file: PathBuf,
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
