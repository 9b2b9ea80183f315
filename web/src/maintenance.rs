//! `/maintenance`: what is done to all clusters by maintenance, what waits, and what failed lately.

use crate::filters;
use crate::frame::Frame;
use crate::objects::{ManifestRow, ScheduleProgress, ScheduleRow};
use crate::panel::{Block, Panel};
use crate::parts::Failure;

/// The maintenance of all clusters.
#[derive(Clone, Debug, Default, askama::Template)]
#[template(path = "maintenance.html", blocks = ["list"])]
pub struct MaintenancePage {
    /// What is around it.
    pub frame: Frame,
    /// Words that cluster and task have; empty: all.
    pub q: String,
    /// The longest running first.
    pub running: ManifestList,
    /// The newest first.
    pub failed: ManifestList,
    /// In the order in which they are due.
    pub waiting: ManifestList,
    /// First those that stopped. They are shown whatever the words are.
    pub schedules: Vec<ScheduleRow>,
    /// Days for which a failure is shown.
    pub days: u64,
    /// Not everything was read yet.
    pub incomplete: bool,
    /// In place of the lists.
    pub failure: Option<Failure>,
}

/// The first rows of a list, and how many there are.
#[derive(Clone, Debug, Default)]
pub struct ManifestList {
    /// The rows that are shown.
    pub rows: Vec<ManifestRow>,
    /// All that there are.
    pub all: u64,
}

impl MaintenancePage {
    /// How many schedules stopped.
    fn stopped(&self) -> u64 {
        let stopped = self.schedules.iter().filter(|row| row.progress == ScheduleProgress::Stopped);
        u64::try_from(stopped.count()).unwrap_or(u64::MAX)
    }

    /// Those with something to do first: schedules that stopped come before everything else.
    fn panels(&self) -> Vec<Panel> {
        let mut panels = Vec::from(self.lists());
        let place = if self.stopped() > 0 { 0 } else { panels.len() };
        panels.insert(place, self.schedules_panel());
        panels
    }

    fn schedules_panel(&self) -> Panel {
        let panel = Panel::new("schedules", "Schedules").fact("of all clusters");
        match self.schedules.is_empty() {
            true => {
                panel.well("None", "No schedule makes manifests. Administrators write them by the admin API.")
            }
            false => panel.with(Block::Items(self.schedules.iter().map(ScheduleRow::item).collect())),
        }
    }

    fn lists(&self) -> [Panel; 3] {
        let days = crate::text::plural(self.days, "day", "days");
        [
            self.panel("running", "Running", &self.running, "Nothing runs."),
            self.panel(
                "failed",
                "Failed lately",
                &self.failed,
                &format!("Nothing failed in the last {days}, and all started in their time."),
            )
            .fact(format!("or not started in time, in the last {days}")),
            self.panel("waiting", "Waiting", &self.waiting, "Nothing is planned."),
        ]
    }

    fn panel(&self, id: &'static str, title: &str, list: &ManifestList, nothing: &str) -> Panel {
        let panel = Panel::new(id, title);
        if list.rows.is_empty() {
            return if self.q.is_empty() {
                panel.well("None", nothing)
            } else {
                panel.nothing("search", "Nothing found", "No cluster or task of this list has these words.")
            };
        }
        let items = list.rows.iter().map(|row| row.item(self.frame.now)).collect();
        panel.items_of(items, list.all, "More words show others.")
    }
}
