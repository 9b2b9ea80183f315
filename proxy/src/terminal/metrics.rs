//! What terminals count.

use rp_metrics::{Counter, Family, Gauge, labels, metrics};

labels! {
    /// Where to, and how it went: ended, left, forgotten, cut, refused.
    pub(super) struct SessionLabels { place: &'static str, outcome: &'static str }
}

labels! {
    /// `same`: the session went on; `lost`: it was not here any more.
    pub(super) struct ResumeLabels { outcome: &'static str }
}

labels! {
    /// `in`: typed; `out`: shown.
    pub(super) struct ByteLabels { direction: &'static str }
}

metrics! {
    /// Terminals in the browser.
    pub(super) struct TerminalMetrics("aro_terminal") {
        /// Sessions open now, those that wait for their browser included.
        pub(super) open: Gauge = "sessions_open";
        /// Sessions that are over, by where they led and how they went.
        pub(super) sessions: Family<SessionLabels, Counter> = "sessions_total";
        /// Browsers that came back after the network was away, by whether their session went on.
        pub(super) resumes: Family<ResumeLabels, Counter> = "resumes_total";
        /// Bytes that passed.
        pub(super) bytes: Family<ByteLabels, Counter> = "bytes_total";
    }
}

/// Direction of counted bytes.
#[derive(Debug, Clone, Copy)]
pub(super) enum ByteDirection {
    In,
    Out,
}

impl TerminalMetrics {
    pub(super) fn count(&self, way: ByteDirection, bytes: usize) {
        let direction = match way {
            ByteDirection::In => "in",
            ByteDirection::Out => "out",
        };
        self.bytes.with(&ByteLabels { direction }).add(bytes as u64);
    }

    pub(super) fn resumed(&self, outcome: &'static str) {
        self.resumes.with(&ResumeLabels { outcome }).inc();
    }

    pub(super) fn over(&self, place: &'static str, outcome: &'static str) {
        self.sessions.with(&SessionLabels { place, outcome }).inc();
    }
}
