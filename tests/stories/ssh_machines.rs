//! Machines and their host keys: of a simulated cluster by way of its API, and of a real OpenSSH server.

use std::fmt::Debug;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use parking_lot::Mutex;
use proxy::ssh::host_keys::{HostKeys, fingerprint_of};
use proxy::ssh::keys::machine_key;
use proxy::ssh::machines::{ClusterMachines, Machine, MachineRoute, Machines as _};
use rp_base::{Clock as _, Secret, SharedClock, SystemClock};
use rp_database::{SharedStore, Typed, in_memory, update};
use rp_documents::host_key::HostKeySource;
use rp_documents::{HostKey, ResourceId};
use rp_net::listen::Stop;
use rp_net::tls::client_config;
use rp_net::{
    ConnectProxy, Credential, Dialer, DialerOptions, Endpoint, Networks, Port, PrivateWay, Source, SshKey,
    SshMachine, SshTarget, Target,
};
use rp_simulator::fleet::ClusterShape;
use rp_simulator::installed::CertificatePair;
use rp_simulator_region::{Region, RegionIdentity, RegionOptions};
use russh::client::{Handle, Msg};
use russh::keys::{Algorithm, EcdsaCurve, HashAlg, PrivateKeyWithHashAlg, PublicKeyOrCertificate};
use russh::{Channel, ChannelMsg};
use tempfile::TempDir;
use tests_kit::GENEROUS;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixStream};
use tokio::process::{Child, Command};
use tokio::time::timeout;

/// Lets the pinned keys decide, and remembers what they said.
struct HostKeyCheck {
    keys: Arc<HostKeys>,
    target: Arc<Target>,
    machine: Machine,
    refused: Arc<Mutex<Option<String>>>,
}

impl russh::client::Handler for HostKeyCheck {
    type Error = russh::Error;

    async fn check_server_key(&mut self, shown: &PublicKeyOrCertificate) -> Result<bool, russh::Error> {
        let checked = self.keys.check(&self.target, &self.machine, shown).await;
        *self.refused.lock() = checked.as_ref().err().map(ToString::to_string);
        Ok(checked.is_ok())
    }
}

struct World {
    keys: Arc<HostKeys>,
    store: SharedStore,
    dialer: Dialer,
}

impl World {
    fn new(private: PrivateWay) -> Self {
        let clock: SharedClock = Arc::new(SystemClock);
        let store = in_memory(Arc::clone(&clock));
        let keepalive = std::time::Duration::from_secs(30);
        let dialer = Dialer::new(DialerOptions { private, networks: Networks::default(), keepalive });
        Self { keys: HostKeys::new(Arc::clone(&store), dialer.clone(), clock), store, dialer }
    }

    /// An SSH connection after its keys were exchanged; else what was said of the host key.
    async fn connect<S>(
        &self,
        target: &Arc<Target>,
        machine: &Machine,
        stream: S,
    ) -> Result<Result<Handle<HostKeyCheck>, String>>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let refused = Arc::new(Mutex::new(None));
        let checked = HostKeyCheck {
            keys: Arc::clone(&self.keys),
            target: Arc::clone(target),
            machine: machine.clone(),
            refused: Arc::clone(&refused),
        };
        let mut config = russh::client::Config::default();
        if self.keys.known(target, machine).await.certificate {
            config.preferred.host_key_certificates =
                vec![Algorithm::Ed25519, Algorithm::Ecdsa { curve: EcdsaCurve::NistP256 }].into();
        }
        let connecting = russh::client::connect_stream(Arc::new(config), stream, checked);
        let connected = timeout(GENEROUS, connecting).await.context("no key exchange")?;
        match (connected, refused.lock().take()) {
            (Ok(handle), _) => Ok(Ok(handle)),
            (Err(_), Some(said)) => Ok(Err(said)),
            (Err(error), None) => Err(error.into()),
        }
    }

    async fn stored(&self, target: &Target, machine: &Machine) -> Result<HostKey> {
        self.keys.get(&target.id, &machine.uid).await?.context("nothing is known of the machine")
    }
}

async fn sign_in(target: &Target, handle: &mut Handle<HostKeyCheck>) -> Result<()> {
    let ssh = target.ssh.as_ref().context("no SSH")?;
    let key = PrivateKeyWithHashAlg::new(Arc::new(machine_key(ssh)?), Some(HashAlg::Sha512));
    let signed = timeout(GENEROUS, handle.authenticate_publickey(&ssh.user, key)).await??;
    ensure!(signed.success(), "the machine refused the key");
    Ok(())
}

/// Output, error output and exit status of a command.
async fn run(channel: &mut Channel<Msg>, command: &str) -> Result<(String, String, Option<u32>)> {
    channel.exec(true, command).await?;
    let (mut out, mut err, mut code) = (Vec::new(), Vec::new(), None);
    let all = async {
        while let Some(message) = channel.wait().await {
            match message {
                ChannelMsg::Data { data } => out.extend_from_slice(&data),
                ChannelMsg::ExtendedData { data, .. } => err.extend_from_slice(&data),
                ChannelMsg::ExitStatus { exit_status } => code = Some(exit_status),
                _ => {}
            }
        }
    };
    timeout(GENEROUS, all).await.context("the command did not end")?;
    Ok((String::from_utf8(out)?, String::from_utf8(err)?, code))
}

fn credential(pair: &CertificatePair) -> Credential {
    Credential::Certificate { chain_pem: pair.certificate.clone(), key_pem: pair.key.clone() }
}

/// A region, and one of its clusters that is well.
struct Simulated {
    world: World,
    target: Arc<Target>,
    _region: Region,
    _folder: TempDir,
}

async fn simulated() -> Result<Simulated> {
    let folder = tempfile::tempdir()?;
    let identity = RegionIdentity::open_or_create(folder.path(), SystemClock.now())?;
    let region = Region::start(RegionOptions {
        listener: TcpListener::bind("127.0.0.1:0").await?,
        identity: identity.clone(),
        clusters: 30,
        seed: 7,
        locations: Vec::new(),
        faults: None,
        clock: Arc::new(SystemClock),
        tick: std::time::Duration::from_millis(10),
        stop: Stop::default(),
    })?;
    let tls = client_config(&identity.ca, Some(&credential(&identity.proxy_client)), &[b"http/1.1"])?;
    let way = PrivateWay::Connect(ConnectProxy {
        address: region.address().to_string(),
        server_name: "proxy".try_into()?,
        tls: Arc::new(tls),
    });
    let cluster = region
        .fleet()
        .clusters()
        .find(|cluster| cluster.shape == ClusterShape::Healthy)
        .context("no cluster")?;
    let key = SshKey::Pkcs1Der(region.machine_key().clone());
    let target = Target {
        id: cluster.document()?.cluster.id,
        source: Source::Aro,
        endpoint: Endpoint::Private { ip: cluster.private_ip().context("no address")?.into() },
        server_name: "kubernetes".to_owned(),
        ca_pem: identity.ca.clone(),
        read: credential(&identity.sre),
        admin: credential(&identity.service),
        as_groups: Vec::new(),
        ssh: Some(SshTarget { user: "core".to_owned(), key, machines: Vec::new() }),
        fingerprint: 0,
    };
    let target = Arc::new(target.fingerprinted());
    Ok(Simulated { world: World::new(way), target, _region: region, _folder: folder })
}

impl Simulated {
    async fn dial(&self, machine: &Machine) -> Result<rp_net::Stream> {
        let MachineRoute::Master(number) = machine.way else {
            anyhow::bail!("{machine:?} is no master with a port")
        };
        Ok(self.world.dialer.dial(&self.target, Port::Ssh(number), GENEROUS).await?)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn simulated_machines_show_the_keys_that_their_daemons_read() -> Result<()> {
    let here = simulated().await?;
    let machines = ClusterMachines::new(here.world.dialer.clone());
    let all = machines.list(&here.target).await?;
    ensure!(all.len() >= 6 && all[..3].iter().all(|machine| machine.control_plane), "{all:?}");
    let master = machines.find(&here.target, "master-1").await?;
    ensure!(master.way == MachineRoute::Master(1), "{master:?}");

    let mut handle = here
        .world
        .connect(&here.target, &master, here.dial(&master).await?)
        .await?
        .map_err(anyhow::Error::msg)?;
    let known = here.world.stored(&here.target, &master).await?;
    ensure!(known.learned == HostKeySource::Cluster && known.keys.len() == 2, "{known:?}");
    sign_in(&here.target, &mut handle).await?;
    let mut session = handle.channel_open_session().await?;
    let (out, err, code) = run(&mut session, "hostname; uname -a; nonsense; exit 7").await?;
    ensure!(out.starts_with(&format!("{}\n", master.name)) && out.contains("simulated"), "{out}");
    ensure!(err.contains("nonsense") && code == Some(7), "{err} {code:?}");

    // A worker stands behind the master and shows its own key.
    let worker = all.iter().find(|machine| !machine.control_plane).context("no worker")?;
    let MachineRoute::Through { address, port } = &worker.way else { anyhow::bail!("{worker:?}") };
    let hop = handle.channel_open_direct_tcpip(address.clone(), (*port).into(), "127.0.0.1", 1).await?;
    let mut behind =
        here.world.connect(&here.target, worker, hop.into_stream()).await?.map_err(anyhow::Error::msg)?;
    sign_in(&here.target, &mut behind).await?;
    let mut session = behind.channel_open_session().await?;
    let (out, ..) = run(&mut session, "hostname").await?;
    ensure!(out == format!("{}\n", worker.name), "{out}");
    let nowhere = handle.channel_open_direct_tcpip("10.0.9.9", 22, "127.0.0.1", 1).await;
    ensure!(nowhere.is_err(), "an address that is no machine's was reached");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_key_is_refused_and_a_replaced_machine_is_learned_anew() -> Result<()> {
    let here = simulated().await?;
    let machines = ClusterMachines::new(here.world.dialer.clone());
    let master = machines.find(&here.target, "master-0").await?;
    let connect = async || here.world.connect(&here.target, &master, here.dial(&master).await?).await;
    ensure!(connect().await?.is_ok(), "the first look learns the keys");
    let id = HostKey::id_of(&here.target.id, &master.uid);
    let keys: Typed<HostKey> = Typed::new(Arc::clone(&here.world.store));
    // As if the machine had shown others before.
    let foreign = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILM+rvN+ot98qgEN796jTiQfZfG1KaT0PtFDJ/XFSqti";
    update(&keys, &id, |known: &mut HostKey| known.keys = vec![foreign.to_owned()]).await?;
    let said = connect().await?.err().context("a changed key was taken")?;
    ensure!(said.contains("another host key") && said.contains("administrator"), "{said}");
    let refused = here.world.stored(&here.target, &master).await?.refused.context("nothing was noted")?;
    let print = fingerprint_of(&refused.key).context("no fingerprint")?;
    ensure!(said.contains(&print), "{said}");
    here.world.keys.trust(&here.target.id, &master.uid, &print, "root").await?;
    ensure!(connect().await?.is_ok(), "what an administrator trusts is taken");

    // Another machine under the same name: nothing is known of it, and it is read.
    let replaced = Machine { uid: format!("{}-new", master.uid), ..master.clone() };
    let again = here.world.connect(&here.target, &replaced, here.dial(&master).await?).await?;
    ensure!(again.is_ok(), "a replaced machine is learned anew");
    ensure!(here.world.stored(&here.target, &replaced).await?.learned == HostKeySource::Cluster);
    // One whose daemon does not run is not trusted, and what it showed is kept for an administrator.
    let silent = Machine { name: "nobody".to_owned(), uid: "uid-nobody".to_owned(), ..master.clone() };
    let said = here
        .world
        .connect(&here.target, &silent, here.dial(&master).await?)
        .await?
        .err()
        .context("trusted")?;
    ensure!(said.contains("could not be read"), "{said}");
    ensure!(here.world.stored(&here.target, &silent).await?.refused.is_some());
    Ok(())
}

/// A folder with keys for a real server, which serves one connection at a time as inetd would let it.
struct OpenSsh {
    folder: TempDir,
}

async fn keygen(folder: &Path, arguments: &[&str]) -> Result<()> {
    let made = Command::new("ssh-keygen").current_dir(folder).arg("-q").args(arguments).output().await?;
    ensure!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    Ok(())
}

impl OpenSsh {
    async fn new() -> Result<Self> {
        let folder = tempfile::tempdir()?;
        for name in ["host", "other", "ca"] {
            keygen(folder.path(), &["-t", "ed25519", "-N", "", "-f", name]).await?;
        }
        Ok(Self { folder })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn public(&self, name: &str) -> Result<String> {
        let text = std::fs::read_to_string(self.path(&format!("{name}.pub")))?;
        Ok(text.split(' ').take(2).collect::<Vec<_>>().join(" "))
    }

    /// Signs `host` for these names.
    async fn certify(&self, names: &str) -> Result<()> {
        keygen(self.folder.path(), &["-s", "ca", "-h", "-I", "node", "-n", names, "host.pub"]).await
    }

    /// A connection to a server with that host key.
    fn serve(&self, key: &str, certificate: bool) -> Result<(UnixStream, Child)> {
        let mut lines = format!("HostKey {}\nUsePAM no\nPidFile none\n", self.path(key).display());
        if certificate {
            lines.push_str(&format!("HostCertificate {}\n", self.path("host-cert.pub").display()));
        }
        let config = self.path("sshd_config");
        std::fs::write(&config, lines)?;
        let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        let server = Command::new("/usr/sbin/sshd")
            .args(["-i", "-e", "-f"])
            .arg(&config)
            .stdin(Stdio::from(OwnedFd::from(theirs.try_clone()?)))
            .stdout(Stdio::from(OwnedFd::from(theirs)))
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .context("sshd does not start")?;
        Ok((UnixStream::from_std(ours)?, server))
    }
}

fn imported(host_keys: Vec<String>) -> Result<(Arc<Target>, Machine)> {
    let none = || Credential::Token(Secret::new("none".to_owned()));
    let machine =
        SshMachine { name: "node-0".to_owned(), address: "127.0.0.1".to_owned(), port: 22, host_keys };
    let ssh = SshTarget {
        user: "core".to_owned(),
        key: SshKey::Pem(Secret::new(String::new())),
        machines: vec![machine],
    };
    let target = Target {
        id: ResourceId::imported("lab")?,
        source: Source::Imported,
        endpoint: Endpoint::Direct { url: "https://127.0.0.1:6443".parse()? },
        server_name: "127.0.0.1".to_owned(),
        ca_pem: String::new(),
        read: none(),
        admin: none(),
        as_groups: Vec::new(),
        ssh: Some(ssh),
        fingerprint: 0,
    };
    let machine = Machine {
        name: "node-0".to_owned(),
        uid: "uid-0".to_owned(),
        control_plane: false,
        ready: true,
        way: MachineRoute::Direct { host: "127.0.0.1".to_owned(), port: 22 },
    };
    Ok((Arc::new(target.fingerprinted()), machine))
}

fn refusal<T: Debug>(connected: Result<T, String>) -> Result<String> {
    connected.err().context("the machine was trusted")
}

#[tokio::test(flavor = "multi_thread")]
async fn openssh_is_known_by_its_key_its_certificate_or_an_administrators_word() -> Result<()> {
    let server = OpenSsh::new().await?;
    // By key.
    let world = World::new(PrivateWay::Direct);
    let (target, machine) = imported(vec![server.public("host")?])?;
    let connect = async |key: &str, certificate: bool| {
        let (stream, _server) = server.serve(key, certificate)?;
        let connected = world.connect(&target, &machine, stream).await?;
        anyhow::Ok(connected.map(drop))
    };
    connect("host", false).await?.map_err(anyhow::Error::msg)?;
    ensure!(refusal(connect("other", false).await?)?.contains("another host key"));

    // By a certificate of a pinned authority, for the machine's name or address alone.
    let (target, machine) = imported(vec![format!("@cert-authority {}", server.public("ca")?)])?;
    let world = World::new(PrivateWay::Direct);
    let connect = async |certificate: bool| {
        let (stream, _server) = server.serve("host", certificate)?;
        anyhow::Ok(world.connect(&target, &machine, stream).await?.map(drop))
    };
    server.certify("node-0,other").await?;
    connect(true).await?.map_err(anyhow::Error::msg)?;
    server.certify("other").await?;
    ensure!(refusal(connect(true).await?)?.contains("other names"));
    ensure!(refusal(connect(false).await?)?.contains("another host key"), "a key without its certificate");

    // First with no confirmation of the key, then with an administrator's.
    let (target, machine) = imported(Vec::new())?;
    let world = World::new(PrivateWay::Direct);
    let connect = async |key: &str| {
        let (stream, _server) = server.serve(key, false)?;
        anyhow::Ok(world.connect(&target, &machine, stream).await?.map(drop))
    };
    let print = fingerprint_of(&server.public("host")?).context("no fingerprint")?;
    let said = refusal(connect("host").await?)?;
    ensure!(said.contains("not known yet") && said.contains(&print), "{said}");
    world.keys.trust(&target.id, "uid-0", &print, "root").await?;
    connect("host").await?.map_err(anyhow::Error::msg)?;
    ensure!(refusal(connect("other").await?)?.contains("another host key"));
    Ok(())
}
