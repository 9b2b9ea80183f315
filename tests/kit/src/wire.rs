//! Bytes over TLS, for requests that no HTTP client would send.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow};
use rustls::pki_types::ServerName;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::session::tls_client;

const LIMIT: Duration = Duration::from_secs(30);
const MOST: usize = 4 * 1024 * 1024;

/// A connection that ended, or stayed silent, before what was waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WireError {
    /// The status of the answer that came first; 0: no answer of HTTP came.
    pub status: u16,
    /// The other side ended the connection; else nothing more came in time.
    pub ended: bool,
}

impl WireError {
    /// Of a connection that the other side ended after this text.
    pub fn ended(received: &str) -> Self {
        Self { status: status(received), ended: true }
    }
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.ended { "it ended" } else { "it did not come" })
    }
}

impl std::error::Error for WireError {}

/// A TLS connection that speaks HTTP/1.1, or whatever is sent on it.
#[derive(Debug)]
pub struct Wire {
    stream: TlsStream<TcpStream>,
    buffer: Vec<u8>,
}

impl Wire {
    /// Connects to `https://HOST:PORT`.
    ///
    /// # Errors
    /// No connection, or another authority.
    pub async fn connect(url: &str, ca_pem: &str) -> Result<Self> {
        Self::speaking(url, ca_pem, b"http/1.1").await
    }

    /// The same for frames of HTTP/2, which are sent as they are.
    ///
    /// # Errors
    /// As [`Wire::connect`].
    pub async fn connect_h2(url: &str, ca_pem: &str) -> Result<Self> {
        Self::speaking(url, ca_pem, b"h2").await
    }

    async fn speaking(url: &str, ca_pem: &str, protocol: &[u8]) -> Result<Self> {
        let authority = url.strip_prefix("https://").context("an https address")?;
        let authority = authority.split('/').next().unwrap_or_default();
        let (host, _) = authority.rsplit_once(':').context("an address with a port")?;
        let mut config = tls_client(ca_pem)?;
        config.alpn_protocols = vec![protocol.to_vec()];
        let name = ServerName::try_from(host.to_owned())?;
        let tcp = TcpStream::connect(authority).await?;
        let stream = TlsConnector::from(Arc::new(config)).connect(name, tcp).await?;
        Ok(Self { stream, buffer: Vec::new() })
    }

    /// The connection itself, for a caller that brings its own HTTP/2 client.
    pub fn into_stream(self) -> TlsStream<TcpStream> {
        self.stream
    }

    /// Sends bytes as they are.
    ///
    /// # Errors
    /// The other side has closed.
    pub async fn send(&mut self, bytes: impl AsRef<[u8]>) -> Result<()> {
        self.stream.write_all(bytes.as_ref()).await?;
        Ok(self.stream.flush().await?)
    }

    /// Reads one answer: status and all of its text. An end without an answer gives status 0.
    ///
    /// # Errors
    /// Neither an answer nor an end within 30 seconds.
    pub async fn answer(&mut self) -> Result<(u16, String)> {
        let read = tokio::time::timeout(LIMIT, self.read_answer()).await;
        read.map_err(|_| anyhow!("no whole answer; so far: {}", String::from_utf8_lossy(&self.buffer)))?
    }

    async fn read_answer(&mut self) -> Result<(u16, String)> {
        loop {
            if let Some(length) = complete(&self.buffer) {
                let answer: Vec<u8> = self.buffer.drain(..length).collect();
                let text = String::from_utf8_lossy(&answer).into_owned();
                return Ok((status(&text), text));
            }
            if self.more().await? == 0 {
                let text = String::from_utf8_lossy(&std::mem::take(&mut self.buffer)).into_owned();
                return Ok((status(&text), text));
            }
        }
    }

    /// Reads the head of an answer and leaves all of it for [`Wire::answer`]: status and head. An end without an answer
    /// gives status 0.
    ///
    /// # Errors
    /// Neither a head nor an end within 30 seconds.
    pub async fn head(&mut self) -> Result<(u16, String)> {
        let end = |buffer: &[u8]| buffer.windows(4).position(|window| window == b"\r\n\r\n");
        let read = async {
            while end(&self.buffer).is_none() && self.more().await? > 0 {}
            anyhow::Ok(end(&self.buffer).unwrap_or(self.buffer.len()))
        };
        let read = tokio::time::timeout(LIMIT, read).await.context("no head of an answer")??;
        let head = String::from_utf8_lossy(&self.buffer[..read]).into_owned();
        Ok((status(&head), head))
    }

    /// Reads the head of the answer to an upgrade. What follows the head stays for [`Wire::says`].
    ///
    /// # Errors
    /// It is refused, or nothing comes within 30 seconds: a [`WireError`] with the head.
    pub async fn upgraded(&mut self) -> Result<()> {
        let (status, head) = self.head().await?;
        match status {
            101 => Ok(()),
            _ => Err(WireError { status, ended: status == 0 }).context(head),
        }
    }

    /// Reads until what came contains a text.
    ///
    /// # Errors
    /// It does not come within 30 seconds, or the connection ends: a [`WireError`].
    pub async fn says(&mut self, text: &str) -> Result<()> {
        let wanted = async {
            while !self.buffer.windows(text.len()).any(|window| window == text.as_bytes()) {
                if self.more().await? == 0 {
                    return Ok(false);
                }
            }
            anyhow::Ok(true)
        };
        let read = tokio::time::timeout(LIMIT, wanted).await;
        let so_far = String::from_utf8_lossy(&self.buffer);
        let told: anyhow::Error = match read {
            Ok(Ok(true)) => return Ok(()),
            Ok(Ok(false)) => WireError::ended(&so_far).into(),
            Ok(Err(error)) => error,
            Err(_) => WireError { status: status(&so_far), ended: false }.into(),
        };
        Err(told.context(format!("waiting for {text:?}; so far: {so_far}")))
    }

    /// As [`Wire::says`], for what an answer streams: one with the status of an error ends the wait.
    ///
    /// # Errors
    /// As [`Wire::says`]; or another answer came.
    pub async fn streams(&mut self, text: &str) -> Result<()> {
        self.says("\r\n\r\n").await?;
        let answer = String::from_utf8_lossy(&self.buffer);
        if status(&answer) < 400 {
            return self.says(text).await;
        }
        Err(anyhow::Error::from(WireError::ended(&answer))
            .context(format!("waiting for {text:?}; so far: {answer}")))
    }

    /// Waits until the other side closes, or ends a chunked answer as a cut watch does after its last event; gives
    /// what came before.
    ///
    /// # Errors
    /// It stays open for `limit`.
    pub async fn closed(&mut self, limit: Duration) -> Result<String> {
        const LAST_CHUNK: &[u8] = b"\r\n0\r\n\r\n";
        let end =
            async { while !self.buffer.ends_with(LAST_CHUNK) && self.more().await.is_ok_and(|n| n > 0) {} };
        let ended = tokio::time::timeout(limit, end).await;
        ended.map_err(|_| {
            anyhow!("the connection stays open; so far: {}", String::from_utf8_lossy(&self.buffer))
        })?;
        Ok(String::from_utf8_lossy(&self.buffer).into_owned())
    }

    async fn more(&mut self) -> Result<usize> {
        anyhow::ensure!(self.buffer.len() < MOST, "an answer without end");
        let n = self.stream.read_buf(&mut self.buffer).await;
        match n {
            Ok(n) => Ok(n),
            // No close_notify, or a reset: an end all the same.
            Err(error)
                if matches!(
                    error.kind(),
                    std::io::ErrorKind::UnexpectedEof | std::io::ErrorKind::ConnectionReset
                ) =>
            {
                Ok(0)
            }
            Err(error) => Err(error.into()),
        }
    }
}

fn status(answer: &str) -> u16 {
    answer.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0)
}

/// The length of the first whole answer in the buffer.
fn complete(buffer: &[u8]) -> Option<usize> {
    let head = buffer.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
    let text = String::from_utf8_lossy(&buffer[..head]).to_ascii_lowercase();
    if text.starts_with("http/1.1 101") {
        return Some(head);
    }
    if text.contains("\r\ntransfer-encoding: chunked") {
        return buffer[head..].windows(5).position(|window| window == b"0\r\n\r\n").map(|at| head + at + 5);
    }
    let length = text.split("\r\ncontent-length:").nth(1).and_then(|rest| rest.lines().next());
    let length: usize = length.map_or(Some(0), |length| length.trim().parse().ok())?;
    (buffer.len() >= head + length).then_some(head + length)
}
