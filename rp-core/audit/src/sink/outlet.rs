//! What a sink does with lines.

use rp_base::{SharedClock, Timestamp};

use super::file::FileOutlet;
use super::http::HttpOutlet;
use super::syslog::SyslogOutlet;
use super::{DeliveryError, SinkFormat, SinkOptions, SinkTarget};

/// What a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineKind {
    Entry,
    Checkpoint,
    Tombstone,
}

impl LineKind {
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Entry => "audit",
            Self::Checkpoint => "checkpoint",
            Self::Tombstone => "tombstone",
        }
    }
}

/// One line, without its end.
#[derive(Debug, Clone)]
pub(super) struct Line {
    pub(super) what: LineKind,
    pub(super) at: Timestamp,
    /// JSON, in the sink's format.
    pub(super) text: String,
}

/// Where lines go.
#[derive(Debug)]
pub(super) enum Outlet {
    File(FileOutlet),
    Syslog(SyslogOutlet),
    Http(HttpOutlet),
}

impl Outlet {
    pub(super) fn new(options: &SinkOptions, clock: &SharedClock) -> Self {
        match options.to.clone() {
            SinkTarget::File { path, rotate, keep, sync } => {
                Self::File(FileOutlet::new(path, rotate, keep, sync, clock.clone()))
            }
            SinkTarget::Syslog(to) => Self::Syslog(SyslogOutlet::new(to)),
            SinkTarget::Http { client, url, token } => Self::Http(HttpOutlet::new(client, url, token)),
        }
    }

    /// Hands lines over. `Ok`: all of them were taken. Otherwise all are sent again.
    pub(super) async fn send(&mut self, lines: &[Line]) -> Result<(), DeliveryError> {
        match self {
            Self::File(outlet) => outlet.send(lines).await,
            Self::Syslog(outlet) => outlet.send(lines).await,
            Self::Http(outlet) => outlet.send(lines).await,
        }
    }
}

/// A line in the format of a sink.
pub(super) fn line(format: &SinkFormat, what: LineKind, at: Timestamp, text: String) -> Line {
    let text = if what == LineKind::Entry { format.entry(text) } else { text };
    Line { what, at, text }
}
