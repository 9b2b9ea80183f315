//! CPU time of bytes through an exec-like stream, beside HAProxy between bytes.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use rustls::pki_types::ServerName;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::Scale;
use crate::fake_api_server::CHUNK;
use crate::measure::{Spread, cpu};
use crate::ours::{Certificates, Ours};
use crate::report::{self, Part};
use crate::{peers, tls, watches};

const AIM: f64 = 1.0;
/// No byte for so long: something is stuck.
const SILENCE: Duration = Duration::from_secs(60);

pub(crate) struct Subject<'a> {
    pub(crate) name: &'static str,
    pub(crate) group: u32,
    pub(crate) address: SocketAddr,
    pub(crate) ca_pem: &'a str,
    pub(crate) path: String,
    pub(crate) token: &'a str,
}

#[derive(Clone, Copy)]
pub(crate) enum Direction {
    /// Client to cluster: `kubectl cp file pod:`.
    Up,
    /// Cluster to client.
    Down,
    /// The same, as messages of a WebSocket with text in them.
    Framed,
}

/// Gives the part's table.
pub(crate) async fn run(scale: &Scale) -> Result<Part> {
    let title = format!("An exec-like stream of {} MiB, TLS on both legs", scale.mebibytes);
    let mut part = Part::new("stream", title)?;
    let certificates = Certificates::new()?;
    let (_far, far) = watches::far(&certificates).await?;
    let haproxy = peers::haproxy(&certificates, far, true).await?;
    let ours = Ours::start(far, &certificates.ca_pem, "admin", "admin").await?;
    let subjects = [
        Subject {
            name: "aro",
            group: ours.pid(),
            address: ours.address,
            ca_pem: &ours.ca_pem,
            path: ours.mount.clone(),
            token: &ours.token,
        },
        Subject {
            name: "HAProxy",
            group: haproxy.process.pid(),
            address: haproxy.address,
            ca_pem: &certificates.ca_pem,
            path: String::new(),
            token: "any",
        },
    ];
    report::table(
        &format!("CPU time of an exec-like stream of {} MiB, TLS on both legs", scale.mebibytes),
        &["direction", "proxy", "least, s/GB", "median, s/GB", "MB/s", "ours ÷ its (medians)", "aim", ""],
    );
    for (name, direction) in [("to the cluster", Direction::Up), ("from the cluster", Direction::Down)] {
        compare(&subjects, name, direction, scale, &mut part).await?;
    }
    Ok(part)
}

async fn compare(
    subjects: &[Subject<'_>; 2],
    direction_name: &str,
    direction: Direction,
    scale: &Scale,
    part: &mut Part,
) -> Result<()> {
    let bytes = scale.mebibytes * 1_048_576;
    #[expect(clippy::cast_precision_loss, reason = "gigabytes for people")]
    let gigabytes = bytes as f64 / 1e9;
    let (mut costs, mut speeds): ([Vec<f64>; 2], [Vec<f64>; 2]) = Default::default();
    for round in 1..=scale.rounds {
        for (at, subject) in subjects.iter().enumerate() {
            let (mut stream, rest) = open(subject, bytes, direction).await?;
            let (before, began) = (cpu(subject.group)?, Instant::now());
            pass(&mut stream, bytes, rest, direction).await.with_context(|| subject.name)?;
            let (used, took) = (cpu(subject.group)?.saturating_sub(before), began.elapsed());
            costs[at].push(used.as_secs_f64() / gigabytes);
            speeds[at].push(gigabytes * 1000.0 / took.as_secs_f64());
            report::progress(format_args!(
                "round {round}: {direction_name}: {:<8} {:.3} s/GB",
                subject.name,
                used.as_secs_f64() / gigabytes
            ));
        }
    }
    let ratio = Spread::from_samples(&costs[0])?.median / Spread::from_samples(&costs[1])?.median;
    for (at, subject) in subjects.iter().enumerate() {
        let cost = Spread::from_samples(&costs[at])?;
        let mut cells = vec![
            direction_name.to_owned(),
            subject.name.to_owned(),
            format!("{:.3}", cost.least),
            format!("{:.3}", cost.median),
            format!("{:.0}", Spread::from_samples(&speeds[at])?.median),
        ];
        cells.extend(if at == 0 {
            Default::default()
        } else {
            [format!("{ratio:.2}"), format!("≤ {AIM}"), report::verdict(ratio, AIM)]
        });
        report::row(&cells);
    }
    let ours = Spread::from_samples(&costs[0])?.median;
    let what = format!("{direction_name}: CPU time ({ours:.3} s/GB) ÷ HAProxy's");
    part.most(what, ratio, AIM, "×");
    Ok(())
}

/// Does the handshake; gives the stream and how many bytes of it came with the answer's head.
pub(crate) async fn open(
    subject: &Subject<'_>,
    bytes: u64,
    direction: Direction,
) -> Result<(TlsStream<TcpStream>, u64)> {
    let tcp = TcpStream::connect(subject.address).await?;
    tcp.set_nodelay(true)?;
    let config = tls::client(subject.ca_pem, &[])?;
    let name = ServerName::from(subject.address.ip());
    let mut stream = TlsConnector::from(config).connect(name, tcp).await?;
    let (source, framed) = (!matches!(direction, Direction::Up), matches!(direction, Direction::Framed));
    let head = format!(
        "GET {}/api/v1/namespaces/default/pods/x/exec?command=cat&stdin=true&source={source}&framed={framed}&bytes={bytes} HTTP/1.1\r\n\
         Host: {}\r\nAuthorization: Bearer {}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\
         Sec-WebSocket-Protocol: v5.channel.k8s.io\r\n\r\n",
        subject.path, subject.address, subject.token
    );
    stream.write_all(head.as_bytes()).await?;
    stream.flush().await?;
    let mut answer = Vec::new();
    loop {
        let read =
            tokio::time::timeout(SILENCE, stream.read_buf(&mut answer)).await.context("no answer")??;
        ensure!(read > 0, "{}: no answer: {}", subject.name, String::from_utf8_lossy(&answer));
        if let Some(end) = answer.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&answer[..end]);
            ensure!(
                head.starts_with("HTTP/1.1 101 "),
                "{}: {}",
                subject.name,
                String::from_utf8_lossy(&answer)
            );
            return Ok((stream, (answer.len() - end - 4) as u64));
        }
    }
}

pub(crate) async fn pass(
    stream: &mut TlsStream<TcpStream>,
    bytes: u64,
    early: u64,
    direction: Direction,
) -> Result<()> {
    let mut buffer = vec![0; CHUNK];
    let mut expected = 1;
    if !matches!(direction, Direction::Up) {
        expected = bytes;
    } else {
        let mut left = bytes;
        while left > 0 {
            let size = CHUNK.min(usize::try_from(left).unwrap_or(CHUNK));
            let written = tokio::time::timeout(SILENCE, stream.write_all(&buffer[..size])).await;
            written.context("nothing is taken")??;
            left -= size as u64;
        }
        stream.flush().await?;
    }
    let mut got = early;
    while got < expected {
        let read =
            tokio::time::timeout(SILENCE, stream.read(&mut buffer)).await.context("nothing comes")??;
        ensure!(read > 0, "ended after {got} of {expected} bytes");
        got += read as u64;
    }
    ensure!(got == expected, "{got} bytes in place of {expected}");
    Ok(())
}
