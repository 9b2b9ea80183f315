//! What floods of HTTP/2 frames of a stranger cost: CPU time, memory, and how long others wait meanwhile.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use rustls::pki_types::ServerName;
use tests_kit::{Aro, AroOptions, Session};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpSocket;
use tokio_rustls::TlsConnector;

use crate::measure::{cpu, percentile, resident};
use crate::report::{self, Part};
use crate::tls;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// `GET /` without indexing, by the static table.
const FIELDS: &[u8] = &[0x82, 0x86, 0x84, 0x41, 0x01, b'x'];
/// Another address of this machine than everybody else's.
const HOSTILE: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 9);
/// Connections that send the same flood.
const CONNECTIONS: usize = 4;
/// How long a flood goes on.
const LENGTH: Duration = Duration::from_secs(5);
/// Between two requests of somebody else.
const PERIOD: Duration = Duration::from_millis(20);
/// Others wait so long at most while a flood goes on, milliseconds, one request in a hundred longer.
const AIM_OTHERS_MS: f64 = 100.0;
const AIM_MEMORY_MIB: f64 = 64.0;

/// Frames that a client may send for ever.
struct Flood {
    name: &'static str,
    /// What is sent before it.
    begin: Vec<u8>,
    /// What is sent again and again.
    chunk: Vec<u8>,
}

/// Gives the part's table.
pub(crate) async fn run() -> Result<Part> {
    let mut part =
        Part::new("floods", format!("Floods of HTTP/2 frames by {CONNECTIONS} connections of a stranger"))?;
    let aro = Aro::start(AroOptions { clusters: 1, ..AroOptions::default() }).await?;
    let session = aro.session("sre").await?;
    let before = resident(aro.dev.pid)?;
    let quiet = others(&session, Instant::now() + LENGTH).await?;
    part.stated(
        "a request of somebody else without a flood, p99",
        format!("{:.1} ms", percentile(&quiet, 0.99)),
    );
    report::table("Floods", &["", "connections made", "CPU, cores", "p50 of others, ms", "p99"]);
    let mut most = 0;
    for flood in floods() {
        let (connections, used, others) = one(&aro, &session, &flood).await.with_context(|| flood.name)?;
        most = most.max(resident(aro.dev.pid)?);
        let cores = used.as_secs_f64() / LENGTH.as_secs_f64();
        let [half, all] = [0.5, 0.99].map(|share| percentile(&others, share));
        report::row(&[
            flood.name.to_owned(),
            connections.to_string(),
            format!("{cores:.2}"),
            format!("{half:.1}"),
            format!("{all:.1}"),
        ]);
        part.stated(
            format_args!("{}: CPU", flood.name),
            format_args!("{cores:.2} of a core; {connections} connections made"),
        );
        part.most(format_args!("{}: others wait, p99", flood.name), all, AIM_OTHERS_MS, "ms");
    }
    #[expect(clippy::cast_precision_loss, reason = "bytes for people")]
    let grown = most.saturating_sub(before) as f64 / 1_048_576.0;
    part.most("memory of all", grown, AIM_MEMORY_MIB, "MiB");
    Ok(part)
}

/// Connections that were made, CPU time, and how long others waited.
async fn one(aro: &Aro, session: &Session, flood: &Flood) -> Result<(u64, Duration, Vec<Duration>)> {
    let (used, end) = (cpu(aro.dev.pid)?, Instant::now() + LENGTH);
    let config = tls::client(&aro.ca_pem()?, &[b"h2"])?;
    let url: url::Url = aro.dev.url.parse()?;
    let address = *url.socket_addrs(|| None)?.first().context("an address of the portal")?;
    let connector = TlsConnector::from(config);
    let hostile = (0..CONNECTIONS).map(|_| async {
        let mut connections = 0;
        while Instant::now() < end {
            connections += 1;
            // A connection that is refused or ended is made again, but not in a loop without a pause.
            if send(&connector, address, flood, end).await.is_err() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }
        connections
    });
    let (connections, others) = tokio::join!(futures_util::future::join_all(hostile), others(session, end));
    let used = cpu(aro.dev.pid)?.saturating_sub(used);
    Ok((connections.into_iter().sum(), used, others?))
}

/// Sends until the time is over, or the far end has had enough; reads what comes beside it.
async fn send(connector: &TlsConnector, address: SocketAddr, flood: &Flood, end: Instant) -> Result<()> {
    let socket = TcpSocket::new_v4()?;
    socket.bind((HOSTILE, 0).into())?;
    let tcp = socket.connect(address).await?;
    let stream = connector.connect(ServerName::from(address.ip()), tcp).await?;
    let (mut read, mut write) = tokio::io::split(stream);
    let writing = async {
        write.write_all(&[PREFACE, &frame(4, 0, 0, &[]), &flood.begin].concat()).await?;
        loop {
            write.write_all(&flood.chunk).await?;
        }
    };
    let reading = async {
        let mut buffer = vec![0; 16 * 1024];
        while read.read(&mut buffer).await? > 0 {}
        Ok(())
    };
    tokio::select! {
        ended = writing => ended,
        ended = reading => ended,
        () = tokio::time::sleep_until(end.into()) => Ok(()),
    }
}

/// Somebody else's requests until then; sorted.
async fn others(session: &Session, end: Instant) -> Result<Vec<Duration>> {
    let mut took = Vec::new();
    while Instant::now() < end {
        let began = Instant::now();
        session.get("/api/info").await?.ok()?;
        took.push(began.elapsed());
        tokio::time::sleep(PERIOD).await;
    }
    took.sort_unstable();
    Ok(took)
}

/// Rapid reset (CVE-2023-44487), CONTINUATION (CVE-2024-27316), PING, SETTINGS and empty DATA (CVE-2019-9512, -9515, -9518),
/// and frames that are cheap to make.
fn floods() -> Vec<Flood> {
    let many = |one: &[u8]| one.repeat(1000);
    let flood = |name, begin, chunk| Flood { name, begin, chunk };
    let resets = (0..100_000_u32)
        .flat_map(|n| [frame(1, 5, 2 * n + 1, FIELDS), frame(3, 0, 2 * n + 1, &[0, 0, 0, 8])].concat());
    let fields = [0x00, 0x01, b'a', 0x01, b'b'].repeat(3000);
    vec![
        // Numbers of streams only grow, so it is sent once.
        flood("rapid reset", Vec::new(), resets.collect()),
        flood("continuation", frame(1, 0, 1, FIELDS), frame(9, 0, 1, &fields)),
        flood("ping", Vec::new(), many(&frame(6, 0, 0, &[7; 8]))),
        flood("settings", Vec::new(), many(&frame(4, 0, 0, &[0, 4, 0, 1, 0, 0]))),
        flood("empty data", frame(1, 4, 1, FIELDS), many(&frame(0, 0, 1, &[]))),
        flood("window updates", Vec::new(), many(&frame(8, 0, 0, &[0, 0, 0, 1]))),
        flood("priorities", Vec::new(), many(&frame(2, 0, 3, &[0, 0, 0, 0, 1]))),
    ]
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    // At most 15,000 bytes.
    let length = u32::try_from(payload.len()).unwrap_or_default().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}
