//! A machine and a jump host with OpenSSH's server, and what OpenSSH's client has to know of them.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use tests_kit::{Folder, GENEROUS, Process, free_port, part};
use tokio::net::TcpStream;

use super::keys::{Key, beside};

/// The client's cipher on every connection that it makes.
pub(crate) const CIPHER: &str = "aes256-gcm@openssh.com";
/// Its key exchange: the one that the bastion and this OpenSSH both have.
pub(crate) const KEX: &str = "curve25519-sha256";
/// The way by the jump host, in the client's configuration.
pub(crate) const JUMP: &str = "through-jump";

/// One `sshd` with its connections' processes.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) process: Process,
    pub(crate) port: u16,
    pub(crate) host_key: Key,
}

/// Both of them, with the keys that they know.
#[derive(Debug)]
pub(crate) struct Hosts {
    pub(crate) folder: Folder,
    pub(crate) machine: Server,
    pub(crate) jump: Server,
    /// Who runs this: `sshd` lets nobody else in unless it is root's.
    pub(crate) user: String,
    /// The person's key.
    pub(crate) person: Key,
    /// The key that the bastion signs in to machines with.
    pub(crate) core: Key,
}

impl Hosts {
    pub(crate) async fn start() -> Result<Self> {
        let folder = Folder::new("ssh")?;
        let user = Command::new("id").arg("-un").output()?;
        let user = String::from_utf8(user.stdout)?.trim().to_owned();
        let (person, core) = (Key::new(&folder, "person").await?, Key::new(&folder, "core").await?);
        folder.write("authorized_keys", format!("{}\n{}\n", person.public, core.public))?;
        let machine = Server::start(&folder, "machine").await?;
        let jump = Server::start(&folder, "jump").await?;
        Ok(Self { folder, machine, jump, user, person, core })
    }

    /// The client's configuration with ways by the jump host and by each of these bastions: name, port, user, and the file of
    /// a key with its certificate.
    pub(crate) fn client(&self, bastions: &[&super::site::BastionAccess]) -> Result<Client> {
        let known = |server: &Server| format!("[127.0.0.1]:{} {}\n", server.port, server.host_key.public);
        let mut known = format!("{}{}", known(&self.machine), known(&self.jump));
        let (person, user) = (self.person.file.display(), &self.user);
        let mut config = format!(
            "Host jump\n  HostName 127.0.0.1\n  Port {}\n  User {user}\n  IdentityFile {person}\n\
             Host {JUMP}\n  HostName 127.0.0.1\n  Port {}\n  User {user}\n  IdentityFile {person}\n  ProxyJump jump\n",
            self.jump.port, self.machine.port
        );
        for bastion in bastions {
            config.push_str(&format!(
                "Host {}\n  HostName localhost\n  Port {}\n  User {}\n  IdentityFile {}\n  CertificateFile {}\n",
                bastion.name,
                bastion.port,
                bastion.user,
                bastion.key.display(),
                bastion.certificate.display()
            ));
            for line in &bastion.known_hosts {
                known.push_str(line);
                known.push('\n');
            }
        }
        let known = self.folder.write("known_hosts", known)?;
        config.push_str(&format!(
            "Host *\n  AddressFamily inet\n  Ciphers {CIPHER}\n  KexAlgorithms {KEX}\n  UserKnownHostsFile {}\n  \
             GlobalKnownHostsFile /dev/null\n  StrictHostKeyChecking yes\n  UpdateHostKeys no\n  IdentitiesOnly yes\n  \
             PreferredAuthentications publickey\n  LogLevel ERROR\n  ConnectTimeout 60\n  BatchMode yes\n",
            known.display()
        ));
        Ok(Client { program: part("ssh")?, config: self.folder.write("ssh_config", config)? })
    }
}

impl Server {
    async fn start(folder: &Folder, name: &str) -> Result<Self> {
        let host_key = Key::new(folder, &format!("{name}-host")).await?;
        let port = free_port()?;
        let config = format!(
            "Port {port}\nListenAddress 127.0.0.1\nHostKey {}\nAuthorizedKeysFile {}\nPidFile none\nUsePAM no\n\
             PermitRootLogin yes\nStrictModes no\nPasswordAuthentication no\nPrintMotd no\nPrintLastLog no\nUseDNS no\n\
             MaxStartups 1000\nMaxSessions 100\nLogLevel ERROR\n",
            host_key.file.display(),
            folder.path().join("authorized_keys").display()
        );
        let config = folder.write(&format!("{name}.sshd_config"), config)?;
        let mut command = Command::new(part("sshd")?);
        command.args(["-D", "-e", "-f"]).arg(config);
        let process = Process::start(folder, &format!("sshd-{name}"), &mut command)?;
        process
            .ready(GENEROUS, || async { Ok(TcpStream::connect(("127.0.0.1", port)).await.map(drop)?) })
            .await?;
        Ok(Self { process, port, host_key })
    }
}

/// OpenSSH's client.
#[derive(Debug)]
pub(crate) struct Client {
    program: PathBuf,
    config: PathBuf,
}

impl Client {
    /// `ssh` with its configuration; the way and the command are still to come.
    pub(crate) fn ssh(&self) -> tokio::process::Command {
        let mut command = tokio::process::Command::new(&self.program);
        command.arg("-F").arg(&self.config);
        ready(&mut command);
        command
    }

    /// A shell's script with the client as `$0`, its configuration as `$1` and these after them.
    pub(crate) fn script(&self, script: &str, arguments: &[&str]) -> tokio::process::Command {
        let mut command = tokio::process::Command::new("sh");
        command.args(["-c", script]).arg(&self.program).arg(&self.config).args(arguments);
        ready(&mut command);
        command
    }

    /// Opens a connection that others share; it is there when this returns.
    pub(crate) async fn hold(&self, way: &str) -> Result<SharedConnection> {
        let socket = beside(&self.config, &format!("-{way}"));
        let path = format!("ControlPath={}", socket.display());
        let child = self.ssh().args(["-M", "-N", "-o", &path, way]).spawn()?;
        let look = || async {
            let seen = self.ssh().args(["-o", &path, "-O", "check", way]).output().await?;
            ensure!(seen.status.success(), "{way}: {}", String::from_utf8_lossy(&seen.stderr));
            Ok(())
        };
        tests_kit::until("the connection is there", GENEROUS, look).await.context(way.to_owned())?;
        Ok(SharedConnection { socket, _child: child })
    }
}

fn ready(command: &mut tokio::process::Command) {
    command.env_remove("SSH_AUTH_SOCK").kill_on_drop(true);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
}

/// A connection of the client's that others share. Dropped: gone.
#[derive(Debug)]
pub(crate) struct SharedConnection {
    pub(crate) socket: PathBuf,
    _child: tokio::process::Child,
}
