//! A recorded shell on a real machine: OpenSSH on both sides, keystrokes by policy, a kill in the middle, and a disk
//! that is full.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use tests_kit::{Folder, GENEROUS, Process, Running, binary, free_port, part, until};

use super::{Recorded, broken_off, cast, events_of_code, newest, recordings};

/// Of the disk for recordings.
const DISK: &str = "1m";

/// A machine with OpenSSH's server.
struct Machine {
    _server: Process,
    /// What an import says of it.
    ssh: Value,
}

async fn keygen(folder: &Path, name: &str) -> Result<(String, String)> {
    let arguments = ["-q", "-t", "ed25519", "-N", "", "-C", "", "-f", name];
    let made = tokio::process::Command::new(part("ssh-keygen")?).current_dir(folder).args(arguments).output();
    let made = made.await?;
    ensure!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let read = |name: &str| std::fs::read_to_string(folder.join(name));
    Ok((read(name)?, read(&format!("{name}.pub"))?.trim().to_owned()))
}

impl Machine {
    async fn start(folder: &Folder) -> Result<Self> {
        let user = Command::new("id").arg("-un").output()?;
        let user = String::from_utf8(user.stdout)?.trim().to_owned();
        let (_, host) = keygen(folder.path(), "host").await?;
        let (private_key, own) = keygen(folder.path(), "core").await?;
        let (allowed, port) = (folder.write("authorized_keys", own)?, free_port()?);
        let lines = format!(
            "ListenAddress 127.0.0.1\nPort {port}\nHostKey {host}\nAuthorizedKeysFile {allowed}\nPidFile none\n\
             UsePAM no\nPermitRootLogin yes\nStrictModes no\nPrintMotd no\nPrintLastLog no\nUseDNS no\n",
            host = folder.path().join("host").display(),
            allowed = allowed.display(),
        );
        let config = folder.write("sshd_config", lines)?;
        let mut command = Command::new(part("sshd")?);
        command.args(["-D", "-e", "-f"]).arg(&config).stdin(Stdio::null());
        let server = Process::start(folder, "sshd", &mut command)?;
        server
            .ready(GENEROUS, || async { Ok(tokio::net::TcpStream::connect(("127.0.0.1", port)).await?) })
            .await?;
        let host = host.split(' ').take(2).collect::<Vec<_>>().join(" ");
        let machine = json!({"name": "node-0", "address": "127.0.0.1", "port": port, "host_keys": [host]});
        Ok(Self {
            _server: server,
            ssh: json!({"user": user, "private_key": private_key, "machines": [machine]}),
        })
    }
}

/// A small disk of its own: mounted in a name space that lives as long as its process, and reached by way of that.
struct SmallDisk {
    keeper: Child,
    path: PathBuf,
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = self.keeper.kill();
        let _ = self.keeper.wait();
    }
}

impl SmallDisk {
    fn mount(folder: &Folder) -> Result<Self> {
        let place = folder.path().join("disk");
        std::fs::create_dir(&place)?;
        let script =
            format!("mount -t tmpfs -o size={DISK},mode=0700 none \"$0\" && echo mounted && exec cat");
        let mut keeper = Command::new("unshare")
            .args(["-Urm", "sh", "-c", &script])
            .arg(&place)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let said = keeper.stdout.take().context("its output")?;
        let mut line = String::new();
        BufReader::new(said).read_line(&mut line)?;
        // The shell became cat; unshare became the shell.
        let path = PathBuf::from(format!("/proc/{}/root{}", keeper.id(), place.display()));
        let disk = Self { keeper, path };
        ensure!(
            line == "mounted\n",
            "no file system of its own by `unshare -Urm` (package util-linux, kernel.unprivileged_userns_clone=1)"
        );
        Ok(disk)
    }

    fn fill(&self) -> Result<()> {
        let mut file = std::fs::File::create(self.path.join("others"))?;
        let written = std::io::copy(&mut std::io::repeat(b'x'), &mut file);
        ensure!(written.is_err_and(|error| error.kind() == std::io::ErrorKind::StorageFull));
        Ok(())
    }

    fn empty(&self) -> Result<()> {
        Ok(std::fs::remove_file(self.path.join("others"))?)
    }
}

/// A system that records shells, keystrokes too, and a person who may open them by plain `ssh`.
struct Site {
    world: Recorded,
    resource: String,
    _machine: Machine,
}

impl Site {
    async fn start(place: &Path, folder: Folder) -> Result<Self> {
        let machine = Machine::start(&folder).await?;
        let place = place.join("kept");
        let settings = [("FOLDER", place.display().to_string())];
        let settings = settings.each_ref().map(|(name, value)| (*name, value.as_str()));
        let world = Recorded::at(folder, place.clone(), true, &settings).await?;
        let plane = tests_kit::ControlPlane::shared().await?;
        let kubeconfig = std::fs::read_to_string(plane.service_kubeconfig()?)?;
        let body = json!({"name": "machines", "kubeconfig": kubeconfig, "ssh": machine.ssh});
        let imported =
            world.aro.session("admin").await?.post("/api/v1/imports", &body).await?.ok()?.json()?;
        let resource = imported["resourceId"].as_str().context("a resource id")?.to_owned();
        let session = world.aro.session("elevated").await?;
        until("the imported cluster is known", GENEROUS, || async {
            session.get(&resource).await?.ok().map(drop)
        })
        .await?;
        session.elevate("write").await?;
        let site = Self { world, resource, _machine: machine };
        site.configure().await?;
        Ok(site)
    }

    fn config(&self) -> PathBuf {
        self.world.folder.path().join("ssh.config")
    }

    /// What plain `ssh` needs, with an access behind it.
    async fn configure(&self) -> Result<()> {
        let session = self.world.aro.session("elevated").await?;
        let cookie = self.world.folder.write("cookie", session.cookie().context("a cookie")?)?;
        let mut command = tokio::process::Command::new(binary("aro")?);
        command
            .args(["ssh", "config", "machines", "--reason", "a recorded shell", "--file"])
            .arg(self.config());
        command.args(["--portal", &self.world.aro.dev.url, "--ca-file"]).arg(&self.world.aro.dev.ca_file);
        command
            .arg("--session-cookie-file")
            .arg(cookie)
            .arg("--config-dir")
            .arg(self.world.folder.path().join("aro"));
        command.env("HOME", self.world.folder.path()).stdin(Stdio::null()).kill_on_drop(true);
        let done =
            tokio::time::timeout(GENEROUS * 2, command.output()).await.context("it does not end")??;
        ensure!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        Ok(())
    }

    /// A shell with a terminal.
    fn shell(&self) -> Result<Running> {
        let mut command = tokio::process::Command::new(part("ssh")?);
        command.args(["-tt", "-F"]).arg(self.config()).arg("node-0.machines");
        command.env("HOME", self.world.folder.path()).env("TERM", "xterm").kill_on_drop(true);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Running::new(&mut command, &["node-0.machines"])
    }

    /// The recording of the shell that runs.
    async fn running(&self) -> Result<String> {
        let person = self.world.aro.session("elevated").await?;
        let runs = |found: &Value| found["state"] == "running" && found["kind"] == "ssh";
        let found = newest(&person, "the shell is recorded", runs).await?;
        ensure!(found["place"] == "node-0" && found["interactive"] == true, "{found}");
        ensure!(
            found["cluster"].as_str().is_some_and(|id| id.eq_ignore_ascii_case(&self.resource)),
            "{found}"
        );
        Ok(found["id"].as_str().context("an id")?.to_owned())
    }

    /// Waits until something that was shown can be read.
    async fn readable(&self, id: &str, words: &str) -> Result<()> {
        let person = self.world.aro.session("elevated").await?;
        until("what was shown can be read", GENEROUS, || async {
            let (_, events) = cast(&person, id).await?;
            ensure!(events_of_code(&events, "o").contains(words), "{events:?}");
            Ok(())
        })
        .await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shell_on_a_machine_is_recorded_and_readable_up_to_a_kill() -> Result<()> {
    let folder = Folder::new("recorded-shells")?;
    let place = folder.path().to_owned();
    let mut site = Site::start(&place, folder).await?;
    let told = recorded(&mut site).await;
    site.world.aro.explain(told)
}

async fn recorded(site: &mut Site) -> Result<()> {
    let mut shell = site.shell()?;
    // What is typed before the shell has understood is echoed.
    shell.type_in("stty -echo; PS1=; echo $((60 * 69)) hides\n").await?;
    shell.says("4140 hides").await?;
    shell.type_in("echo $((60 * 70)) is shown; : not shown; exit 3\n").await?;
    let output = shell.end(GENEROUS).await?;
    ensure!(output.status == 3 && output.stdout.contains("4200 is shown"), "{output:?}");
    let person = site.world.aro.session("elevated").await?;
    let found = newest(&person, "the shell has its end", |found| found["outcome"] == "exit 3").await?;
    let id = found["id"].as_str().context("an id")?;
    let (head, events) = cast(&person, id).await?;
    ensure!(head["term"]["type"] == "xterm" && events_of_code(&events, "x") == "3", "{head} {events:?}");
    ensure!(events_of_code(&events, "o").contains("4200 is shown"), "{events:?}");
    let page = format!("aro: recorded: {}/recordings/{id}", site.world.aro.dev.url.trim_end_matches('/'));
    ensure!(output.stderr.contains(&page), "{page}: {output:?}");
    ensure!(events_of_code(&events, "i").contains(": not shown; exit 3"), "{events:?}");
    // What was typed and not shown is not searched.
    ensure!(recordings(&person, "?q=4200%20is%20shown").await?.len() == 1);
    ensure!(recordings(&person, "?q=%3A%20not%20shown%3B%20exit").await?.is_empty());

    let mut shell = site.shell()?;
    shell.type_in("echo $((60 * 71)) before the kill\n").await?;
    shell.says("4260 before the kill").await?;
    let id = site.running().await?;
    site.readable(&id, "4260 before the kill").await?;
    site.world.aro.process().kill()?;
    shell.kill().await?;
    site.world.aro.restart().await?;
    let person = site.world.aro.session("elevated").await?;
    let events = broken_off(&person, &id).await?;
    ensure!(events_of_code(&events, "o").contains("4260 before the kill"), "{events:?}");
    let auditor = site.world.aro.session("auditor").await?;
    until("its end is on the record", GENEROUS, || async {
        let ends = auditor.audit("recording.end").await?;
        let end = ends.iter().find(|entry| entry["name"] == id.as_str()).context("no entry")?;
        ensure!(end["result"]["word"] == "cut" && end["query"].to_string().contains("head="), "{end}");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shell_that_cannot_be_recorded_is_cut_or_refused() -> Result<()> {
    let folder = Folder::new("full-disk")?;
    let disk = SmallDisk::mount(&folder)?;
    let site = Site::start(&disk.path, folder).await?;
    let told = full(&site, &disk).await;
    site.world.aro.explain(told)
}

async fn full(site: &Site, disk: &SmallDisk) -> Result<()> {
    let mut shell = site.shell()?;
    shell.type_in("echo $((60 * 70)) before\n").await?;
    shell.says("4200 before").await?;
    let id = site.running().await?;
    site.readable(&id, "4200 before").await?;
    disk.fill()?;
    // More than the rest of the last page that the file has already.
    shell.type_in("head -c 100000 /dev/urandom | base64\n").await?;
    let cut = shell.end(GENEROUS).await?;
    ensure!(cut.status != 0 && cut.stderr.contains("must be recorded"), "{cut:?}");
    let refused = site.shell()?.end(GENEROUS).await?;
    ensure!(refused.status == 255 && !refused.stdout.contains('$'), "{refused:?}");
    ensure!(refused.stderr.contains("recorded"), "why, in words: {refused:?}");
    // What was written before is there, and the end says why.
    let person = site.world.aro.session("elevated").await?;
    let found =
        newest(&person, "it has its end", |found| found["outcome"] == "the recording broke off").await?;
    ensure!(found["id"] == id.as_str(), "a session that was refused has a recording: {found}");
    site.readable(&id, "4200 before").await?;
    // With room again, shells go again.
    disk.empty()?;
    let mut shell = site.shell()?;
    shell.type_in("exit 5\n").await?;
    let again = shell.end(GENEROUS).await?;
    ensure!(again.status == 5, "{again:?}");
    Ok(())
}
