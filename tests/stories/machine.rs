//! OpenSSH's server as a machine of an imported cluster.

use std::net::Ipv4Addr;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Stdio;

use anyhow::Result;
use russh::keys::ssh_key::LineEnding;
use russh::keys::{Algorithm, PrivateKey};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// Its name.
pub(crate) const MACHINE: &str = "node-0";

/// OpenSSH's server, one process for each connection, as inetd would have it.
pub(crate) struct Machine {
    port: u16,
    host_key: String,
    /// PEM of the key that may sign in.
    key: String,
    accepting: JoinHandle<()>,
    _folder: tempfile::TempDir,
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text)?;
    Ok(std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?)
}

impl Machine {
    pub(crate) async fn start() -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let key = || PrivateKey::random(&mut russh::keys::key::safe_rng(), Algorithm::Ed25519);
        let (host, own) = (key()?, key()?);
        let path = |name: &str| folder.path().join(name);
        write(&path("host"), host.to_openssh(LineEnding::LF)?.as_str())?;
        write(&path("allowed"), &own.public_key().to_openssh()?)?;
        let config = path("sshd_config");
        let text = format!(
            "HostKey {}\nAuthorizedKeysFile {}\nPidFile none\nUsePAM no\nPermitRootLogin yes\nStrictModes no\n\
             PasswordAuthentication no\nPrintMotd no\nPrintLastLog no\nUseDNS no\n",
            path("host").display(),
            path("allowed").display()
        );
        write(&config, &text)?;
        let tcp = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let port = tcp.local_addr()?.port();
        let accepting = tokio::spawn(async move {
            while let Ok((stream, _)) = tcp.accept().await {
                let Ok(stream) = stream.into_std() else { continue };
                let blocking = stream.set_nonblocking(false).and_then(|()| stream.try_clone());
                let Ok(input) = blocking else { continue };
                let mut command = tokio::process::Command::new("/usr/sbin/sshd");
                command.arg("-i").arg("-f").arg(&config).stderr(Stdio::null());
                command.stdin(OwnedFd::from(input)).stdout(OwnedFd::from(stream));
                // Without a server the story says that the machine closed the connection.
                let Ok(mut child) = command.spawn() else { continue };
                tokio::spawn(async move { child.wait().await });
            }
        });
        let host_key = host.public_key().to_openssh()?;
        let key = own.to_openssh(LineEnding::LF)?.to_string();
        Ok(Self { port, host_key, key, accepting, _folder: folder })
    }

    /// `ssh` of an import whose only machine this is.
    pub(crate) fn import(&self) -> Result<Value> {
        let user = std::process::Command::new("id").arg("-un").output()?;
        let user = String::from_utf8(user.stdout)?.trim().to_owned();
        let machine = json!({ "name": MACHINE, "address": "127.0.0.1", "port": self.port, "host_keys": [self.host_key] });
        Ok(json!({ "user": user, "private_key": self.key, "machines": [machine] }))
    }
}
