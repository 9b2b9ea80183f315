//! Lines to syslog: RFC 5424 messages, over TCP with octet counting (RFC 6587), TLS (RFC 5425), UDP (RFC 5426) or
//! a datagram socket of this machine.
//!
//! Syslog answers nothing. Over a connection, lines count as taken when it still stands a moment later; when it
//! breaks, everything since the last such moment is sent again.

use std::time::Duration;

use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpStream, UdpSocket, UnixDatagram};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use crate::SyslogTarget;
use crate::outlet::{DeliveryError, Line, LineKind};

/// Facility 13 (log audit), severity 6 (informational): RFC 5424 §6.2.1.
const ENTRY: u8 = 13 * 8 + 6;
/// Severity 5 (notice).
const STATEMENT: u8 = 13 * 8 + 5;
/// To connect, TLS included.
const CONNECT: Duration = Duration::from_secs(10);
/// To hand lines to a connection.
const WRITE: Duration = Duration::from_secs(30);
/// A connection that stands so long after the last byte has taken it.
const SETTLE: Duration = Duration::from_millis(200);
/// Bytes of a message in a datagram.
const MOST_DATAGRAM: usize = 60_000;

trait Wire: AsyncRead + AsyncWrite + Send + Sync + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Sync + Unpin> Wire for T {}

pub(crate) struct SyslogOutlet {
    to: SyslogTarget,
    host: String,
    link: Option<Link>,
}

enum Link {
    Stream(Box<dyn Wire>),
    Udp(UdpSocket),
    Unix(UnixDatagram),
}

impl std::fmt::Debug for SyslogOutlet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SyslogOutlet").field("to", &self.to).finish_non_exhaustive()
    }
}

fn late<E>(_: E) -> DeliveryError {
    DeliveryError::new("syslog took too long")
}

#[expect(clippy::needless_pass_by_value, reason = "stands in map_err")]
fn failed(error: std::io::Error) -> DeliveryError {
    DeliveryError::new(format!("syslog: {error}"))
}

impl SyslogOutlet {
    pub(crate) fn new(to: SyslogTarget) -> Self {
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let host: String = host.trim().chars().filter(char::is_ascii_graphic).take(255).collect();
        Self { to, host: if host.is_empty() { "-".to_owned() } else { host }, link: None }
    }

    pub(crate) async fn send(&mut self, lines: &[Line]) -> Result<(), DeliveryError> {
        let mut link = match self.link.take() {
            Some(link) => link,
            None => timeout(CONNECT, connect(&self.to)).await.map_err(late)??,
        };
        timeout(WRITE, self.write(&mut link, lines)).await.map_err(late)??;
        // Dropped unless all went well: the next try connects anew.
        self.link = Some(link);
        Ok(())
    }

    async fn write(&self, link: &mut Link, lines: &[Line]) -> Result<(), DeliveryError> {
        match link {
            Link::Stream(wire) => {
                let mut bytes = Vec::new();
                for line in lines {
                    frame(&self.message(line, usize::MAX), &mut bytes);
                    if bytes.len() > 1 << 20 {
                        wire.write_all(&bytes).await.map_err(failed)?;
                        bytes.clear();
                    }
                }
                wire.write_all(&bytes).await.map_err(failed)?;
                wire.flush().await.map_err(failed)?;
                stands(wire).await
            }
            Link::Udp(socket) => {
                for line in lines {
                    socket.send(self.message(line, MOST_DATAGRAM).as_bytes()).await.map_err(failed)?;
                }
                Ok(())
            }
            Link::Unix(socket) => {
                for line in lines {
                    socket.send(self.message(line, MOST_DATAGRAM).as_bytes()).await.map_err(failed)?;
                }
                Ok(())
            }
        }
    }

    /// RFC 5424 §6: `<PRI>1 TIME HOST APP PROCID MSGID SD BOM MSG`.
    pub(crate) fn message(&self, line: &Line, most: usize) -> String {
        let priority = if line.what == LineKind::Entry { ENTRY } else { STATEMENT };
        let (at, host, word) = (line.at, &self.host, line.what.word());
        let mut message =
            format!("<{priority}>1 {at} {host} aro {} {word} - \u{feff}{}", std::process::id(), line.text);
        if message.len() > most {
            let end = (0..=most).rev().find(|at| message.is_char_boundary(*at)).unwrap_or(0);
            message.truncate(end);
        }
        message
    }
}

/// Octet counting (RFC 6587 §3.4.1): `LENGTH MESSAGE`.
pub(crate) fn frame(message: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(format!("{} ", message.len()).as_bytes());
    out.extend_from_slice(message.as_bytes());
}

async fn connect(to: &SyslogTarget) -> Result<Link, DeliveryError> {
    let tcp = async |address: &str| {
        let stream = TcpStream::connect(address).await.map_err(failed)?;
        stream.set_nodelay(true).map_err(failed)?;
        Ok::<_, DeliveryError>(stream)
    };
    match to {
        SyslogTarget::Tcp(address) => Ok(Link::Stream(Box::new(tcp(address).await?))),
        SyslogTarget::Tls { address, name, tls } => {
            let (name, stream): (ServerName<'static>, _) = (name.clone(), tcp(address).await?);
            let stream = TlsConnector::from(tls.clone()).connect(name, stream).await.map_err(failed)?;
            Ok(Link::Stream(Box::new(stream)))
        }
        SyslogTarget::Udp(address) => {
            let mut found = tokio::net::lookup_host(address).await.map_err(failed)?;
            let address =
                found.next().ok_or_else(|| DeliveryError::new("syslog: the name has no address"))?;
            let any = if address.is_ipv6() { "[::]:0" } else { "0.0.0.0:0" };
            let socket = UdpSocket::bind(any).await.map_err(failed)?;
            socket.connect(address).await.map_err(failed)?;
            Ok(Link::Udp(socket))
        }
        SyslogTarget::Unix(path) => {
            let socket = UnixDatagram::unbound().map_err(failed)?;
            socket.connect(path).map_err(failed)?;
            Ok(Link::Unix(socket))
        }
    }
}

/// Syslog never says anything: what can be read is the end.
async fn stands(wire: &mut Box<dyn Wire>) -> Result<(), DeliveryError> {
    let mut byte = [0u8; 64];
    match timeout(SETTLE, wire.read(&mut byte)).await {
        Err(_) => Ok(()),
        Ok(Ok(0)) => Err(DeliveryError::new("syslog: the connection was closed")),
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => Err(failed(error)),
    }
}

#[cfg(test)]
mod tests {
    use rp_base::Timestamp;

    use super::*;

    #[test]
    fn messages_are_as_rfc_5424_has_them() {
        let outlet =
            SyslogOutlet { to: SyslogTarget::Unix("/dev/log".into()), host: "host".to_owned(), link: None };
        let line = |what, text: &str| Line {
            what,
            at: Timestamp::from_millis(1_800_000_000_123),
            text: text.to_owned(),
        };
        let pid = std::process::id();
        assert_eq!(
            outlet.message(&line(LineKind::Entry, "{\"v\":1}"), usize::MAX),
            format!("<110>1 2027-01-15T08:00:00.123Z host aro {pid} audit - \u{feff}{{\"v\":1}}")
        );
        let statement = outlet.message(&line(LineKind::Checkpoint, "{}"), usize::MAX);
        assert!(statement.starts_with("<109>1 ") && statement.contains(" checkpoint - "), "{statement}");
        let cut = outlet.message(&line(LineKind::Entry, &"é".repeat(60_000)), MOST_DATAGRAM);
        assert!(cut.len() <= MOST_DATAGRAM);
    }
}
