//! A client that sends and reads bytes over TLS, for what no HTTP client would do.

use std::sync::Arc;

use rustls_pki_types::ServerName;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::world::{RES, World, soon};

pub(crate) struct Wire {
    stream: TlsStream<TcpStream>,
    pub(crate) buffer: Vec<u8>,
}

/// One answer, its body decoded.
#[derive(Debug)]
pub(crate) struct WireResponse {
    pub(crate) status: u16,
    /// Status line and headers, names in lower case.
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
    /// The body came to its end as its framing says.
    pub(crate) whole: bool,
}

impl WireResponse {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let line = self.head.lines().find(|line| line.starts_with(&format!("{name}:")))?;
        Some(line[name.len() + 1..].trim())
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

pub(crate) async fn tls(world: &World, alpn: &[u8]) -> TlsStream<TcpStream> {
    tls_over(world, alpn, TcpStream::connect(world.address).await.unwrap()).await
}

async fn tls_over(world: &World, alpn: &[u8], tcp: TcpStream) -> TlsStream<TcpStream> {
    let config = rp_net::tls::client_config(&world.ca.pem, None, &[alpn]).unwrap();
    tcp.set_nodelay(true).unwrap();
    let name = ServerName::try_from("127.0.0.1").unwrap();
    TlsConnector::from(Arc::new(config)).connect(name, tcp).await.unwrap()
}

/// A request line, a host and the token; more headers and the empty line are the caller's.
pub(crate) fn start(method: &str, path: &str, token: &str) -> String {
    format!(
        "{method} {RES}/kubeconfig/proxy{path} HTTP/1.1\r\nHost: proxy\r\nAuthorization: Bearer {token}\r\n"
    )
}

impl Wire {
    pub(crate) async fn connect(world: &World) -> Self {
        Self { stream: tls(world, b"http/1.1").await, buffer: Vec::new() }
    }

    /// Its kernel keeps few bytes that it has not read.
    pub(crate) async fn connect_with_little_room(world: &World) -> Self {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(4096).unwrap();
        let tcp = socket.connect(world.address).await.unwrap();
        Self { stream: tls_over(world, b"http/1.1", tcp).await, buffer: Vec::new() }
    }

    pub(crate) async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        // An error means that the other side closed, which the next read tells.
        let _ = self.stream.write_all(bytes.as_ref()).await;
        let _ = self.stream.flush().await;
    }

    async fn more(&mut self) -> usize {
        self.stream.read_buf(&mut self.buffer).await.unwrap_or(0)
    }

    /// Reads until what came contains `text`; false at the end.
    pub(crate) async fn says(&mut self, text: &str) -> bool {
        let reading = async {
            while !self.buffer.windows(text.len()).any(|window| window == text.as_bytes()) {
                if self.more().await == 0 {
                    return false;
                }
            }
            true
        };
        soon(text, reading).await
    }

    /// Everything up to the end of the connection.
    pub(crate) async fn rest(&mut self) -> Vec<u8> {
        soon("the connection's end", async { while self.more().await > 0 {} }).await;
        std::mem::take(&mut self.buffer)
    }

    /// The head of an answer; 0 when the connection ends before.
    pub(crate) async fn head(&mut self) -> (u16, String) {
        if !self.says("\r\n\r\n").await {
            return (0, String::from_utf8_lossy(&self.buffer).into_owned());
        }
        let end = self.buffer.windows(4).position(|window| window == b"\r\n\r\n").unwrap() + 4;
        let raw: Vec<u8> = self.buffer.drain(..end).collect();
        let text = String::from_utf8(raw).unwrap();
        let lower = |line: &str| match line.split_once(':') {
            Some((name, value)) => format!("{}:{value}", name.to_ascii_lowercase()),
            None => line.to_owned(),
        };
        let head: Vec<String> = text.lines().map(lower).collect();
        let status = text.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap();
        (status, head.join("\n"))
    }

    /// A whole answer to anything but HEAD.
    pub(crate) async fn answer(&mut self) -> WireResponse {
        let (status, head) = self.head().await;
        let mut answer = WireResponse { status, head, body: Vec::new(), whole: false };
        if answer.header("transfer-encoding") == Some("chunked") {
            answer.whole = self.chunks(&mut answer.body).await;
        } else if let Some(length) = answer.header("content-length") {
            let length: usize = length.parse().unwrap();
            answer.whole = self.fill(length).await;
            let there = self.buffer.len().min(length);
            answer.body = self.buffer.drain(..there).collect();
        }
        answer
    }

    async fn fill(&mut self, length: usize) -> bool {
        soon("a body", async {
            while self.buffer.len() < length {
                if self.more().await == 0 {
                    return false;
                }
            }
            true
        })
        .await
    }

    async fn chunks(&mut self, body: &mut Vec<u8>) -> bool {
        loop {
            let Some(line) = self.line().await else { return false };
            let length = usize::from_str_radix(line.trim(), 16).expect("a chunk's length");
            if !self.fill(length + 2).await {
                return false;
            }
            let chunk: Vec<u8> = self.buffer.drain(..length + 2).collect();
            body.extend_from_slice(&chunk[..length]);
            if length == 0 {
                return true;
            }
        }
    }

    async fn line(&mut self) -> Option<String> {
        if !self.says("\r\n").await {
            return None;
        }
        let end = self.buffer.windows(2).position(|window| window == b"\r\n")? + 2;
        let line: Vec<u8> = self.buffer.drain(..end).collect();
        Some(String::from_utf8_lossy(&line).into_owned())
    }
}

/// One request on a connection of its own; `more` are header lines with their line ends.
pub(crate) async fn ask(world: &World, method: &str, path: &str, token: &str, more: &str) -> WireResponse {
    let mut wire = Wire::connect(world).await;
    wire.send(format!("{}{more}\r\n", start(method, path, token))).await;
    wire.answer().await
}
