//! `aro-dev`: everything of `aro serve` with a built-in OpenID provider and a simulated region, in one
//! process on loopback (`design.md` §1, §5 "Dev folder"). One command on a laptop shows the whole system.

mod accounts;
mod certificates;
mod control;
mod folder;
mod run;
mod seed;
mod talk;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

#[cfg(feature = "heap-profile")]
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
    /// First of five ports; 0 takes free ones and keeps them with the folder
    #[arg(long, default_value_t = 8440, value_name = "N")]
    port_base: u16,
    /// How many simulated clusters
    #[arg(long, default_value_t = 300, value_name = "N")]
    clusters: usize,
    /// Log filter
    #[arg(long, default_value = "info", value_name = "FILTER")]
    log: String,
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
            Some(Verb::Session { data_dir, account }) => talk::session(&data_dir, &account).await,
            Some(Verb::Account { data_dir, name, disable, enable, groups, sign_out }) => {
                let disabled = (disable || enable).then_some(disable);
                talk::account(&data_dir, &name, disabled, groups, sign_out).await
            }
            Some(Verb::Import { data_dir, kubeconfig, name, context, as_groups }) => {
                talk::import(&data_dir, &kubeconfig, &name, context, as_groups).await
            }
        }
    });
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
