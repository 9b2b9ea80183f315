//! `udp:host:port` and `unix:path`.

use std::collections::VecDeque;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::net::{UdpSocket, UnixStream};
use tokio::time::timeout;

use super::queue::Line;

/// Timeout for a dial and for progress of a write (`contract/monitor.md` §13).
pub(super) const DEADLINE: Duration = Duration::from_secs(10);
/// Maximum size of one write to a stream, in bytes.
const PIECE: usize = 64 * 1024;

/// The socket that lines are sent to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Socket {
    /// One datagram per line; `host:port`.
    Udp(String),
    /// A stream socket.
    Unix(PathBuf),
}

/// The text is no socket; in the words of `contract/monitor.md` §13.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidSocket {
    #[error(
        "malformed definition for the mdm statds socket. Expecting udp:<hostname>:<port> or unix:<path-to-socket> format. Got: \"{0}\""
    )]
    Malformed(String),
    #[error("unsupported protocol for the mdm statds socket. Expecting  'udp:' or 'unix:'. Got: \"{0}\"")]
    Network(String),
}

impl Socket {
    /// Reads `udp:host:port` or `unix:path`, split at the first colon; the network in any case.
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

/// Why lines were not sent.
#[derive(Debug, thiserror::Error)]
pub(super) enum SendError {
    #[error("cannot reach the statsd socket")]
    Dial(#[source] io::Error),
    #[error("the statsd socket does not take data")]
    Write(#[source] io::Error),
}

#[derive(Debug)]
pub(super) enum Connection {
    Udp(UdpSocket),
    Unix(UnixStream),
}

impl Connection {
    pub(super) async fn dial(socket: &Socket) -> Result<Self, SendError> {
        match timeout(DEADLINE, dial(socket)).await {
            Ok(dialled) => dialled.map_err(SendError::Dial),
            Err(late) => Err(SendError::Dial(late.into())),
        }
    }

    /// Sends lines in order and removes those that were sent. After an error the remaining lines start with the line
    /// that failed; a part of it already written to a stream is lost with the connection.
    pub(super) async fn send(
        &mut self,
        lines: &mut VecDeque<Line>,
        sent: impl Fn(&Line),
    ) -> Result<(), SendError> {
        let late = |_| SendError::Write(io::ErrorKind::TimedOut.into());
        match self {
            Self::Udp(udp) => {
                while let Some(line) = lines.front() {
                    let write = timeout(DEADLINE, udp.send(line.text.as_bytes()));
                    write.await.map_err(late)?.map_err(SendError::Write)?;
                    sent(line);
                    lines.pop_front();
                }
                Ok(())
            }
            Self::Unix(unix) => {
                while !lines.is_empty() {
                    let mut piece = String::new();
                    for line in lines.iter() {
                        piece.push_str(&line.text);
                        if piece.len() >= PIECE {
                            break;
                        }
                    }
                    write_piece(unix, piece.as_bytes(), lines, &sent).await?;
                }
                Ok(())
            }
        }
    }
}

/// Writes the text of the first lines and removes each one that was written completely.
async fn write_piece(
    unix: &mut UnixStream,
    mut piece: &[u8],
    lines: &mut VecDeque<Line>,
    sent: &impl Fn(&Line),
) -> Result<(), SendError> {
    // Bytes already written of the first remaining line.
    let mut ahead = 0;
    while !piece.is_empty() {
        let written = match timeout(DEADLINE, unix.write(piece)).await {
            Err(_) => return Err(SendError::Write(io::ErrorKind::TimedOut.into())),
            Ok(Ok(0)) => return Err(SendError::Write(io::ErrorKind::WriteZero.into())),
            Ok(Ok(written)) => written,
            Ok(Err(error)) => return Err(SendError::Write(error)),
        };
        piece = &piece[written..];
        ahead += written;
        while let Some(line) = lines.front().filter(|line| ahead >= line.text.len()) {
            ahead -= line.text.len();
            sent(line);
            lines.pop_front();
        }
    }
    Ok(())
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
