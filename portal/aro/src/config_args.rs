//! Which settings a command works by.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;
use rp_config::{Override, Settings};

#[derive(Debug, Clone, Args)]
pub struct ConfigArgs {
    /// Settings file
    #[arg(long, env = "ARO_CONFIG", default_value = "aro.toml", value_name = "FILE")]
    pub config: PathBuf,
    /// A setting that goes before file and environment, e.g. `listen.portal=0.0.0.0:8444`
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,
}

impl ConfigArgs {
    /// Reads the settings. `needs`: keys that the command cannot do without.
    ///
    /// # Errors
    /// Every mistake in file, environment and flags.
    pub fn settings(&self, needs: &[&str]) -> anyhow::Result<Settings> {
        let mut overrides = Vec::new();
        for pair in &self.set {
            let (key, value) =
                pair.split_once('=').with_context(|| format!("--set {pair}: expected KEY=VALUE"))?;
            overrides.push(Override { key, value, flag: "--set" });
        }
        Ok(rp_config::load(Some(&self.config), &overrides, needs)?)
    }
}
