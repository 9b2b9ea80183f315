//! The verbs' side of the control socket.

use std::path::PathBuf;

use anyhow::{Context as _, anyhow, bail, ensure};
use bytes::Bytes;
use http::{Method, Request, header};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_util::rt::TokioIo;
use rp_config::Settings;
use serde_json::Value;
use tokio::net::UnixStream;

/// Largest answer: a page of large documents.
const MOST: usize = 256 * 1024 * 1024;

/// A process that may be running.
#[derive(Debug, Clone)]
pub struct Client {
    path: PathBuf,
}

impl Client {
    /// The process that runs by these settings.
    ///
    /// # Errors
    /// It opens no control socket.
    pub fn new(settings: &Settings) -> anyhow::Result<Self> {
        let path = settings.listen.control.clone();
        Ok(Self { path: path.context("the settings name no control socket: set listen.control")? })
    }

    /// Reads something.
    ///
    /// # Errors
    /// No process answers, or it refuses; with what it said.
    pub async fn get(&self, path: &str) -> anyhow::Result<Value> {
        self.ask(Method::GET, path, None).await
    }

    /// Has something done.
    ///
    /// # Errors
    /// As [`Client::get`].
    pub async fn post(&self, path: &str, body: &Value) -> anyhow::Result<Value> {
        self.ask(Method::POST, path, Some(body)).await
    }

    async fn ask(&self, method: Method, path: &str, body: Option<&Value>) -> anyhow::Result<Value> {
        let stream = UnixStream::connect(&self.path).await.with_context(|| {
            format!("no process answers at {}: is it running, as this user?", self.path.display())
        })?;
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
        let connection = tokio::spawn(connection);
        let bytes = body.map(Value::to_string).unwrap_or_default();
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::HOST, "control")
            .header(header::CONTENT_TYPE, "application/json")
            .body(Full::new(Bytes::from(bytes)))?;
        let refused =
            || anyhow!("the process at {} hung up: it is not for this user, or stops", self.path.display());
        let answer = sender.send_request(request).await.map_err(|error| refused().context(error))?;
        let status = answer.status();
        let body = Limited::new(answer.into_body(), MOST).collect().await;
        connection.abort();
        let body = body.map_err(|error| anyhow!("the answer broke off: {error}"))?.to_bytes();
        if status.is_success() {
            return serde_json::from_slice(&body).context("the answer is not JSON");
        }
        let said: Option<Value> = serde_json::from_slice(&body).ok();
        let message = said.as_ref().and_then(|said| said.get("message")?.as_str());
        ensure!(message.is_some(), "the process answered {status}");
        bail!("{}", message.unwrap_or_default())
    }
}
