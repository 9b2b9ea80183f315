//! `{RES}/pods/NAMESPACE/NAME/log`: the log of a container. Without scripts its last lines; with them it follows.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::cluster::Cluster;
use crate::code::Span;
use crate::filters;
use crate::frame::Frame;
use crate::log_level::LogLevel;
use crate::parts::Failure;
use crate::query::Query;
use crate::resources::on_tab;
use crate::tabs::Tab;

/// A log.
#[derive(Clone, Debug, Default, askama::Template)]
#[template(path = "log.html")]
pub struct LogPage {
    /// What is around it.
    pub frame: Frame,
    /// The cluster.
    pub cluster: Cluster,
    /// Active grants for it, beside the tab.
    pub active: u64,
    /// The pod's name.
    pub pod: String,
    /// Its namespace.
    pub namespace: String,
    /// Page of the pod.
    pub pod_href: String,
    /// Containers to choose from: name, and a word on it.
    pub containers: Vec<(String, String)>,
    /// What is asked.
    pub query: LogQuery,
    /// The log as a stream of text, without a query.
    pub stream: String,
    /// The last lines.
    pub lines: Vec<LogLine>,
    /// Lines before those were left out.
    pub cut: bool,
    /// In place of the log.
    pub failure: Option<Failure>,
}

/// A line of a log.
#[derive(Clone, Debug, Default)]
pub struct LogLine {
    /// Its level, or that of the line that it belongs to; none: no line before it names one.
    pub level: Option<LogLevel>,
    /// Its text with its colours.
    pub spans: Vec<Span>,
}

/// What is asked of a log, as in the URL.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default)]
pub struct LogQuery {
    /// Container; empty: the first.
    pub container: String,
    /// `1`: of the container before its last restart.
    #[schemars(with = "bool")]
    pub previous: String,
    /// `1`: go on with new lines.
    #[schemars(with = "bool")]
    pub follow: String,
    /// Last lines, as a number.
    #[schemars(with = "Option<u64>")]
    pub tail: String,
    /// Seconds back, or `5m`, `3h`, `2d`.
    pub since: String,
    /// `1`: times in front.
    #[schemars(with = "bool")]
    pub timestamps: String,
    /// Only lines of this level and worse: `error`, `warn`, `info`; empty: all. For pages.
    #[schemars(skip)]
    pub level: String,
    /// Only lines with this text, in any case of letters; for pages.
    #[schemars(skip)]
    pub q: String,
}

/// Numbers of last lines to choose from.
pub const TAILS: [&str; 4] = ["100", "500", "2000", "10000"];

/// Levels to choose from: value and words.
pub(crate) const LEVELS: [(&str, &str); 4] =
    [("", "Any level"), ("info", "Info and up"), ("warn", "Warning and up"), ("error", "Error")];

/// Ranges to choose from: value and words.
pub const SINCES: [(&str, &str); 6] =
    [("", "Any time"), ("1m", "1 min"), ("10m", "10 min"), ("1h", "1 h"), ("6h", "6 h"), ("1d", "1 d")];

impl LogQuery {
    /// The path with this query.
    #[must_use]
    pub fn href(&self, base: &str) -> String {
        let mut url = Query::new(base);
        url.add("container", &self.container);
        url.add("previous", &self.previous);
        url.add("follow", &self.follow);
        url.add("tail", &self.tail);
        url.add("since", &self.since);
        url.add("timestamps", &self.timestamps);
        url.add("level", &self.level);
        url.add("q", &self.q);
        url.done()
    }

    pub(crate) fn is(&self, field: &str) -> bool {
        field == "1" || field == "true" || field == "on"
    }
}

impl LogPage {
    /// All of the log as a file.
    #[must_use]
    pub fn download(&self) -> String {
        let query = LogQuery {
            follow: String::new(),
            tail: String::new(),
            level: String::new(),
            q: String::new(),
            ..self.query.clone()
        };
        let href = query.href(&self.stream);
        format!("{href}{}download=1", if href.contains('?') { '&' } else { '?' })
    }
}

on_tab!(LogPage, Tab::Pods);
