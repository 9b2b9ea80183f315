//! `aro-dev`: everything of `aro serve` with a built-in OpenID provider and a simulated region, in one
//! process on loopback (`contract/rules.md` §1, §5.18 "Dev folder"). One command on a laptop shows the whole
//! system.

mod accounts;
mod announce;
mod azure;
mod backend;
mod body;
mod certificates;
mod checks;
mod control;
mod folder;
mod install;
mod login;
mod names;
mod offers;
mod run;
mod seed;
mod server_client;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: rp_runtime::Allocator = rp_runtime::Allocator;

/// A whole region on this machine: portal, API proxy, sign-in, simulated clusters.
#[derive(Debug, Parser)]
#[command(name = "aro-dev", version, args_conflicts_with_subcommands = true)]
struct Cli {
    #[command(flatten)]
    run: RunArgs,
    #[command(subcommand)]
    verb: Option<Verb>,
}

/// How to run it.
#[derive(Debug, Clone, Args)]
struct RunArgs {
    /// Where everything is kept; made with mode 0700
    #[arg(long, default_value = ".dev", value_name = "DIR")]
    data_dir: PathBuf,
    /// First of eight ports; 0 takes free ones and keeps them with the folder
    #[arg(long, default_value_t = 8440, value_name = "N")]
    port_base: u16,
    /// How many simulated clusters
    #[arg(long, default_value_t = 300, value_name = "N")]
    clusters: usize,
    /// How many of a hundred healthy clusters have a fault at any time; each heals after a while. 0: none
    #[arg(long, env = "ARO_DEV_FAULTS", default_value_t = 3, value_name = "N")]
    faults: u32,
    /// A cluster has at most one fault in so many seconds, for a part of them
    #[arg(long, env = "ARO_DEV_FAULT_PERIOD", default_value_t = 1200, value_name = "SECONDS")]
    fault_period: u64,
    /// How long the installation of a cluster takes, in milliseconds
    #[arg(long, env = "ARO_DEV_INSTALL_MILLIS", default_value_t = 60_000, value_name = "N")]
    install_millis: u64,
    /// Pairs of subnets in the customer's network, each for one cluster; of a new data folder
    #[arg(long, env = "ARO_DEV_PAIRS", default_value_t = names::PAIRS, value_name = "N")]
    pairs: usize,
    /// Log filter
    #[arg(long, default_value = "info", value_name = "FILTER")]
    log: String,
    /// Log to a terminal too, instead of to aro-dev.log in the data folder
    #[arg(long)]
    log_to_terminal: bool,
    /// Open the portal in a browser when it is ready
    #[arg(long)]
    open: bool,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Print a session cookie of an account, for scripts
    Session {
        #[arg(long, default_value = ".dev", value_name = "DIR")]
        data_dir: PathBuf,
        /// Account: viewer, sre, elevated, approver, auditor, admin or nobody
        #[arg(long = "as", value_name = "NAME")]
        account: String,
    },
    /// Sign in with the aro beside this program, at the server of this folder
    Login {
        #[arg(long, default_value = ".dev", value_name = "DIR")]
        data_dir: PathBuf,
        /// More arguments for aro login, e.g. --device
        #[arg(last = true, value_name = "ARGS")]
        args: Vec<String>,
    },
    /// Change an account at the built-in provider: see its access end
    Account {
        #[arg(long, default_value = ".dev", value_name = "DIR")]
        data_dir: PathBuf,
        /// Account: viewer, sre, elevated, approver, auditor, admin or nobody
        #[arg(long)]
        name: String,
        /// It may no longer sign in, and its refresh token is refused
        #[arg(long, conflicts_with = "enable")]
        disable: bool,
        #[arg(long)]
        enable: bool,
        /// Its groups from now on
        #[arg(long, value_delimiter = ',')]
        groups: Option<Vec<String>>,
        /// End its sessions there; the portal is told
        #[arg(long)]
        sign_out: bool,
    },
    /// Print what a customer sends to create a cluster here
    Cluster {
        #[arg(long, default_value = ".dev", value_name = "DIR")]
        data_dir: PathBuf,
        #[arg(long)]
        name: String,
        /// Which pair of subnets of the customer's network, from 1: each is for one cluster
        #[arg(long, default_value_t = 1, value_name = "N")]
        subnets: usize,
        #[arg(long, default_value = "4.17.27")]
        version: String,
        /// How its installation goes: fails-at:OPERATOR or no-api
        #[arg(long, value_name = "HOW")]
        install: Option<String>,
        /// The body and the resource id as JSON, in place of commands
        #[arg(long)]
        json: bool,
    },
    /// Put a real cluster under the portal
    Import {
        #[arg(long, default_value = ".dev", value_name = "DIR")]
        data_dir: PathBuf,
        #[arg(long, value_name = "FILE")]
        kubeconfig: PathBuf,
        #[arg(long)]
        name: String,
        #[arg(long)]
        context: Option<String>,
        /// Groups to impersonate for people
        #[arg(long, value_delimiter = ',')]
        as_groups: Vec<String>,
    },
}

fn main() -> ExitCode {
    rp_net::tls::install_provider();
    let cli = Cli::parse();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return failed(&anyhow::Error::new(error).context("cannot start")),
    };
    let ended = runtime.block_on(async {
        match cli.verb {
            None => run::run(cli.run).await,
            Some(Verb::Cluster { data_dir, name, subnets, version, install, json }) => {
                body::cluster_request(&name, subnets, &version, install.as_deref())
                    .and_then(|asked| body::print(&data_dir, &asked, json))
            }
            Some(Verb::Session { data_dir, account }) => server_client::session(&data_dir, &account).await,
            Some(Verb::Login { data_dir, args }) => login::login(&data_dir, &args).await,
            Some(Verb::Account { data_dir, name, disable, enable, groups, sign_out }) => {
                let disabled = (disable || enable).then_some(disable);
                server_client::account(&data_dir, &name, disabled, groups, sign_out).await
            }
            Some(Verb::Import { data_dir, kubeconfig, name, context, as_groups }) => {
                server_client::import(&data_dir, &kubeconfig, &name, context, as_groups).await
            }
        }
    });
    rp_runtime::flush_log();
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failed(&error),
    }
}

#[expect(clippy::print_stderr, reason = "a command's error goes to the person who ran it")]
fn failed(error: &anyhow::Error) -> ExitCode {
    eprintln!("aro-dev: {error:#}");
    ExitCode::FAILURE
}
