//! `aro login`, `aro logout`, `aro whoami`.

use std::path::PathBuf;

use clap::Args;
use url::Url;

use super::{Connection, Format};

/// `aro login`
#[derive(Debug, Args)]
pub struct LoginArgs {
    /// The portal's address, in place of --portal
    #[arg(value_name = "PORTAL")]
    pub address: Option<Url>,
    /// The portal's address, e.g. <https://portal.example>; remembered
    #[arg(long, env = "ARO_PORTAL", value_name = "URL")]
    pub portal: Option<Url>,
    /// PEM file with authorities to trust beside the system's; remembered
    #[arg(long, env = "ARO_CA_FILE", value_name = "FILE")]
    pub ca_file: Option<PathBuf>,
    /// Show a code to enter in a browser on any device
    #[arg(long, conflicts_with = "no_browser")]
    pub device: bool,
    /// Print the address and open no browser; the browser must run on this machine
    #[arg(long)]
    pub no_browser: bool,
    /// Enter your password again though you are signed in: some actions want a recent sign-in
    #[arg(long, conflicts_with = "device")]
    pub fresh: bool,
    /// A name for this sign-in, where there are several
    #[arg(long, env = "ARO_PROFILE", value_name = "NAME")]
    pub profile: Option<String>,
    /// Folder of the sign-ins; without it aro under `XDG_CONFIG_HOME` or ~/.config
    #[arg(long, env = "ARO_CONFIG_DIR", value_name = "FOLDER")]
    pub config_dir: Option<PathBuf>,
    /// How to write the answer
    #[arg(short, long, value_enum, default_value_t = Format::Table)]
    pub output: Format,
}

/// `aro logout`
#[derive(Debug, Args)]
pub struct LogoutArgs {
    /// End all your grants as well
    #[arg(long)]
    pub grants: bool,
    #[command(flatten)]
    pub connection: Connection,
}

/// `aro whoami`
#[derive(Debug, Args)]
pub struct WhoamiArgs {
    #[command(flatten)]
    pub connection: Connection,
}
