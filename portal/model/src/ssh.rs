//! What the portal needs of the way to machines, and what its pages and its JSON API share of it.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use portal_session::fault::Fault;
use portal_session::refusals::sentence;
use portal_session::user::CurrentUser;
use proxy::ssh::host_keys::HostKeys;
use proxy::ssh::keys::ServiceKeys;
use proxy::ssh::machines::{Machine, MachineRoute, Machines, MachinesError};
use rp_access::{Access, IssueRequest, IssuedGrant, ssh_user};
use rp_base::chain;
use rp_base::text::clean;
use rp_documents::{GrantOptions, ResourceId, Side};
use rp_net::{Directory, DirectoryError, Target};

use crate::access_kinds::SSH;

/// How long a request waits for the list of a cluster's machines.
const PATIENCE: Duration = Duration::from_secs(8);
/// Places that one shell may forward ports to.
const MOST_DESTINATIONS: usize = 20;
const MOST_NAME: usize = 253;

/// Why a requested machine cannot be named.
#[derive(Debug, thiserror::Error)]
pub enum MachineNameError {
    #[error("Name a machine of the cluster: letters, digits, dashes and dots.")]
    Malformed,
    #[error("{}", sentence(.0))]
    Refused(MachinesError),
}

/// Why a port cannot be forwarded to what was named.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum DestinationsError {
    #[error("At most {MOST_DESTINATIONS} places.")]
    TooMany,
    #[error("{0} is no host:port.")]
    Malformed(String),
}

/// The way to machines; the wiring passes it in.
#[derive(Debug, Clone)]
pub struct SshParts {
    /// The bastion's name, as people's clients reach it.
    pub host: String,
    pub port: u16,
    pub keys: Arc<ServiceKeys>,
    pub host_keys: Arc<HostKeys>,
    pub machines: Arc<dyn Machines>,
    pub directory: Arc<dyn Directory>,
}

/// A request for SSH access, from the page or from JSON.
#[derive(Debug, Default)]
pub struct SshRequest {
    pub machine: String,
    pub reason: String,
    pub ticket: Option<String>,
    pub life: Option<Duration>,
    pub agent_forwarding: bool,
    pub destinations: Vec<String>,
}

impl SshParts {
    /// The cluster, as it is dialled.
    pub async fn target(&self, id: &ResourceId) -> Result<Arc<Target>, Fault> {
        self.directory.find(id).await.map_err(|error| directory(&error))
    }

    /// Its machines, within some seconds.
    pub async fn list(&self, id: &ResourceId) -> Result<Arc<[Machine]>, Fault> {
        let target = self.target(id).await?;
        let listed = tokio::time::timeout(PATIENCE, self.machines.list(&target)).await;
        listed.map_err(|_| too_late())?.map_err(|error| machines(&error))
    }

    /// The full name of the requested machine. A cluster that does not answer is no reason to refuse, because a shell
    /// may be needed to repair it.
    ///
    /// # Errors
    /// It can be no machine's name, or the cluster has no such machine or several.
    pub async fn name(&self, id: &ResourceId, wanted: &str) -> Result<String, MachineNameError> {
        let sound = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.');
        if wanted.is_empty() || wanted.len() > MOST_NAME || !wanted.chars().all(sound) {
            return Err(MachineNameError::Malformed);
        }
        let found = async {
            let target = self.directory.find(id).await.ok()?;
            Some(self.machines.find(&target, wanted).await)
        };
        match tokio::time::timeout(PATIENCE, found).await {
            Ok(Some(Ok(machine))) => Ok(machine.name),
            Ok(Some(Err(
                error @ (MachinesError::Unknown(_) | MachinesError::Ambiguous { .. } | MachinesError::NoSsh),
            ))) => Err(MachineNameError::Refused(error)),
            Ok(Some(Err(error))) => {
                tracing::info!(resource_id = id.key(), error = %chain(&error), "a machine's name was taken as it is");
                Ok(wanted.to_ascii_lowercase())
            }
            Ok(None) | Err(_) => Ok(wanted.to_ascii_lowercase()),
        }
    }

    /// The command of `contract/portal.md` §15, without pinned algorithms. `user` is [`user`]'s.
    pub fn command(&self, user: &str) -> String {
        let Self { host, port, .. } = self;
        let line = self.keys.known_hosts_line(host, *port);
        let port = if *port == 22 { String::new() } else { format!(" -p {port}") };
        format!(
            "echo '{line}' > {host}_known_host ; ssh -o UserKnownHostsFile={host}_known_host{port} {user}@{host}"
        )
    }
}

/// There is no way to machines.
pub(crate) fn switched_off() -> Fault {
    Fault::new(StatusCode::NOT_FOUND, "no_ssh", Side::Us, "There is no SSH here")
        .why("It is switched off in the settings of this service.")
}

/// The SSH user of a caller, when it can stand in a command that people paste.
pub fn user(user: &CurrentUser) -> Result<&str, Fault> {
    let name = ssh_user(&user.caller.person.name);
    let good = |b: u8| b.is_ascii_alphanumeric() || b"._%+-".contains(&b);
    if !name.is_empty() && !name.starts_with('-') && name.bytes().all(good) {
        return Ok(name);
    }
    Err(Fault::bad_input("Your account's name has characters that an SSH command may not have")
        .action("Use aro ssh, which needs no such command."))
}

/// `host:port` of each, in lower case.
///
/// # Errors
/// The first that is none, or there are too many.
pub fn destinations(words: &[String]) -> Result<Vec<String>, DestinationsError> {
    if words.len() > MOST_DESTINATIONS {
        return Err(DestinationsError::TooMany);
    }
    words.iter().map(|word| destination(word)).collect()
}

fn destination(word: &str) -> Result<String, DestinationsError> {
    let wrong = || DestinationsError::Malformed(clean(word, 80));
    let (host, port) = word.rsplit_once(':').ok_or_else(wrong)?;
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let sound = match bare {
        Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
        None => {
            (1..=MOST_NAME).contains(&host.len())
                && host.bytes().all(|b| b.is_ascii_alphanumeric() || b"-.".contains(&b))
                && !host.starts_with(['-', '.'])
        }
    };
    let port: u16 = port.parse().ok().filter(|port| *port > 0).ok_or_else(wrong)?;
    if sound { Ok(format!("{}:{port}", host.to_ascii_lowercase())) } else { Err(wrong()) }
}

/// The grant request for a shell.
pub fn ask(target: ResourceId, wanted: SshRequest) -> IssueRequest {
    IssueRequest {
        ticket: wanted.ticket,
        life: wanted.life,
        machine: Some(wanted.machine),
        destinations: wanted.destinations,
        options: GrantOptions { agent_forwarding: wanted.agent_forwarding },
        ..SSH.request(target, wanted.reason)
    }
}

/// Until when the password opens a shell.
pub fn password_until(access: &Access, issued: &IssuedGrant) -> rp_base::Timestamp {
    let life = access.policy().access.password_life;
    (issued.grant.created + life).min(issued.grant.not_after)
}

/// How a machine is reached, in words for people.
pub fn way(machine: &Machine) -> String {
    match &machine.way {
        MachineRoute::Master(_) => String::new(),
        MachineRoute::Through { .. } => "through a master".to_owned(),
        MachineRoute::Direct { host, port } => format!("at {}:{port}", clean(host, 100)),
    }
}

/// Why the machine's name or the list of machines is not available.
pub fn machines(error: &MachinesError) -> Fault {
    let what = sentence(error);
    let what = what.trim_end_matches('.');
    match error {
        MachinesError::Unknown(_) => Fault::new(StatusCode::NOT_FOUND, "no_machine", Side::You, what),
        MachinesError::Ambiguous { .. } => {
            Fault::new(StatusCode::UNPROCESSABLE_ENTITY, "machine_not_clear", Side::You, what)
        }
        MachinesError::NoSsh => Fault::new(StatusCode::CONFLICT, "no_ssh", Side::You, what).action(
            "An import names user, key and machines; a cluster of ours has its key once it is installed.",
        ),
        MachinesError::Kube(_) => Fault::new(StatusCode::BAD_GATEWAY, "cluster_away", Side::Cluster, what)
            .why(clean(&chain(error).to_string(), 300)),
        MachinesError::Client(_) => {
            tracing::error!(error = %chain(error), "a cluster's stored access cannot be used");
            Fault::internal()
        }
    }
}

fn too_late() -> Fault {
    Fault::new(
        StatusCode::GATEWAY_TIMEOUT,
        "cluster_away",
        Side::Cluster,
        "The cluster did not tell its machines in time",
    )
}

fn directory(error: &DirectoryError) -> Fault {
    match error {
        DirectoryError::Unknown => Fault::no_cluster(),
        DirectoryError::NotReachable(why) => Fault::new(
            StatusCode::CONFLICT,
            "not_reachable",
            Side::Cluster,
            "This cluster cannot be reached yet",
        )
        .why(*why),
        DirectoryError::Unusable(why) => {
            tracing::error!(why, "a cluster's stored access cannot be used");
            Fault::internal()
        }
        DirectoryError::Unavailable(_) => {
            Fault::new(StatusCode::SERVICE_UNAVAILABLE, "store_away", Side::Us, "The store did not answer")
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn destinations_are_hosts_with_ports() {
        for (given, read) in
            [("Localhost:9090", "localhost:9090"), ("[::1]:22", "[::1]:22"), ("10.0.0.8:443", "10.0.0.8:443")]
        {
            assert_eq!(destination(given).as_deref(), Ok(read));
        }
        for wrong in [
            "", "a", "a:", ":1", "a:0", "a:70000", "-a:1", "a b:1", "::1:22", "[x]:1", "a:1:2", "a;b:1",
            "é:1",
        ] {
            assert!(destination(wrong).is_err(), "{wrong}");
        }
        assert!(destinations(&vec!["a:1".to_owned(); 21]).is_err());
    }

    proptest! {
        #[test]
        fn a_destination_is_plain_whatever_was_given(word in "\\PC{0,60}") {
            if let Ok(read) = destination(&word) {
                prop_assert!(read.bytes().all(|b| b.is_ascii_alphanumeric() || b"-.:[]".contains(&b)), "{read}");
            }
        }
    }
}
