//! `/alerts` and `/operations`: what fires and what is done on all clusters, worst first.

use crate::filters;
use crate::frame::Frame;
use crate::panel::{DisplayTime, Item, Panel};
use crate::parts::{Badge, Failure, Link, Tone};

/// Alerts that fire, over all clusters.
#[derive(Clone, Debug, Default, askama::Template)]
#[template(path = "fleet_alerts.html", blocks = ["list"])]
pub struct FleetAlertsPage {
    /// What is around it.
    pub frame: Frame,
    /// Words that alert or cluster have; empty: all.
    pub q: String,
    /// By name: the one that fires on most clusters first. Not all of them.
    pub rows: Vec<FleetAlertRow>,
    /// Names that match.
    pub names: u64,
    /// Clusters on which a matching alert fires.
    pub clusters: u64,
    /// Clusters whose alerts are not known: not checked, or without an answer.
    pub unknown: u64,
    /// In place of the list.
    pub failure: Option<Failure>,
}

/// An alert, and where it fires.
#[derive(Clone, Debug, Default)]
pub struct FleetAlertRow {
    /// `alertname`.
    pub name: String,
    /// The page of alerts of each cluster, the worst cluster first. Not all of them.
    pub clusters: Vec<Link>,
    /// On how many it fires.
    pub all: u64,
    /// The list of all of them.
    pub list: String,
}

/// Operations of all clusters: those that failed lately and those that run.
#[derive(Clone, Debug, Default, askama::Template)]
#[template(path = "fleet_operations.html", blocks = ["list"])]
pub struct FleetOperationsPage {
    /// What is around it.
    pub frame: Frame,
    /// Words that cluster, kind, step or error have; empty: all.
    pub q: String,
    /// The newest first.
    pub failed: FleetOperations,
    /// The longest running first.
    pub running: FleetOperations,
    /// Days for which a failure is shown.
    pub days: u64,
    /// In place of the lists.
    pub failure: Option<Failure>,
}

/// The first rows of a list, and how many there are.
#[derive(Clone, Debug, Default)]
pub struct FleetOperations {
    /// The rows that are shown.
    pub rows: Vec<FleetOperationRow>,
    /// All that there are.
    pub all: u64,
}

/// An operation of a cluster.
#[derive(Clone, Debug, Default)]
pub struct FleetOperationRow {
    /// Its cluster, and the page of the operation; an empty address: the cluster is gone.
    pub cluster: Link,
    /// `Creating`, `Updating`, `AdminUpdating`, `Deleting`.
    pub kind: String,
    /// "Bootstrap, step 14 of 49: …".
    pub progress: String,
    /// Why it failed, or empty.
    pub error: String,
    /// Its start, or its end where it has ended.
    pub at: i64,
    /// Who requested it, or empty.
    pub by: String,
}

impl FleetOperationRow {
    fn item(&self, failed: bool) -> Item {
        let (tone, icon, word) =
            if failed { (Tone::Bad, "failed", "Failed") } else { (Tone::Busy, "busy", "Running") };
        Item {
            tone,
            icon,
            name: self.cluster.clone(),
            kind: if self.by.is_empty() {
                self.kind.clone()
            } else {
                format!("{}, by {}", self.kind, self.by)
            },
            badges: vec![Badge::filled(tone, icon, word)],
            quote: self.error.clone(),
            advice: self.progress.clone(),
            at: Some(if failed { DisplayTime::Ago(self.at) } else { DisplayTime::For(self.at) }),
            aside: String::new(),
            acts: Vec::new(),
        }
    }
}

impl FleetOperationsPage {
    fn panels(&self) -> [Panel; 2] {
        let days = crate::text::plural(self.days, "day", "days");
        let none = format!("No operation failed in the last {days}.");
        [
            self.panel("failed", "Failed lately", &self.failed, &none, true)
                .fact(format!("in the last {days}")),
            self.panel("running", "Running", &self.running, "No operation is in progress.", false),
        ]
    }

    fn panel(
        &self,
        id: &'static str,
        title: &str,
        list: &FleetOperations,
        none: &str,
        failed: bool,
    ) -> Panel {
        let panel = Panel::new(id, title);
        if list.rows.is_empty() {
            return if self.q.is_empty() {
                panel.well("None", none)
            } else {
                panel.nothing(
                    "search",
                    "No operations match",
                    "Words of a cluster, a kind, a step or an error.",
                )
            };
        }
        let items = list.rows.iter().map(|row| row.item(failed)).collect();
        panel.items_of(items, list.all, "Filter to see others.")
    }
}
