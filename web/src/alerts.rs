//! `{RES}/alerts`: what fires and what is about to, grouped by alert.

use crate::cluster::Cluster;
use crate::filters;
use crate::frame::Frame;
use crate::parts::{Badge, Failure, Notice, Tone};
use crate::tabs::Tab;

/// The alerts of a cluster.
#[derive(Clone, Debug, Default, askama::Template)]
#[template(path = "alerts.html", blocks = ["list"])]
pub struct AlertsPage {
    /// What is around it.
    pub frame: Frame,
    /// The cluster.
    pub cluster: Cluster,
    /// Active grants for it, beside the tab.
    pub active: u64,
    /// What is known.
    pub state: AlertsState,
    /// In place of everything.
    pub failure: Option<Failure>,
}

/// What is known of the alerts.
#[derive(Clone, Debug, Default)]
pub enum AlertsState {
    /// The cluster has not answered yet; the page requests the list again.
    #[default]
    Loading,
    /// It did not answer.
    Failed(Failure),
    /// It answered.
    Known(Alerts),
}

/// An answer of Prometheus and Alertmanager.
#[derive(Clone, Debug, Default)]
pub struct Alerts {
    /// When.
    pub at: i64,
    /// By name, worst first.
    pub groups: Vec<AlertGroup>,
    /// Silences in force.
    pub silences: u64,
    /// Which Prometheus answered.
    pub source: String,
    /// What is missing.
    pub notices: Vec<Notice>,
}

/// All alerts of one name.
#[derive(Clone, Debug, Default)]
pub struct AlertGroup {
    /// `alertname`.
    pub name: String,
    /// `critical`, `warning`, `info`, or what the rule says.
    pub severity: String,
    /// What it means, of the first.
    pub summary: String,
    /// The first since when.
    pub since: Option<i64>,
    /// `https` address of the run-book, or empty.
    pub runbook: String,
    /// Its expression in the explorer, or empty.
    pub explore: String,
    /// The alerts.
    pub alerts: Vec<AlertRow>,
    /// How many there are; more than are shown when there are very many.
    pub count: u64,
}

/// One alert.
#[derive(Clone, Debug, Default)]
pub struct AlertRow {
    /// It fires; else it is pending.
    pub firing: bool,
    /// Since when.
    pub since: Option<i64>,
    /// Value of its expression.
    pub value: String,
    /// Labels without name and severity.
    pub labels: Vec<(String, String)>,
    /// What it says.
    pub description: String,
    /// Silences on it.
    pub silences: Vec<AlertSilence>,
    /// Another alert hides it.
    pub inhibited: bool,
}

/// A silence on an alert.
#[derive(Clone, Debug, Default)]
pub struct AlertSilence {
    /// Who made it.
    pub by: String,
    /// Why.
    pub comment: String,
    /// Its end.
    pub ends: Option<i64>,
}

impl AlertRow {
    /// Its state.
    #[must_use]
    pub fn badge(&self) -> Badge {
        if !self.silences.is_empty() {
            return Badge::new(Tone::Mute, "pause", "Silenced", true);
        }
        if self.inhibited {
            return Badge::new(Tone::Mute, "pause", "Inhibited", true);
        }
        if self.firing {
            Badge::new(Tone::Bad, "bell", "Firing", false)
        } else {
            Badge::new(Tone::Warn, "wait", "Pending", false)
        }
    }
}

impl AlertGroup {
    /// Its severity.
    #[must_use]
    pub fn badge(&self) -> Badge {
        match self.severity.as_str() {
            "critical" => Badge::new(Tone::Bad, "failed", "Critical", false),
            "warning" => Badge::new(Tone::Warn, "degraded", "Warning", false),
            "info" => Badge::new(Tone::Mute, "info", "Info", true),
            _ => Badge::new(Tone::Mute, "info", "No severity", true),
        }
    }

    /// "2 firing, 1 pending, 1 silenced".
    #[must_use]
    pub fn tally(&self) -> String {
        let silent = |row: &AlertRow| !row.silences.is_empty() || row.inhibited;
        let count = |wanted: fn(&AlertRow) -> bool| self.alerts.iter().filter(|row| wanted(row)).count();
        let quiet = self.alerts.iter().filter(|row| silent(row)).count();
        let firing = count(|row| row.firing && row.silences.is_empty() && !row.inhibited);
        let pending = count(|row| !row.firing && row.silences.is_empty() && !row.inhibited);
        let parts = [(firing, "firing"), (pending, "pending"), (quiet, "silenced")];
        let words: Vec<String> =
            parts.iter().filter(|(n, _)| *n > 0).map(|(n, word)| format!("{n} {word}")).collect();
        words.join(", ")
    }
}

impl AlertsPage {
    pub(crate) fn active(&self) -> u64 {
        self.active
    }

    #[expect(clippy::unused_self, reason = "templates call methods")]
    pub(crate) fn tab(&self) -> Tab {
        Tab::Alerts
    }
}

impl Alerts {
    /// Firing alerts that are not silenced.
    #[must_use]
    pub fn firing(&self) -> u64 {
        let loud = |row: &&AlertRow| row.firing && row.silences.is_empty() && !row.inhibited;
        let count = self.groups.iter().flat_map(|group| &group.alerts).filter(loud).count();
        u64::try_from(count).unwrap_or(u64::MAX)
    }
}
