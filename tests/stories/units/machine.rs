//! A machine of its own with a real systemd as process 1 (`machine.sh` beside this file).

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt as _;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use tests_kit::{Folder, GENEROUS, Process, binary, part, until, workspace};

const UNITS: &str = "files/etc/systemd/system";
/// What systemd itself and our units name; a machine has more behind them.
const TARGETS: [&str; 7] =
    ["machine", "sysinit", "basic", "network-online", "time-sync", "multi-user", "shutdown"];
const TARGET: &str = "[Unit]\nDefaultDependencies=no\n";
/// There is no journal.
const LOG: &str = "[Service]\nStandardOutput=append:/logs/%N.log\n";
/// In the place of what a unit starts.
const PROBE: &str = "[Service]\nType=oneshot\nRestart=no\nExecStartPre=\nExecReload=\nExecStart=\n\
                     ExecStart=/usr/bin/python3 -I /usr/local/lib/probe.py\n";

/// Whether a machine of its own can be had here: to be called first, so that a test says what it needs before it fails.
///
/// # Errors
/// Names what is missing, and what to do.
pub(super) fn prerequisites() -> Result<()> {
    let root = std::fs::metadata("/proc/self")?.uid() == 0;
    ensure!(root, "a machine of its own takes mounts and namespaces: run this test as root");
    part("systemd")?;
    let folder = Folder::new("prerequisites")?;
    let place = folder.path().join("place");
    std::fs::create_dir(&place)?;
    let script = workspace().join("tests/stories/units/prerequisites.sh");
    let output = Command::new("bash").arg(script).arg(&place).stdin(Stdio::null()).output();
    let output = output.context("bash cannot be started")?;
    let (missing, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    ensure!(output.status.success(), "a machine of its own cannot be had here. Missing:\n{missing}{error}");
    Ok(())
}

/// Ends with its value.
pub(super) struct Machine {
    folder: Folder,
    process: Process,
}

impl Machine {
    /// Starts it. What is below `files/` in the folder is on its disk; the checkout's `deploy/` and `aro` are below
    /// `/srv/aro`.
    pub(super) async fn boot(folder: Folder) -> Result<Self> {
        for target in TARGETS {
            folder.write(&format!("{UNITS}/{target}.target"), TARGET)?;
        }
        folder.write(&format!("{UNITS}/service.d/log.conf"), LOG)?;
        folder.write("files/srv/probe.py", include_str!("probe.py"))?;
        let mut command = Command::new("unshare");
        command.args(["--mount", "--propagation", "private", "bash"]);
        command.arg(workspace().join("tests/stories/units/machine.sh")).arg(folder.path());
        command.arg(binary("aro")?).arg(workspace().join("deploy"));
        let process = Process::start(&folder, "machine", &mut command)?;
        let machine = Self { folder, process };
        let up = || async { machine.run("systemctl is-active machine.target").await };
        machine.process.ready(GENEROUS, up).await?;
        Ok(machine)
    }

    /// systemd as this machine's kernel counts it.
    pub(super) fn init(&self) -> Result<u32> {
        let first = self.process.pid();
        let child = std::fs::read_to_string(format!("/proc/{first}/task/{first}/children"))?;
        let child = child.trim().parse::<u32>().with_context(|| format!("not one child: {child:?}"))?;
        let name = std::fs::read_to_string(format!("/proc/{child}/comm"))?;
        ensure!(name.trim() == "systemd", "{} runs still", name.trim());
        Ok(child)
    }

    /// Runs a script of bash there, as root; gives what it printed.
    pub(super) async fn run(&self, script: &str) -> Result<String> {
        let mut command = tokio::process::Command::new("nsenter");
        command.arg(format!("--target={}", self.init()?));
        command.args(["--mount", "--pid", "--ipc", "--uts", "--net", "--cgroup", "--root", "--wd"]);
        command.args(["bash", "-euc", script]).env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
        let output = command.stdin(Stdio::null()).kill_on_drop(true).output();
        let output = tokio::time::timeout(GENEROUS, output).await.with_context(|| script.to_owned())??;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let log = || std::fs::read_to_string(self.folder.path().join("systemd.log")).unwrap_or_default();
        let error = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{script}: {}\n{said}{error}\n{}", output.status, log());
        Ok(said)
    }

    /// Waits until a script succeeds; the error has the log of the unit.
    pub(super) async fn until(&self, unit: &str, script: &str) -> Result<String> {
        let found = until(script, GENEROUS, || self.run(script)).await;
        if found.is_ok() {
            return found;
        }
        let log = self.run(&format!("tail -n 20 /logs/{unit}.log")).await;
        found.with_context(|| log.unwrap_or_else(|error| format!("{error:#}")))
    }

    /// Holds the running process of a unit to what `deploy/README.md` says of it.
    pub(super) async fn is_shut_out(&self, unit: &str) -> Result<()> {
        let process = format!("/proc/$(systemctl show --property=MainPID --value {unit})");
        let status = self.run(&format!("cat {process}/status")).await?;
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            line.map(str::trim).unwrap_or_default().to_owned()
        };
        for name in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
            ensure!(field(name) == "0".repeat(16), "{unit}: {name} {}", field(name));
        }
        let kept = [field("NoNewPrivs"), field("Seccomp"), field("Umask")];
        ensure!(kept == ["1", "2", "0077"], "{unit}: {kept:?}");
        ensure!(self.run("id --user aro").await?.trim() == first_word(&field("Uid")), "{status}");

        let mounts = self.run(&format!("cat {process}/mountinfo")).await?;
        let writable: BTreeSet<&str> = mounts.lines().filter_map(writable_mount).collect();
        let expected =
            ["/dev/mqueue", "/dev/pts", "/proc", "/tmp", "/var/lib/aro", "/var/log/aro", "/var/tmp"];
        ensure!(writable == BTreeSet::from(expected), "{unit}: {writable:?}");
        let home = self.run(&format!("cd {process}/root; ls -A home root")).await?;
        ensure!(!home.contains("somebody"), "{unit}: {home}");
        Ok(())
    }

    /// What a program can do that a unit starts in the place of `aro` (`probe.py`).
    pub(super) async fn probe(&self, unit: &str) -> Result<Value> {
        let units = "/etc/systemd/system";
        let script = format!(
            "install -m 0644 /srv/probe.py /usr/local/lib/probe.py\n\
             cp {units}/{unit}.service {units}/probe-{unit}.service\n\
             mkdir {units}/probe-{unit}.service.d\n\
             printf '%s' '{PROBE}' > {units}/probe-{unit}.service.d/probe.conf\n\
             systemctl daemon-reload\n\
             systemctl start probe-{unit} || cat /logs/probe-{unit}.log >&2\n\
             cat /logs/probe-{unit}.log"
        );
        let said = self.run(&script).await?;
        serde_json::from_str(&said).with_context(|| said)
    }
}

fn first_word(text: &str) -> &str {
    text.split_whitespace().next().unwrap_or_default()
}

/// "ID PARENT DEVICE ROOT PLACE OPTIONS …" of proc(5).
fn writable_mount(line: &str) -> Option<&str> {
    let mut fields = line.split(' ').skip(4);
    let (place, options) = (fields.next()?, fields.next()?);
    options.split(',').any(|option| option == "rw").then_some(place)
}
