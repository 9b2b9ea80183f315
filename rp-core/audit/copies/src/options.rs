//! What a sink is told: where to, in which form, and what happens when it takes nothing.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rp_base::Secret;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;

use crate::SinkFormat;

/// One copy of the log.
#[derive(Debug, Clone)]
pub struct SinkOptions {
    /// Names its place in the log: another name starts from the beginning.
    pub name: String,
    pub to: SinkTarget,
    pub format: SinkFormat,
    pub policy: SinkPolicy,
}

/// What happens while a sink takes nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SinkPolicy {
    /// Promises are refused when it has been so for this long: no streams, no changes, no grants.
    Refuse { after: Duration },
    /// Work goes on; it is logged and counted.
    Alarm,
}

/// Where a copy goes.
#[derive(Clone)]
pub enum SinkTarget {
    /// A file of lines, mode 0600. Beside it stand former ones, with the time in their names.
    File {
        path: PathBuf,
        /// Begins a new file when this one would become larger, bytes.
        rotate: u64,
        /// Former files that are kept; 0: all.
        keep: usize,
        /// Whether lines are on the disk before the place in the log moves on.
        sync: bool,
    },
    /// RFC 5424.
    Syslog(SyslogTarget),
    /// POST of lines, `application/x-ndjson`; any 2xx has taken them.
    Http {
        client: reqwest::Client,
        url: String,
        /// For `Authorization: Bearer`.
        token: Option<Arc<Secret<String>>>,
    },
}

/// How syslog is reached.
#[derive(Debug, Clone)]
pub enum SyslogTarget {
    /// `host:port`; RFC 6587 octet counting.
    Tcp(String),
    /// `host:port`; RFC 5425.
    Tls { address: String, name: ServerName<'static>, tls: Arc<ClientConfig> },
    /// `host:port`; RFC 5426. Whatever is lost on the way is lost.
    Udp(String),
    /// A datagram socket such as `/dev/log`.
    Unix(PathBuf),
}

impl fmt::Display for SinkTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { path, .. } => write!(f, "{}", path.display()),
            Self::Syslog(SyslogTarget::Tcp(address)) => write!(f, "syslog over TCP to {address}"),
            Self::Syslog(SyslogTarget::Tls { address, .. }) => write!(f, "syslog over TLS to {address}"),
            Self::Syslog(SyslogTarget::Udp(address)) => write!(f, "syslog over UDP to {address}"),
            Self::Syslog(SyslogTarget::Unix(path)) => write!(f, "syslog at {}", path.display()),
            // A query may hold a key.
            Self::Http { url, .. } => f.write_str(url.split(['?', '#']).next().unwrap_or_default()),
        }
    }
}

impl fmt::Debug for SinkTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
