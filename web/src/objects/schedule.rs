//! Schedules of maintenance: rules that make manifests for many clusters.

use crate::panel::{DisplayTime, Item};
use crate::parts::{Badge, Link, Tone};

/// Whether a schedule makes manifests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ScheduleProgress {
    #[default]
    Enabled,
    Disabled,
    /// Its task failed on too many clusters.
    Stopped,
}

/// A schedule.
#[derive(Clone, Debug, Default)]
pub struct ScheduleRow {
    /// Name of the task.
    pub task: String,
    pub progress: ScheduleProgress,
    /// When its windows begin, UTC, as it was written.
    pub calendar: String,
    /// How the clusters of a window are spread, such as "over 24h".
    pub spread: String,
    /// What failed in the latest window, such as "2 of 50 clusters failed: a, b"; empty: nothing.
    pub failed: String,
    /// When its next window begins, or when it stopped; Unix seconds, 0: neither.
    pub at: i64,
}

impl ScheduleRow {
    pub(crate) fn item(&self) -> Item {
        let (tone, icon, word) = match self.progress {
            ScheduleProgress::Enabled => (Tone::Ok, "ok", "Enabled"),
            ScheduleProgress::Disabled => (Tone::Mute, "close", "Disabled"),
            ScheduleProgress::Stopped => (Tone::Bad, "failed", "Stopped after failures"),
        };
        let at = match self.progress {
            _ if self.at == 0 => None,
            ScheduleProgress::Stopped => Some(DisplayTime::Ago(self.at)),
            ScheduleProgress::Enabled | ScheduleProgress::Disabled => Some(DisplayTime::In(self.at)),
        };
        let advice = match self.progress {
            ScheduleProgress::Stopped => {
                "Nothing more of it begins. Remove the cause, then write the schedule again to let it go on."
            }
            ScheduleProgress::Enabled | ScheduleProgress::Disabled => "",
        };
        Item {
            tone,
            icon,
            name: Link::new(&*self.task, ""),
            kind: format!("{} UTC, {}", self.calendar, self.spread),
            badges: vec![Badge::quiet(tone, icon, word)],
            quote: self.failed.clone(),
            advice: advice.to_owned(),
            at,
            ..Item::default()
        }
    }
}
