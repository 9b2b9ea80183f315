//! What a sink does with lines.

use std::time::Duration;

use rp_base::{SharedClock, Timestamp};

use crate::file::FileOutlet;
use crate::http::HttpOutlet;
use crate::syslog::SyslogOutlet;
use crate::{SinkFormat, SinkOptions, SinkTarget};

/// What a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineKind {
    Entry,
    Checkpoint,
    Tombstone,
}

impl LineKind {
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Entry => "audit",
            Self::Checkpoint => "checkpoint",
            Self::Tombstone => "tombstone",
        }
    }
}

/// One line, without its end.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    pub(crate) what: LineKind,
    pub(crate) at: Timestamp,
    /// JSON, in the sink's format.
    pub(crate) text: String,
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

/// Where lines go.
#[derive(Debug)]
pub(crate) enum Outlet {
    File(FileOutlet),
    Syslog(SyslogOutlet),
    Http(HttpOutlet),
}

impl Outlet {
    pub(crate) fn new(options: &SinkOptions, clock: &SharedClock) -> Self {
        match options.to.clone() {
            SinkTarget::File { path, rotate, keep, sync } => {
                Self::File(FileOutlet::new(path, rotate, keep, sync, clock.clone()))
            }
            SinkTarget::Syslog(to) => Self::Syslog(SyslogOutlet::new(to)),
            SinkTarget::Http { client, url, token } => Self::Http(HttpOutlet::new(client, url, token)),
        }
    }

    /// Hands lines over. `Ok`: all of them were taken. Otherwise all are sent again.
    pub(crate) async fn send(&mut self, lines: &[Line]) -> Result<(), DeliveryError> {
        match self {
            Self::File(outlet) => outlet.send(lines).await,
            Self::Syslog(outlet) => outlet.send(lines).await,
            Self::Http(outlet) => outlet.send(lines).await,
        }
    }
}

/// A line in the format of a sink.
pub(crate) fn line(format: &SinkFormat, what: LineKind, at: Timestamp, text: String) -> Line {
    let text = if what == LineKind::Entry { format.entry(text) } else { text };
    Line { what, at, text }
}
