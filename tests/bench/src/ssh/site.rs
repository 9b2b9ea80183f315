//! Our side: `aro-dev` as it ships, with a cluster imported whose machines are those of the benchmark.

use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use tests_kit::{Aro, AroOptions, GENEROUS, Session, until};

use super::hosts::Hosts;
use super::keys::{Key, beside};
use super::machine::SimulatedMachines;
use crate::ours::kubeconfig;
use crate::start::get;

/// The machine with OpenSSH.
pub(crate) const OPENSSH: &str = "node-0";
/// The machine of the SSH library's, for many sessions.
pub(crate) const LIBRARY: &str = "node-1";
/// Machines of the SSH library's among which many sessions are spread.
const SPREAD: usize = 40;
const REASON: &str = "benchmark of the bastion";

/// The name of one of them.
pub(crate) fn spread_machine(number: usize) -> String {
    format!("spread-{}", number % SPREAD)
}

/// What a cluster is made of here.
pub(crate) struct Environment<'a> {
    pub(crate) hosts: &'a Hosts,
    pub(crate) many: &'a SimulatedMachines,
    /// Stands for the API server.
    pub(crate) far: SocketAddr,
    pub(crate) ca_pem: &'a str,
}

/// One `aro-dev` and an access to its cluster.
#[derive(Debug)]
pub(crate) struct Site {
    pub(crate) aro: Aro,
    pub(crate) session: Session,
    pub(crate) cluster: String,
    /// Its name in the client's configuration.
    name: &'static str,
    person: Key,
}

/// What a client needs to come in: a certificate for the person's key, with the bastion's address.
#[derive(Debug)]
pub(crate) struct BastionAccess {
    pub(crate) name: &'static str,
    pub(crate) port: u16,
    pub(crate) user: String,
    pub(crate) key: PathBuf,
    pub(crate) certificate: PathBuf,
    pub(crate) known_hosts: Vec<String>,
}

impl BastionAccess {
    pub(crate) fn address(&self) -> SocketAddr {
        ([127, 0, 0, 1], self.port).into()
    }
}

impl Site {
    pub(crate) async fn start(
        around: &Environment<'_>,
        name: &'static str,
        more: &[(&str, &str)],
    ) -> Result<Self> {
        // One person opens what many would, from one address.
        let env = [
            ("ARO_ACCESS__MAX_STREAMS", "1000000"),
            ("ARO_LIMITS__STREAMS_PER_MINUTE", "0"),
            ("ARO_LIMITS__ISSUE_PER_MINUTE", "0"),
            ("ARO_LIMITS__SIGN_IN_PER_MINUTE", "0"),
            ("ARO_SSH__MAX_PER_ADDRESS", "4096"),
            ("ARO_SSH__MAX_STRANGERS", "4096"),
            ("ARO_SSH__MAX_STRANGERS_PER_ADDRESS", "4096"),
            ("ARO_SSH__CONNECTIONS_PER_MINUTE", "0"),
            // aro-dev records unless it is told not to.
            ("ARO_RECORDING__POLICY", "off"),
            // A development build takes its time.
            ("ARO_SSH__CONNECT_TIME", "60s"),
        ];
        let env = env.iter().chain(more).map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let aro = Aro::start(AroOptions { clusters: 1, env: env.collect(), ..AroOptions::default() }).await?;
        let (hosts, many) = (around.hosts, around.many);
        let machine = |name: &str, port: u16, key: &Key| json!({ "name": name, "address": "127.0.0.1", "port": port, "host_keys": [key.public] });
        let mut machines = vec![
            machine(OPENSSH, hosts.machine.port, &hosts.machine.host_key),
            machine(LIBRARY, many.port, &many.host_key),
        ];
        machines.extend((0..SPREAD).map(|n| machine(&spread_machine(n), many.port, &many.host_key)));
        let body = json!({
            "name": "far",
            "kubeconfig": kubeconfig(around.far, around.ca_pem),
            "as_groups": ["bench:readers"],
            "ssh": {
                "user": hosts.user,
                "private_key": hosts.core.private()?,
                "machines": machines,
            },
        });
        let imported = aro.session("admin").await?.post("/api/v1/imports", &body).await?.ok()?.json()?;
        let cluster = imported["resourceId"].as_str().context("a resource id")?.to_owned();
        let session = aro.session("elevated").await?;
        until("the imported cluster is known", GENEROUS, || async {
            session.get(&cluster).await?.ok().map(drop)
        })
        .await?;
        session.elevate("write").await?;
        Ok(Self { aro, session, cluster, name, person: hosts.person.clone() })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.aro.process().pid()
    }

    /// An access to a machine, with a certificate that is good for some minutes.
    pub(crate) async fn pass(&self, machine: &str) -> Result<BastionAccess> {
        let ask = json!({ "kind": "ssh", "target": self.cluster, "machine": machine, "plugin": true, "reason": REASON });
        let given = self.session.post("/api/v1/grants", &ask).await?.ok()?.json()?;
        let id = given["grant"]["id"].as_str().with_context(|| format!("no grant: {given}"))?;
        let path = format!("/api/v1/grants/{id}/ssh-certificate");
        let shown = json!({ "public_key": self.person.public });
        let certified = self.session.post(&path, &shown).await?.ok()?.json()?;
        let text =
            |field: &str| certified[field].as_str().with_context(|| format!("no {field}: {certified}"));
        let certificate = beside(&self.person.file, &format!("-{}-{machine}-cert.pub", self.name));
        std::fs::write(&certificate, text("certificate")?)?;
        let known_hosts = certified["known_hosts"].as_array().context("known_hosts")?;
        Ok(BastionAccess {
            name: self.name,
            port: u16::try_from(certified["port"].as_u64().context("a port")?)?,
            user: text("user")?.to_owned(),
            key: self.person.file.clone(),
            certificate,
            known_hosts: known_hosts.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        })
    }

    /// A gauge of its metrics.
    pub(crate) async fn gauge(&self, name: &str) -> Result<u64> {
        let admin = self.aro.dev.admin_url.trim_start_matches("http://").trim_end_matches('/').to_owned();
        let metrics = tokio::task::spawn_blocking(move || get(&admin, "/metrics")).await??;
        let line = metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        Ok(line.with_context(|| format!("no {name} in the metrics"))?.trim().parse()?)
    }

    /// Waits until nobody is at the bastion.
    pub(crate) async fn empty(&self) -> Result<()> {
        until("all have left the bastion", GENEROUS, || async {
            let open = self.gauge("aro_ssh_connections_open").await?;
            ensure!(open == 0, "{open} connections are open");
            Ok(())
        })
        .await
    }
}
