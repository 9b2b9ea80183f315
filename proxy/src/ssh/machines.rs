//! The machines of a cluster, and the way to each (`contract/rules.md` §5.7).
//!
//! The private link carries SSH to masters only: port 2200 + n leads to the pool `ssh-n` of the internal load balancer. Which
//! master is in it is decided by the name of its network card, which is named after its machine
//! (`contract/cluster.md` §6.15 fixSSH): the last digit. The proxy does not ask Azure; it reads the same
//! digit in the machine's name. Where two have the same, as while one replaces the other, the pool has both
//! and one cannot choose: they are reached through a third.

use std::collections::{HashMap, HashSet};
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use rp_base::sha256;
use rp_database::{SharedStore, Typed};
use rp_documents::{HostKey, Side};
use rp_kube::connect::{ClientError, ClientOptions, Identity, client, dial_error};
use rp_kube::{Host, KubeError};
use rp_net::{Dialer, Source, SshMachine, Target};
use tokio::time::Instant;

/// A list is used for so long.
const FRESH: Duration = Duration::from_secs(15);
/// Clusters whose lists are kept.
const MOST_KEPT: usize = 1000;
/// Masters behind the private link (`contract/portal.md` §12.1).
const MASTERS: u8 = 3;
const SSH: u16 = 22;

/// How a machine is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MachineRoute {
    /// Port 2200 + n of the private endpoint.
    Master(u8),
    /// By direct-tcpip through a master.
    Through { address: String, port: u16 },
    /// Where the import says.
    Direct { host: String, port: u16 },
}

/// A machine that people may sign in to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machine {
    pub name: String,
    /// Another after the machine was replaced.
    pub uid: String,
    pub control_plane: bool,
    /// Its node is ready; of an imported machine nothing is known, and it counts as ready.
    pub ready: bool,
    pub way: MachineRoute,
}

/// Why there is no machine.
#[derive(Debug, thiserror::Error)]
pub enum MachinesError {
    #[error("this cluster has no machine {0}; look at the list of its machines")]
    Unknown(String),
    #[error("several machines of this cluster are called {name}: {}", among.join(", "))]
    Ambiguous { name: String, among: Vec<String> },
    #[error("nothing is known of how to sign in to this cluster's machines")]
    NoSsh,
    #[error("the cluster's API cannot be asked for its machines")]
    Kube(#[source] KubeError),
    #[error("the stored access to the cluster cannot be used")]
    Client(#[source] ClientError),
}

impl MachinesError {
    /// Whose fault it is.
    pub fn side(&self) -> Side {
        match self {
            Self::Unknown(_) | Self::Ambiguous { .. } | Self::NoSsh => Side::You,
            Self::Kube(error) => dial_error(error).map_or(Side::Cluster, |dial| dial.side),
            Self::Client(_) => Side::Us,
        }
    }
}

/// Finds machines.
#[async_trait]
pub trait Machines: Send + Sync + Debug {
    /// Every machine, masters first.
    ///
    /// # Errors
    /// [`MachinesError`].
    async fn list(&self, target: &Arc<Target>) -> Result<Arc<[Machine]>, MachinesError>;

    /// The machine of that name: its whole name, or its end after a dash, or `master-N`.
    ///
    /// # Errors
    /// [`MachinesError`].
    async fn find(&self, target: &Arc<Target>, name: &str) -> Result<Machine, MachinesError> {
        pick(&self.list(target).await?, name)
    }
}

/// Asks clusters of ours by their API, and imports by what they name. Lists are kept for 15 s.
#[derive(Debug)]
pub struct ClusterMachines {
    dialer: Dialer,
    options: ClientOptions,
    kept: Mutex<HashMap<String, CachedMachines>>,
    /// Machines that were signed in to before.
    known: Option<Typed<HostKey>>,
}

#[derive(Debug, Clone)]
struct CachedMachines {
    at: Instant,
    fingerprint: u64,
    machines: Arc<[Machine]>,
}

impl ClusterMachines {
    /// Machines found with this dialer.
    pub fn new(dialer: Dialer) -> Arc<Self> {
        Self::with(dialer, None)
    }

    /// The same; while a cluster's API is away, masters are found whose host keys that store has.
    pub fn remembering(dialer: Dialer, store: SharedStore) -> Arc<Self> {
        Self::with(dialer, Some(Typed::new(store)))
    }

    fn with(dialer: Dialer, known: Option<Typed<HostKey>>) -> Arc<Self> {
        let options = ClientOptions {
            head: Duration::from_secs(15),
            user_agent: "aro-ssh".to_owned(),
            ..ClientOptions::default()
        };
        Arc::new(Self { dialer, options, kept: Mutex::default(), known })
    }

    async fn ask(&self, target: &Arc<Target>) -> Result<Arc<[Machine]>, MachinesError> {
        let client = client(self.dialer.clone(), Arc::clone(target), Identity::Read, &self.options)
            .map_err(MachinesError::Client)?;
        let hosts = rp_kube::hosts(&client).await.map_err(MachinesError::Kube)?;
        Ok(from_hosts(&hosts).into())
    }

    /// Masters that were signed in to before, the newest of each pool. A shell may be what mends the API.
    async fn remembered(&self, target: &Target) -> Option<Arc<[Machine]>> {
        let page = self.known.as_ref()?.list(Some(target.id.key()), None, 1000).await.ok()?;
        let mut known: Vec<HostKey> = page.items.into_iter().map(|versioned| versioned.value).collect();
        known.sort_by_key(|each| std::cmp::Reverse(each.at));
        let mut pools = HashSet::new();
        let of = |known: HostKey| {
            let uid = known.id.split_once('|')?.1.to_owned();
            let control_plane = known.machine.contains("master");
            let fresh = control_plane && pools.insert(known.machine.chars().next_back()?);
            let machine = Some(known.machine.clone());
            fresh.then_some(Host { name: known.machine, uid, control_plane, machine, ..Host::default() })
        };
        let hosts: Vec<Host> = known.into_iter().filter_map(of).collect();
        let machines = from_hosts(&hosts);
        (!machines.is_empty()).then(|| machines.into())
    }

    fn keep(&self, key: &str, kept: CachedMachines) {
        let mut all = self.kept.lock();
        if all.len() >= MOST_KEPT {
            all.retain(|_, kept| kept.at.elapsed() < FRESH);
        }
        if all.len() < MOST_KEPT {
            all.insert(key.to_owned(), kept);
        }
    }
}

#[async_trait]
impl Machines for ClusterMachines {
    async fn list(&self, target: &Arc<Target>) -> Result<Arc<[Machine]>, MachinesError> {
        let ssh = target.ssh.as_ref().ok_or(MachinesError::NoSsh)?;
        if target.source == Source::Imported {
            return Ok(ssh.machines.iter().map(imported).collect());
        }
        let key = target.id.key();
        let kept = self.kept.lock().get(key).cloned().filter(|kept| kept.fingerprint == target.fingerprint);
        if let Some(kept) = kept.as_ref().filter(|kept| kept.at.elapsed() < FRESH) {
            return Ok(Arc::clone(&kept.machines));
        }
        let machines = match self.ask(target).await {
            Ok(machines) => machines,
            // Better what was last known than nothing.
            Err(error) => {
                let last = match kept {
                    Some(kept) => Some(kept.machines),
                    None => self.remembered(target).await,
                };
                return last.ok_or(error);
            }
        };
        let kept = CachedMachines {
            at: Instant::now(),
            fingerprint: target.fingerprint,
            machines: Arc::clone(&machines),
        };
        self.keep(key, kept);
        Ok(machines)
    }
}

/// An imported machine is another when it stands elsewhere or has another name.
fn imported(machine: &SshMachine) -> Machine {
    let SshMachine { name, address, port, .. } = machine;
    Machine {
        name: name.clone(),
        uid: sha256(format!("{name}\n{address}\n{port}").as_bytes()).to_string(),
        control_plane: false,
        ready: true,
        way: MachineRoute::Direct { host: address.clone(), port: *port },
    }
}

fn from_hosts(hosts: &[Host]) -> Vec<Machine> {
    let masters: Vec<&Host> = hosts.iter().filter(|host| host.control_plane).collect();
    let numbers = numbers(&masters);
    let mut machines: Vec<Machine> = hosts
        .iter()
        .filter_map(|host| {
            let number = numbers.get(host.name.as_str()).copied();
            let way = match (number, &host.address) {
                (Some(number), _) => MachineRoute::Master(number),
                (None, Some(address)) => MachineRoute::Through { address: address.clone(), port: SSH },
                // It stands nowhere yet.
                (None, None) => return None,
            };
            let (name, uid) = (host.name.clone(), host.uid.clone());
            Some(Machine { name, uid, control_plane: host.control_plane, ready: host.ready, way })
        })
        .collect();
    machines.sort_by_key(|machine| !machine.control_plane);
    machines
}

/// The pool of each master that has one to itself. Where no name ends in a number they are counted in order.
fn numbers<'a>(masters: &[&'a Host]) -> HashMap<&'a str, u8> {
    let digit = |host: &Host| {
        let card = host.machine.as_deref().unwrap_or(&host.name);
        let last = card.chars().next_back()?.to_digit(10)?;
        u8::try_from(last).ok().filter(|n| *n < MASTERS && card.contains("master"))
    };
    let named: Vec<(&'a str, u8)> =
        masters.iter().filter_map(|&host| Some((host.name.as_str(), digit(host)?))).collect();
    if named.is_empty() {
        return masters.iter().map(|host| host.name.as_str()).zip(0..MASTERS).collect();
    }
    let alone = |number: u8| named.iter().filter(|(_, other)| *other == number).count() == 1;
    named.iter().copied().filter(|(_, number)| alone(*number)).collect()
}

/// The machine that a name means; [`Machines::find`] says how.
///
/// # Errors
/// [`MachinesError::Unknown`], [`MachinesError::Ambiguous`].
pub fn pick(machines: &[Machine], name: &str) -> Result<Machine, MachinesError> {
    let name = name.trim();
    if let Some(exact) = machines.iter().find(|machine| machine.name.eq_ignore_ascii_case(name)) {
        return Ok(exact.clone());
    }
    let wanted = name.to_ascii_lowercase();
    let ends = |machine: &&Machine| {
        let whole = machine.name.to_ascii_lowercase();
        whole.strip_suffix(&wanted).is_some_and(|before| before.ends_with('-'))
    };
    let found: Vec<&Machine> =
        if wanted.is_empty() { Vec::new() } else { machines.iter().filter(ends).collect() };
    match found.as_slice() {
        [one] => return Ok((*one).clone()),
        [] => {}
        many => {
            let among = many.iter().take(10).map(|machine| machine.name.clone()).collect();
            return Err(MachinesError::Ambiguous { name: display_name(name), among });
        }
    }
    // Masters that a machine set made have other names: `master-1` is the one in pool 1.
    let number: Option<u8> = wanted.strip_prefix("master-").and_then(|number| number.parse().ok());
    let of_pool =
        number.and_then(|number| machines.iter().find(|machine| machine.way == MachineRoute::Master(number)));
    of_pool.cloned().ok_or_else(|| MachinesError::Unknown(display_name(name)))
}

fn display_name(name: &str) -> String {
    rp_base::text::clean(name, 100)
}

#[cfg(test)]
mod tests;
