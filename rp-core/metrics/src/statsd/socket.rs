//! `udp:host:port` and `unix:path`.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::net::{UdpSocket, UnixStream};
use tokio::time::timeout;

/// For a dial or a write.
const DEADLINE: Duration = Duration::from_secs(10);

/// Where lines go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Socket {
    /// One datagram per line; `host:port`.
    Udp(String),
    /// A stream socket.
    Unix(PathBuf),
}

/// The text is no socket (`spec/monitor.md` §13).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidSocket {
    #[error("expected udp:<host>:<port> or unix:<path>, got {0:?}")]
    Malformed(String),
    #[error("expected udp: or unix:, got {0:?}")]
    Network(String),
}

impl Socket {
    /// Reads `udp:host:port` or `unix:path`; the network in any case.
    ///
    /// # Errors
    /// Says what is expected.
    pub fn parse(text: &str) -> Result<Self, InvalidSocket> {
        let malformed = || InvalidSocket::Malformed(text.to_owned());
        let (network, address) = text.split_once(':').ok_or_else(malformed)?;
        match network.to_ascii_lowercase().as_str() {
            "udp" => {
                let (host, port) = address.rsplit_once(':').ok_or_else(malformed)?;
                let good = !host.is_empty() && port.parse::<u16>().is_ok_and(|port| port > 0);
                if good { Ok(Self::Udp(address.to_owned())) } else { Err(malformed()) }
            }
            "unix" if address.is_empty() => Err(malformed()),
            "unix" => Ok(Self::Unix(address.into())),
            other => Err(InvalidSocket::Network(other.to_owned())),
        }
    }
}

#[derive(Debug)]
pub(super) enum Connection {
    Udp(UdpSocket),
    Unix(UnixStream),
}

/// Sends one line, dialling first where there is no connection.
pub(super) async fn send(
    connection: &mut Option<Connection>,
    socket: &Socket,
    line: &[u8],
) -> io::Result<()> {
    let late = |_| io::Error::new(io::ErrorKind::TimedOut, "the statsd socket does not take data");
    let open = match connection {
        Some(open) => open,
        None => connection.insert(timeout(DEADLINE, dial(socket)).await.map_err(late)??),
    };
    match open {
        Connection::Udp(udp) => timeout(DEADLINE, udp.send(line)).await.map_err(late)?.map(|_| ()),
        Connection::Unix(unix) => timeout(DEADLINE, unix.write_all(line)).await.map_err(late)?,
    }
}

async fn dial(socket: &Socket) -> io::Result<Connection> {
    match socket {
        Socket::Unix(path) => UnixStream::connect(path).await.map(Connection::Unix),
        Socket::Udp(address) => {
            let peer = tokio::net::lookup_host(address).await?.next();
            let peer =
                peer.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "the host has no address"))?;
            let any = if peer.is_ipv6() { "[::]:0" } else { "0.0.0.0:0" };
            let udp = UdpSocket::bind(any).await?;
            udp.connect(peer).await?;
            Ok(Connection::Udp(udp))
        }
    }
}
