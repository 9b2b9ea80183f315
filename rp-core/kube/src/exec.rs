//! Runs commands in pods: short ones with their whole, bounded output, others with their output as it comes.

use std::fmt;
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::{AttachParams, AttachedProcess};
use kube::client::Client;
use tokio::io::{AsyncRead, AsyncReadExt as _};

/// The command, its pod, and the limits on output and time.
#[derive(Debug, Clone, Copy)]
pub struct ExecRequest<'a> {
    pub namespace: &'a str,
    pub pod: &'a str,
    pub container: Option<&'a str>,
    pub command: &'a [&'a str],
    /// Longest output of each stream, bytes.
    pub most: usize,
    /// Deadline from the request to the end of the command.
    pub within: Duration,
}

/// The output and the result of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecOutput {
    pub out: Vec<u8>,
    pub err: Vec<u8>,
    /// Whether it ended with exit status 0.
    pub good: bool,
}

/// Why there is no output.
#[derive(Debug, thiserror::Error)]
pub enum ExecError {
    /// See [`crate::connect::dial_error`] and [`crate::api_status`].
    #[error("the cluster refused the command, or cannot be reached")]
    Kube(#[source] kube::Error),
    #[error("the command did not end within {} s", .0.as_secs())]
    TimedOut(Duration),
    #[error("the command's output is longer than {0} bytes")]
    TooLong(usize),
    #[error("the command's output broke off")]
    Broken(#[source] std::io::Error),
}

/// A command that runs. Dropping it closes the connection; the container's runtime decides what becomes of the process.
pub struct RunningCommand(AttachedProcess);

impl fmt::Debug for RunningCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunningCommand").finish_non_exhaustive()
    }
}

impl RunningCommand {
    /// Standard output as it comes; `None` after the first call. The command stalls while nobody reads.
    pub fn stdout(&mut self) -> Option<impl AsyncRead + Unpin + Send + use<>> {
        self.0.stdout()
    }

    /// As [`RunningCommand::stdout`], of standard error.
    pub fn stderr(&mut self) -> Option<impl AsyncRead + Unpin + Send + use<>> {
        self.0.stderr()
    }

    /// Waits for the end, after both outputs were read to theirs. `Ok`: exit status 0; `Err`: the cluster's sentence, empty
    /// when the connection ended without one.
    ///
    /// # Errors
    /// See above.
    pub async fn end(&mut self) -> Result<(), String> {
        let status = match self.0.take_status() {
            Some(status) => status.await,
            None => None,
        };
        match status {
            Some(status) if status.status.as_deref() == Some("Success") => Ok(()),
            Some(status) => Err(status.message.unwrap_or_default()),
            None => Err(String::new()),
        }
    }
}

/// Starts a command without input; the limits of the request are for [`exec`] and do not count here.
///
/// # Errors
/// [`ExecError::Kube`]; the command does not run then.
pub async fn start(client: &Client, what: &ExecRequest<'_>) -> Result<RunningCommand, ExecError> {
    let pods: Api<Pod> = Api::namespaced(client.clone(), what.namespace);
    let mut parameters = AttachParams::default().stdin(false).stdout(true).stderr(true);
    if let Some(container) = what.container {
        parameters = parameters.container(container);
    }
    let command: Vec<String> = what.command.iter().map(|&word| word.to_owned()).collect();
    let running = pods.exec(what.pod, command, &parameters).await.map_err(ExecError::Kube)?;
    Ok(RunningCommand(running))
}

/// Runs a command and waits until it ends.
///
/// # Errors
/// [`ExecError`]; the command may have run.
pub async fn exec(client: &Client, what: ExecRequest<'_>) -> Result<ExecOutput, ExecError> {
    let run = tokio::time::timeout(what.within, Box::pin(run(client, what)));
    run.await.map_err(|_| ExecError::TimedOut(what.within))?
}

async fn run(client: &Client, what: ExecRequest<'_>) -> Result<ExecOutput, ExecError> {
    let mut running = start(client, &what).await?;
    let (out, err) = (running.stdout(), running.stderr());
    let (out, err) = tokio::try_join!(all(out, what.most), all(err, what.most))?;
    let good = running.end().await.is_ok();
    Ok(ExecOutput { out, err, good })
}

async fn all(stream: Option<impl AsyncRead + Unpin>, most: usize) -> Result<Vec<u8>, ExecError> {
    let mut read = Vec::new();
    let Some(stream) = stream else { return Ok(read) };
    let limit = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
    stream.take(limit).read_to_end(&mut read).await.map_err(ExecError::Broken)?;
    if read.len() > most { Err(ExecError::TooLong(most)) } else { Ok(read) }
}
