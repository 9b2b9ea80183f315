//! HAProxy in front of replicas: bytes through, with the PROXY protocol to say where they come from.

use std::fmt::Write as _;
use std::process::Command;

use anyhow::{Result, ensure};
use tokio::net::TcpStream;

use crate::{Folder, GENEROUS, Process, part, until};

/// Where its connections to the servers come from: another address than its clients'.
pub const BALANCER: &str = "127.0.0.2";

/// A running balancer.
#[derive(Debug)]
pub struct Haproxy {
    pub port: u16,
    process: Process,
}

impl Haproxy {
    /// Balances connections to `port` over servers on 127.0.0.1, in turn, those that say they are ready.
    /// `ca` is the file of the authority of their certificates.
    ///
    /// # Errors
    /// HAProxy is not installed, or does not come up.
    pub async fn start(folder: &Folder, port: u16, ca: &str, servers: &[u16]) -> Result<Self> {
        let mut config = format!(
            "global
  maxconn 4000
  nbthread 1
  log stdout format raw local0 info
defaults
  mode tcp
  log global
  timeout connect 5s
  timeout client 600s
  timeout server 600s
  timeout check 2s
  option redispatch
  retries 3
frontend front
  bind 127.0.0.1:{port}
  default_backend replicas
backend replicas
  balance roundrobin
  option httpchk GET /healthz/ready
  default-server send-proxy-v2 check check-ssl check-send-proxy check-sni localhost verify required \
ca-file {ca} inter 200ms fastinter 100ms fall 3 rise 1 source {BALANCER}
"
        );
        for (n, server) in servers.iter().enumerate() {
            writeln!(config, "  server replica-{n} 127.0.0.1:{server}")?;
        }
        let file = folder.write("haproxy.cfg", config)?;
        let mut command = Command::new(part("haproxy")?);
        command.arg("-db").arg("-f").arg(file);
        let process = Process::start(folder, "haproxy", &mut command)?;
        process.ready(GENEROUS, || async { Ok(TcpStream::connect(("127.0.0.1", port)).await?) }).await?;
        Ok(Self { port, process })
    }

    /// Fails with its log if it does not run any more.
    ///
    /// # Errors
    /// It ended.
    pub fn lives(&self) -> Result<()> {
        ensure!(self.process.exited()?.is_none(), "HAProxy ended\n{}", self.process.tail());
        Ok(())
    }

    /// Waits until it has found the server of that number, from 0, ready. It logs every change of what it finds.
    ///
    /// # Errors
    /// It has not within [`GENEROUS`]; with the log's tail.
    pub async fn finds_ready(&self, server: usize) -> Result<()> {
        until("the balancer finds the server ready", GENEROUS, || async {
            let log = self.process.log();
            let last = |state| log.rfind(&format!("Server replicas/replica-{server} is {state}"));
            ensure!(last("UP") >= last("DOWN"), "{}", self.process.tail());
            Ok(())
        })
        .await
    }

    /// The last lines that it wrote, for an error.
    pub fn tail(&self) -> String {
        self.process.tail()
    }
}
