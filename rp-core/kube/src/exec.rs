//! Runs short commands in pods and returns their whole, bounded output.

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::AttachParams;
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

/// Runs a command and waits until it ends.
///
/// # Errors
/// [`ExecError`]; the command may have run.
pub async fn exec(client: &Client, what: ExecRequest<'_>) -> Result<ExecOutput, ExecError> {
    let run = tokio::time::timeout(what.within, Box::pin(run(client, what)));
    run.await.map_err(|_| ExecError::TimedOut(what.within))?
}

async fn run(client: &Client, what: ExecRequest<'_>) -> Result<ExecOutput, ExecError> {
    let pods: Api<Pod> = Api::namespaced(client.clone(), what.namespace);
    let mut parameters = AttachParams::default().stdin(false).stdout(true).stderr(true);
    if let Some(container) = what.container {
        parameters = parameters.container(container);
    }
    let command: Vec<String> = what.command.iter().map(|&word| word.to_owned()).collect();
    let mut running = pods.exec(what.pod, command, &parameters).await.map_err(ExecError::Kube)?;
    let status = running.take_status();
    let (out, err) = (running.stdout(), running.stderr());
    let (out, err) = tokio::try_join!(all(out, what.most), all(err, what.most))?;
    let status = match status {
        Some(status) => status.await,
        None => None,
    };
    let good = status.and_then(|status| status.status).as_deref() == Some("Success");
    Ok(ExecOutput { out, err, good })
}

async fn all(stream: Option<impl AsyncRead + Unpin>, most: usize) -> Result<Vec<u8>, ExecError> {
    let mut read = Vec::new();
    let Some(stream) = stream else { return Ok(read) };
    let limit = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
    stream.take(limit).read_to_end(&mut read).await.map_err(ExecError::Broken)?;
    if read.len() > most { Err(ExecError::TooLong(most)) } else { Ok(read) }
}
