//! `{RES}/statistics`: twelve charts of the control plane, DNS and ingress (`contract/portal.md` §14).

use crate::cluster::{AccessDecision, Cluster};
use crate::explore::ranges;
use crate::filters;
use crate::frame::Frame;
use crate::parts::Failure;
use crate::tabs::Tab;

/// The statistics.
#[derive(Clone, Debug, Default, askama::Template)]
#[template(path = "statistics.html")]
pub struct StatisticsPage {
    /// What is around it.
    pub frame: Frame,
    /// The cluster.
    pub cluster: Cluster,
    /// Active grants for it, beside the tab.
    pub active: u64,
    /// `/api/{sub}/{group}/{name}/statistics`.
    pub api: String,
    /// Length of the range, e.g. `1h`.
    pub range: String,
    /// Its end as it was typed; empty: now.
    pub end: String,
    /// Charts by what they are about.
    pub groups: Vec<StatisticGroup>,
    /// Whether Prometheus may be asked now.
    pub may_ask: AccessDecision,
    /// In place of everything.
    pub failure: Option<Failure>,
}

/// Charts about one thing.
#[derive(Clone, Debug, Default)]
pub struct StatisticGroup {
    /// Its anchor, e.g. `dnsstatistics`.
    pub id: String,
    /// E.g. "DNS".
    pub title: String,
    /// Its charts.
    pub charts: Vec<StatisticChart>,
}

/// One chart.
#[derive(Clone, Debug, Default)]
pub struct StatisticChart {
    /// Name in the API, e.g. `dnsalltraffic`.
    pub name: String,
    /// Heading.
    pub title: String,
    /// Unit, e.g. `seconds`.
    pub unit: String,
    /// PromQL.
    pub query: String,
    /// Its query in the explorer.
    pub href: String,
}

/// Ranges of `contract/portal-ui.md` §6.7 from an hour on.
pub const STATISTIC_RANGES: [(&str, &str); 10] = [
    ("1h", "1 h"),
    ("2h", "2 h"),
    ("6h", "6 h"),
    ("12h", "12 h"),
    ("1d", "1 d"),
    ("2d", "2 d"),
    ("1w", "1 w"),
    ("2w", "2 w"),
    ("4w", "4 w"),
    ("8w", "8 w"),
];

impl StatisticsPage {
    pub(crate) fn active(&self) -> u64 {
        self.active
    }

    #[expect(clippy::unused_self, reason = "templates call methods")]
    pub(crate) fn tab(&self) -> Tab {
        Tab::Statistics
    }

    pub(crate) fn ranges(&self) -> Vec<(&str, &str)> {
        ranges(&STATISTIC_RANGES, &self.range)
    }
}
