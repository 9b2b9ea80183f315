//! Output of collectors: samples, and log lines as data.

use std::borrow::Cow;

use rp_base::text::clean;

use crate::names::Metric;
use crate::sample::{Sample, Text, Value};

/// Maximum log lines of one look: one hourly round of a broken cluster must not fill a disk.
const MOST_LINES: usize = 1_000;
/// Characters of a message.
const MOST_MESSAGE: usize = 1_024;

/// The level of a log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    Debug,
    Info,
    Warn,
    Error,
}

/// One line of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLine {
    pub level: Level,
    pub text: Text,
    pub fields: Vec<(Text, Text)>,
}

/// The output of collectors of one look.
#[derive(Debug, Default)]
pub struct CollectorOutput {
    pub samples: Vec<Sample>,
    pub lines: Vec<LogLine>,
    /// Number of lines dropped beyond the bound.
    pub dropped: usize,
    hourly: bool,
}

impl CollectorOutput {
    /// Empty output. `hourly`: detail goes to the log as well.
    pub fn new(hourly: bool) -> Self {
        Self { hourly, ..Self::default() }
    }

    /// A sample of value 1.
    pub fn one<const N: usize>(&mut self, metric: &'static Metric, dims: [Text; N]) {
        self.samples.push(Sample::one(metric, dims));
    }

    /// A sample of a whole number.
    pub fn int<const N: usize>(&mut self, metric: &'static Metric, value: i64, dims: [Text; N]) {
        self.samples.push(Sample::int(metric, value, dims));
    }

    /// Any sample.
    pub fn push(&mut self, sample: Sample) {
        self.samples.push(sample);
    }

    /// The sample, and in an hourly round a line with its dimensions and the message of the cluster.
    pub fn logged(&mut self, sample: Sample, message: &str) {
        if self.hourly {
            let mut fields = vec![("metric".into(), sample.metric.name.into())];
            fields
                .extend(sample.statsd().map(|(name, text)| (name.to_owned().into(), text.to_owned().into())));
            if let Value::Int(value) = sample.value
                && value != 1
            {
                fields.push(("value".into(), value.to_string().into()));
            }
            if !message.is_empty() {
                fields.push(("message".into(), clean(message, MOST_MESSAGE).into()));
            }
            self.line(Level::Info, Cow::Borrowed(""), fields);
        }
        self.samples.push(sample);
    }

    /// A line, in any round.
    pub fn line(&mut self, level: Level, text: impl Into<Text>, fields: Vec<(Text, Text)>) {
        if self.lines.len() < MOST_LINES {
            self.lines.push(LogLine { level, text: text.into(), fields });
        } else {
            self.dropped += 1;
        }
    }

    /// A line of an hourly round.
    pub fn hourly_line(&mut self, text: &'static str, fields: Vec<(Text, Text)>) {
        if self.hourly {
            self.line(Level::Info, text, fields);
        }
    }
}

/// Owned text of a cluster as a dimension.
pub(super) fn owned_text(text: &str) -> Text {
    Cow::Owned(text.to_owned())
}
