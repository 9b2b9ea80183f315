//! Copies of the log elsewhere: files, syslog, HTTP. Each sink has its own place in the log, kept in the store, and
//! moves it on only after the copy was taken: nothing is left out, something may come twice. Entries of a writer
//! arrive in their order. Checkpoints and tombstones are copied too: with them a log that was truncated in the store
//! is detected.

mod cursor;
mod file;
mod format;
mod http;
mod outlet;
mod runner;
mod syslog;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use rp_base::{Secret, SharedClock, SharedRandom, Timestamp};
use rp_database::SharedStore;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::sync::watch;
use tokio::task::JoinHandle;

pub(crate) use cursor::taken_by_all;
pub use format::{IfxOrigin, SinkFormat};

use crate::metrics::{SinkLabels, SinkMetrics};
use crate::proof::SinkState;
use outlet::Outlet;
use runner::Runner;

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

/// Why lines were not taken. The text is for people, and without secrets.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub(crate) struct DeliveryError {
    pub(crate) what: String,
    /// What the other side asked for.
    pub(crate) retry_after: Option<Duration>,
}

impl DeliveryError {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), retry_after: None }
    }
}

/// A sink as others see it.
#[derive(Debug)]
pub(crate) struct SinkHealth {
    policy: SinkPolicy,
    /// Milliseconds since the epoch; 0: not failing.
    failing_since: AtomicI64,
    state: Mutex<SinkState>,
}

impl SinkHealth {
    fn new(options: &SinkOptions) -> Self {
        let policy = match options.policy {
            SinkPolicy::Refuse { .. } => "refuse",
            SinkPolicy::Alarm => "alarm",
        };
        let state = SinkState {
            name: options.name.clone(),
            to: options.to.to_string(),
            policy,
            here: false,
            taken_at: None,
            taken_to: None,
            failing_since: None,
            error: None,
        };
        Self { policy: options.policy, failing_since: AtomicI64::new(0), state: Mutex::new(state) }
    }

    fn refuses(&self, now: Timestamp) -> bool {
        let since = self.failing_since.load(Ordering::Relaxed);
        match self.policy {
            SinkPolicy::Refuse { after } => since > 0 && now.since(Timestamp::from_millis(since)) >= after,
            SinkPolicy::Alarm => false,
        }
    }

    /// Changes the state, and stores since when the sink fails where [`Self::refuses`] reads it without a lock.
    fn update(&self, change: impl FnOnce(&mut SinkState)) {
        let mut state = self.state.lock();
        change(&mut state);
        let since = state.failing_since.map_or(0, |at| at.millis().max(1));
        self.failing_since.store(since, Ordering::Relaxed);
    }
}

/// All sinks of a process.
#[derive(Debug, Default)]
pub(crate) struct Sinks {
    all: Vec<Arc<SinkHealth>>,
    tasks: Mutex<Vec<JoinHandle<()>>>,
    stop: Option<watch::Sender<bool>>,
}

/// What the sinks work with.
pub(crate) struct SinkParts {
    pub(crate) store: SharedStore,
    pub(crate) clock: SharedClock,
    pub(crate) random: SharedRandom,
    pub(crate) metrics: SinkMetrics,
    /// How long the rest may take when the log is closed.
    pub(crate) close_within: Duration,
}

impl Sinks {
    pub(crate) fn start(options: &[SinkOptions], parts: &SinkParts) -> Self {
        let (stop, stopped) = watch::channel(false);
        let mut sinks = Self { stop: Some(stop), ..Self::default() };
        for options in options {
            let health = Arc::new(SinkHealth::new(options));
            // Leaked on purpose: there are few sinks, they live as long as the process, and labels are `&'static str`.
            let sink: &'static str = options.name.clone().leak();
            let outlet = Outlet::new(options, &parts.clock);
            let runner = Runner::new(options, outlet, Arc::clone(&health), parts, SinkLabels { sink });
            sinks.tasks.lock().push(tokio::spawn(runner.run(stopped.clone(), parts.close_within)));
            sinks.all.push(health);
        }
        sinks
    }

    /// The sink because of which promises are refused.
    pub(crate) fn refusing(&self, now: Timestamp) -> Option<String> {
        let sink = self.all.iter().find(|health| health.refuses(now))?;
        Some(sink.state.lock().name.clone())
    }

    pub(crate) fn states(&self) -> Vec<SinkState> {
        self.all.iter().map(|health| health.state.lock().clone()).collect()
    }

    /// Ships what is there, for a bounded time.
    pub(crate) async fn close(&self) {
        if let Some(stop) = &self.stop {
            stop.send_replace(true);
        }
        let tasks: Vec<JoinHandle<()>> = std::mem::take(&mut *self.tasks.lock());
        for task in tasks {
            // A panic was logged already.
            let _ = task.await;
        }
    }
}
