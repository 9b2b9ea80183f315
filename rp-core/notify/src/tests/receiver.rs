//! A receiver: HTTP/1.1 on a socket of its own, which answers as it is told and keeps what it got.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// How a request is answered.
#[derive(Debug, Clone)]
pub(crate) enum Answer {
    Status(u16),
    /// Nothing, while the connection stays open.
    Hang,
    /// 200, and a body without end.
    Endless,
    Redirect(String),
}

/// One request.
#[derive(Debug, Clone)]
pub(crate) struct Got {
    /// By lower-cased name.
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Vec<u8>,
}

impl Got {
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

/// What a receiver shares with its connections.
#[derive(Debug, Default)]
struct Shared {
    /// The next answers; then 200.
    answers: Mutex<Vec<Answer>>,
    /// Every answer, when it is set.
    always: Mutex<Option<Answer>>,
    got: Mutex<Vec<Got>>,
}

#[derive(Debug)]
pub(crate) struct Receiver {
    address: SocketAddr,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

impl Receiver {
    pub(crate) async fn start() -> Self {
        Self::at(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await
    }

    pub(crate) async fn at(address: SocketAddr) -> Self {
        let listener = TcpListener::bind(address).await.unwrap();
        let shared = Arc::new(Shared::default());
        let (address, serving) = (listener.local_addr().unwrap(), Arc::clone(&shared));
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&serving)));
            }
        });
        Self { address, shared, task }
    }

    /// Takes no more connections; gives its address.
    pub(crate) fn leave(self) -> SocketAddr {
        self.task.abort();
        self.address
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/hook", self.address)
    }

    /// Answers the next requests so.
    pub(crate) fn next(&self, answers: &[Answer]) {
        self.shared.answers.lock().extend(answers.iter().rev().cloned());
    }

    /// Answers every request so, until it is told otherwise.
    pub(crate) fn always(&self, answer: Option<Answer>) {
        *self.shared.always.lock() = answer;
    }

    pub(crate) fn got(&self) -> Vec<Got> {
        self.shared.got.lock().clone()
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(stream: TcpStream, shared: Arc<Shared>) {
    let mut stream = BufReader::new(stream);
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).await.unwrap_or(0) == 0 {
            return;
        }
        if line == "\r\n" {
            break;
        }
        if let Some((name, value)) = line.split_once(':') {
            headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
        }
    }
    let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    if stream.read_exact(&mut body).await.is_err() {
        return;
    }
    shared.got.lock().push(Got { headers, body });
    let next = shared.always.lock().clone();
    let answer = next.or_else(|| shared.answers.lock().pop()).unwrap_or(Answer::Status(200));
    let head = |status: u16, more: &str| format!("HTTP/1.1 {status} X\r\n{more}connection: close\r\n\r\n");
    match answer {
        Answer::Status(status) => {
            let _ = stream.write_all(head(status, "content-length: 0\r\n").as_bytes()).await;
        }
        Answer::Redirect(to) => {
            let more = format!("location: {to}\r\ncontent-length: 0\r\n");
            let _ = stream.write_all(head(307, &more).as_bytes()).await;
        }
        Answer::Hang => {
            // Until the sender has enough.
            let _ = stream.read_u8().await;
        }
        Answer::Endless => {
            let _ = stream.write_all(head(200, "").as_bytes()).await;
            while stream.write_all(&[b'x'; 65_536]).await.is_ok() {}
        }
    }
}
