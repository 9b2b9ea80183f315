//! A bastion, a machine with OpenSSH's server, and OpenSSH's client.

#[path = "../shared/person.rs"]
mod person;
#[path = "../shared/waits.rs"]
mod waits;

use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use ipnet::IpNet;
use parking_lot::Mutex;
use proxy::ssh::host_keys::HostKeys;
use proxy::ssh::keys::{KeyParts, ServiceKeys};
use proxy::ssh::machines::ClusterMachines;
use proxy::ssh::{Bastion, BastionParts, LegParts, Legs};
use rp_access::{Access, AccessParts, IssueRequest, IssuedGrant, Policy};
use rp_audit::{Audit, AuditOptions, CheckpointKey};
use rp_base::{Clock as _, Id, Secret, SystemClock, SystemRandom};
use rp_database::in_memory;
use rp_documents::{Entry, GrantKind, GrantOptions, ResourceId, Rights};
use rp_net::listen::Stop;
use rp_net::{
    Dialer, DialerOptions, Directory, DirectoryError, Endpoint, Networks, Origins, PrivateWay, Source,
    SshKey, SshMachine, SshTarget, Target,
};
use rp_recording::Recordings;
use rp_seal::Keyring;
use russh::keys::ssh_key::LineEnding;
use russh::keys::{Algorithm, PrivateKey};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpListener;
use tokio::process::Command;

use person::{caller, policy};
pub(crate) use waits::{SOON, soon, until};

/// For tens of mebibytes through a debug build on a busy machine.
const LONG: Duration = Duration::from_secs(600);
const RES: &str = "/subscriptions/00000000-0000-0000-0000-000000000000/resourcegroups/imported/providers/microsoft.redhatopenshift/openshiftclusters/harbor";
/// The reason of every grant here.
pub(crate) const REASON: &str = "look at the kubelet";
pub(crate) const MACHINE: &str = "node-0";

/// The directory of one cluster.
#[derive(Debug, Default)]
struct SingleTarget(Mutex<Option<Arc<Target>>>);

#[async_trait]
impl Directory for SingleTarget {
    async fn find(&self, _id: &ResourceId) -> Result<Arc<Target>, DirectoryError> {
        self.0.lock().clone().ok_or(DirectoryError::Unknown)
    }
}

/// What a test may choose.
pub(crate) struct Setup {
    pub(crate) settings: rp_config::Ssh,
    /// A shell with a terminal ends when nothing was typed for so long.
    pub(crate) idle: Duration,
    /// How long a one-time password is good.
    pub(crate) password_life: Duration,
    /// Who begins connections with a PROXY protocol header.
    pub(crate) balancers: Vec<IpNet>,
    /// Where the bastion is for people.
    pub(crate) listen: Ipv4Addr,
    /// Where machines may be.
    pub(crate) machines: IpNet,
}

/// The defaults, without a rate of connections and with time to reach a machine. The contract's ciphers are slow in a
/// debug build.
pub(crate) fn settings() -> rp_config::Ssh {
    rp_config::Ssh {
        connections_per_minute: 0,
        modern_machines: true,
        connect_time: SOON,
        ..rp_config::Ssh::default()
    }
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            settings: settings(),
            idle: rp_config::Terminal::default().idle,
            password_life: policy().access.password_life,
            balancers: Vec::new(),
            listen: Ipv4Addr::LOCALHOST,
            machines: "127.0.0.0/8".parse().unwrap(),
        }
    }
}

pub(crate) struct World {
    pub(crate) access: Arc<Access>,
    pub(crate) audit: Audit,
    pub(crate) keys: Arc<ServiceKeys>,
    pub(crate) address: SocketAddr,
    pub(crate) machine: Machine,
    pub(crate) folder: tempfile::TempDir,
    directory: Arc<SingleTarget>,
    stop: Stop,
}

impl Drop for World {
    fn drop(&mut self) {
        self.stop.stop.cancel();
        self.stop.cut.cancel();
        self.machine.kill();
    }
}

impl World {
    pub(crate) async fn new() -> Self {
        Self::with(Setup::default()).await
    }

    pub(crate) async fn with(setup: Setup) -> Self {
        let clock = Arc::new(SystemClock);
        let store = in_memory(clock.clone());
        let options = AuditOptions::new(CheckpointKey::generate().unwrap());
        let audit = Audit::start(in_memory(clock.clone()), clock.clone(), options).await.unwrap();
        let keyring = Keyring::generate(&SystemRandom);
        let access = Access::start(AccessParts {
            store: store.clone(),
            audit: audit.clone(),
            keyring: keyring.clone(),
            clock: clock.clone(),
            random: Arc::new(SystemRandom),
            policy: Policy {
                access: rp_config::Access {
                    password_life: setup.password_life,
                    ..rp_config::Access::default()
                },
                ..policy()
            },
            registry: rp_metrics::Registry::new(),
        });
        let access = access.await.unwrap();
        let parts = KeyParts {
            store: store.clone(),
            keyring,
            clock: clock.clone(),
            settings: setup.settings.clone(),
        };
        let keys = Arc::new(ServiceKeys::open(&parts).await.unwrap());
        let networks = Networks::new(vec![setup.machines], Vec::new());
        let dialer = Dialer::new(DialerOptions { private: PrivateWay::Direct, networks, keepalive: SOON });
        let legs = Legs::new(LegParts {
            machines: ClusterMachines::new(dialer.clone()),
            host_keys: HostKeys::new(store, dialer.clone(), clock.clone()),
            dialer,
            clock: clock.clone(),
            settings: setup.settings.clone(),
        });
        let folder = tempfile::tempdir().unwrap();
        let machine = Machine::start(folder.path()).await;
        let directory = Arc::new(SingleTarget::default());
        let bastion = Bastion::new(BastionParts {
            access: access.clone(),
            directory: directory.clone(),
            legs,
            keys: keys.clone(),
            recordings: Recordings::off(),
            clock,
            random: Arc::new(SystemRandom),
            registry: rp_metrics::Registry::new(),
            settings: setup.settings,
            limits: rp_config::Limits::default(),
            idle: setup.idle,
            host: "bastion.test".to_owned(),
            names: vec!["127.0.0.1".to_owned()],
            origins: Arc::new(Origins { proxy_protocol_from: setup.balancers, ..Origins::default() }),
        });
        let tcp = TcpListener::bind((setup.listen, 0)).await.unwrap();
        let (address, stop) = (tcp.local_addr().unwrap(), Stop::default());
        tokio::spawn(bastion.unwrap().serve(tcp, stop.clone()));
        let world = Self { access, audit, keys, address, machine, folder, directory, stop };
        world.cluster(world.machine.port, vec![world.machine.host_key.clone()]);
        world
    }

    /// A cluster with one machine at that port, which shows one of these keys.
    pub(crate) fn cluster(&self, port: u16, host_keys: Vec<String>) {
        self.cluster_at(Ipv4Addr::LOCALHOST, port, host_keys);
    }

    /// The same, somewhere else.
    pub(crate) fn cluster_at(&self, address: Ipv4Addr, port: u16, host_keys: Vec<String>) {
        let machine = SshMachine { name: MACHINE.to_owned(), address: address.to_string(), port, host_keys };
        let ssh = SshTarget {
            user: self.machine.user.clone(),
            key: SshKey::Pem(Secret::new(self.machine.key.clone())),
            machines: vec![machine],
        };
        let credential = rp_net::Credential::Token(Secret::new("none".to_owned()));
        let target = Target {
            id: id(),
            source: Source::Imported,
            endpoint: Endpoint::Direct { url: "https://127.0.0.1:1".parse().unwrap() },
            server_name: "127.0.0.1".to_owned(),
            ca_pem: String::new(),
            read: credential.clone(),
            admin: credential,
            as_groups: Vec::new(),
            ssh: Some(ssh),
            fingerprint: 0,
        };
        *self.directory.0.lock() = Some(Arc::new(target.fingerprinted()));
    }

    /// An access for a shell on the machine.
    pub(crate) async fn issue(&self) -> IssuedGrant {
        self.issue_with(|_| {}).await
    }

    pub(crate) async fn issue_with(&self, change: impl FnOnce(&mut IssueRequest)) -> IssuedGrant {
        if self.access.active_elevations("sub-ada").is_empty() {
            let ask = rp_access::ElevationRequest {
                reason: REASON.to_owned(),
                ticket: None,
                target: None,
                rights: Rights::Admin,
                life: None,
                break_glass: false,
            };
            self.access.request_elevation(&caller(&["power"]), ask).await.unwrap();
        }
        let mut ask = IssueRequest::new(GrantKind::Ssh, Some(id()), Rights::Write, REASON.to_owned());
        ask.machine = Some(MACHINE.to_owned());
        change(&mut ask);
        self.access.issue(&caller(&["power"]), ask).await.unwrap()
    }

    pub(crate) async fn revoke(&self, issued: &IssuedGrant) {
        self.access.revoke(&caller(&["power"]), &issued.grant.id, None).await.unwrap();
    }

    /// A client that signs in with a certificate of that access.
    pub(crate) async fn client(&self, issued: &IssuedGrant) -> Client {
        let file = self.folder.path().join(format!("id-{}", issued.grant.id));
        let key = PrivateKey::random(&mut russh::keys::key::safe_rng(), Algorithm::Ed25519).unwrap();
        write(&file, key.to_openssh(LineEnding::LF).unwrap().as_str(), 0o600);
        let now = SystemClock.now();
        let until = now + Duration::from_secs(600);
        let certificate = self.keys.user_certificate(key.public_key(), &issued.grant.id, now, until).unwrap();
        let beside = PathBuf::from(format!("{}-cert.pub", file.display()));
        write(&beside, &certificate.to_openssh().unwrap(), 0o600);
        self.plain_client(Some(&file))
    }

    pub(crate) async fn granted(&self) -> Client {
        let issued = self.issue().await;
        self.client(&issued).await
    }

    /// A client that trusts the bastion, with a key or without.
    pub(crate) fn plain_client(&self, key: Option<&Path>) -> Client {
        let known = self.folder.path().join("known_hosts");
        let host = self.address.ip().to_string();
        write(&known, &(self.keys.known_hosts(&host, self.address.port()).join("\n") + "\n"), 0o600);
        let mut options = vec![
            format!("UserKnownHostsFile={}", known.display()),
            "GlobalKnownHostsFile=/dev/null".to_owned(),
            "StrictHostKeyChecking=yes".to_owned(),
            "UpdateHostKeys=no".to_owned(),
            "IdentitiesOnly=yes".to_owned(),
            "LogLevel=ERROR".to_owned(),
            "ConnectTimeout=60".to_owned(),
        ];
        if let Some(key) = key {
            options.push(format!("IdentityFile={}", key.display()));
            options.push("PreferredAuthentications=publickey".to_owned());
        }
        Client { host, port: self.address.port(), options, env: HashMap::new() }
    }

    /// A client that answers the question for a password.
    pub(crate) fn with_password(&self, password: &str) -> Client {
        let mut client = self.plain_client(None);
        let file = self.folder.path().join(format!("ask-{}", Id::random(&SystemRandom)));
        write(&file, &format!("#!/bin/sh\necho '{password}'\n"), 0o700);
        client.env.insert("SSH_ASKPASS".to_owned(), file.display().to_string());
        client.env.insert("SSH_ASKPASS_REQUIRE".to_owned(), "force".to_owned());
        client.options.extend(
            ["PubkeyAuthentication=no", "PreferredAuthentications=password", "NumberOfPasswordPrompts=1"]
                .map(str::to_owned),
        );
        client
    }

    /// Waits until the audit trail holds an entry that a look accepts.
    pub(crate) async fn audited(&self, what: &str, look: impl Fn(&Entry) -> bool) -> Entry {
        waits::audited(&self.audit, what, look).await
    }
}

/// The person who has accesses here.
pub(crate) fn ada() -> rp_access::Caller {
    caller(&["power"])
}

pub(crate) fn id() -> ResourceId {
    ResourceId::parse(RES).unwrap()
}

/// With an agent on the machine.
pub(crate) fn with_agent(ask: &mut IssueRequest) {
    ask.options = GrantOptions { agent_forwarding: true };
}

pub(crate) fn write(path: &Path, text: &str, mode: u32) {
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

/// OpenSSH's client and its options.
#[derive(Clone)]
pub(crate) struct Client {
    host: String,
    pub(crate) port: u16,
    pub(crate) options: Vec<String>,
    pub(crate) env: HashMap<String, String>,
}

impl Client {
    /// With one option more; the first of a name counts.
    pub(crate) fn option(mut self, option: &str) -> Self {
        self.options.insert(0, option.to_owned());
        self
    }

    /// `ssh`, `scp` or `sftp` with its options; the port as that program names it.
    pub(crate) fn program(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.args(["-F", "/dev/null"]);
        for option in &self.options {
            command.args(["-o", option]);
        }
        command.args(["-o", &format!("Port={}", self.port)]);
        command.envs(&self.env).env_remove("SSH_AUTH_SOCK").kill_on_drop(true);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// A command of `ssh` with arguments before and after the host.
    pub(crate) fn ssh(&self, before: &[&str], after: &[&str]) -> Command {
        let mut command = self.program("ssh");
        if let Some(agent) = self.env.get("SSH_AUTH_SOCK") {
            command.env("SSH_AUTH_SOCK", agent);
        }
        command.args(before).arg(format!("ada@{}", self.host)).args(after);
        command
    }

    /// Runs a command on the machine to its end.
    pub(crate) async fn run(&self, command: &str) -> CommandOutput {
        done(self.ssh(&[], &[command])).await
    }

    /// The same with bytes for its standard input.
    pub(crate) async fn feed(&self, before: &[&str], after: &[&str], input: Vec<u8>) -> CommandOutput {
        let mut command = self.ssh(before, after);
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let writing = tokio::spawn(async move {
            let _ = stdin.write_all(&input).await;
            drop(stdin);
        });
        let output =
            tokio::time::timeout(LONG, child.wait_with_output()).await.expect("the command's end").unwrap();
        writing.abort();
        output.into()
    }
}

/// What a command left.
#[derive(Debug)]
pub(crate) struct CommandOutput {
    pub(crate) code: Option<i32>,
    pub(crate) out: Vec<u8>,
    pub(crate) err: String,
}

impl CommandOutput {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.out).into_owned()
    }
}

impl From<Output> for CommandOutput {
    fn from(output: Output) -> Self {
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        Self { code: output.status.code(), out: output.stdout, err }
    }
}

pub(crate) async fn done(mut command: Command) -> CommandOutput {
    tokio::time::timeout(LONG, command.output()).await.expect("the command's end").unwrap().into()
}

/// The same of a command whose output goes elsewhere.
pub(crate) async fn done_writing(mut command: Command) -> CommandOutput {
    let child = command.spawn().unwrap();
    tokio::time::timeout(LONG, child.wait_with_output()).await.expect("the command's end").unwrap().into()
}

/// OpenSSH's server, one process for each connection: no port is guessed, and each can be killed.
pub(crate) struct Machine {
    pub(crate) port: u16,
    pub(crate) user: String,
    /// `TYPE BASE64`.
    pub(crate) host_key: String,
    /// PEM of the key that may sign in.
    pub(crate) key: String,
    groups: Arc<Mutex<Vec<u32>>>,
    accepting: tokio::task::JoinHandle<()>,
}

impl Machine {
    async fn start(folder: &Path) -> Self {
        let user = std::process::Command::new("id").arg("-un").output().unwrap();
        let user = String::from_utf8(user.stdout).unwrap().trim().to_owned();
        let [host, own] = [(); 2]
            .map(|()| PrivateKey::random(&mut russh::keys::key::safe_rng(), Algorithm::Ed25519).unwrap());
        let (host_file, allowed) = (folder.join("host_key"), folder.join("authorized_keys"));
        write(&host_file, host.to_openssh(LineEnding::LF).unwrap().as_str(), 0o600);
        write(&allowed, &own.public_key().to_openssh().unwrap(), 0o600);
        let config = folder.join("sshd_config");
        let text = format!(
            "HostKey {}\nAuthorizedKeysFile {}\nPidFile none\nUsePAM no\nPermitRootLogin yes\nStrictModes no\n\
             PasswordAuthentication no\nSubsystem sftp internal-sftp\nAcceptEnv LANG LC_*\nPrintMotd no\n\
             PrintLastLog no\nUseDNS no\nMaxSessions 100\n",
            host_file.display(),
            allowed.display()
        );
        write(&config, &text, 0o600);
        let tcp = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let port = tcp.local_addr().unwrap().port();
        let groups: Arc<Mutex<Vec<u32>>> = Arc::default();
        let started = Arc::clone(&groups);
        let accepting = tokio::spawn(async move {
            while let Ok((stream, _)) = tcp.accept().await {
                let stream = stream.into_std().unwrap();
                stream.set_nonblocking(false).unwrap();
                let (input, output) = (stream.try_clone().unwrap(), stream);
                let mut command = std::process::Command::new("/usr/sbin/sshd");
                command.arg("-i").arg("-f").arg(&config).process_group(0);
                command.stdin(std::os::fd::OwnedFd::from(input)).stdout(std::os::fd::OwnedFd::from(output));
                let mut command = Command::from(command);
                command.stderr(Stdio::null());
                let mut child = command.spawn().expect("sshd; tests/parts/install has it");
                started.lock().extend(child.id());
                tokio::spawn(async move { child.wait().await });
            }
        });
        let host_key = host.public_key().to_openssh().unwrap();
        let key = own.to_openssh(LineEnding::LF).unwrap().to_string();
        Self { port, user, host_key, key, groups, accepting }
    }

    /// The machine is gone from one instant to the next.
    pub(crate) fn kill(&self) {
        self.accepting.abort();
        for group in self.groups.lock().drain(..) {
            let _ = std::process::Command::new("kill").args(["-9", "--", &format!("-{group}")]).output();
        }
    }

    /// Connections that were made so far.
    pub(crate) fn connections(&self) -> usize {
        self.groups.lock().len()
    }
}
