//! A real PostgreSQL server: started, stopped, paused, replaced by its standby.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use parking_lot::Mutex;

use crate::{Folder, Pair, Process, free_port, part};

/// URL-safe as it is.
const PASSWORD: &str = "only-for-tests";
const START: Duration = Duration::from_secs(120);

/// What is answered is on the disk.
const DURABLE: [&str; 3] = ["fsync=on", "full_page_writes=on", "synchronous_commit=on"];

/// A server on a free port of 127.0.0.1; superuser `postgres`. It ends with its value.
#[derive(Debug)]
pub struct Postgres {
    bin: PathBuf,
    folder: Folder,
    port: u16,
    settings: Vec<String>,
    /// `None` while it is stopped.
    process: Mutex<Option<Process>>,
    /// Stopped by a signal, with the processes that were.
    paused: Mutex<Vec<u32>>,
    databases: AtomicU32,
}

impl Postgres {
    /// An empty server that keeps its promises (fsync) no better than a test needs.
    ///
    /// # Errors
    /// PostgreSQL is not installed, or does not come up.
    pub async fn start() -> Result<Self> {
        Self::start_with(&[], None).await
    }

    /// The same with `name=value` settings, and with TLS when there is a certificate.
    ///
    /// # Errors
    /// As [`Postgres::start`].
    pub async fn start_with(settings: &[&str], tls: Option<&Pair>) -> Result<Self> {
        Self::start_in(Folder::new("postgres")?, settings, tls).await
    }

    /// A server that syncs before it answers, with its folder on a disk: for tests of what outlives a crash.
    ///
    /// # Errors
    /// As [`Postgres::start`].
    pub async fn start_durable() -> Result<Self> {
        let server = Self::start_in(Folder::on_disk("postgres")?, &DURABLE, None).await?;
        let fsync = server.sql("postgres", "SHOW fsync").await?;
        ensure!(fsync == "on", "fsync is {fsync}");
        Ok(server)
    }

    async fn start_in(folder: Folder, settings: &[&str], tls: Option<&Pair>) -> Result<Self> {
        let mut server = Self::prepare(folder, settings)?;
        let secret = server.folder.write("password", PASSWORD)?;
        server.own()?;
        let mut initdb = server.program("initdb");
        initdb.args(["-U", "postgres", "-A", "scram-sha-256", "-E", "UTF8", "--locale=C", "--no-sync"]);
        run(initdb.arg("--pwfile").arg(&secret).arg("-D").arg(server.data()))?;
        if let Some(pair) = tls {
            server.folder.write("server.crt", &pair.certificate)?;
            server.folder.write("server.key", &pair.key)?;
            server.own()?;
            let file = |name: &str| server.folder.path().join(name).display().to_string();
            let files = [
                "ssl=on".to_owned(),
                format!("ssl_cert_file={}", file("server.crt")),
                format!("ssl_key_file={}", file("server.key")),
            ];
            server.settings.extend(files);
        }
        server.go().await?;
        Ok(server)
    }

    /// A standby that streams from this server, and can be promoted.
    ///
    /// # Errors
    /// It does not come up.
    pub async fn standby(&self) -> Result<Self> {
        let settings: Vec<&str> = self.settings.iter().map(String::as_str).collect();
        let standby = Self::prepare(Folder::new("postgres")?, &settings)?;
        standby.own()?;
        let mut copy = standby.program("pg_basebackup");
        copy.args(["-h", "127.0.0.1", "-U", "postgres", "-R", "-X", "stream", "-c", "fast", "--no-sync"]);
        copy.arg("-p").arg(self.port.to_string()).arg("-D").arg(standby.data()).env("PGPASSWORD", PASSWORD);
        run(&mut copy)?;
        standby.go().await?;
        Ok(standby)
    }

    /// Makes a standby take writes.
    ///
    /// # Errors
    /// It is none, or does not within a minute.
    pub fn promote(&self) -> Result<()> {
        run(self.program("pg_ctl").args(["promote", "-w", "-D"]).arg(self.data())).map(drop)
    }

    fn prepare(folder: Folder, settings: &[&str]) -> Result<Self> {
        Ok(Self {
            bin: part("postgres-bin")?,
            folder,
            port: free_port()?,
            settings: settings.iter().map(|&setting| setting.to_owned()).collect(),
            process: Mutex::new(None),
            paused: Mutex::new(Vec::new()),
            databases: AtomicU32::new(0),
        })
    }

    /// Starts it where it was stopped, and waits until it answers.
    ///
    /// # Errors
    /// It does not come up.
    pub async fn go(&self) -> Result<()> {
        let mut command = self.program("postgres");
        command.arg("-D").arg(self.data()).args(["-h", "127.0.0.1", "-p", &self.port.to_string()]);
        command.arg("-k").arg(self.folder.path());
        // The last of two settings counts.
        let usual = ["fsync=off", "full_page_writes=off", "max_connections=300", "shared_buffers=32MB"];
        for setting in usual.into_iter().chain(self.settings.iter().map(String::as_str)) {
            command.args(["-c", setting]);
        }
        let process = Process::start(&self.folder, "postgres", &mut command)?;
        let port = self.port.to_string();
        let answers = || async {
            let mut ask = self.program("pg_isready");
            run(ask.args(["-q", "-h", "127.0.0.1", "-p", &port])).map(drop)
        };
        process.ready(START, answers).await?;
        *self.process.lock() = Some(process);
        Ok(())
    }

    /// Stops it as a crash does: nothing is finished.
    ///
    /// # Errors
    /// It does not end.
    pub async fn stop(&self) -> Result<()> {
        run(self.program("pg_ctl").args(["stop", "-m", "immediate", "-D"]).arg(self.data()))?;
        let process = self.process.lock().take();
        process.context("it was stopped already")?.wait(START).await.map(drop)
    }

    /// Freezes every process of it: connections stay open, and nothing is answered.
    ///
    /// # Errors
    /// It is stopped.
    pub fn pause(&self) -> Result<()> {
        let server = self.process.lock().as_ref().map(Process::pid).context("it is stopped")?;
        // First the one that starts the others.
        let mut paused = vec![server];
        signal("STOP", server)?;
        // The signal takes its time, in which it may start another.
        wait_stopped(server)?;
        for child in children(server)? {
            // Some end meanwhile.
            if signal("STOP", child).is_ok() {
                wait_stopped(child)?;
                self.folder.keep(child);
                paused.push(child);
            }
        }
        *self.paused.lock() = paused;
        Ok(())
    }

    /// Goes on after [`Postgres::pause`].
    pub fn resume(&self) {
        for process in std::mem::take(&mut *self.paused.lock()) {
            let _ = signal("CONT", process);
            if self.process.lock().as_ref().is_none_or(|server| server.pid() != process) {
                self.folder.forget(process);
            }
        }
    }

    /// A new, empty database; gives its URL with user and password.
    ///
    /// # Errors
    /// The server refuses.
    pub async fn database(&self) -> Result<String> {
        let name = format!("test_{}", self.databases.fetch_add(1, Ordering::Relaxed));
        self.sql("postgres", &format!("CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8'")).await?;
        Ok(self.url(&name))
    }

    /// The URL of a database.
    pub fn url(&self, database: &str) -> String {
        url(&[self.port], database)
    }

    /// The URL of a database that is on one of two servers, whichever takes writes.
    pub fn url_with(&self, other: &Self, database: &str) -> String {
        url(&[self.port, other.port], database)
    }

    /// Its port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Its socket, for a network that does not have this one's 127.0.0.1.
    pub fn socket(&self) -> PathBuf {
        self.folder.path().join(format!(".s.PGSQL.{}", self.port))
    }

    /// Runs SQL by psql; gives the rows, columns with `|` between them.
    ///
    /// # Errors
    /// The server refuses; with what it said.
    pub async fn sql(&self, database: &str, sql: &str) -> Result<String> {
        let mut psql = tokio::process::Command::new(self.bin.join("psql"));
        psql.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1", "-U", "postgres"]);
        psql.args(["-p", &self.port.to_string(), "-d", database, "-c", sql]);
        psql.env("PGPASSWORD", PASSWORD).stdin(Stdio::null()).kill_on_drop(true);
        let output = tokio::time::timeout(START, psql.output()).await.context("psql does not end")??;
        ensure!(output.status.success(), "{sql}: {}", String::from_utf8_lossy(&output.stderr));
        Ok(String::from_utf8(output.stdout)?.trim_end().to_owned())
    }

    /// Writes a database as SQL into a file, by pg_dump.
    ///
    /// # Errors
    /// The server refuses, or the file cannot be written.
    pub async fn dump(&self, database: &str, into: &Path) -> Result<()> {
        let file = into.to_string_lossy();
        self.tool("pg_dump", database, &["--no-owner", "--file", &file]).await
    }

    /// Runs a file of SQL, by psql.
    ///
    /// # Errors
    /// The server refuses; with what it said.
    pub async fn load(&self, database: &str, file: &Path) -> Result<()> {
        let file = file.to_string_lossy();
        self.tool("psql", database, &["-X", "-q", "-v", "ON_ERROR_STOP=1", "-f", &file]).await
    }

    async fn tool(&self, program: &str, database: &str, args: &[&str]) -> Result<()> {
        let mut tool = tokio::process::Command::new(self.bin.join(program));
        tool.args(["-h", "127.0.0.1", "-U", "postgres", "-p", &self.port.to_string(), "-d", database]);
        tool.args(args).env("PGPASSWORD", PASSWORD).stdin(Stdio::null()).kill_on_drop(true);
        let output = tokio::time::timeout(START, tool.output()).await.context(program.to_owned())??;
        ensure!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
        Ok(())
    }

    /// From now on this role comes over TLS with a certificate of that authority, in place of a password.
    ///
    /// # Errors
    /// The server's files cannot be written.
    pub async fn trust_certificates(&self, ca_pem: &str, role: &str) -> Result<()> {
        let file = self.folder.write("client-ca.crt", ca_pem)?;
        let rules = self.data().join("pg_hba.conf");
        let old = std::fs::read_to_string(&rules)?;
        std::fs::write(&rules, format!("hostssl all {role} 127.0.0.1/32 cert\n{old}"))?;
        self.own()?;
        let set = format!("ALTER SYSTEM SET ssl_ca_file = '{}'", file.display());
        self.sql("postgres", &set).await?;
        self.sql("postgres", "SELECT pg_reload_conf()").await.map(drop)
    }

    /// What it logged.
    pub fn log(&self) -> String {
        self.process.lock().as_ref().map(Process::log).unwrap_or_default()
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// The server refuses to run as root, and must own its files.
    fn own(&self) -> Result<()> {
        if !is_root()? {
            return Ok(());
        }
        run(Command::new("chown").arg("-R").arg("postgres:postgres").arg(self.folder.path())).map(drop)
    }

    fn program(&self, name: &str) -> Command {
        let path = self.bin.join(name);
        if !is_root().unwrap_or(false) {
            return Command::new(path);
        }
        let mut command = Command::new("setpriv");
        command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]).arg(path);
        command
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // Its own processes end when they see that it is gone; frozen ones see nothing.
        self.resume();
    }
}

fn url(ports: &[u16], database: &str) -> String {
    let hosts: Vec<String> = ports.iter().map(|port| format!("127.0.0.1:{port}")).collect();
    format!("postgres://postgres:{PASSWORD}@{}/{database}", hosts.join(","))
}

fn is_root() -> Result<bool> {
    Ok(std::fs::metadata("/proc/self")?.uid() == 0)
}

fn run(command: &mut Command) -> Result<String> {
    let output = command.stdin(Stdio::null()).output()?;
    if !output.status.success() {
        let name = command.get_program().display().to_string();
        bail!("{name} {:?}: {}", command.get_args(), String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8(output.stdout)?)
}

fn signal(name: &str, process: u32) -> Result<()> {
    let status =
        Command::new("kill").args(["-s", name, &process.to_string()]).stderr(Stdio::null()).status()?;
    if status.success() { Ok(()) } else { Err(anyhow!("no process {process}")) }
}

/// Each of them has a process group of its own, so the group of the server is not enough.
fn children(parent: u32) -> Result<Vec<u32>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc")? {
        let name = entry?.file_name();
        let Some(process) = name.to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        // "PID (NAME) STATE PARENT …"; it may have ended meanwhile.
        let stat = std::fs::read_to_string(Path::new("/proc").join(&name).join("stat")).unwrap_or_default();
        let of =
            stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(1)?.parse::<u32>().ok());
        if of == Some(parent) {
            found.push(process);
        }
    }
    Ok(found)
}

/// Waits until a process that was sent SIGSTOP does nothing any more, or is gone.
fn wait_stopped(process: u32) -> Result<()> {
    for _ in 0..5000 {
        let Ok(stat) = std::fs::read_to_string(format!("/proc/{process}/stat")) else { return Ok(()) };
        // proc(5): the state follows the name, which is in parentheses.
        let state = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
        if state.starts_with(['T', 'Z', 'X']) {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    bail!("process {process} does not stop")
}
