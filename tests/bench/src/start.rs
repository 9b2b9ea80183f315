//! `aro serve`: time to readiness, memory when idle, size.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use rp_base::{Clock as _, SystemClock};
use serde_json::json;
use tests_kit::{Aro, AroOptions, Folder, Process, binary, free_port};

use crate::Scale;
use crate::measure::{Spread, resident};
use crate::report::{self, Part};

const AIM_READY_MS: f64 = 150.0;
const AIM_IDLE_MIB: f64 = 30.0;
const AIM_SIZE_MB: f64 = 30.0;
const AIM_CACHED_TOKEN_MS: f64 = 15.0;
const CALLS: usize = 200;
const STARTS: usize = 10;
/// Memory is looked at after this time without a request.
const IDLE: Duration = Duration::from_secs(5);
const LIMIT: Duration = Duration::from_secs(60);

/// A data folder of `aro serve`.
struct ServeFolder {
    folder: Folder,
    config: PathBuf,
    portal: String,
    admin: String,
}

/// Gives the part's table.
pub(crate) async fn run(scale: &Scale) -> Result<Part> {
    let mut part = Part::new("start", "`aro serve`: time to readiness, memory when idle, size")?;
    let dev = Aro::start(AroOptions { clusters: 1, ..AroOptions::default() }).await?;
    let (mut first, mut again, mut idle) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..STARTS.max(scale.rounds) {
        let place = ServeFolder::new(&dev.data())?;
        let (process, took) = place.start("first").await?;
        first.push(took);
        process.signal("TERM")?;
        process.wait(LIMIT).await?;
        let (process, took) = place.start("again").await?;
        again.push(took);
        if idle.len() < scale.rounds {
            tokio::time::sleep(IDLE).await;
            #[expect(clippy::cast_precision_loss, reason = "bytes for people")]
            idle.push(resident(process.pid())? as f64 / 1_048_576.0);
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "bytes for people")]
    let size = std::fs::metadata(binary("aro")?)?.len() as f64 / 1e6;
    report::table("`aro serve`", &["", "least", "median", "aim", ""]);
    let rows = [
        ("ready, empty folder", "ms", Spread::from_samples(&first)?, AIM_READY_MS),
        ("ready, folder in use", "ms", Spread::from_samples(&again)?, AIM_READY_MS),
        ("resident after 5 s without a request", "MiB", Spread::from_samples(&idle)?, AIM_IDLE_MIB),
        ("size of `aro`, stripped", "MB", Spread::from_samples(&[size])?, AIM_SIZE_MB),
        (
            "`aro credential` with a token at hand",
            "ms",
            Spread::from_samples(&cached_token()?)?,
            AIM_CACHED_TOKEN_MS,
        ),
    ];
    for (name, unit, spread, aim) in rows {
        report::row(&[
            format!("{name}, {unit}"),
            format!("{:.1}", spread.least),
            format!("{:.1}", spread.median),
            format!("≤ {aim}"),
            report::verdict(spread.median, aim),
        ]);
        part.most(name, spread.median, aim, unit);
    }
    Ok(part)
}

/// From `exec` to its end, milliseconds: kubectl waits for it at every call.
fn cached_token() -> Result<Vec<f64>> {
    let home = Folder::new("home")?;
    let now = SystemClock.now();
    let kept =
        json!({ "token": "aro1_kubeconfig_x", "taken": now, "not_after": now + Duration::from_secs(900) });
    home.write(".config/aro/profiles/default/grants/g-1.json", kept.to_string())?;
    let mut took = Vec::new();
    for _ in 0..CALLS {
        let mut command = Command::new(binary("aro")?);
        command.args(["credential", "--grant", "g-1"]).env("HOME", home.path()).env_remove("XDG_CONFIG_HOME");
        let began = Instant::now();
        let output = command.output()?;
        took.push(began.elapsed().as_secs_f64() * 1000.0);
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(took)
}

impl ServeFolder {
    /// A folder of its own with the settings and certificates of a development folder, which also keeps the
    /// sign-in provider that the settings name. Stores are made anew.
    fn new(dev: &Path) -> Result<Self> {
        let folder = Folder::new("serve")?;
        for entry in std::fs::read_dir(dev)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let kept = ["db", "db-wal", "db-shm", "lock", "json"].iter().any(|end| name.ends_with(end));
            if entry.file_type()?.is_file() && !kept {
                folder.write(&name, std::fs::read(entry.path())?)?;
            }
        }
        let text = std::fs::read_to_string(dev.join("aro.toml"))?;
        let (portal, admin) = (format!("127.0.0.1:{}", free_port()?), format!("127.0.0.1:{}", free_port()?));
        let listen = format!("[listen]\nportal = \"{portal}\"\nadmin = \"{admin}\"\n");
        let (before, rest) = text.split_once("[listen]").context("no [listen] in aro.toml")?;
        let (_, after) = rest.split_once("\n[").context("nothing after [listen]")?;
        let config = folder.write("aro.toml", format!("{before}{listen}\n[{after}"))?;
        Ok(Self { folder, config, portal, admin })
    }

    /// Starts `aro serve`; gives the milliseconds until it is ready and its listener takes connections.
    async fn start(&self, name: &str) -> Result<(Process, f64)> {
        let mut command = Command::new(binary("aro")?);
        command.arg("serve").arg("--config").arg(&self.config).current_dir(self.folder.path());
        let began = Instant::now();
        let process = Process::start(&self.folder, name, &mut command)?;
        let (portal, admin) = (self.portal.clone(), self.admin.clone());
        let ready = tokio::task::spawn_blocking(move || wait(&portal, &admin, began)).await?;
        let took = ready.with_context(|| process.tail())?;
        Ok((process, took.as_secs_f64() * 1000.0))
    }
}

/// Looks every half millisecond.
fn wait(portal: &str, admin: &str, began: Instant) -> Result<Duration> {
    loop {
        let ready = TcpStream::connect(portal)
            .map(drop)
            .map_err(Into::into)
            .and_then(|()| get(admin, "/healthz/ready"));
        match ready {
            Ok(_) => return Ok(began.elapsed()),
            Err(error) if began.elapsed() > LIMIT => return Err(error),
            Err(_) => std::thread::sleep(Duration::from_micros(500)),
        }
    }
}

/// A plain GET: the body when the status is 200.
pub(crate) fn get(address: &str, path: &str) -> Result<String> {
    let mut tcp = TcpStream::connect(address)?;
    tcp.set_read_timeout(Some(Duration::from_secs(10)))?;
    write!(tcp, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    tcp.read_to_string(&mut answer)?;
    let (head, body) = answer.split_once("\r\n\r\n").context("no head")?;
    if !head.starts_with("HTTP/1.1 200 ") {
        bail!("{head}");
    }
    ensure!(!body.is_empty(), "{path} is empty");
    Ok(body.to_owned())
}
