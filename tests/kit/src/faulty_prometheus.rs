//! A Prometheus that misbehaves: the first segment of the path says how.

use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Result;
use parking_lot::Mutex;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// A server of recorded and of broken answers on 127.0.0.1. Ways to it:
///
/// `/html` a web page; `/starting` 503 as while it replays its log; `/cut` half an answer, then the end; `/hang`
/// takes the request and is silent, on `/-/ready` too; `/busy` is silent but ready; `/huge` a gigabyte, series by
/// series; `/utf8` names beyond ASCII, as version 3 answers; `/hostile` metrics and labels that break careless pages;
/// `/syntax` a refusal with a place; `/big` ten megabytes; `/names` half a million metric names.
#[derive(Debug)]
pub struct FaultyPrometheus {
    port: u16,
    state: Arc<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Requests on which the client waits now, and those whose client went away.
    waiting: AtomicUsize,
    left: AtomicUsize,
    seen: Mutex<Vec<String>>,
}

/// A gigabyte.
const HUGE: u64 = 1 << 30;
const BIG: u64 = 10 << 20;

impl FaultyPrometheus {
    /// Starts it, on a thread of its own: it serves many tests, each of which has a runtime that ends.
    ///
    /// # Errors
    /// No port is free.
    pub fn start() -> Result<Self> {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let port = listener.local_addr()?.port();
        let state = Arc::new(State::default());
        let serving = Arc::clone(&state);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        std::thread::spawn(move || {
            runtime.block_on(async move {
                let Ok(listener) = TcpListener::from_std(listener) else { return };
                while let Ok((stream, _)) = listener.accept().await {
                    let state = Arc::clone(&serving);
                    tokio::spawn(async move { drop(serve(stream, &state).await) });
                }
            });
        });
        Ok(Self { port, state })
    }

    /// `http://127.0.0.1:PORT/HOW`.
    pub fn url(&self, how: &str) -> String {
        format!("http://127.0.0.1:{}/{how}", self.port)
    }

    /// Requests that wait for an answer now.
    pub fn waiting(&self) -> usize {
        self.state.waiting.load(Ordering::SeqCst)
    }

    /// Requests whose client went away before the answer.
    pub fn left(&self) -> usize {
        self.state.left.load(Ordering::SeqCst)
    }

    /// Method and target of every request.
    pub fn seen(&self) -> Vec<String> {
        self.state.seen.lock().clone()
    }
}

async fn serve(mut stream: TcpStream, state: &State) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut kept = Vec::new();
    while let Some((method, target)) = request(&mut stream, &mut kept).await? {
        state.seen.lock().push(format!("{method} {target}"));
        let mut parts = target.trim_start_matches('/').splitn(2, '/');
        let (how, rest) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        let health = rest.starts_with("-/");
        match how {
            "hang" => return wait(&mut stream, state).await,
            "busy" if !health => return wait(&mut stream, state).await,
            "cut" => {
                let half = "{\"status\":\"success\",\"data\":{\"resultType\":\"vector\",\"result\":[{\"metric\":{\"__name__\":\"up\"}";
                stream.write_all(head(200, JSON, 1000).as_bytes()).await?;
                return stream.write_all(half.as_bytes()).await;
            }
            "huge" if !health => series(&mut stream, HUGE).await?,
            "big" if !health => series(&mut stream, BIG).await?,
            "names" if rest.contains("label/") => names(&mut stream).await?,
            _ => {
                let (status, kind, body) = answer(how, rest);
                stream.write_all((head(status, kind, body.len()) + &body).as_bytes()).await?;
            }
        }
    }
    Ok(())
}

const JSON: &str = "application/json";

fn head(status: u16, kind: &str, length: usize) -> String {
    format!("HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n")
}

fn answer(how: &str, rest: &str) -> (u16, &'static str, String) {
    let success = |data: &str| (200, JSON, format!("{{\"status\":\"success\",\"data\":{data}}}"));
    match (how, rest) {
        ("html", _) => (502, "text/html; charset=utf-8", "<html><body>Bad Gateway</body></html>".to_owned()),
        ("starting", _) => (503, "text/plain; charset=utf-8", "Service Unavailable".to_owned()),
        (_, rest) if rest.starts_with("-/") => (200, "text/plain", "Prometheus Server is Ready.\n".to_owned()),
        ("syntax", _) => (
            400,
            JSON,
            r#"{"status":"error","errorType":"bad_data","error":"invalid parameter \"query\": 1:8: parse error: unexpected end of input"}"#.to_owned(),
        ),
        // As Prometheus 3 answers: names in any characters, quoted in braces where they are written.
        ("utf8", rest) if rest.contains("label/") => success(r#"["http.server.duration","température_°C","up"]"#),
        ("utf8", _) => success(
            r#"{"resultType":"vector","result":[{"metric":{"__name__":"http.server.duration","service.name":"größe"},"value":[1700000000,"1"]}]}"#,
        ),
        ("hostile", rest) if rest.contains("label/") => {
            success(r#"["<img src=x onerror=alert(1)>","\u202egnp.exe","a\"b\\c","normal"]"#)
        }
        ("hostile", _) => success(
            r#"{"resultType":"vector","result":[{"metric":{"__name__":"<script>alert(1)</script>","l":"\"]}\\n${jndi:ldap://x}\u0000"},"value":[1700000000,"NaN"]}]}"#,
        ),
        ("names", rest) if rest.starts_with("api/v1/metadata") => success("{}"),
        _ => success(r#"{"resultType":"vector","result":[{"metric":{"__name__":"up"},"value":[1700000000,"1"]}]}"#),
    }
}

/// Reads one request; `None` at the end of the connection.
async fn request(stream: &mut TcpStream, kept: &mut Vec<u8>) -> io::Result<Option<(String, String)>> {
    let end = loop {
        if let Some(at) = kept.windows(4).position(|four| four == b"\r\n\r\n") {
            break at + 4;
        }
        let mut piece = [0; 4096];
        let length = stream.read(&mut piece).await?;
        if length == 0 || kept.len() > 1 << 20 {
            return Ok(None);
        }
        kept.extend_from_slice(&piece[..length]);
    };
    let head = String::from_utf8_lossy(&kept[..end]).into_owned();
    let body: usize = head
        .lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
        .and_then(|(_, value)| value.trim().parse().ok())
        .unwrap_or(0);
    while kept.len() < end + body {
        let mut piece = [0; 4096];
        let length = stream.read(&mut piece).await?;
        if length == 0 {
            return Ok(None);
        }
        kept.extend_from_slice(&piece[..length]);
    }
    kept.drain(..end + body);
    let mut words = head.split_whitespace();
    Ok(words.next().zip(words.next()).map(|(method, target)| (method.to_owned(), target.to_owned())))
}

/// Silent until the client goes.
async fn wait(stream: &mut TcpStream, state: &State) -> io::Result<()> {
    state.waiting.fetch_add(1, Ordering::SeqCst);
    let mut piece = [0; 64];
    let gone = stream.read(&mut piece).await;
    state.waiting.fetch_sub(1, Ordering::SeqCst);
    state.left.fetch_add(1, Ordering::SeqCst);
    gone.map(drop)
}

/// A matrix of about that many bytes, in chunks; each series has 500 samples.
async fn series(stream: &mut TcpStream, bytes: u64) -> io::Result<()> {
    let head = "HTTP/1.1 200 X\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
    stream.write_all(head.as_bytes()).await?;
    chunk(stream, "{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\",\"result\":[").await?;
    let samples: Vec<String> =
        (0..500).map(|at| format!("[{},\"{}.25\"]", 1_700_000_000 + at * 30, at % 97)).collect();
    let samples = samples.join(",");
    let (mut sent, mut number) = (0, 0_u64);
    while sent < bytes {
        let comma = if number == 0 { "" } else { "," };
        let text = format!(
            "{comma}{{\"metric\":{{\"__name__\":\"many\",\"n\":\"{number}\"}},\"values\":[{samples}]}}"
        );
        sent += text.len() as u64;
        number += 1;
        chunk(stream, &text).await?;
    }
    chunk(stream, "]}}").await?;
    stream.write_all(b"0\r\n\r\n").await
}

/// Half a million names, in order.
async fn names(stream: &mut TcpStream) -> io::Result<()> {
    let head = "HTTP/1.1 200 X\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
    stream.write_all(head.as_bytes()).await?;
    chunk(stream, "{\"status\":\"success\",\"data\":[\"a_first\"").await?;
    for part in 0..500 {
        let names: String = (0..1000)
            .map(|at| format!(",\"component_{part:03}_operation_{at:03}_duration_seconds_total\""))
            .collect();
        chunk(stream, &names).await?;
    }
    chunk(stream, "]}").await?;
    stream.write_all(b"0\r\n\r\n").await
}

async fn chunk(stream: &mut TcpStream, text: &str) -> io::Result<()> {
    stream.write_all(format!("{:x}\r\n{text}\r\n", text.len()).as_bytes()).await
}
