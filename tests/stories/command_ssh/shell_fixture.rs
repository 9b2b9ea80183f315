//! An imported cluster whose one machine is a real OpenSSH server.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command as StdCommand;

use anyhow::{Context as _, Result, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use tests_kit::{Authority, Folder, GENEROUS, Output, Process, free_port, part, until};
use tokio::process::Command;
use tokio::sync::OnceCell;

use crate::tunnel::Site;

/// The cluster, and its machine's name.
pub(super) const CLUSTER: &str = "shelled";
pub(super) const MACHINE: &str = "node-0";

#[derive(Debug)]
pub(super) struct ShellFixture {
    pub(super) site: &'static Site,
    folder: Folder,
    _sshd: Process,
}

impl ShellFixture {
    /// The one of this test process.
    pub(super) async fn get() -> Result<&'static Self> {
        static ONE: OnceCell<ShellFixture> = OnceCell::const_new();
        ONE.get_or_try_init(Self::start).await
    }

    async fn start() -> Result<Self> {
        let site = Site::get().await?;
        let folder = Folder::new("shelled")?;
        for name in ["host", "own"] {
            let file = folder.path().join(name);
            let mut made = Command::new(part("ssh-keygen")?);
            made.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(file);
            ensure!(made.status().await?.success(), "ssh-keygen");
        }
        let port = free_port()?;
        let sshd = sshd(&folder, port).await?;
        let user = String::from_utf8(StdCommand::new("id").arg("-un").output()?.stdout)?.trim().to_owned();
        let key = |name: &str| std::fs::read_to_string(folder.path().join(name));
        let authority = Authority::new("API server of shelled")?;
        let kubeconfig = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{"name": "c", "cluster": {"server": format!("https://127.0.0.1:{}", free_port()?),
                "certificate-authority-data": STANDARD.encode(authority.pem())}}],
            "users": [{"name": "u", "user": {"token": "none"}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        });
        let host_key = key("host.pub")?.split(' ').take(2).collect::<Vec<_>>().join(" ");
        let machine = json!({"name": MACHINE, "address": "127.0.0.1", "port": port, "host_keys": [host_key]});
        let body = json!({
            "name": CLUSTER, "kubeconfig": kubeconfig.to_string(),
            "ssh": {"user": user, "private_key": key("own")?, "machines": [machine]},
        });
        let imported = site.aro.session("admin").await?.post("/api/v1/imports", &body).await?.ok()?.json()?;
        let cluster = imported["resourceId"].as_str().context("a resource id")?.to_owned();
        let session = site.session().await?;
        until("the imported cluster is known", GENEROUS, || async {
            session.get(&cluster).await?.ok().map(drop)
        })
        .await?;
        Ok(Self { site, folder, _sshd: sshd })
    }

    /// A folder of this one's machine, for files that go there.
    pub(super) fn place(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes the configuration that plain OpenSSH takes; its file.
    pub(super) async fn config(&self, home: &str) -> Result<PathBuf> {
        let file = self.place(&format!("{home}.config"));
        let written = file.to_string_lossy().into_owned();
        let config = ["ssh", "config", CLUSTER, "--reason", "plain OpenSSH of a story", "--file", &written];
        self.site.aro_ends(&config, home).await?.ok()?;
        Ok(file)
    }

    /// A program of OpenSSH, or built on it, to its end.
    pub(super) async fn run(&self, program: &str, arguments: &[&str]) -> Result<Output> {
        let mut command = Command::new(part(program)?);
        command.args(arguments).env("HOME", self.folder.path()).env_remove("SSH_AUTH_SOCK");
        command.kill_on_drop(true).stdin(std::process::Stdio::null());
        let output = tokio::time::timeout(GENEROUS * 2, command.output()).await;
        let output = output.with_context(|| format!("{program} does not end"))??;
        Ok(Output {
            status: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }
}

fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text)?;
    Ok(std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?)
}

async fn sshd(folder: &Folder, port: u16) -> Result<Process> {
    let at = |name: &str| folder.path().join(name).display().to_string();
    let config = folder.path().join("sshd_config");
    let text = format!(
        "ListenAddress 127.0.0.1:{port}\nHostKey {}\nAuthorizedKeysFile {}\nPidFile none\nUsePAM no\n\
         PermitRootLogin yes\nStrictModes no\nPasswordAuthentication no\nSubsystem sftp internal-sftp\n\
         PrintMotd no\nPrintLastLog no\nUseDNS no\nMaxStartups 100\n",
        at("host"),
        at("own.pub"),
    );
    write(&config, &text)?;
    let mut command = StdCommand::new(part("sshd")?);
    command.args(["-D", "-e", "-f"]).arg(config);
    let process = Process::start(folder, "sshd", &mut command)?;
    process
        .ready(GENEROUS, || async { Ok(tokio::net::TcpStream::connect(("127.0.0.1", port)).await?) })
        .await?;
    Ok(process)
}
