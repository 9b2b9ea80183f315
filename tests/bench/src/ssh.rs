//! The bastion beside OpenSSH's own way to a machine that stands behind another (`ProxyJump`): bytes, CPU time, set-up. Then
//! the memory of sessions, what recording costs, and how late an echo comes to a terminal in the browser.
//!
//! Machine, jump host and client are OpenSSH, all on this machine and in the same run; the client's cipher and key exchange
//! are the same towards the bastion and the jump host. For thousands of sessions there are clients and a machine of the SSH
//! library's, in processes of their own, for two thousand `sshd` would measure `sshd`.

mod bulk;
mod clients;
mod echo;
mod hosts;
mod keys;
mod machine;
mod recorded;
mod sessions;
mod setup;
mod site;

pub(crate) use clients::{ClientArgs, run as clients};
pub(crate) use machine::{MachineArgs, run as machine};

use anyhow::{Result, ensure};
use clap::{Args, ValueEnum};

use crate::ours::Certificates;
use crate::report::Part;
use crate::watches;
use hosts::Hosts;
use site::{Environment, Site};

/// How much to do.
#[derive(Debug, Clone, Args)]
pub(crate) struct SshScale {
    /// Rounds of everything that is compared; the tables have the least and the median
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Bytes of one transfer, MiB
    #[arg(long, default_value_t = 512)]
    mebibytes: u64,
    /// Connections that each way sets up
    #[arg(long, default_value_t = 30)]
    setups: usize,
    /// Idle sessions: measured with the first number of them, then with the second
    #[arg(long, value_delimiter = ',', default_value = "200,2000")]
    idle: Vec<usize>,
    /// Recorded sessions that write without a pause
    #[arg(long, default_value_t = 100)]
    busy: usize,
    /// How long they write, seconds
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    /// Keys pressed on each way
    #[arg(long, default_value_t = 500)]
    keys: usize,
    /// Only these sections
    #[arg(long, value_delimiter = ',')]
    only: Vec<Section>,
}

impl Default for SshScale {
    fn default() -> Self {
        let idle = vec![200, 2000];
        Self {
            rounds: 3,
            mebibytes: 512,
            setups: 30,
            idle,
            busy: 100,
            seconds: 10,
            keys: 500,
            only: Vec::new(),
        }
    }
}

impl SshScale {
    /// Whether nothing is left out.
    pub(crate) fn is_whole(&self) -> bool {
        self.only.is_empty()
    }
}

/// A section of the benchmark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Section {
    /// Memory of idle sessions
    Idle,
    /// Throughput and CPU time
    Bulk,
    /// Time to set a connection up
    Setup,
    /// From a key to its echo
    Echo,
    /// Memory of recorded sessions that are busy
    Busy,
    /// CPU time of recorded bytes
    Recorded,
}

/// Gives the part's table.
pub(crate) async fn run(scale: &SshScale) -> Result<Part> {
    ensure!(scale.rounds > 0 && scale.setups > 0 && scale.keys > 0, "nothing to do");
    let mut part = Part::new("ssh", "Shells through the bastion, beside OpenSSH's ProxyJump")?;
    let wants = |section: Section| scale.only.is_empty() || scale.only.contains(&section);
    let certificates = Certificates::new()?;
    let (_far, far) = watches::far(&certificates).await?;
    let hosts = Hosts::start().await?;
    let many = machine::start(&hosts).await?;
    let around = Environment { hosts: &hosts, many: &many, far, ca_pem: &certificates.ca_pem };
    let plain = Site::start(&around, "aro", &[]).await?;
    if wants(Section::Idle) {
        // First, while its heap has seen nothing else.
        sessions::idle(&plain, &scale.idle, &mut part).await?;
    }
    if wants(Section::Bulk) {
        let modern = Site::start(&around, "aro-gcm", &[("ARO_SSH__MODERN_MACHINES", "true")]).await?;
        bulk::run(&hosts, &plain, &modern, scale, &mut part).await?;
    }
    if wants(Section::Setup) {
        setup::run(&hosts, &plain, scale.setups, &mut part).await?;
    }
    if wants(Section::Echo) {
        echo::run(&hosts, &plain, scale.keys, &mut part).await?;
    }
    if wants(Section::Busy) || wants(Section::Recorded) {
        let place = hosts.folder.path().join("recordings").display().to_string();
        let env = [("ARO_RECORDING__POLICY", "required"), ("ARO_RECORDING__FOLDER", place.as_str())];
        let recording = Site::start(&around, "aro-recording", &env).await?;
        if wants(Section::Busy) {
            sessions::busy(&recording, scale.busy, scale.seconds, &mut part).await?;
        }
        if wants(Section::Recorded) {
            recorded::run(&plain, &recording, scale, &mut part).await?;
        }
    }
    Ok(part)
}
