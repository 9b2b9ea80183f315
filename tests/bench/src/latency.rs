//! Latency that the proxy adds at half load: requests at a fixed rate, directly and through the proxy.
//!
//! wrk knows no rate, so here are threads that each own a connection and send at their instants. A request
//! whose instant passed while its connection was busy counts from that instant, not from when it could go.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};

use crate::Scale;
use crate::measure::{Spread, percentile};
use crate::peers::OBJECT;
use crate::report::{self, Part};
use crate::requests::World;
use crate::tls;

const CONNECTIONS: u32 = 16;

#[derive(Clone)]
struct Load {
    address: SocketAddr,
    tls: Arc<ClientConfig>,
    request: Arc<[u8]>,
    /// Requests a second over all connections.
    rate: f64,
    length: Duration,
}

/// Adds the latencies to the table.
pub(crate) async fn run(world: &World, scale: &Scale, rate: f64, part: &mut Part) -> Result<()> {
    let length = Duration::from_secs(scale.seconds);
    let make = |address: SocketAddr, ca_pem: &str, path: &str, token: &str| -> Result<Load> {
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\nAccept: application/json\r\n\r\n"
        );
        Ok(Load {
            address,
            tls: tls::client(ca_pem, &[b"http/1.1"])?,
            request: request.into_bytes().into(),
            rate,
            length,
        })
    };
    let direct = make(world.far.address, &world.certificates.ca_pem, OBJECT, "any")?;
    let ours = &world.ours;
    let through = make(ours.address, &ours.ca_pem, &format!("{}{OBJECT}", ours.mount), &ours.token)?;
    let mut samples: [Vec<f64>; 4] = Default::default();
    for round in 1..=scale.rounds {
        let (direct, through) = (paced(direct.clone()).await?, paced(through.clone()).await?);
        let figures = [0.5, 0.99].map(|share| (percentile(&direct, share), percentile(&through, share)));
        for (at, (direct, through)) in figures.into_iter().enumerate() {
            samples[at * 2].push(direct);
            samples[at * 2 + 1].push(through);
        }
        report::progress(format_args!(
            "round {round}: direct and through, ms: p50 {:.3?}, p99 {:.3?}",
            figures[0], figures[1]
        ));
    }
    report::table(
        &format!("Latency at half load ({rate:.0} requests/s on {CONNECTIONS} connections), milliseconds"),
        &["", "direct", "through aro", "added, least", "added, median", "aim", ""],
    );
    for (at, (name, aim)) in [("p50", 0.3), ("p99", 1.5)].into_iter().enumerate() {
        let (direct, through) = (&samples[at * 2], &samples[at * 2 + 1]);
        let added: Vec<f64> = through.iter().zip(direct).map(|(through, direct)| through - direct).collect();
        let added = Spread::from_samples(&added)?;
        part.most(format_args!("added at {rate:.0} requests/s, {name}"), added.median, aim, "ms");
        report::row(&[
            name.to_owned(),
            format!("{:.3}", Spread::from_samples(direct)?.median),
            format!("{:.3}", Spread::from_samples(through)?.median),
            format!("{:.3}", added.least),
            format!("{:.3}", added.median),
            format!("≤ {aim}"),
            report::verdict(added.median, aim),
        ]);
    }
    Ok(())
}

/// Latencies of one run, sorted.
async fn paced(load: Load) -> Result<Vec<Duration>> {
    let threads: Vec<_> = (0..CONNECTIONS)
        .map(|n| {
            let load = load.clone();
            tokio::task::spawn_blocking(move || run_connection(&load, n))
        })
        .collect();
    let mut all = Vec::new();
    for thread in threads {
        all.extend(thread.await??);
    }
    all.sort_unstable();
    Ok(all)
}

/// One connection's share, its instants shifted against the others'.
fn run_connection(load: &Load, n: u32) -> Result<Vec<Duration>> {
    let tcp = TcpStream::connect(load.address)?;
    tcp.set_nodelay(true)?;
    tcp.set_read_timeout(Some(Duration::from_secs(30)))?;
    let connection = ClientConnection::new(Arc::clone(&load.tls), ServerName::from(load.address.ip()))?;
    let mut stream = StreamOwned::new(connection, tcp);
    let mut buffer = vec![0; 32 * 1024];
    // The first request pays for the handshake.
    exchange(&mut stream, &load.request, &mut buffer)?;
    let every = Duration::from_secs_f64(f64::from(CONNECTIONS) / load.rate);
    let begin = Instant::now();
    let mut due = begin + every * n / CONNECTIONS;
    let mut latencies = Vec::new();
    while due.duration_since(begin) < load.length {
        let now = Instant::now();
        let from = if now < due {
            std::thread::sleep(due - now);
            // The kernel wakes us a little late: that is not the server's doing.
            Instant::now()
        } else {
            due
        };
        exchange(&mut stream, &load.request, &mut buffer)?;
        latencies.push(from.elapsed());
        due += every;
    }
    Ok(latencies)
}

/// Sends a request and reads its answer: 200 with a length.
fn exchange(
    stream: &mut StreamOwned<ClientConnection, TcpStream>,
    request: &[u8],
    buffer: &mut [u8],
) -> Result<()> {
    stream.write_all(request)?;
    stream.flush()?;
    let mut filled = 0;
    loop {
        let read = stream.read(&mut buffer[filled..])?;
        ensure!(read > 0, "the connection ended");
        filled += read;
        if let Some(whole) = length_of(&buffer[..filled])?
            && filled >= whole
        {
            return Ok(());
        }
        ensure!(filled < buffer.len(), "an answer of more than {} bytes", buffer.len());
    }
}

/// Head and body together, once the head is there.
fn length_of(answer: &[u8]) -> Result<Option<usize>> {
    let Some(end) = answer.windows(4).position(|window| window == b"\r\n\r\n") else { return Ok(None) };
    let head = std::str::from_utf8(&answer[..end])?;
    if !head.starts_with("HTTP/1.1 200 ") {
        bail!("{}", String::from_utf8_lossy(answer));
    }
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>())
    });
    Ok(Some(end + 4 + length.context("an answer without a length")??))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_ends_where_its_length_says() {
        assert_eq!(length_of(b"HTTP/1.1 200 OK\r\nX: y\r\n").unwrap(), None);
        assert_eq!(length_of(b"HTTP/1.1 200 OK\r\nContent-length: 3\r\n\r\nab").unwrap(), Some(41));
        assert!(length_of(b"HTTP/1.1 401 No\r\n\r\n").is_err());
    }
}
