//! Names whose answers change, addresses of IPv6, and a process that has no descriptors left.

#![expect(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "tests")]

mod descriptors;
mod ipv6;
mod names;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use rp_net::door::Door;
use rp_net::listen::{Gauge, Handler, Limits, Listener, Stop};
use rp_net::{Dialer, DialerOptions, Networks, Origins, PrivateWay, Resolver};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// Far more than anything here needs: speed is asserted in benchmarks.
const GENEROUS: Duration = Duration::from_secs(60);

/// Answers with the address of its client.
#[derive(Debug)]
struct Site;

impl Handler for Site {
    type Body = Full<Bytes>;

    async fn handle(&self, _request: Request<Incoming>, peer: SocketAddr) -> Response<Full<Bytes>> {
        Response::new(Full::new(Bytes::from(peer.to_string())))
    }
}

/// Serves until the runtime ends.
fn serve(tcp: TcpListener, door: Arc<Door>, origins: Origins) {
    serve_by(Site, tcp, door, origins);
}

/// Serves by this handler until the runtime ends.
fn serve_by(handler: impl Handler, tcp: TcpListener, door: Arc<Door>, origins: Origins) {
    let limits = Limits { door, origins: Arc::new(origins), ..Limits::default() };
    let listener =
        Listener { tcp, tls: None, handler: Arc::new(handler), limits, gauge: Arc::<Gauge>::default() };
    tokio::spawn(listener.serve(Stop::default()));
}

async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(GENEROUS, future).await.unwrap_or_else(|_| panic!("{what} took too long"))
}

/// One good request over a connection of its own, which begins with these bytes; gives the body.
async fn good(address: SocketAddr, before: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = [before, b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"].concat();
    stream.write_all(&request).await.unwrap();
    let mut answer = String::new();
    within("a good request", stream.read_to_string(&mut answer)).await.unwrap();
    answer.rsplit("\r\n").next().unwrap_or_default().to_owned()
}

fn options(allow: &[&str], own: &[SocketAddr]) -> DialerOptions {
    let allow = allow.iter().map(|network| network.parse().unwrap()).collect();
    DialerOptions {
        private: PrivateWay::Direct,
        networks: Networks::new(allow, own.to_vec()),
        keepalive: GENEROUS,
    }
}

/// What a dial gives: nothing, or the stage at which it failed and whether another try can help.
async fn dialled(dialer: &Dialer, host: &str, port: u16) -> Result<(), (rp_net::Stage, bool)> {
    let dialled = dialer.dial_address(host, port, GENEROUS).await;
    dialled.map(drop).map_err(|error| (error.stage, error.retry))
}

/// A dialer whose names have the addresses that the test says.
fn told(options: DialerOptions, resolver: impl Resolver) -> Dialer {
    Dialer::with_resolver(options, Arc::new(resolver))
}
