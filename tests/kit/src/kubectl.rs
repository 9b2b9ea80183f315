//! The real kubectl.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, ensure};
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, ChildStdin, Command};

use crate::{Folder, part, until};

const LIMIT: Duration = Duration::from_secs(120);

/// kubectl with one kubeconfig.
#[derive(Debug, Clone)]
pub struct Kubectl {
    program: PathBuf,
    kubeconfig: PathBuf,
    cache: PathBuf,
    env: Vec<(String, String)>,
    folder: PathBuf,
}

/// What a command left behind.
#[derive(Debug, Clone)]
pub struct Output {
    /// The exit status; -1 when a signal ended it.
    pub status: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Output {
    /// The standard output of a command that succeeded.
    ///
    /// # Errors
    /// It did not; with what it said.
    pub fn ok(self) -> Result<String> {
        ensure!(self.status == 0, "status {}\nstdout: {}\nstderr: {}", self.status, self.stdout, self.stderr);
        Ok(self.stdout)
    }

    /// The standard error of a command that failed.
    ///
    /// # Errors
    /// It succeeded.
    pub fn refused(self) -> Result<String> {
        ensure!(self.status != 0, "it succeeded: {}", self.stdout);
        Ok(self.stderr)
    }
}

impl Kubectl {
    /// Uses that kubeconfig; caches and relative paths are in the folder.
    ///
    /// # Errors
    /// kubectl is not installed.
    pub fn new(folder: &Folder, kubeconfig: &Path) -> Result<Self> {
        Ok(Self {
            program: part("kubectl")?,
            kubeconfig: kubeconfig.to_owned(),
            cache: kubeconfig.with_extension("cache"),
            env: Vec::new(),
            folder: folder.path().to_owned(),
        })
    }

    /// With one more environment variable.
    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    /// With SPDY/3.1 in place of WebSockets.
    #[must_use]
    pub fn spdy(self) -> Self {
        self.env("KUBECTL_REMOTE_COMMAND_WEBSOCKETS", "false").env("KUBECTL_PORT_FORWARD_WEBSOCKETS", "false")
    }

    /// Where relative paths begin.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn command(&self, program: &Path, args: &[&str]) -> Command {
        let mut command = Command::new(program);
        command
            .args(args)
            .current_dir(&self.folder)
            .env("KUBECONFIG", &self.kubeconfig)
            .env("KUBECACHEDIR", &self.cache)
            .env("HOME", &self.folder)
            .env_remove("HTTPS_PROXY")
            .env_remove("HTTP_PROXY")
            .env_remove("https_proxy")
            .env_remove("http_proxy")
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        command
    }

    /// Runs it to its end.
    ///
    /// # Errors
    /// It cannot be started, or does not end in two minutes.
    pub async fn run(&self, args: &[&str]) -> Result<Output> {
        finish(self.command(&self.program, args), None, args).await
    }

    /// Runs it and wants success.
    ///
    /// # Errors
    /// As [`Self::run`], or it failed.
    pub async fn ok(&self, args: &[&str]) -> Result<String> {
        self.run(args).await?.ok().with_context(|| format!("kubectl {}", args.join(" ")))
    }

    /// Runs it and wants a refusal; gives what it said on standard error.
    ///
    /// # Errors
    /// As [`Self::run`], or it succeeded.
    pub async fn refused(&self, args: &[&str]) -> Result<String> {
        self.run(args).await?.refused().with_context(|| format!("kubectl {}", args.join(" ")))
    }

    /// Runs it with something on standard input.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub async fn with_input(&self, input: &[u8], args: &[&str]) -> Result<Output> {
        finish(self.command(&self.program, args), Some(input), args).await
    }

    /// Runs it on a terminal of its own (by `script`) of 30 rows and 100 columns; standard output has what the terminal
    /// showed.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub async fn on_terminal(&self, args: &[&str]) -> Result<Output> {
        let quoted: Vec<String> = std::iter::once(self.program.to_string_lossy().into_owned())
            .chain(args.iter().map(|&arg| arg.to_owned()))
            .map(|word| format!("'{}'", word.replace('\'', r"'\''")))
            .collect();
        let line = format!("stty rows 30 cols 100 && exec {}", quoted.join(" "));
        let script = self.command(Path::new("script"), &["-qec", &line, "/dev/null"]);
        finish(script, None, args).await
    }

    /// Starts it and leaves it running.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(&self, args: &[&str]) -> Result<Running> {
        let mut command = self.command(&self.program, args);
        Running::new(command.stdin(Stdio::piped()), args)
    }
}

async fn finish(mut command: Command, input: Option<&[u8]>, args: &[&str]) -> Result<Output> {
    if input.is_some() {
        command.stdin(Stdio::piped());
    }
    let mut running = Running::new(&mut command, args)?;
    match input {
        Some(input) => running.feed(input).await?,
        None => running.close_input(),
    }
    running.end(LIMIT).await
}

/// A command that runs, its output collected as it comes.
#[derive(Debug)]
pub struct Running {
    child: Child,
    input: Option<ChildStdin>,
    stdout: Arc<Mutex<Vec<u8>>>,
    stderr: Arc<Mutex<Vec<u8>>>,
    readers: Vec<tokio::task::JoinHandle<()>>,
    what: String,
}

impl Running {
    /// Starts a program whose pipes are set; `args` is what errors call it beside its name.
    ///
    /// # Errors
    /// It does not start.
    pub fn new(command: &mut Command, args: &[&str]) -> Result<Self> {
        let mut child = command.spawn().with_context(|| format!("{:?}", command.as_std().get_program()))?;
        let (stdout, stderr) = (Arc::default(), Arc::default());
        let mut readers = Vec::new();
        if let Some(pipe) = child.stdout.take() {
            readers.push(collect(pipe, &stdout));
        }
        if let Some(pipe) = child.stderr.take() {
            readers.push(collect(pipe, &stderr));
        }
        let input = child.stdin.take();
        let program = Path::new(command.as_std().get_program()).file_name().unwrap_or_default();
        let what = format!("{} {}", program.to_string_lossy(), args.join(" "));
        Ok(Self { child, input, stdout, stderr, readers, what })
    }

    /// What it wrote to standard output so far.
    pub fn stdout(&self) -> String {
        text(&self.stdout)
    }

    /// What it wrote to standard error so far.
    pub fn stderr(&self) -> String {
        text(&self.stderr)
    }

    /// Waits until standard output contains a text.
    ///
    /// # Errors
    /// It did not come; with what came.
    pub async fn says(&self, text: &str) -> Result<()> {
        let what = format!("{} says {text:?}", self.what);
        let look = || async {
            let (out, err) = (self.stdout(), self.stderr());
            ensure!(out.contains(text), "stdout: {out}\nstderr: {err}");
            Ok(())
        };
        until(&what, LIMIT, look).await
    }

    /// Writes all of it to standard input, then ends that.
    ///
    /// # Errors
    /// The command no longer reads.
    pub async fn feed(&mut self, input: &[u8]) -> Result<()> {
        let mut pipe = self.input.take().ok_or_else(|| anyhow!("standard input is closed"))?;
        pipe.write_all(input).await?;
        pipe.shutdown().await?;
        Ok(())
    }

    /// Writes to standard input and leaves it open.
    ///
    /// # Errors
    /// The command no longer reads.
    pub async fn type_in(&mut self, input: &str) -> Result<()> {
        let pipe = self.input.as_mut().ok_or_else(|| anyhow!("standard input is closed"))?;
        pipe.write_all(input.as_bytes()).await?;
        Ok(pipe.flush().await?)
    }

    fn close_input(&mut self) {
        self.input = None;
    }

    /// Whether it still runs.
    ///
    /// # Errors
    /// The kernel does not say.
    pub fn runs(&mut self) -> Result<bool> {
        Ok(self.child.try_wait()?.is_none())
    }

    /// Waits for its end.
    ///
    /// # Errors
    /// It runs on after `limit`; with what it said so far.
    pub async fn end(mut self, limit: Duration) -> Result<Output> {
        let ended = tokio::time::timeout(limit, async {
            let status = self.child.wait().await?;
            for reader in &mut self.readers {
                reader.await?;
            }
            anyhow::Ok(status)
        });
        let status = ended.await.map_err(|_| {
            anyhow!(
                "{} runs on after {} s\nstdout: {}\nstderr: {}",
                self.what,
                limit.as_secs(),
                text(&self.stdout),
                text(&self.stderr)
            )
        })??;
        Ok(Output { status: status.code().unwrap_or(-1), stdout: self.stdout(), stderr: self.stderr() })
    }

    /// Ends it at once.
    ///
    /// # Errors
    /// The kernel refuses.
    pub async fn kill(mut self) -> Result<()> {
        Ok(self.child.kill().await?)
    }
}

fn text(bytes: &Mutex<Vec<u8>>) -> String {
    String::from_utf8_lossy(&bytes.lock()).into_owned()
}

fn collect(
    mut pipe: impl AsyncRead + Unpin + Send + 'static,
    into: &Arc<Mutex<Vec<u8>>>,
) -> tokio::task::JoinHandle<()> {
    let into = Arc::clone(into);
    tokio::spawn(async move {
        let mut buffer = vec![0; 16 * 1024];
        while let Ok(n @ 1..) = pipe.read(&mut buffer).await {
            into.lock().extend_from_slice(&buffer[..n]);
        }
    })
}
